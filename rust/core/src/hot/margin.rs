//! Eight-bit codes of a vector, and the margin within which they tell a score.
//!
//! ```text
//! x ≈ s·c      row:   codes c in −127..127, s the least-squares scale, r = x − s·c what they miss
//! y ≈ t·q      query: the same, u = y − t·q
//!
//! x·y  =  s·t·(c·q)  +  s·c·u  +  r·y                                       an identity
//! |s·c·u| ≤ ‖s·c‖·‖u‖       |r·y| ≤ ‖r‖·‖y‖                                 Cauchy-Schwarz
//! |canonical − x·y| ≤ γ·‖x‖·‖y‖ + d·2⁻¹⁴⁹,   γ = m·ε / (1 − m·ε),  ε = 2⁻²⁴
//!     m = blocks of sixteen + 5: one product, a lane's additions, four levels of the tree. What a
//!     product loses below the smallest normal number is at most 2⁻¹⁵⁰; additions lose nothing there.
//! |computed estimate − s·t·(c·q)| ≤ 4ε·‖s·c‖·(‖y‖ + ‖u‖) + 2⁻¹⁵⁰            three roundings
//!
//! row.error   ≥ ‖r‖ + (γ + 8ε)·max(‖x‖, ‖s·c‖)       row.norm   ≥ ‖s·c‖
//! query.reach ≥ ‖y‖·(1 + 16ε)                        query.miss ≥ ‖u‖·(1 + 16ε)
//! margin      = error·reach + (norm·miss + grain),    grain = (d + 8)·2⁻¹⁴⁹
//! ```
//!
//! Of the eight ε of the error, four pay for the estimate's roundings and one for that of
//! `estimate ± margin`, each with `‖y‖`; with `‖u‖` they are paid by the sixteen of the miss, which like
//! those of the reach also pay for the margin's own three roundings. Norms are computed in f64 from
//! the f32 values that are used, enlarged by 2⁻³⁰ (their own roundings are below 2⁻³⁵ for 65,536
//! dimensions), and rounded up to f32.

use crate::simd::LANES;
use crate::simd::codes::Terms;

/// The unit roundoff of f32.
const EPSILON: f64 = 1.0 / 16_777_216.0;

/// What the sums in f64 may be off by, and more.
const WIDE: f64 = 1.0 + 1.0 / 1_073_741_824.0;

/// What codes make of a vector.
pub(super) struct Fit {
    pub(super) scale: f32,
    /// The norm of what the codes miss, of what they say, and of the vector.
    missed: f64,
    said: f64,
    norm: f64,
}

/// What the margins of vectors of one dimension are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slack {
    /// The share of what a row's codes miss, and of what a query's codes miss: all of it.
    row: f64,
    query: f64,
    /// How far the canonical sum may be from the true one, in units of both norms.
    gamma: f64,
    /// What products may lose below the smallest normal number, in units of 2⁻¹⁴⁹.
    grain: u32,
}

impl Slack {
    pub(super) fn of(dim: usize) -> Self {
        let steps = u32::try_from(dim.div_ceil(LANES) + 5).unwrap_or(u32::MAX);
        let part = f64::from(steps) * EPSILON;
        Self {
            row: 1.0,
            query: 1.0,
            gamma: part / (1.0 - part),
            grain: u32::try_from(dim + 8).unwrap_or(u32::MAX),
        }
    }

    /// The error and the norm of a row: its part of the margin.
    pub(super) fn margin(&self, fit: &Fit) -> (f32, f32) {
        let rounding = (self.gamma + 8.0 * EPSILON) * fit.norm.max(fit.said);
        (
            up((self.row * fit.missed + rounding) * WIDE),
            up(fit.said * WIDE),
        )
    }

    /// A query's part of estimate and margin; `sum` is that of its codes.
    pub(super) fn terms(&self, fit: &Fit, sum: i32) -> Terms {
        let roomy = WIDE * (1.0 + 16.0 * EPSILON);
        Terms {
            bias: sum.wrapping_mul(-128),
            scale: fit.scale,
            reach: up(fit.norm * roomy),
            miss: up(self.query * fit.missed * roomy),
            grain: f32::from_bits(self.grain),
        }
    }
}

/// Values that are summed side by side.
const STRIDE: usize = 8;

/// Adding this to a small f64 rounds it to an integer, which is then in the lowest bits.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// Writes the codes of a vector, plus 128, and says how well they fit. Codes behind the vector's end
/// are zeros.
pub(super) fn fit(vector: &[f32], codes: &mut [u8]) -> Fit {
    codes.fill(128);
    let mut largest = [0.0_f32; STRIDE];
    each(vector, codes, |values, _| {
        for (most, value) in largest.iter_mut().zip(values) {
            *most = most.max(value.abs());
        }
    });
    let largest = largest.into_iter().fold(0.0, f32::max);
    let steps = if largest > 0.0 {
        127.0 / f64::from(largest)
    } else {
        0.0
    };
    let (mut along, mut square) = ([0.0_f64; STRIDE], [0.0_f64; STRIDE]);
    each(vector, codes, |values, codes| {
        let sums = along.iter_mut().zip(&mut square);
        for (((along, square), value), code) in sums.zip(values).zip(codes) {
            let value = f64::from(*value);
            let shifted = (value * steps + 128.0) + SHIFT;
            [*code, ..] = shifted.to_bits().to_le_bytes();
            let step = (shifted - SHIFT) - 128.0;
            *along += value * step;
            *square += step * step;
        }
    });
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
    let (mut missed, mut norm) = ([0.0_f64; STRIDE], [0.0_f64; STRIDE]);
    each(vector, codes, |values, codes| {
        let sums = missed.iter_mut().zip(&mut norm);
        for (((missed, norm), value), code) in sums.zip(values).zip(codes) {
            let value = f64::from(*value);
            let miss = value - f64::from(scale) * (f64::from(*code) - 128.0);
            *missed += miss * miss;
            *norm += value * value;
        }
    });
    let root = |sums: [f64; STRIDE]| sums.iter().sum::<f64>().sqrt();
    Fit {
        scale,
        missed: root(missed),
        said: f64::from(scale) * square.sqrt(),
        norm: root(norm),
    }
}

