//! Exact nearest neighbours over vectors alone.

use std::num::NonZero;

use crate::error::{Error, Result};
use crate::hot::catalog::Catalog;
use crate::hot::codes::head::Head;
use crate::hot::file::Saved;
use crate::hot::filter::{Filter, Labels};
use crate::hot::scan::cascade::Field;
use crate::hot::scan::explain::Explanation;
use crate::hot::scan::row_sets::{RowSets, count};
use crate::hot::scan::search_state::SearchState;
use crate::hot::scan::topk::TopK;
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::metric::{Metric, divided};
use crate::hot::vectors::rows::Rows;
use crate::simd::{Scanner, Tier};

/// Ids with their scores, best first.
pub type Neighbours = Vec<(u64, f32)>;

/// An exact index of vectors.
///
/// Its answers equal those of a full scan with the canonical sum, ids and scores bit for bit, in the
/// total order of score descending, then id ascending, on every instruction set.
#[derive(Debug)]
pub struct Index {
    pub(in crate::hot) metric: Metric,
    pub(in crate::hot) scanner: Scanner,
    pub(in crate::hot) catalog: Catalog,
    pub(in crate::hot) rows: Rows,
    pub(in crate::hot) fingerprint: Option<String>,
    /// What it was opened from.
    pub(in crate::hot) saved: Option<Saved>,
}

/// Entries to add together: all of them, or none.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// One id an entry.
    pub ids: &'a [u64],
    /// The rows of all entries, one after the other, row-major.
    pub vectors: &'a [f32],
    /// Labels, one an entry, or one for all.
    pub labels: &'a [Labels],
}

impl Index {
    /// An empty index for vectors of `dim` values.
    ///
    /// # Errors
    /// [`Error::Argument`] if `dim` is 0 or over 65,536, or `WARMSET_SIMD` names no usable tier.
    pub fn new(dim: usize, metric: Metric) -> Result<Self> {
        Self::with_head(dim, metric, Head::Auto, Scanner::from_environment()?)
    }

    /// An empty index with a head and a tier of one's own choice.
    ///
    /// # Errors
    /// [`Error::Argument`] if `dim` is 0 or over 65,536.
    pub fn with_head(dim: usize, metric: Metric, head: Head, scanner: Scanner) -> Result<Self> {
        if !(1..=65_536).contains(&dim) {
            return Err(Error::Argument {
                name: "dim",
                expected: "1 to 65,536".into(),
                found: dim.to_string(),
            });
        }
        Ok(Self {
            metric,
            scanner,
            catalog: Catalog::default(),
            rows: Rows::new(dim, Precision::Full, head, scanner),
            fingerprint: None,
            saved: None,
        })
    }

