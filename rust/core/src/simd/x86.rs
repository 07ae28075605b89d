//! Proofs of instruction sets and the kernels over floats for x86-64; those over codes are in
//! `x86_codes`.
//!
//! Each kernel scores [`GROUP`] rows at once: their sums are independent, so the additions of one hide
//! the latency of the others while every row keeps its own canonical order. Multiplication and addition
//! stay two roundings: Rust never contracts them into an FMA.

use std::arch::x86_64::{
    __m128, __m256, __m256i, __m512, __m512i, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps,
    _mm_shuffle_ps, _mm256_add_ps, _mm256_castpd_ps, _mm256_castps256_ps128, _mm256_extractf128_ps,
    _mm256_loadu_ps, _mm256_loadu_si256, _mm256_mul_ps, _mm256_setzero_ps, _mm256_storeu_si256,
    _mm512_add_ps, _mm512_castps_pd, _mm512_castps512_ps256, _mm512_extractf64x4_pd,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_setzero_ps, _mm512_storeu_si512,
};

use super::Lanes;
use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms};
use super::x86_codes::{
    estimate_avx2, estimate_vnni, reaching_avx2, reaching_vnni, sum_lines_avx2, sum_lines_vnni,
};

/// Rows that are scored side by side.
const GROUP: usize = 4;

/// Proof that this machine has AVX2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// Writes the canonical sum of `query` with each row into `out`.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn dot_rows(self, query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { dot_rows_avx2(query, rows, out) }
    }

    /// The estimates of a block; see [`super::Scanner::estimate`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn estimate<const M: usize>(
        self,
        packing: Packing,
        panel: &Panel<M>,
        block: (&[Group], &[f32; BLOCK]),
        admitted: u64,
        out: &mut [[f32; BLOCK]; M],
    ) -> [f32; M] {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { estimate_avx2(packing, panel, block, admitted, out) }
    }

    /// Which rows may score at least the floor; see [`super::Scanner::reaching`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn reaching(
        self,
        estimates: &[f32; BLOCK],
        margins: &Margins,
        terms: &Terms,
        floor: f32,
    ) -> u64 {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { reaching_avx2(estimates, margins, terms, floor) }
    }

    /// The sums of rows; see [`super::Scanner::sum_lines`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn sum_lines(
        self,
        query: &[Line],
        rows: &[Line],
        picked: &[usize],
        out: &mut [i32],
    ) {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { sum_lines_avx2(query, rows, picked, out) }
    }
}

/// Proof that this machine has AVX-512F.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx512f").then_some(Self(()))
    }

    /// Writes the canonical sum of `query` with each row into `out`.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn dot_rows(self, query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
        // SAFETY: `self` exists only where `detect` saw AVX-512F.
        unsafe { dot_rows_avx512(query, rows, out) }
    }
}

/// Proof that this machine has AVX-512F, BW and VNNI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vnni(());

impl Vnni {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let has = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vnni");
        has.then_some(Self(()))
    }

    /// The estimates of a block; see [`super::Scanner::estimate`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn estimate<const M: usize>(
        self,
        packing: Packing,
        panel: &Panel<M>,
        block: (&[Group], &[f32; BLOCK]),
        admitted: u64,
        out: &mut [[f32; BLOCK]; M],
    ) -> [f32; M] {
        // SAFETY: `self` exists only where `detect` saw AVX-512F, BW and VNNI.
        unsafe { estimate_vnni(packing, panel, block, admitted, out) }
    }

    /// Which rows may score at least the floor; see [`super::Scanner::reaching`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn reaching(
        self,
        estimates: &[f32; BLOCK],
        margins: &Margins,
        terms: &Terms,
        floor: f32,
    ) -> u64 {
        // SAFETY: `self` exists only where `detect` saw AVX-512F, BW and VNNI.
        unsafe { reaching_vnni(estimates, margins, terms, floor) }
    }

    /// The sums of rows; see [`super::Scanner::sum_lines`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn sum_lines(
        self,
        query: &[Line],
        rows: &[Line],
        picked: &[usize],
        out: &mut [i32],
    ) {
        // SAFETY: `self` exists only where `detect` saw AVX-512F, BW and VNNI.
        unsafe { sum_lines_vnni(query, rows, picked, out) }
    }
}

/// The last three levels of the canonical tree: eight lanes to one.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce8(sum: __m256) -> f32 {
    let four: __m128 = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    let one = _mm_add_ss(two, _mm_shuffle_ps::<1>(two, two));
    _mm_cvtss_f32(one)
}

/// The low and the high half of one block.
#[inline]
#[target_feature(enable = "avx2")]
fn load_halves(block: &Lanes) -> (__m256, __m256) {
    let (low, high) = block.0.split_at(8);
    // SAFETY: `low` is eight floats long: it is the first half of a block of sixteen.
    let low = unsafe { _mm256_loadu_ps(low.as_ptr()) };
    // SAFETY: `high` is eight floats long: it is the second half of a block of sixteen.
    let high = unsafe { _mm256_loadu_ps(high.as_ptr()) };
    (low, high)
}

/// The rows of one group.
#[inline]
fn split(group: &[Lanes], width: usize) -> [&[Lanes]; GROUP] {
    let (front, back) = group.split_at(2 * width);
    let ((r0, r1), (r2, r3)) = (front.split_at(width), back.split_at(width));
    [r0, r1, r2, r3]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_block(block: &Lanes) -> __m512 {
    // SAFETY: a block is sixteen floats long.
    unsafe { _mm512_loadu_ps(block.0.as_ptr()) }
}

#[target_feature(enable = "avx2")]
fn dot_rows_avx2(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
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
fn dot_rows_avx512(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
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

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: `bytes` is 32 bytes long.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_256(out: &mut [i32; 8], value: __m256i) {
    // SAFETY: `out` is eight integers long.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_512(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: `bytes` is 64 bytes long.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_512(out: &mut [i32; 16], value: __m512i) {
    // SAFETY: `out` is sixteen integers long.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), value) }
}
