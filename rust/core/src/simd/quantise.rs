//! From a vector to small codes, and to its projection: plain loops that each tier compiles for its own
//! instructions. They give the same bits on every tier, though nothing relies on it.
//!
//! ```text
//! x ≈ s·c      codes c in −127..127 or −7..7, s the least-squares scale (x·c) / (c·c)
//! ```
//!
//! Eight-bit codes divide the largest value by 127. Four-bit codes clip at 2.9 root mean squares, which
//! misses least of what is close to normally distributed.

use super::codes::Packing;
use super::{LANES, Lanes};

/// Adding this to a small f64 rounds it to an integer, which is then in the lowest bits.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// Weights whose products are summed before they join the others, so that sums stay short.
pub(super) const PART: usize = 64;

/// Sums that are made at once, so that a row is read once for all of them.
pub const TOGETHER: usize = 4;

/// Sixty-four values that are summed side by side.
pub type Quad = [Lanes; 4];

/// What codes make of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// What a code stands for.
    pub scale: f32,
    /// The norm of what the codes miss.
    pub missed: f64,
    /// The norm of what they say.
    pub said: f64,
    /// The norm of the vector.
    pub norm: f64,
}

/// The largest code, and the codes that a value of one is worth.
fn steps(packing: Packing, largest: f64, mean: f64) -> (f64, f64) {
    let (most, clip, room) = match packing {
        Packing::Eight => (127.0, largest, 127.0),
        Packing::Four => (7.0, largest.min(2.9 * mean), 7.5),
    };
    (most, if clip > 0.0 { room / clip } else { 0.0 })
}

/// How many roundings stand between a sum of [`super::Scanner::mix`] and the true one at most.
#[must_use]
pub fn mix_steps(weights: usize) -> usize {
    1 + PART + weights.div_ceil(PART)
}

/// See [`super::Scanner::fit`].
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
pub(super) fn fit(packing: Packing, dim: usize, blocks: &[Lanes], codes: &mut [u8]) -> Fit {
    let mut largest = [0.0_f32; LANES];
    let mut norm = [0.0_f64; LANES];
    for block in blocks {
        for ((most, norm), value) in largest.iter_mut().zip(&mut norm).zip(&block.0) {
            let size = value.abs();
            *most = if size > *most { size } else { *most };
            *norm += f64::from(*value) * f64::from(*value);
        }
    }
    let norm = norm.iter().sum::<f64>().sqrt();
    let largest = largest.into_iter().fold(0.0, f32::max);
    let count = u32::try_from(dim).map_or(1.0, f64::from).max(1.0);
    let (most, steps) = steps(packing, f64::from(largest), norm / count.sqrt());
    let zero = f64::from(packing.offset());
    let (mut along, mut square) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    let (places, _) = codes.as_chunks_mut::<LANES>();
    for (block, places) in blocks.iter().zip(places) {
        let sums = along.iter_mut().zip(&mut square);
        for (((along, square), value), place) in sums.zip(&block.0).zip(places) {
            let value = f64::from(*value);
            let shifted = ((value * steps).clamp(-most, most) + zero) + SHIFT;
            [*place, ..] = shifted.to_bits().to_le_bytes();
            let step = (shifted - SHIFT) - zero;
            *along += value * step;
            *square += step * step;
        }
    }
    let (along, square): (f64, f64) = (along.iter().sum(), square.iter().sum());
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the scale that is used from here on is the rounded one"
    )]
    let scale = if square > 0.0 {
        (along / square) as f32
    } else {
        0.0
    };
    let mut missed = [0.0_f64; LANES];
    let (places, _) = codes.as_chunks::<LANES>();
    for (block, places) in blocks.iter().zip(places) {
        for ((missed, value), place) in missed.iter_mut().zip(&block.0).zip(places) {
            let miss = f64::from(*value) - f64::from(scale) * (f64::from(*place) - zero);
            *missed += miss * miss;
        }
    }
    Fit {
        scale,
        missed: missed.iter().sum::<f64>().sqrt(),
        said: f64::from(scale) * square.sqrt(),
        norm,
    }
}

