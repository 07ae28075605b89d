//! The kernels over floats for x86-64: safe functions that [`super::x86`] calls with a proof in hand.
//!
//! Each scores [`GROUP`] rows at once: their sums are independent, so the additions of one hide the
//! latency of the others while every row keeps its own canonical order. Multiplication and addition
//! stay two roundings: Rust never contracts them into an FMA.

use std::arch::x86_64::{
    __m128, __m256, __m512, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps,
    _mm256_add_ps, _mm256_castpd_ps, _mm256_castps256_ps128, _mm256_castsi256_si128,
    _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_extracti128_si256, _mm256_mul_ps,
    _mm256_setzero_ps, _mm512_add_ps, _mm512_castps_pd, _mm512_castps512_ps256, _mm512_cvtph_ps,
    _mm512_extractf64x4_pd, _mm512_mul_ps, _mm512_setzero_ps,
};

use super::x86::{load_256, load_block, load_halves, store_block, store_halves};
use super::{Halves, Lanes};

/// Rows that are scored side by side.
const GROUP: usize = 4;

/// The last three levels of the canonical tree: eight lanes to one.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce8(sum: __m256) -> f32 {
    let four: __m128 = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    let one = _mm_add_ss(two, _mm_shuffle_ps::<1>(two, two));
    _mm_cvtss_f32(one)
}

/// The rows of one group.
#[inline]
fn split(group: &[Lanes], width: usize) -> [&[Lanes]; GROUP] {
    let (front, back) = group.split_at(2 * width);
    let ((r0, r1), (r2, r3)) = (front.split_at(width), back.split_at(width));
    [r0, r1, r2, r3]
}

#[target_feature(enable = "avx2")]
pub(super) fn dot_rows_avx2(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
    let width = query.len();
    if width == 0 {
        out.fill(0.0);
        return;
    }
    let one = |row: &[Lanes]| {
        let mut low = _mm256_setzero_ps();
        let mut high = _mm256_setzero_ps();
        for (q, x) in query.iter().zip(row) {
            let ((q0, q1), (x0, x1)) = (load_halves(q), load_halves(x));
            low = _mm256_add_ps(low, _mm256_mul_ps(q0, x0));
            high = _mm256_add_ps(high, _mm256_mul_ps(q1, x1));
        }
        reduce8(_mm256_add_ps(low, high))
    };
    let mut groups = rows.chunks_exact(width * GROUP);
    let (scores, rest) = out.as_chunks_mut::<GROUP>();
    for (group, score) in groups.by_ref().zip(scores) {
        let [r0, r1, r2, r3] = split(group, width);
        let mut low = [_mm256_setzero_ps(); GROUP];
        let mut high = [_mm256_setzero_ps(); GROUP];
        for ((((q, x0), x1), x2), x3) in query.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
            let (q_low, q_high) = load_halves(q);
            for (i, x) in [x0, x1, x2, x3].into_iter().enumerate() {
                let (x_low, x_high) = load_halves(x);
                if let (Some(low), Some(high)) = (low.get_mut(i), high.get_mut(i)) {
                    *low = _mm256_add_ps(*low, _mm256_mul_ps(q_low, x_low));
                    *high = _mm256_add_ps(*high, _mm256_mul_ps(q_high, x_high));
                }
            }
        }
        for ((score, low), high) in score.iter_mut().zip(low).zip(high) {
            *score = reduce8(_mm256_add_ps(low, high));
        }
    }
    for (row, score) in groups.remainder().chunks_exact(width).zip(rest) {
        *score = one(row);
    }
}

#[target_feature(enable = "avx512f,avx2")]
pub(super) fn dot_rows_avx512(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
    let width = query.len();
    if width == 0 {
        out.fill(0.0);
        return;
    }
    let reduce = |sum: __m512| {
        let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum)));
        reduce8(_mm256_add_ps(_mm512_castps512_ps256(sum), high))
    };
    let mut groups = rows.chunks_exact(width * GROUP);
    let (scores, rest) = out.as_chunks_mut::<GROUP>();
    for (group, score) in groups.by_ref().zip(scores) {
        let [r0, r1, r2, r3] = split(group, width);
        let mut sums = [_mm512_setzero_ps(); GROUP];
        for ((((q, x0), x1), x2), x3) in query.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
            let q = load_block(q);
            for (sum, x) in sums.iter_mut().zip([x0, x1, x2, x3]) {
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(q, load_block(x)));
            }
        }
        for (score, sum) in score.iter_mut().zip(sums) {
            *score = reduce(sum);
        }
    }
    for (row, score) in groups.remainder().chunks_exact(width).zip(rest) {
        let mut sum = _mm512_setzero_ps();
        for (q, x) in query.iter().zip(row) {
            sum = _mm512_add_ps(sum, _mm512_mul_ps(load_block(q), load_block(x)));
        }
        *score = reduce(sum);
    }
}

#[target_feature(enable = "avx2,f16c")]
pub(super) fn widen_avx2(blocks: &[Halves], out: &mut Vec<Lanes>) {
    out.extend(blocks.iter().map(|block| {
        let mut wide = Lanes::ZERO;
        let both = load_256(bytemuck::cast_ref(&block.0));
        let low = _mm256_castsi256_si128(both);
        let high = _mm256_extracti128_si256::<1>(both);
        store_halves(&mut wide, _mm256_cvtph_ps(low), _mm256_cvtph_ps(high));
        wide
    }));
}

#[target_feature(enable = "avx512f,avx2")]
pub(super) fn widen_avx512(blocks: &[Halves], out: &mut Vec<Lanes>) {
    out.extend(blocks.iter().map(|block| {
        let mut wide = Lanes::ZERO;
        store_block(
            &mut wide,
            _mm512_cvtph_ps(load_256(bytemuck::cast_ref(&block.0))),
        );
        wide
    }));
}
