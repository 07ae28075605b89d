//! Rows from here and there, scored in full side by side.
//!
//! They are copied together first: while one is waited for, so are the others, and the kernels score
//! neighbours faster than single rows.

use crate::hot::catalog::Slot;
use crate::hot::vectors::rows::Rows;
use crate::hot::vectors::segment::SEGMENT;
use crate::simd::Lanes;

/// Rows that are brought together before they are scored: to wait for one of them is to wait for all.
pub(in crate::hot) const TOGETHER: usize = 8;

/// Room for rows from here and there.
#[derive(Debug, Default)]
pub(in crate::hot) struct RowBatch(Vec<Lanes>);

impl Rows {
    /// What the best row of each slot scores in full; none where there is no row.
    pub(in crate::hot) fn best_of(&self, slots: &[Slot], query: &[Lanes]) -> Vec<Option<f32>> {
        let mut best = vec![None; slots.len()];
        let spans = slots.iter().enumerate();
        let rows: Vec<(usize, usize)> = spans
            .flat_map(|(at, slot)| self.span_of(*slot).map(move |row| (at, row)))
            .collect();
        let mut batch = RowBatch::default();
        let mut ahead = rows.chunks(TOGETHER).skip(1);
        for some in rows.chunks(TOGETHER) {
            let next = ahead.next().unwrap_or_default();
            self.expect(next.iter().map(|(_, row)| *row));
            let scores = self.scores(some.iter().map(|(_, row)| *row), query, &mut batch);
            for ((at, _), score) in some.iter().zip(scores) {
                if let (Some(best), Some(score)) = (best.get_mut(*at), score) {
                    *best = Some(best.map_or(score, |best: f32| best.max(score)));
                }
            }
        }
        best
    }

    /// Asks for rows that are scored soon.
    pub(in crate::hot) fn expect(&self, rows: impl Iterator<Item = usize>) {
        for row in rows {
            if let Some(segment) = self.segments().get(row / SEGMENT) {
                segment.expect(row % SEGMENT);
            }
        }
    }

    /// What rows score in full, [`TOGETHER`] at most; none where one is not there.
    pub(in crate::hot) fn scores(
        &self,
        rows: impl Iterator<Item = usize>,
        query: &[Lanes],
        batch: &mut RowBatch,
    ) -> [Option<f32>; TOGETHER] {
        batch.0.clear();
        let mut there = [false; TOGETHER];
        for (row, there) in rows.zip(&mut there) {
            let segment = self.segments().get(row / SEGMENT);
            *there = segment.is_some_and(|segment| segment.copy_row(row % SEGMENT, &mut batch.0));
        }
        let count = batch.0.len() / query.len().max(1);
        let mut scores = [0.0; TOGETHER];
        if let Some(scores) = scores.get_mut(..count) {
            self.scanner().dot_rows(query, &batch.0, scores);
        }
        let mut scores = scores.into_iter();
        there.map(|there| if there { scores.next() } else { None })
    }
}
