//! The few directions in which the vectors of an index mostly differ.
//!
//! The span of the leading principal directions of a sample (uncentred), found by subspace iteration:
//!
//! ```text
//! V = some of the sample's rows, made orthonormal
//! a few times:  P = X·Vᵀ,  V = orthonormal rows of Pᵀ·X
//! ```
//!
//! Nothing relies on V being exact: what it is off by is measured and paid for (see [`crate::hot::codes::error_bound`]).
//! Directions within the span are left as they come: that spreads a vector over all codes.

use crate::hot::codes::error_bound::{LOOSE, SMALLEST, Skew, gamma};
use crate::hot::codes::linear::{
    dot, dots, matrix, narrow, orthonormal, products, quads, transposed, unit,
};
use crate::simd::quantise::{Quad, TOGETHER, mix_steps};
use crate::simd::{Lanes, Scanner};

/// What fitting may cost.
#[derive(Clone, Copy)]
struct Effort {
    /// Rows that are looked at, at most.
    rows: usize,
    /// How often the span is turned towards the data.
    turns: usize,
}

/// For a basis that is used.
const WELL: Effort = Effort {
    rows: 1_280,
    turns: 2,
};

/// For a first look at what one would be worth.
const ROUGHLY: Effort = Effort {
    rows: 400,
    turns: 1,
};

/// Directions, and what projecting on them is worth.
#[derive(Debug)]
pub(in crate::hot) struct Basis {
    dim: usize,
    directions: Vec<Lanes>,
    count: usize,
    /// Dimension ─▶ what it brings into each direction, in whole quads.
    columns: Vec<Quad>,
    pub(in crate::hot) skew: Skew,
    /// The mean share of a row's square that the directions do not see.
    unseen: f64,
}

impl Basis {
    /// The span of `count` directions for rows like those of the sample, each `dim` values long.
    pub(in crate::hot) fn fit(
        scanner: Scanner,
        dim: usize,
        sample: &[&[Lanes]],
        count: usize,
    ) -> Self {
        Self::with_effort(scanner, dim, sample, count, WELL)
    }

    /// About what a basis of `count` directions would not see, for a tenth of the work; rather too much.
    pub(in crate::hot) fn glimpse(
        scanner: Scanner,
        dim: usize,
        sample: &[&[Lanes]],
        count: usize,
    ) -> f64 {
        Self::with_effort(scanner, dim, sample, count, ROUGHLY).unseen
    }

    fn with_effort(
        scanner: Scanner,
        dim: usize,
        sample: &[&[Lanes]],
        count: usize,
        effort: Effort,
    ) -> Self {
        // Every fifth row is kept apart: what the directions do not see of it is what they will not see
        // of others.
        let step = sample.len().div_ceil(effort.rows).max(1);
        let part = |apart: bool| -> Vec<Vec<f64>> {
            let rows = sample.iter().step_by(step).zip((0..5).cycle());
            let rows = rows.filter(|(_, at)| (*at == 4) == apart);
            rows.filter_map(|(row, _)| unit(row, dim)).collect()
        };
        let rows = part(false);
        let by_row = quads(&rows);
        let by_dimension = quads(&transposed(&rows, dim));
        let step = rows.len().div_ceil(count).max(1);
        let mut start: Vec<Vec<f64>> = rows.iter().step_by(step).take(count).cloned().collect();
        start.resize(count, vec![0.0; dim]);
        let mut span = orthonormal(start);
        for _ in 0..effort.turns {
            let along = products(scanner, &span, &by_dimension, rows.len());
            span = orthonormal(products(scanner, &along, &by_row, dim));
        }
        Self::of(dim, &span).measured(scanner, &part(true))
    }

    /// The basis of those directions; rows of zeros see nothing.
    pub(in crate::hot) fn of(dim: usize, span: &[Vec<f64>]) -> Self {
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
            dim,
            directions,
            count,
            columns: quads(&transposed(span, dim)),
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
    pub(in crate::hot) fn directions(&self) -> &[Lanes] {
        &self.directions
    }

    /// The basis of saved directions; what they are off by is measured anew.
    pub(in crate::hot) fn open(dim: usize, directions: &[Lanes], unseen: f64) -> Self {
        let width = dim.div_ceil(crate::simd::LANES);
        let span: Vec<Vec<f64>> = directions
            .chunks_exact(width)
            .map(|row| {
                crate::hot::vectors::segment::flat(row, dim)
                    .map(f64::from)
                    .collect()
            })
            .collect();
        Self {
            unseen,
            ..Self::of(dim, &span)
        }
    }

    /// The number of directions.
    pub(in crate::hot) fn count(&self) -> usize {
        self.count
    }

    /// The mean share of a row's square that the directions do not see, 0 to 1.
    pub(in crate::hot) fn unseen(&self) -> f64 {
        self.unseen
    }

    /// How far vectors go in each direction, four at a time; what pads it to whole quads is zeros. An
    /// element of `out` holds sixty-four directions of each.
    pub(in crate::hot) fn project(
        &self,
        scanner: Scanner,
        vectors: [&[Lanes]; TOGETHER],
        out: &mut Vec<[Quad; TOGETHER]>,
    ) {
        out.resize(self.count.div_ceil(64), [[Lanes::ZERO; 4]; TOGETHER]);
        let weights = vectors.map(|vector| {
            let weights: &[f32] = bytemuck::cast_slice(vector);
            weights.get(..self.dim).unwrap_or(weights)
        });
        scanner.mix(weights, &self.columns, out);
    }

    /// How far one vector goes in each direction.
    pub(in crate::hot) fn project_one(&self, scanner: Scanner, vector: &[Lanes]) -> Vec<Quad> {
        let mut out = Vec::new();
        self.project(scanner, [vector; TOGETHER], &mut out);
        out.into_iter().map(|[first, ..]| first).collect()
    }

    /// One of the directions, counted round and round.
    #[cfg(test)]
    pub(in crate::hot) fn direction(&self, at: usize) -> Vec<f32> {
        let width = self.directions.len() / self.count.max(1);
        let at = at % self.count.max(1);
        let blocks = self.directions.iter().skip(at * width).take(width);
        blocks.flat_map(|block| block.0).take(self.dim).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(rows: &[Vec<f32>]) -> Vec<Vec<Lanes>> {
        let blocks = |row: &Vec<f32>| {
            let mut out = Vec::new();
            Lanes::extend(&mut out, row);
            out
        };
        rows.iter().map(blocks).collect()
    }

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
        let rows = blocks(&sample);
        let sample: Vec<&[Lanes]> = rows.iter().map(Vec::as_slice).collect();
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
        let rows = blocks(&sample);
        let sample: Vec<&[Lanes]> = rows.iter().map(Vec::as_slice).collect();
        let unseen = Basis::fit(Scanner::best(), 64, &sample, 16).unseen();
        assert!((0.6..0.85).contains(&unseen), "{unseen}");
        let glimpse = Basis::glimpse(Scanner::best(), 64, &sample, 16);
        assert!((unseen..0.9).contains(&glimpse), "{glimpse}");
    }
}
