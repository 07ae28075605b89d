//! The few directions in which the vectors of an index mostly differ.
//!
//! The span of the leading principal directions of a sample (uncentred), found by subspace iteration:
//!
//! ```text
//! V = some of the sample's rows, made orthonormal
//! a few times:  P = X·Vᵀ,  V = orthonormal rows of Pᵀ·X
//! ```
//!
//! Nothing relies on V being exact: what it is off by is measured and paid for (see [`super::margin`]).
//! Directions within the span are left as they come: that spreads a vector over all codes.

use super::margin::{LOOSE, SMALLEST, Skew, gamma};
use crate::simd::quantise::{Quad, mix_steps};
use crate::simd::{Lanes, Scanner};

/// How often the span is turned towards the data.
const TURNS: usize = 3;

/// Of a direction that has less than this left, beside those before it, only noise is left.
const LEAST: f64 = 1e-4;

/// Directions, and what projecting on them is worth.
#[derive(Debug)]
pub(super) struct Basis {
    #[cfg(test)]
    dim: usize,
    directions: Vec<Lanes>,
    count: usize,
    /// Dimension ─▶ what it brings into each direction, in whole quads.
    columns: Vec<Quad>,
    pub(super) skew: Skew,
    /// The mean share of a sampled row's square that the directions do not see.
    unseen: f64,
}

impl Basis {
    /// The span of `count` directions for rows like those of the sample, each `dim` values long.
    pub(super) fn fit(scanner: Scanner, dim: usize, sample: &[Vec<f32>], count: usize) -> Self {
        let rows: Vec<Vec<f64>> = sample.iter().filter_map(|row| unit(row)).collect();
        let by_row = matrix(&rows);
        let by_dimension = matrix(&transposed(&rows, dim));
        let step = rows.len().div_ceil(count).max(1);
        let mut start: Vec<Vec<f64>> = rows.iter().step_by(step).take(count).cloned().collect();
        start.resize(count, vec![0.0; dim]);
        let mut span = orthonormal(start);
        for _ in 0..TURNS {
            let turned = span
                .iter()
                .map(|direction| {
                    let along = dots(scanner, direction, &by_row, rows.len());
                    dots(scanner, &along, &by_dimension, dim)
                })
                .collect();
            span = orthonormal(turned);
        }
        Self::of(dim, &span).measured(scanner, &rows)
    }

    /// The basis of those directions; rows of zeros see nothing.
    pub(super) fn of(dim: usize, span: &[Vec<f64>]) -> Self {
        let directions = matrix(span);
        // What is measured is what will be used: the directions after their rounding to f32.
        let rounded: Vec<Vec<f64>> = span
            .iter()
            .map(|row| row.iter().map(|value| f64::from(narrow(*value))).collect())
            .collect();
        let (mut off, mut all) = (0.0, 0.0);
        for (at, a) in rounded.iter().enumerate() {
            let square = dot(a, a);
            if square == 0.0 {
                continue;
            }
            all += square;
            off += (square - 1.0).powi(2);
            for b in rounded.iter().take(at) {
                off += 2.0 * dot(a, b).powi(2);
            }
        }
        let count = span.len();
        let scale = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
        Self {
            #[cfg(test)]
            dim,
            directions,
            count,
            columns: columns(span, dim),
            skew: Skew {
                delta: off.sqrt() + LOOSE,
                stray: gamma(mix_steps(dim)) * all.sqrt(),
                lost: scale(count).sqrt() * scale(dim + 8) * SMALLEST,
                tail: 1.0,
            },
            unseen: 1.0,
        }
    }

    fn measured(mut self, scanner: Scanner, rows: &[Vec<f64>]) -> Self {
        let unseen = rows.iter().map(|row| {
            let seen = dots(scanner, row, &self.directions, self.count);
            (1.0 - dot(&seen, &seen)).max(0.0)
        });
        let total: f64 = unseen.sum();
        self.unseen = total / u32::try_from(rows.len().max(1)).map_or(1.0, f64::from);
        self
    }

    /// The directions themselves, as they are saved.
    pub(super) fn directions(&self) -> &[Lanes] {
        &self.directions
    }

    /// The basis of saved directions; what they are off by is measured anew.
    pub(super) fn open(dim: usize, directions: &[Lanes], unseen: f64) -> Self {
        let width = dim.div_ceil(crate::simd::LANES);
        let span: Vec<Vec<f64>> = directions
            .chunks_exact(width)
            .map(|row| super::segment::flat(row, dim).map(f64::from).collect())
            .collect();
        Self {
            unseen,
            ..Self::of(dim, &span)
        }
    }

    /// The number of directions.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The mean share of a row's square that the directions do not see, 0 to 1.
    pub(super) fn unseen(&self) -> f64 {
        self.unseen
    }

