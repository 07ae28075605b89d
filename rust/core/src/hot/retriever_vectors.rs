//! The vectors of a retriever's entries, and how they are ranked: ties go by id.

use super::cascade::Field;
use super::catalog::Slot;
use super::head::Head;
use super::hunt::Hunt;
use super::retriever::Retriever;
use super::rows::Rows;
use super::segment::SEGMENT;
use super::vectors::Metric;
use crate::error::{Error, Result};
use crate::simd::Lanes;

impl Retriever {
    /// The number of rows of vectors.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::len)
    }

    /// Gives an entry its rows, or new ones; `vectors` is row-major.
    ///
    /// # Errors
    /// [`Error::UnknownId`], [`Error::Dimension`], [`Error::NotFinite`], [`Error::NormTooLarge`].
    pub fn put_vectors(&mut self, id: u64, vectors: &[f32], dim: usize) -> Result<()> {
        let slot = self.catalog.slot(id)?;
        let expected = self.rows.as_ref().map_or(dim, Rows::dim);
        if dim == 0 || expected != dim {
            return Err(Error::Dimension {
                expected,
                found: dim,
            });
        }
        for (at, vector) in vectors.chunks(dim).enumerate() {
            Metric::InnerProduct.divisor(vector, at)?;
        }
        let rows = self
            .rows
            .get_or_insert_with(|| Rows::new(dim, Head::Auto, self.scanner));
        rows.put(slot, vectors)
    }

    /// Forgets all vectors; entries and terms stay.
    pub fn clear_vectors(&mut self) {
        self.rows = None;
    }

    /// Whether an entry has vectors.
    #[must_use]
    pub fn has_vectors(&self, id: u64) -> bool {
        self.catalog
            .slot(id)
            .is_ok_and(|slot| self.rows.as_ref().is_some_and(|rows| rows.has(slot)))
    }

    /// Rows, and the ids that their ties go by.
    pub(super) fn field<'a>(&'a self, rows: &'a Rows) -> Field<'a, impl Fn(Slot) -> Option<u64>> {
        Field {
            rows,
            id: |slot| self.catalog.id(slot),
        }
    }

    /// The slots that a hunt has found, with their scores.
    pub(super) fn ranked(&self, hunt: Hunt) -> impl Iterator<Item = (Slot, f32)> {
        let hits = hunt.top.into_sorted().into_iter();
        hits.filter_map(|hit| Some((self.catalog.slot(hit.id).ok()?, hit.score)))
    }
}

impl Rows {
    /// What the best row of a slot scores in full; none where there is no row.
    pub(super) fn score(&self, slot: Slot, query: &[Lanes]) -> Option<f32> {
        let rows = self.span_of(slot);
        let scores = rows.filter_map(|row| self.score_row(row, query));
        scores.reduce(f32::max)
    }

    /// What a row scores in full; none where it is not there.
    pub(super) fn score_row(&self, row: usize, query: &[Lanes]) -> Option<f32> {
        let mut score = [0.0];
        let segment = self.segments().get(row / SEGMENT)?;
        let there = segment.score(query, row % SEGMENT, &mut score);
        let [score] = score;
        there.then_some(score)
    }
}
