//! The kernels over codes for `AArch64`: safe functions that [`super::neon`] calls with a proof in hand.
//!
//! Codes lose what was added to them first, so products of signed bytes fit into 16 bits; pairs of them
//! are added to 32 bits.

use std::arch::aarch64::{
    int8x16_t, int32x4_t, vaddq_s32, vaddvq_s32, vandq_u8, vdupq_n_s32, vdupq_n_u8, veorq_u8,
    vget_low_s8, vmull_high_s8, vmull_s8, vpaddlq_s16, vpaddq_s32, vreinterpretq_s8_s32,
    vreinterpretq_s8_u8, vshrq_n_u8, vsubq_s8,
};

use super::Lanes;
use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms, finish, line_of, reaching};
use super::neon::{load_bytes, store_integers};
use super::quantise::{self, Fit, Quad, TOGETHER};

/// Rows whose sums are in one register.
const ROWS: usize = 4;

#[target_feature(enable = "neon")]
pub(super) fn reaching_neon(
    estimates: &[f32; BLOCK],
    margins: &Margins,
    terms: &Terms,
    floor: f32,
) -> u64 {
    reaching(estimates, margins, terms, floor)
}

#[target_feature(enable = "neon")]
pub(super) fn fit_neon(packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
    quantise::fit(packing, dim, row, codes)
}

#[target_feature(enable = "neon")]
pub(super) fn mix_neon(weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
    quantise::mix(weights, rows, out);
}

/// The sums of four rows' products with a word of the query.
#[inline]
#[target_feature(enable = "neon")]
fn products(codes: int8x16_t, word: int8x16_t) -> int32x4_t {
    let low = vpaddlq_s16(vmull_s8(vget_low_s8(codes), vget_low_s8(word)));
    let high = vpaddlq_s16(vmull_high_s8(codes, word));
    vpaddq_s32(low, high)
}

#[target_feature(enable = "neon")]
pub(super) fn estimate_neon<const M: usize>(
    packing: Packing,
    panel: &Panel<M>,
    (block, scales): (&[Group], &[f32; BLOCK]),
    admitted: u64,
    out: &mut [[f32; BLOCK]; M],
) -> [f32; M] {
    let mut sums = [[0; BLOCK]; M];
    for part in 0..BLOCK / ROWS {
        let mut acc = [vdupq_n_s32(0); M];
        let codes = |group: &Group| {
            let codes = group.0.as_chunks::<16>().0.get(part);
            load_bytes(codes.unwrap_or(&[0; 16]))
        };
        match packing {
            Packing::Eight => {
                for (words, group) in panel.words.iter().zip(block) {
                    let codes = vreinterpretq_s8_u8(veorq_u8(codes(group), vdupq_n_u8(128)));
                    for (acc, word) in acc.iter_mut().zip(words) {
                        let word = vreinterpretq_s8_s32(vdupq_n_s32(*word));
                        *acc = vaddq_s32(*acc, products(codes, word));
                    }
                }
            }
            Packing::Four => {
                let eight = vreinterpretq_s8_u8(vdupq_n_u8(8));
                let (pairs, _) = panel.words.as_chunks::<2>();
                for ([low_words, high_words], group) in pairs.iter().zip(block) {
                    let codes = codes(group);
                    let low = vreinterpretq_s8_u8(vandq_u8(codes, vdupq_n_u8(15)));
                    let high = vreinterpretq_s8_u8(vshrq_n_u8::<4>(codes));
                    let (low, high) = (vsubq_s8(low, eight), vsubq_s8(high, eight));
                    for (acc, (a, b)) in acc.iter_mut().zip(low_words.iter().zip(high_words)) {
                        let a = products(low, vreinterpretq_s8_s32(vdupq_n_s32(*a)));
                        let b = products(high, vreinterpretq_s8_s32(vdupq_n_s32(*b)));
                        *acc = vaddq_s32(*acc, vaddq_s32(a, b));
                    }
                }
            }
        }
        for (sums, acc) in sums.iter_mut().zip(acc) {
            if let Some(out) = sums.as_chunks_mut::<ROWS>().0.get_mut(part) {
                store_integers(out, acc);
            }
        }
    }
    let mut most = [f32::NEG_INFINITY; M];
    let queries = sums.iter().zip(panel.scales).zip(out);
    for (most, ((sums, scale), out)) in most.iter_mut().zip(queries) {
        *most = finish(sums, scales, scale, admitted, out);
    }
    most
}

#[target_feature(enable = "neon")]
pub(super) fn sum_lines_neon(query: &[Line], rows: &[Line], picked: &[usize], out: &mut [i32]) {
    for (out, row) in out.iter_mut().zip(picked) {
        let (mut acc, mut sum) = (vdupq_n_s32(0), 0_i32);
        for (query, codes) in query.iter().zip(line_of(rows, query.len(), *row)) {
            let halves = query.0.as_chunks::<16>().0.iter();
            for (query, codes) in halves.zip(codes.0.as_chunks::<16>().0) {
                let codes = vreinterpretq_s8_u8(veorq_u8(load_bytes(codes), vdupq_n_u8(128)));
                let query = vreinterpretq_s8_u8(load_bytes(query));
                acc = vaddq_s32(acc, products(codes, query));
                // What was taken out of the codes belongs to the sum that was asked for.
                let ones = vreinterpretq_s8_u8(vdupq_n_u8(1));
                sum = sum.wrapping_add(vaddvq_s32(products(ones, query)));
            }
        }
        *out = vaddvq_s32(acc).wrapping_add(sum.wrapping_mul(128));
    }
}
