//! Eight-bit codes row by row: what a search reads of the few rows that the coarse codes let through.

use std::io::{self, Write};

use crate::error::Result;
use crate::hot::codes::error_bound::Slack;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};
use crate::simd::Scanner;
use crate::simd::codes::{Line, Terms, estimate, margin};
use crate::simd::quantise::Fit;

/// Scale, error and norm of a row.
type Factors = [f32; 3];

/// The codes of rows, each on cache lines of its own.
#[derive(Debug)]
pub(in crate::hot) struct Fine {
    /// Lines in one row.
    width: usize,
    lines: Column<Line>,
    factors: Column<Factors>,
}

impl Fine {
    pub(in crate::hot) fn new(dim: usize) -> Self {
        Self {
            width: dim.div_ceil(64),
            lines: Column::default(),
            factors: Column::default(),
        }
    }

    /// Makes room for so many rows in all.
    pub(in crate::hot) fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.factors.len());
        self.lines.reserve(more * self.width);
        self.factors.reserve(more);
    }

    /// Writes the codes of a row, of one that is there or of the next.
    pub(in crate::hot) fn put(&mut self, row: usize, codes: &[u8], fit: &Fit, slack: &Slack) {
        self.lines.grow((row + 1) * self.width, Line([128; 64]));
        self.factors.grow(row + 1, [0.0; 3]);
        let lines = self
            .lines
            .slice_mut(row * self.width..(row + 1) * self.width);
        for (line, codes) in lines.into_iter().flatten().zip(codes.chunks(64)) {
            for (place, code) in line.0.iter_mut().zip(codes) {
                *place = *code;
            }
        }
        let [error, norm, _] = slack.row(fit);
        self.factors.set(row, [fit.scale, error, norm]);
    }

    /// What each of some rows scores at least, and at most.
    pub(in crate::hot) fn bounds(
        &self,
        scanner: Scanner,
        query: &Coded<'_>,
        rows: &[usize],
    ) -> Vec<(f32, f32)> {
        let mut sums = vec![0; rows.len()];
        let bound = |(sum, factors): (i32, Option<Factors>)| {
            factors.map_or(
                (f32::NEG_INFINITY, f32::INFINITY),
                |[scale, error, norm]| {
                    let score = estimate(sum.wrapping_add(query.bias), scale, query.scale);
                    let margin = margin([error, norm, 0.0], query.terms);
                    (score - margin, score + margin)
                },
            )
        };
        let factors = rows.iter().map(|row| self.factors.get(*row));
        // Saved lines are taken row by row: what is not touched is not read.
        if let Some(lines) = self.lines.in_memory() {
            scanner.sum_lines(query.lines, lines, rows, &mut sums);
        } else {
            for (row, sum) in rows.iter().zip(&mut sums) {
                let lines = self.lines.slice(row * self.width..(row + 1) * self.width);
                let lines = lines.unwrap_or_default();
                scanner.sum_lines(query.lines, lines, &[0], std::slice::from_mut(sum));
            }
        }
        sums.into_iter().zip(factors).map(bound).collect()
    }

    /// Writes its columns as sections whose names end in that.
    pub(in crate::hot) fn save<W: Write>(&self, out: &mut Writer<W>, end: &str) -> io::Result<()> {
        out.column(&format!("lines{end}"), &self.lines)?;
        out.column(&format!("factors{end}"), &self.factors)
    }

    /// Takes its columns, for so many rows, from a saved index.
    pub(in crate::hot) fn open(&mut self, saved: &Saved, end: &str, rows: usize) -> Result<()> {
        self.lines = saved.column_of(&format!("lines{end}"), rows * self.width)?;
        self.factors = saved.column_of(&format!("factors{end}"), rows)?;
        Ok(())
    }
}

/// A query's eight-bit codes, for rows' ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::hot) struct Coded<'a> {
    pub(in crate::hot) lines: &'a [Line],
    /// What takes the 128 out of the rows' codes again.
    pub(in crate::hot) bias: i32,
    pub(in crate::hot) scale: f32,
    pub(in crate::hot) terms: &'a Terms,
}
