//! The canonical sum, said so plainly that it cannot be wrong: the oracle of every kernel.

use super::LANES;

/// The canonical sum of `x` and `y`; what is missing at the end counts as zero.
#[must_use]
pub fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut acc = [0.0_f32; LANES];
    for (i, (a, b)) in x.iter().zip(y).enumerate() {
        if let Some(lane) = acc.get_mut(i % LANES) {
            *lane += a * b;
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = acc.split_at_mut(width);
        for (a, b) in low.iter_mut().zip(high) {
            *a += *b;
        }
        width /= 2;
    }
    acc.first().copied().unwrap_or(0.0)
}
