//! The kernel for `AArch64`: four registers of four lanes hold the sixteen of the canonical sum.

use std::arch::aarch64::{
    float32x4_t, vadd_f32, vaddq_f32, vdupq_n_f32, vget_high_f32, vget_lane_f32, vget_low_f32,
    vld1q_f32, vmulq_f32,
};

use super::Lanes;

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
