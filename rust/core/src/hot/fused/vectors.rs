//! The vectors of a retriever's entries, and how they are ranked: ties go by id.

use crate::error::{Error, Result};
use crate::hot::catalog::{Slot, Ties};
use crate::hot::codes::head::Head;
use crate::hot::fused::retriever::Retriever;
use crate::hot::scan::cascade::Field;
use crate::hot::scan::search_state::SearchState;
use crate::hot::scan::topk::Ranked;
use crate::hot::vectors::floats::{MOST_HALF, Precision};
use crate::hot::vectors::metric::Metric;
use crate::hot::vectors::rows::Rows;

impl Retriever {
    /// The number of rows of vectors.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::len)
    }

    /// Gives an entry its rows, or new ones; `vectors` is row-major.
    ///
    /// # Errors
    /// [`Error::UnknownId`], [`Error::Dimension`], [`Error::NotFinite`], [`Error::NormTooLarge`];
    /// [`Error::Argument`] where a value is too large for half precision.
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
        let exceeds = |value: &&f32| value.abs() > MOST_HALF;
        if self.precision == Precision::Half
            && let Some(value) = vectors.iter().find(exceeds)
        {
            return Err(Error::Argument {
                name: "vectors",
                expected: format!(
                    "values of at most {MOST_HALF}, which are kept in half precision"
                ),
                found: value.to_string(),
            });
        }
        let rows = self
            .rows
            .get_or_insert_with(|| Rows::new(dim, self.precision, Head::Pool, self.scanner));
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

    /// Rows, and the numbers that their ties go by.
    pub(in crate::hot) fn field<'a>(
        rows: &'a Rows,
        ties: Ties<'a>,
    ) -> Field<'a, impl Fn(Slot) -> Option<u64>> {
        Field {
            rows,
            id: move |slot| ties.number(slot),
        }
    }

    /// The slots that a state has found, ascending, with their scores.
    pub(in crate::hot) fn found(state: SearchState, ties: Ties<'_>) -> Vec<(Slot, f32)> {
        let hits = state.top.into_iter();
        let slot = |hit: Ranked| Some((ties.slot(hit.id)?, hit.score));
        let mut found: Vec<(Slot, f32)> = hits.filter_map(slot).collect();
        found.sort_unstable_by_key(|(slot, _)| *slot);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::filter::Labels;

    #[test]
    fn rows_are_coded_for_searches_that_ask_for_a_pool() {
        let mut retriever = Retriever::new(Precision::Half).unwrap();
        retriever.add(1, Labels::default(), &[]).unwrap();
        retriever.put_vectors(1, &[1.0, 0.0], 2).unwrap();
        assert_eq!(retriever.rows.unwrap().head(), Head::Pool);
    }
}