    /// The vectors' dimension.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.rows.dim()
    }

    /// How vectors are compared.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.catalog.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an id is present.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`] if it cannot be told.
    pub fn contains(&self, id: u64) -> Result<bool> {
        let found = self.catalog.contains(id);
        self.intact().map(|()| found)
    }

    /// The instruction set in use.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.scanner.tier()
    }

    /// Adds entries, one row each: all of them, or none.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NotFinite`], [`Error::ZeroNorm`], [`Error::NormTooLarge`],
    /// [`Error::DuplicateId`]; the index is then as it was. [`Error::IndexDamaged`]; it is then of no
    /// more use.
    pub fn add(&mut self, batch: Batch<'_>) -> Result<()> {
        let dim = self.dim();
        if batch.vectors.len() != batch.ids.len() * dim {
            return Err(Error::Dimension {
                expected: batch.ids.len() * dim,
                found: batch.vectors.len(),
            });
        }
        let mut seen = std::collections::HashSet::with_capacity(batch.ids.len());
        for id in batch.ids {
            if self.contains(*id)? || !seen.insert(*id) {
                return Err(Error::DuplicateId { id: *id });
            }
        }
        let vectors = batch.vectors.chunks_exact(dim);
        let divisors = vectors.clone().enumerate();
        let divisors = divisors.map(|(at, vector)| self.metric.divisor(vector, at));
        let divisors = divisors.collect::<Result<Vec<_>>>()?;
        self.rows.reserve(batch.ids.len());
        let shared = batch.labels.first().copied().unwrap_or_default();
        let mut row = Vec::with_capacity(dim);
        let entries = batch.ids.iter().zip(vectors.zip(divisors));
        for (at, (id, (vector, divisor))) in entries.enumerate() {
            let labels = batch.labels.get(at).copied().unwrap_or(shared);
            let slot = self.catalog.add(*id, labels)?;
            let vector = match divisor {
                Some(divisor) => divided(vector, divisor, &mut row),
                None => vector,
            };
            self.rows.put(slot, vector)?;
        }
        self.intact()
    }

    /// Removes entries: all of them, or none.
    ///
    /// # Errors
    /// [`Error::UnknownId`] if one is not present, or is named twice; [`Error::IndexDamaged`].
    pub fn remove(&mut self, ids: &[u64]) -> Result<()> {
        let mut seen = std::collections::HashSet::with_capacity(ids.len());
        for id in ids {
            if !self.contains(*id)? || !seen.insert(*id) {
                return Err(Error::UnknownId { id: *id });
            }
        }
        for id in ids {
            let slot = self.catalog.remove(*id)?;
            self.rows.clear(slot);
        }
        self.intact()
    }

    /// The `k` entries nearest to `query` that pass the filter, or fewer if there are fewer.
    ///
    /// # Errors
    /// [`Error::Argument`] if `k` is 0; the vector errors of [`Index::add`] for the query;
    /// [`Error::IndexDamaged`] where what was opened turns out to be damaged.
    pub fn search(&self, query: &[f32], k: usize, filter: Option<&Filter>) -> Result<Neighbours> {
        self.explain(query, k, filter).map(|(found, _)| found)
    }

    /// [`Index::search`], and what it did.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn explain(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&Filter>,
    ) -> Result<(Neighbours, Explanation)> {
        let query = self.prepare(query, 0, k)?;
        let found = self.nearest(query, k, filter);
        self.intact().map(|()| found)
    }

    /// [`Index::search`] for each query of a row-major batch.
    ///
    /// # Errors
    /// As [`Index::search`]; the error names the query's row.
    pub fn search_batch(&self, queries: &[f32], k: usize) -> Result<Vec<Neighbours>> {
        self.search_batch_on(queries, k, None, NonZero::<usize>::MIN)
    }

    /// The search itself.
    fn nearest(
        &self,
        query: Vec<f32>,
        k: usize,
        filter: Option<&Filter>,
    ) -> (Neighbours, Explanation) {
        let row_sets = self.row_sets(filter);
        let (heads, bytes) = self.rows.heads(self.rows.head().pays(count(&row_sets), k));
        let mut states = self.searched(&[query], k, &row_sets);
        states.pop().map_or_else(Default::default, |state| {
            let explanation = Explanation {
                heads,
                steps: state.steps,
                bytes,
                bound: state.bound,
            };
            (neighbours(state.top), explanation)
        })
    }

    /// The rows that a filter admits.
    pub(in crate::hot) fn row_sets(&self, filter: Option<&Filter>) -> Vec<RowSets> {
        match filter {
            Some(filter) => self.rows.selected(&self.catalog.selection(filter)),
            None => self.rows.all(),
        }
    }

    /// The best of some rows for each query.
    pub(in crate::hot) fn searched(
        &self,
        queries: &[Vec<f32>],
        k: usize,
        row_sets: &[RowSets],
    ) -> Vec<SearchState> {
        let most = count(row_sets);
        let mut states: Vec<SearchState> = queries
            .iter()
            .map(|query| SearchState::new(self.scanner, query, k, most))
            .collect();
        let field = Field {
            rows: &self.rows,
            id: |slot| self.catalog.id(slot),
        };
        field.search(&mut states, row_sets, self.rows.head().pays(most, k));
        states
    }

    pub(in crate::hot) fn prepare(&self, query: &[f32], row: usize, k: usize) -> Result<Vec<f32>> {
        if k == 0 {
            return Err(Error::Argument {
                name: "k",
                expected: "at least 1".into(),
                found: "0".into(),
            });
        }
        if query.len() != self.dim() {
            return Err(Error::Dimension {
                expected: self.dim(),
                found: query.len(),
            });
        }
        self.metric.prepared(query, row)
    }
}

pub(in crate::hot) fn neighbours(top: TopK) -> Neighbours {
    top.into_sorted()
        .into_iter()
        .map(|hit| (hit.id, hit.score))
        .collect()
}