    /// How far a vector goes in each direction; what pads it to whole quads is zeros.
    pub(super) fn project(&self, scanner: Scanner, vector: &[Lanes], out: &mut Vec<Quad>) {
        out.clear();
        out.resize(self.count.div_ceil(64), [Lanes::ZERO; 4]);
        scanner.mix(bytemuck::cast_slice(vector), &self.columns, out);
    }

    /// One of the directions, counted round and round.
    #[cfg(test)]
    pub(super) fn direction(&self, at: usize) -> Vec<f32> {
        let width = self.directions.len() / self.count.max(1);
        let at = at % self.count.max(1);
        let blocks = self.directions.iter().skip(at * width).take(width);
        blocks.flat_map(|block| block.0).take(self.dim).collect()
    }
}

/// A row of length one; none if it has no direction.
fn unit(row: &[f32]) -> Option<Vec<f64>> {
    let row: Vec<f64> = row.iter().copied().map(f64::from).collect();
    let norm = dot(&row, &row).sqrt();
    (norm > 0.0).then(|| row.into_iter().map(|value| value / norm).collect())
}

/// Makes rows orthonormal, one after the other (modified Gram-Schmidt, twice for each); what depends on
/// those before it becomes zeros.
fn orthonormal(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for at in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(at);
        let Some(row) = rest.first_mut() else {
            break;
        };
        let before = dot(row, row).sqrt();
        if before == 0.0 {
            continue;
        }
        for _ in 0..2 {
            for other in done.iter() {
                let along = dot(row, other);
                for (value, other) in row.iter_mut().zip(other) {
                    *value -= along * other;
                }
            }
        }
        let norm = dot(row, row).sqrt();
        let scale = if norm > LEAST * before {
            norm.recip()
        } else {
            0.0
        };
        for value in row {
            *value *= scale;
        }
    }
    rows
}

/// The transposed directions, padded to whole quads.
fn columns(span: &[Vec<f64>], dim: usize) -> Vec<Quad> {
    let mut wide = Vec::with_capacity(span.len().next_multiple_of(64));
    let mut out = Vec::new();
    for at in 0..dim {
        wide.clear();
        wide.extend(
            span.iter()
                .filter_map(|row| row.get(at).copied().map(narrow)),
        );
        wide.resize(span.len().next_multiple_of(64), 0.0);
        let mut lanes = Vec::new();
        Lanes::extend(&mut lanes, &wide);
        out.extend_from_slice(lanes.as_chunks::<4>().0);
    }
    out
}

fn transposed(rows: &[Vec<f64>], dim: usize) -> Vec<Vec<f64>> {
    (0..dim)
        .map(|at| rows.iter().filter_map(|row| row.get(at).copied()).collect())
        .collect()
}

fn matrix(rows: &[Vec<f64>]) -> Vec<Lanes> {
    let mut out = Vec::new();
    for row in rows {
        let row: Vec<f32> = row.iter().copied().map(narrow).collect();
        Lanes::extend(&mut out, &row);
    }
    out
}

fn dots(scanner: Scanner, vector: &[f64], rows: &[Lanes], count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    scanner.dot_rows(&matrix(&[vector.to_vec()]), rows, &mut out);
    out.into_iter().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (heads, tail) = a.as_chunks::<8>();
    let (others, other_tail) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in heads.iter().zip(others) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = tail.iter().zip(other_tail).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "directions are f32; what the rounding does to them is measured"
)]
fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_and_sees_everything() {
        let scanner = Scanner::best();
        let axis = |at: usize| -> Vec<f32> {
            (0..40)
                .map(|i| if i % 3 == at { 0.3 } else { 0.01 })
                .collect()
        };
        let (a, b) = (axis(0), axis(1));
        let sample: Vec<Vec<f32>> = (1_u8..60)
            .map(|n| {
                let (x, y) = (f32::from(n % 7) - 3.0, f32::from(n % 5) + 1.0);
                a.iter().zip(&b).map(|(a, b)| x * a + y * b).collect()
            })
            .collect();
        let basis = Basis::fit(scanner, 40, &sample, 8);
        assert!(basis.unseen() < 1e-5, "{}", basis.unseen());
        assert!(basis.skew.delta < 1e-4, "{:?}", basis.skew);
        let narrow = Basis::fit(scanner, 40, &sample, 1);
        assert!(narrow.unseen() > 0.01, "{}", narrow.unseen());
    }

    #[test]
    fn the_energy_of_noise_is_spread() {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f32::from(u16::try_from(state >> 48).unwrap()) / 65_536.0 - 0.5
        };
        let sample: Vec<Vec<f32>> = (0..600)
            .map(|_| (0..64).map(|_| next()).collect())
            .collect();
        let unseen = Basis::fit(Scanner::best(), 64, &sample, 16).unseen();
        assert!((0.5..0.75).contains(&unseen), "{unseen}");
    }
}
