//! Kernels for x86-64.
//!
//! Each kernel of floats scores [`GROUP`] rows at once: their sums are independent, so the additions of one hide the
//! latency of the others while every row keeps its own canonical order. Multiplication and addition
//! stay two roundings: Rust never contracts them into an FMA. The kernels of codes widen bytes to 16
//! bits on AVX2, whose product of bytes would saturate; VNNI adds four products to 32 bits at once.

use std::arch::x86_64::{
    __m128, __m256, __m256i, __m512, __m512i, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps,
    _mm_shuffle_ps, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256, _mm256_castpd_ps,
    _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_ps,
    _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srli_epi16, _mm256_storeu_si256, _mm512_add_ps,
    _mm512_castps_pd, _mm512_castps512_ps256, _mm512_dpbusd_epi32, _mm512_extractf64x4_pd,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi32, _mm512_setzero_ps,
    _mm512_storeu_si512,
};

use super::Lanes;
use super::codes::{BLOCK, Group, Margins, Panel, reach};

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

    /// The sums of a block, and which rows' upper bounds reach the floor.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn screen<const M: usize>(
        self,
        panel: &Panel<M>,
        block: &[Group],
        margins: &Margins,
        floors: &[f32; M],
        sums: &mut [[i32; BLOCK]; M],
    ) -> [u64; M] {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { screen_avx2(panel, block, margins, floors, sums) }
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

/// Proof that this machine has AVX-512F and its VNNI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vnni(());

impl Vnni {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let has = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512vnni");
        has.then_some(Self(()))
    }

    /// The sums of a block, and which rows' upper bounds reach the floor.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn screen<const M: usize>(
        self,
        panel: &Panel<M>,
        block: &[Group],
        margins: &Margins,
        floors: &[f32; M],
        sums: &mut [[i32; BLOCK]; M],
    ) -> [u64; M] {
        // SAFETY: `self` exists only where `detect` saw AVX-512F and VNNI.
        unsafe { screen_vnni(panel, block, margins, floors, sums) }
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

#[target_feature(enable = "avx2")]
fn screen_avx2<const M: usize>(
    panel: &Panel<M>,
    block: &[Group],
    margins: &Margins,
    floors: &[f32; M],
    sums: &mut [[i32; BLOCK]; M],
) -> [u64; M] {
    let low_bytes = _mm256_set1_epi16(0xff);
    // Sixteen rows at a time: the sums of four queries stay in registers.
    for part in 0..BLOCK / 16 {
        let mut acc: [[__m256i; 2]; M] =
            panel.terms.map(|terms| [_mm256_set1_epi32(terms.bias); 2]);
        for (words, group) in panel.words.iter().zip(block) {
            let codes = group.0.as_chunks::<64>().0.get(part).unwrap_or(&[0; 64]);
            let mut even = [low_bytes; 2];
            let mut odd = [low_bytes; 2];
            let halves = codes.as_chunks::<32>().0;
            for ((even, odd), half) in even.iter_mut().zip(&mut odd).zip(halves) {
                // SAFETY: `half` is 32 bytes long.
                let codes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                *even = _mm256_and_si256(codes, low_bytes);
                *odd = _mm256_srli_epi16::<8>(codes);
            }
            for (acc, word) in acc.iter_mut().zip(words) {
                let word = _mm256_set1_epi32(*word);
                let word_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(word));
                let word_odd = _mm256_srai_epi16::<8>(word);
                for ((acc, even), odd) in acc.iter_mut().zip(even).zip(odd) {
                    let even = _mm256_madd_epi16(even, word_even);
                    let odd = _mm256_madd_epi16(odd, word_odd);
                    *acc = _mm256_add_epi32(*acc, _mm256_add_epi32(even, odd));
                }
            }
        }
        for (sums, acc) in sums.iter_mut().zip(acc) {
            let sums = sums.as_chunks_mut::<8>().0.iter_mut().skip(2 * part);
            for (out, acc) in sums.zip(acc) {
                // SAFETY: `out` is eight integers long.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), acc) };
            }
        }
    }
    reach(sums, panel, margins, floors)
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn screen_vnni<const M: usize>(
    panel: &Panel<M>,
    block: &[Group],
    margins: &Margins,
    floors: &[f32; M],
    sums: &mut [[i32; BLOCK]; M],
) -> [u64; M] {
    let mut acc: [[__m512i; 4]; M] = panel.terms.map(|terms| [_mm512_set1_epi32(terms.bias); 4]);
    for (words, group) in panel.words.iter().zip(block) {
        let words = words.map(|word| _mm512_set1_epi32(word));
        let parts = group.0.as_chunks::<64>().0;
        for (at, part) in parts.iter().enumerate() {
            // SAFETY: `part` is 64 bytes long.
            let codes = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
            for (acc, word) in acc.iter_mut().zip(words) {
                if let Some(acc) = acc.get_mut(at) {
                    *acc = _mm512_dpbusd_epi32(*acc, codes, word);
                }
            }
        }
    }
    for (sums, acc) in sums.iter_mut().zip(acc) {
        for (out, acc) in sums.as_chunks_mut::<16>().0.iter_mut().zip(acc) {
            // SAFETY: `out` is sixteen integers long.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), acc) };
        }
    }
    reach(sums, panel, margins, floors)
}
