//! The proof of NEON for `AArch64` and the kernel over floats; those over codes are in `neon_codes`. Four registers of four lanes hold the sixteen of the canonical sum.

use std::arch::aarch64::{
    float32x4_t, int32x4_t, uint8x16_t, vadd_f32, vaddq_f32, vdupq_n_f32, vget_high_f32,
    vget_lane_f32, vget_low_f32, vld1q_f32, vld1q_u8, vmulq_f32, vst1q_s32,
};

use super::Lanes;
use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms};
use super::neon_codes::{estimate_neon, fit_neon, mix_neon, reaching_neon, sum_lines_neon};
use super::quantise::{Fit, Quad, TOGETHER};

/// Proof that this machine has NEON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon(());

impl Neon {
    /// The proof, where the machine has the instructions.
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }

    /// Writes the canonical sum of `query` with each row into `out`.
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn dot_rows(self, query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { dot_rows_neon(query, rows, out) }
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
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { estimate_neon(packing, panel, block, admitted, out) }
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
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { reaching_neon(estimates, margins, terms, floor) }
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
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { sum_lines_neon(query, rows, picked, out) }
    }

    /// The codes of a vector; see [`super::Scanner::fit`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn fit(self, packing: Packing, dim: usize, row: &[Lanes], codes: &mut [u8]) -> Fit {
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { fit_neon(packing, dim, row, codes) }
    }

    /// Weighted sums of rows; see [`super::Scanner::mix`].
    #[expect(clippy::unused_self, reason = "possession of `self` is the proof")]
    pub(super) fn mix(
        self,
        weights: [&[f32]; TOGETHER],
        rows: &[Quad],
        out: &mut [[Quad; TOGETHER]],
    ) {
        // SAFETY: `self` exists only where `detect` saw NEON.
        unsafe { mix_neon(weights, rows, out) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_quarters(block: &Lanes) -> [float32x4_t; 4] {
    let mut quarters = [vdupq_n_f32(0.0); 4];
    let (chunks, _) = block.0.as_chunks::<4>();
    for (quarter, chunk) in quarters.iter_mut().zip(chunks) {
        // SAFETY: `chunk` is four floats long.
        *quarter = unsafe { vld1q_f32(chunk.as_ptr()) };
    }
    quarters
}

#[target_feature(enable = "neon")]
fn dot_rows_neon(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
    if query.is_empty() {
        out.fill(0.0);
        return;
    }
    for (row, score) in rows.chunks_exact(query.len()).zip(out) {
        let mut sums = [vdupq_n_f32(0.0); 4];
        for (q, x) in query.iter().zip(row) {
            let pairs = load_quarters(q).into_iter().zip(load_quarters(x));
            for (sum, (a, b)) in sums.iter_mut().zip(pairs) {
                *sum = vaddq_f32(*sum, vmulq_f32(a, b));
            }
        }
        let [a, b, c, d] = sums;
        let four = vaddq_f32(vaddq_f32(a, c), vaddq_f32(b, d));
        let two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        *score = vget_lane_f32::<0>(two) + vget_lane_f32::<1>(two);
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_bytes(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `bytes` is 16 bytes long.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store_integers(out: &mut [i32; 4], value: int32x4_t) {
    // SAFETY: `out` is four integers long.
    unsafe { vst1q_s32(out.as_mut_ptr(), value) }
}
