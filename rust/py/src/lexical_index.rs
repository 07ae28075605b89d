//! The index of terms, as `warmset.native.LexicalIndex`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};
use warmset_core::hot::{Bm25, LexicalIndex as Index, terms};

use crate::convert::{integers, text};
use crate::error::{invalid, raise};
use crate::guarded::Guarded;
use crate::hot_arguments::{Hits, arrays, positive};

/// An index of the terms of texts, ranked by BM25.
///
/// A score is the BM25 of Lucene over the most that the query could reach, the sum of idf * (k1 + 1)
/// of its terms: 0 to 1, comparable between queries. Order is score descending, then id ascending.
/// The terms are those of `warmset.terms`: stems of words, names such as `src/db_pool.rs` and their
/// parts, pairs of characters where a script has no spaces. Safe to use from several threads.
///
/// Args:
///     k1: How soon repeats of a term stop counting, 0 to 1,000.
///     b: How much length is held against a text, 0 to 1.
///
/// Raises:
///     InvalidInputError: `k1` or `b` is out of range.
#[pyclass(frozen, module = "warmset.native")]
pub(crate) struct LexicalIndex {
    index: Guarded<Index>,
}

#[pymethods]
impl LexicalIndex {
    #[new]
    #[pyo3(signature = (*, k1=1.2, b=0.6))]
    fn new(k1: f64, b: f64) -> PyResult<Self> {
        let index = Index::new(Bm25 { k1, b }).map_err(raise)?;
        Ok(Self {
            index: Guarded::new(index),
        })
    }

    /// Open an index that `to_bytes` wrote.
    ///
    /// The bytes are not copied and not taken apart: a search checks and reads what it needs, so
    /// opening costs the same for ten texts and for a million.
    ///
    /// Args:
    ///     data: The bytes.
    ///     k1: As in the constructor; the bytes do not depend on it.
    ///     b: As in the constructor.
    ///
    /// Returns:
    ///     The index. Texts can be added and removed; the bytes stay as they are.
    ///
    /// Raises:
    ///     IndexDamaged: The bytes are something else, or of another version. Later calls raise it
    ///         when they come by bytes that are not what was written.
    ///     InvalidInputError: `k1` or `b` is out of range.
    #[staticmethod]
    #[pyo3(signature = (data, *, k1=1.2, b=0.6))]
    fn from_bytes(data: PyBackedBytes, k1: f64, b: f64) -> PyResult<Self> {
        let index = Index::open(Arc::new(data), Bm25 { k1, b }).map_err(raise)?;
        Ok(Self {
            index: Guarded::new(index),
        })
    }

    /// Return the whole index as bytes, which `from_bytes` opens.
    ///
    /// Returns:
    ///     The bytes. What was removed is not among them.
    ///
    /// Raises:
    ///     IndexDamaged: The bytes that the index was opened from are damaged.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py
            .detach(|| {
                let mut bytes = Vec::new();
                self.index.read_detached().write(&mut bytes).map(|()| bytes)
            })
            .map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Check every byte that the index was opened from.
    ///
    /// Raises:
    ///     IndexDamaged: They are not what was written.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.index.read_detached().verify())
            .map_err(raise)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.index.read(py).len()
    }

    fn __contains__(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        let found = self.index.read(py).contains(id);
        found.map_err(raise)
    }

    /// Add texts: all of them, or none.
    ///
    /// Args:
    ///     ids: Integers, one a text; each is new.
    ///     texts: The texts.
    ///
    /// Raises:
    ///     InvalidInputError: There are not as many texts as ids.
    ///     DuplicateIdError: An id is there already, or twice in the batch.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn add(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        texts: Vec<Bound<'_, PyString>>,
    ) -> PyResult<()> {
        let ids = integers::<u64>(ids, "ids")?;
        if ids.len() != texts.len() {
            return Err(invalid(&format!(
                "texts: expected {}, one an id, found {}",
                ids.len(),
                texts.len()
            )));
        }
        let texts: Vec<_> = texts.iter().map(text).collect();
        py.detach(|| {
            let texts = texts.iter().map(|text| terms(text));
            let entries: Vec<_> = ids.into_iter().zip(texts).collect();
            self.index.write_detached().add(&entries)
        })
        .map_err(raise)
    }

    /// Remove texts: all of them, or none.
    ///
    /// Args:
    ///     ids: Integers.
    ///
    /// Raises:
    ///     UnknownIdError: An id is not there, or twice in the batch.
    fn remove(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids = integers::<u64>(ids, "ids")?;
        py.detach(|| self.index.write_detached().remove(&ids))
            .map_err(raise)
    }

    /// Find the texts that share terms with a query.
    ///
    /// Args:
    ///     query: A text.
    ///     k: How many, at least 1; fewer come back if fewer share a term.
    ///
    /// Returns:
    ///     Ids (uint64) and scores (float32), best first, ties by id.
    ///
    /// Raises:
    ///     InvalidInputError: `k` is not usable.
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyString>,
        k: &Bound<'py, PyAny>,
    ) -> PyResult<Hits<'py>> {
        let query = text(query);
        let k = positive(k, "k")?.get();
        let found = py
            .detach(|| self.index.read_detached().search(&terms(&query), k))
            .map_err(raise)?;
        Ok(arrays(py, found))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("LexicalIndex(texts={})", self.index.read(py).len())
    }
}
