//! Eight-bit codes row by row: what a search reads of the few rows that the coarse codes let through.

use super::margin::Slack;
use super::quantise::Fit;
use crate::simd::Scanner;
use crate::simd::codes::{Line, Terms, estimate, margin};

/// Scale, error and norm of a row.
type Factors = [f32; 3];

/// The codes of rows, each on cache lines of its own.
#[derive(Debug)]
pub(super) struct Fine {
    /// Lines in one row.
    width: usize,
    lines: Vec<Line>,
    factors: Vec<Factors>,
}

impl Fine {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            width: dim.div_ceil(64),
            lines: Vec::new(),
            factors: Vec::new(),
        }
    }

    /// Makes room for so many rows in all.
    pub(super) fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.factors.len());
        self.lines.reserve(more * self.width);
        self.factors.reserve(more);
    }

    /// Writes the codes of a row, of one that is there or of the next.
    pub(super) fn put(&mut self, row: usize, codes: &[u8], fit: &Fit, slack: &Slack) {
        if row >= self.factors.len() {
            self.lines.resize((row + 1) * self.width, Line([128; 64]));
            self.factors.resize(row + 1, [0.0; 3]);
        }
        let lines = self.lines.iter_mut().skip(row * self.width);
        for (line, codes) in lines.zip(codes.chunks(64)) {
            for (place, code) in line.0.iter_mut().zip(codes) {
                *place = *code;
            }
        }
        let [error, norm, _] = slack.row(fit);
        if let Some(factors) = self.factors.get_mut(row) {
            *factors = [fit.scale, error, norm];
        }
    }

    /// What each of some rows scores at least, and at most.
    pub(super) fn bounds(
        &self,
        scanner: Scanner,
        query: &Coded<'_>,
        rows: &[usize],
    ) -> Vec<(f32, f32)> {
        let mut sums = vec![0; rows.len()];
        scanner.sum_lines(query.lines, &self.lines, rows, &mut sums);
        let factors = rows.iter().map(|row| self.factors.get(*row));
        let bound = |(sum, factors): (i32, Option<&Factors>)| {
            factors.map_or(
                (f32::NEG_INFINITY, f32::INFINITY),
                |[scale, error, norm]| {
                    let score = estimate(sum.wrapping_add(query.bias), *scale, query.scale);
                    let margin = margin([*error, *norm, 0.0], query.terms);
                    (score - margin, score + margin)
                },
            )
        };
        sums.into_iter().zip(factors).map(bound).collect()
    }
}

/// A query's eight-bit codes, for rows' ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded<'a> {
    pub(super) lines: &'a [Line],
    /// What takes the 128 out of the rows' codes again.
    pub(super) bias: i32,
    pub(super) scale: f32,
    pub(super) terms: &'a Terms,
}
