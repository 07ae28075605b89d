//! The kernels that make codes and projections for x86-64: safe functions that [`super::x86`] calls with
//! a proof in hand. They mix with one rounding for a product and its sum.

use std::arch::x86_64::{
    _mm256_add_ps, _mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm512_add_ps,
    _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps,
};

use super::Lanes;
use super::codes::Packing;
use super::quantise::{self, Fit, PART, Quad, TOGETHER};
use super::x86::{load_block, load_halves, store_block, store_halves};

#[target_feature(enable = "avx2")]
pub(super) fn fit_avx2(packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
    quantise::fit(packing, dim, row, codes)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn mix_avx2(weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
    let width = out.len().max(1);
    let [w0, w1, w2, w3] = weights;
    for (at, out) in out.iter_mut().enumerate() {
        *out = [[Lanes::ZERO; 4]; TOGETHER];
        let (first, last) = out.split_at_mut(2);
        for ((w0, w1), out) in [(w0, w1), (w2, w3)].into_iter().zip([first, last]) {
            let parts = w0.chunks(PART).zip(w1.chunks(PART));
            for ((w0, w1), rows) in parts.zip(rows.chunks(PART * width)) {
                // A row's halves one after the other: eight sums for two weights fill half of the registers.
                let rows = || rows.iter().skip(at).step_by(width);
                let weights = || w0.iter().zip(w1);
                add_avx2(weights().zip(rows().map(|[a, b, _, _]| [a, b])), out, 0);
                add_avx2(weights().zip(rows().map(|[_, _, c, d]| [c, d])), out, 2);
            }
        }
    }
}

/// Adds the sums of two blocks of rows, with two weights each, to the blocks of `out` from a place on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_avx2<'a>(
    weighted: impl Iterator<Item = ((&'a f32, &'a f32), [&'a Lanes; 2])>,
    out: &mut [Quad],
    place: usize,
) {
    let mut sums = [[_mm256_setzero_ps(); 4]; 2];
    for ((w0, w1), [a, b]) in weighted {
        let ((a, b), (c, d)) = (load_halves(a), load_halves(b));
        for (sums, weight) in sums.iter_mut().zip([w0, w1]) {
            let weight = _mm256_set1_ps(*weight);
            for (sum, value) in sums.iter_mut().zip([a, b, c, d]) {
                *sum = _mm256_fmadd_ps(weight, value, *sum);
            }
        }
    }
    for (out, sums) in out.iter_mut().zip(sums) {
        let (pairs, _) = sums.as_chunks::<2>();
        for (out, [low, high]) in out.iter_mut().skip(place).zip(pairs) {
            let (a, b) = load_halves(out);
            store_halves(out, _mm256_add_ps(a, *low), _mm256_add_ps(b, *high));
        }
    }
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