/// See [`super::Scanner::mix`].
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
pub(super) fn mix(weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
    let width = out.len();
    for (at, out) in out.iter_mut().enumerate() {
        for (out, weights) in out.iter_mut().zip(weights) {
            let mut total = [Lanes::ZERO; 4];
            for (weights, rows) in weights.chunks(PART).zip(rows.chunks(PART * width)) {
                let mut part = [Lanes::ZERO; 4];
                for (weight, row) in weights.iter().zip(rows.iter().skip(at).step_by(width)) {
                    for (part, row) in part.iter_mut().zip(row) {
                        for (sum, value) in part.0.iter_mut().zip(&row.0) {
                            *sum += weight * value;
                        }
                    }
                }
                for (total, part) in total.iter_mut().zip(&part) {
                    for (total, part) in total.0.iter_mut().zip(&part.0) {
                        *total += part;
                    }
                }
            }
            *out = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scanner, Tier};
    use super::*;
    use proptest::prelude::*;

    fn lanes(values: &[f32]) -> Vec<Lanes> {
        let mut out = Vec::new();
        Lanes::extend(&mut out, values);
        out
    }

    proptest! {
        #[test]
        fn a_fit_says_what_its_codes_miss(
            vector in prop::collection::vec(-1e3_f32..1e3, 0..70),
            four in any::<bool>(),
        ) {
            let (packing, most) =
                if four { (Packing::Four, 7.0) } else { (Packing::Eight, 127.0) };
            for tier in Tier::available() {
                let blocks = lanes(&vector);
                let mut codes = vec![0; blocks.len() * LANES];
                let scanner = Scanner::of(tier).unwrap();
                let fit = scanner.fit(packing, vector.len(), &blocks, &mut codes);
                let (mut missed, mut said, mut norm) = (0.0, 0.0, 0.0);
                for (at, code) in codes.iter().enumerate() {
                    let value = vector.get(at).copied().map_or(0.0, f64::from);
                    let step = f64::from(*code) - f64::from(packing.offset());
                    prop_assert!(step.abs() <= most);
                    missed += (value - f64::from(fit.scale) * step).powi(2);
                    said += (f64::from(fit.scale) * step).powi(2);
                    norm += value * value;
                }
                for (told, true_one) in [(fit.missed, missed), (fit.said, said), (fit.norm, norm)] {
                    prop_assert!((told - true_one.sqrt()).abs() <= 1e-9 * norm.sqrt());
                }
                // The codes are worth their bits.
                let share = if four { 0.7 } else { 0.04 };
                prop_assert!(fit.missed <= fit.norm * share + 1e-30);
            }
        }

        #[test]
        fn what_the_scale_loses_when_it_is_rounded_is_missed(value in 0.1_f32..9.0, count in 1_usize..70) {
            for tier in Tier::available() {
                let blocks = lanes(&vec![value; count]);
                let mut codes = vec![0; blocks.len() * LANES];
                let scanner = Scanner::of(tier).unwrap();
                let fit = scanner.fit(Packing::Eight, count, &blocks, &mut codes);
                let one = f64::from(value) - 127.0 * f64::from(fit.scale);
                let norm = u32::try_from(count).map(f64::from).unwrap().sqrt();
                prop_assert!((fit.missed - one.abs() * norm).abs() <= 1e-12 * fit.norm);
            }
        }

        #[test]
        fn a_mix_is_the_sum_of_what_is_mixed(
            count in 0_usize..200,
            width in 1_usize..4,
            seed in any::<u32>(),
        ) {
            let value = |at: usize| {
                let bits = u32::try_from(at).unwrap().wrapping_mul(2_654_435_761) ^ seed;
                f32::from(u16::try_from(bits >> 16).unwrap()) / 65_536.0 - 0.5
            };
            let weights: Vec<f32> = (0..4 * count).map(|at| value(at + 7)).collect();
            let part = |at: usize| &weights[at * count..(at + 1) * count];
            let weights = [part(0), part(1), part(2), part(3)];
            let flat: Vec<f32> = (0..count * width * 64).map(value).collect();
            let rows: Vec<Quad> = lanes(&flat).as_chunks::<4>().0.to_vec();
            for tier in Tier::available() {
                let mut out = vec![[[Lanes([7.0; 16]); 4]; TOGETHER]; width];
                Scanner::of(tier).unwrap().mix(weights, &rows, &mut out);
                for (which, weights) in weights.into_iter().enumerate() {
                    let found = out.iter().flat_map(|out| out[which]).flat_map(|lanes| lanes.0);
                    for (at, found) in found.enumerate() {
                        let row = flat.iter().skip(at).step_by(width * 64);
                        let products = weights.iter().zip(row);
                        let products: Vec<f64> =
                            products.map(|(w, v)| f64::from(*w) * f64::from(*v)).collect();
                        let size: f64 = products.iter().map(|p| p.abs()).sum();
                        let steps = f64::from(u32::try_from(mix_steps(count)).unwrap());
                        let off = (f64::from(found) - products.iter().sum::<f64>()).abs();
                        prop_assert!(off <= size * steps * 6e-8 + 1e-12);
                    }
                }
            }
        }
    }
}
