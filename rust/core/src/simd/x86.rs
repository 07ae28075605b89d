//! Proofs of instruction sets for x86-64, the kernels that they open, and how registers are filled and
//! emptied: all that the compiler cannot check. What the kernels do is in `x86_floats`,
//! `x86_codes` and `x86_quantise`.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _MM_HINT_T1, _mm_prefetch, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_storeu_ps, _mm256_storeu_si256, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_storeu_ps, _mm512_storeu_si512,
};

use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms};
use super::quantise::{Fit, Quad, TOGETHER};
use super::x86_codes::{
    estimate_avx2, estimate_vnni, reaching_avx2, reaching_vnni, sum_lines_avx2, sum_lines_vnni,
};
use super::x86_floats::{dot_rows_avx2, dot_rows_avx512, widen_avx2, widen_avx512};
use super::x86_quantise::{fit_avx2, fit_vnni, mix_avx2, mix_vnni};
use super::{Halves, Lanes};

/// Asks for bytes that are read soon, line by line.
#[inline]
pub(super) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(size_of::<Line>()) {
        // SAFETY: every x86-64 has the instruction, and the place is one of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) }
    }
}

/// Proof that this machine has AVX2, F16C and FMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("f16c")
            && std::arch::is_x86_feature_detected!("fma");
        has.then_some(Self(()))
    }

    /// Writes the canonical sum of `query` with each row into `out`.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn dot_rows(self, query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { dot_rows_avx2(query, rows, out) }
    }

    /// Widens blocks; see [`super::Scanner::widen`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn widen(self, blocks: &[Halves], out: &mut Vec<Lanes>) {
        // SAFETY: `self` exists only where `detect` saw AVX2 and F16C.
        unsafe { widen_avx2(blocks, out) }
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

    /// The codes of a vector; see [`super::Scanner::fit`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn fit(self, packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
        // SAFETY: `self` exists only where `detect` saw AVX2.
        unsafe { fit_avx2(packing, dim, row, codes) }
    }

    /// Weighted sums of rows; see [`super::Scanner::mix`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn mix(
        self,
        weights: [&[f32]; TOGETHER],
        rows: &[Quad],
        out: &mut [[Quad; TOGETHER]],
    ) {
        // SAFETY: `self` exists only where `detect` saw AVX2 and FMA.
        unsafe { mix_avx2(weights, rows, out) }
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

    /// Widens blocks; see [`super::Scanner::widen`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn widen(self, blocks: &[Halves], out: &mut Vec<Lanes>) {
        // SAFETY: `self` exists only where `detect` saw AVX-512F.
        unsafe { widen_avx512(blocks, out) }
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

    /// The codes of a vector; see [`super::Scanner::fit`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn fit(self, packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
        // SAFETY: `self` exists only where `detect` saw AVX-512F, BW and VNNI.
        unsafe { fit_vnni(packing, dim, row, codes) }
    }

    /// Weighted sums of rows; see [`super::Scanner::mix`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn mix(
        self,
        weights: [&[f32]; TOGETHER],
        rows: &[Quad],
        out: &mut [[Quad; TOGETHER]],
    ) {
        // SAFETY: `self` exists only where `detect` saw AVX-512F, BW and VNNI.
        unsafe { mix_vnni(weights, rows, out) }
    }
}

/// The low and the high half of one block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_halves(block: &Lanes) -> (__m256, __m256) {
    let (low, high) = block.0.split_at(8);
    // SAFETY: `low` is eight floats long: it is the first half of a block of sixteen.
    let low = unsafe { _mm256_loadu_ps(low.as_ptr()) };
    // SAFETY: `high` is eight floats long: it is the second half of a block of sixteen.
    let high = unsafe { _mm256_loadu_ps(high.as_ptr()) };
    (low, high)
}

/// Writes the low and the high half of one block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_halves(out: &mut Lanes, low: __m256, high: __m256) {
    let (first, last) = out.0.split_at_mut(8);
    // SAFETY: `first` is eight floats long: it is the first half of a block of sixteen.
    unsafe { _mm256_storeu_ps(first.as_mut_ptr(), low) }
    // SAFETY: `last` is eight floats long: it is the second half of a block of sixteen.
    unsafe { _mm256_storeu_ps(last.as_mut_ptr(), high) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_block(block: &Lanes) -> __m512 {
    // SAFETY: a block is sixteen floats long.
    unsafe { _mm512_loadu_ps(block.0.as_ptr()) }
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

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_block(out: &mut Lanes, value: __m512) {
    // SAFETY: a block is sixteen floats long.
    unsafe { _mm512_storeu_ps(out.0.as_mut_ptr(), value) }
}