/// Visits values and their codes, so many at a time; at the end there may be zeros among them.
fn each(
    vector: &[f32],
    codes: &mut [u8],
    mut visit: impl FnMut(&[f32; STRIDE], &mut [u8; STRIDE]),
) {
    let (blocks, tail) = vector.as_chunks::<STRIDE>();
    for (values, codes) in blocks.iter().zip(codes.as_chunks_mut().0) {
        visit(values, codes);
    }
    if let Some(codes) = codes.get_mut(vector.len() - tail.len()..vector.len())
        && !tail.is_empty()
    {
        let (mut values, mut last) = ([0.0; STRIDE], [128; STRIDE]);
        for ((value, last), (from, code)) in values
            .iter_mut()
            .zip(&mut last)
            .zip(tail.iter().zip(codes.iter()))
        {
            (*value, *last) = (*from, *code);
        }
        visit(&values, &mut last);
        for (code, last) in codes.iter_mut().zip(last) {
            *code = last;
        }
    }
}

/// The least f32 that is not below a value.
fn up(value: f64) -> f32 {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the next line rounds up where this rounded down"
    )]
    let near = value as f32;
    if f64::from(near) < value {
        near.next_up()
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::canonical_dot;
    use crate::simd::codes::estimate;

    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f32 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = u32::try_from(self.0 >> 41).unwrap();
            f32::from_bits(0x3f80_0000 | bits) - 1.5
        }

        fn vector(&mut self, dim: usize, scale: f32) -> Vec<f32> {
            (0..dim).map(|_| self.next() * scale).collect()
        }

        /// One value all over: its codes miss next to nothing, and its sums round one way.
        fn level(&mut self, dim: usize) -> Vec<f32> {
            vec![self.next() + 1.0; dim]
        }
    }

    /// Whether the canonical sum is outside its bounds.
    fn escapes(slack: &Slack, x: &[f32], y: &[f32]) -> bool {
        let (mut c, mut q) = (vec![0; x.len()], vec![0; y.len()]);
        let (row, query) = (fit(x, &mut c), fit(y, &mut q));
        let (error, norm) = slack.margin(&row);
        let codes =
            |codes: &[u8]| -> Vec<i32> { codes.iter().map(|c| i32::from(*c) - 128).collect() };
        let sum = codes(&c).iter().zip(codes(&q)).map(|(a, b)| a * b).sum();
        let terms = slack.terms(&query, codes(&q).iter().sum());
        let (score, margin) = estimate(sum, [row.scale, error, norm], &terms);
        let exact = canonical_dot(x, y);
        exact < score - margin || exact > score + margin
    }

    /// Pairs that come close to each part of the bound, and pairs of every size.
    fn pairs(turns: usize, mut visit: impl FnMut(&[f32], &[f32])) {
        let mut noise = Noise(11);
        for turn in 0..turns {
            let dim = [1, 3, 31, 64, 384, 1536][turn % 6];
            for scale in [1e-40, 1e-23, 1e-10, 1.0, 1e6, 1e16] {
                let x = noise.vector(dim, scale);
                visit(&x, &noise.vector(dim, 1.0));
                visit(&x, &noise.vector(dim, scale));
                visit(&x, &x);
                // The row lies along what the query's codes miss.
                let mut codes = vec![0; dim];
                let fit = fit(&x, &mut codes);
                let missed: Vec<f32> = codes
                    .iter()
                    .zip(&x)
                    .map(|(code, value)| value - fit.scale * (f32::from(*code) - 128.0))
                    .collect();
                visit(&missed, &x);
                visit(&x, &missed);
            }
            let (level, spike) = (noise.level(16 * dim), noise.level(1));
            visit(&level, &noise.level(16 * dim));
            let mut x = noise.vector(dim, 1e-3);
            x[0] = spike[0] * 1e12;
            visit(&x, &noise.vector(dim, 1.0));
            visit(&x, &x);
        }
    }

    #[test]
    fn the_canonical_sum_is_within_its_bounds() {
        let mut count = 0;
        pairs(600, |x, y| {
            count += 1;
            assert!(!escapes(&Slack::of(x.len()), x, y), "{x:?} {y:?}");
        });
        assert!(count > 10_000, "{count} pairs");
    }

    #[test]
    fn a_bound_that_forgets_a_part_is_found_out() {
        type Mistake = (&'static str, fn(&mut Slack));
        let mistakes: [Mistake; 6] = [
            ("what the row's codes miss", |slack| slack.row = 0.0),
            ("a tenth of it", |slack| slack.row = 0.9),
            ("what the query's codes miss", |slack| slack.query = 0.0),
            ("a tenth of that", |slack| slack.query = 0.9),
            ("the canonical sum's rounding", |slack| slack.gamma = 0.0),
            ("what is lost among the smallest", |slack| slack.grain = 0),
        ];
        for (name, forget) in mistakes {
            let mut escaped = 0;
            pairs(600, |x, y| {
                let mut slack = Slack::of(x.len());
                forget(&mut slack);
                escaped += usize::from(escapes(&slack, x, y));
            });
            assert!(escaped > 0, "{name}");
        }
    }
}
