//! The kernels that make codes and projections for x86-64: safe functions that [`super::x86`] calls with
//! a proof in hand. AVX-512 mixes with one rounding for a product and its sum.

use std::arch::x86_64::{_mm512_add_ps, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps};

use super::Lanes;
use super::codes::Packing;
use super::quantise::{self, Fit, PART, Quad, TOGETHER};
use super::x86::{load_block, store_block};

#[target_feature(enable = "avx2")]
pub(super) fn fit_avx2(packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
    quantise::fit(packing, dim, row, codes)
}

#[target_feature(enable = "avx2")]
pub(super) fn mix_avx2(weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
    quantise::mix(weights, rows, out);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn fit_vnni(packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
    quantise::fit(packing, dim, row, codes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn mix_vnni(weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
    let width = out.len();
    let [w0, w1, w2, w3] = weights;
    for (at, out) in out.iter_mut().enumerate() {
        let mut rows = rows.iter().skip(at).step_by(width.max(1));
        *out = [[Lanes::ZERO; 4]; TOGETHER];
        let parts = w0.chunks(PART).zip(w1.chunks(PART));
        let parts = parts.zip(w2.chunks(PART).zip(w3.chunks(PART)));
        for ((w0, w1), (w2, w3)) in parts {
            let mut sums = [[_mm512_setzero_ps(); 4]; TOGETHER];
            let weights = w0.iter().zip(w1).zip(w2.iter().zip(w3));
            // The weights come first: an iterator that finds the other at its end has gone on.
            for (((w0, w1), (w2, w3)), [a, b, c, d]) in weights.zip(rows.by_ref()) {
                let row = [load_block(a), load_block(b), load_block(c), load_block(d)];
                for (sums, weight) in sums.iter_mut().zip([w0, w1, w2, w3]) {
                    let weight = _mm512_set1_ps(*weight);
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum = _mm512_fmadd_ps(weight, value, *sum);
                    }
                }
            }
            for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                let total = _mm512_add_ps(load_block(out), *sum);
                store_block(out, total);
            }
        }
    }
}
