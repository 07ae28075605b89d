//! The exact index of vectors, as `warmset.native.HotIndex`.

use std::path::PathBuf;

use pyo3::prelude::*;
use warmset_core::cold::Read;
use warmset_core::file;
use warmset_core::hot::{Batch, Index, Metric, Opening};

use crate::cold_options::Word;
use crate::convert::{integers, matrix};
use crate::error::{invalid, raise};
use crate::explanation::SearchExplanation;
use crate::guarded::Guarded;
use crate::hot_arguments::{Columns, Found, Hits, Wish, arrays, entries, of_dim, positive, table};
use crate::signals::run;

/// An exact index of vectors.
///
/// Ids and scores equal those of a brute-force scan with the canonical sum, bit for bit, in the
/// order of score descending, then id ascending. Safe to use from several threads.
///
/// Args:
///     dim: The vectors' dimension, 1 to 65,536.
///     metric: "cosine" brings rows and queries to unit length; "ip" takes them as they are.
///     fingerprint: Names the embedder that makes the vectors; `save` keeps it, `open` compares it.
///
/// Raises:
///     InvalidInputError: The dimension or the metric is out of range.
#[pyclass(frozen, module = "warmset.native")]
pub(crate) struct HotIndex {
    index: Guarded<Index>,
}

impl HotIndex {
    fn query(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
        of_dim(matrix(query, "query")?, self.dim(py))?.one("query")
    }
}

#[pymethods]
impl HotIndex {
    #[new]
    #[pyo3(signature = (dim, *, metric="cosine", fingerprint=None))]
    fn new(dim: &Bound<'_, PyAny>, metric: &str, fingerprint: Option<String>) -> PyResult<Self> {
        let dim = positive(dim, "dim")
            .map_err(|_| invalid(&format!("dim: expected 1 to 65,536, found {dim}")))?;
        let metric = Metric::named(metric).map_err(raise)?;
        let index = Index::new(dim.get(), metric).map_err(raise)?;
        Ok(Self {
            index: Guarded::new(index.with_fingerprint(fingerprint)),
        })
    }

    /// Open a saved index; opening reads a few pages, whatever its size.
    ///
    /// Adds and removals stay in memory until the next `save`; the file is never written.
    ///
    /// Args:
    ///     path: The file that `save` made.
    ///     fingerprint: The embedder in use; an index that names another one, or none, is refused.
    ///     read: "map" reads the file where it lies; a map cannot survive somebody else who writes
    ///         into the file or cuts it (wrong answers, SIGBUS), which `save` never does. "pread"
    ///         copies the file into memory first.
    ///
    /// Raises:
    ///     NotAnIndex: The file is something else.
    ///     NewerIndex: A newer version saved it.
    ///     IndexDamaged: What was read so far is not what was saved. Blocks of the file are checked
    ///         when they are first needed, so any later call may raise this too.
    ///     EmbedderMismatch: The vectors are another embedder's.
    ///     StoreIOError: The operating system refused.
    #[staticmethod]
    #[pyo3(signature = (path, *, fingerprint=None, read=Word(Read::Map)),
           text_signature = "(path, *, fingerprint=None, read='map')")]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        fingerprint: Option<String>,
        read: Word<Read>,
    ) -> PyResult<Self> {
        let open = || {
            let how = Opening::new(&path, fingerprint.as_deref())?;
            Index::open(&file::bytes(&path, read.0)?, &how)
        };
        let index = Guarded::new(run(py, open)?);
        Ok(Self { index })
    }

    /// Save the index, in place of the file that has that name: a reader finds the old file or the
    /// new one, never a part. What was removed is not in it. Searches go on meanwhile.
    ///
    /// Raises:
    ///     StoreIOError, StoreFull: The operating system refused; the old file is as it was.
    ///     IndexDamaged: The index was opened from a file that is damaged.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run(py, || {
            file::replace(&path, |out| self.index.read_detached().save(out, &path))
        })
    }

    /// Check every byte of the file that the index was opened from; one that was not opened is right.
    ///
    /// Raises:
    ///     IndexDamaged: Something is not what was saved; the message says where.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || self.index.read_detached().verify())
    }

    /// The vectors' dimension.
    #[getter]
    fn dim(&self, py: Python<'_>) -> usize {
        self.index.read(py).dim()
    }

    /// "cosine" or "ip".
    #[getter]
    fn metric(&self, py: Python<'_>) -> &'static str {
        self.index.read(py).metric().name()
    }

    /// The embedder that made the vectors, where one was named.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> Option<String> {
        self.index.read(py).fingerprint().map(str::to_owned)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.index.read(py).len()
    }

    fn __contains__(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        let found = self.index.read(py).contains(id);
        found.map_err(raise)
    }

    /// Add entries: all of them, or none.
    ///
    /// Args:
    ///     ids: Integers, shape (n,); each is new.
    ///     vectors: Real numbers, shape (n, dim), of any layout; float32 is taken as it is, float16
    ///         and bfloat16 are converted exactly, other types are rounded to float32.
    ///     tenant: Small integers for filters, one an entry or one for all; so are conversation,
    ///         kind and role.
    ///     conversation: The conversation within the tenant.
    ///     kind: What the entries are; also a name for all, as "turn".
    ///     role: Who speaks, by a number of the caller's own.
    ///     at: Times in milliseconds since 1970 UTC.
    ///
    /// Raises:
    ///     InvalidInputError: Shapes do not fit, vectors are not real numbers (complex, bool, object,
    ///         text), or a column is not made of integers.
    ///     DimensionError: The vectors have another dimension.
    ///     NotFiniteError: A vector holds a NaN or an infinity.
    ///     ZeroNormError: A vector has no direction (cosine).
    ///     DuplicateIdError: An id is there already, or twice in the batch.
    #[pyo3(signature = (ids, vectors, *, tenant=None, conversation=None, kind=None, role=None,
                        at=None))]
    #[expect(clippy::too_many_arguments, reason = "one optional column each")]
    fn add(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        vectors: &Bound<'_, PyAny>,
        tenant: Option<&Bound<'_, PyAny>>,
        conversation: Option<&Bound<'_, PyAny>>,
        kind: Option<&Bound<'_, PyAny>>,
        role: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (ids, vectors) = entries(ids, vectors, self.dim(py))?;
        let columns = Columns {
            tenant,
            conversation,
            kind,
            role,
            at,
        };
        let labels = columns.labels(ids.len())?;
        py.detach(|| {
            self.index.write_detached().add(Batch {
                ids: &ids,
                vectors: &vectors,
                labels: &labels,
            })
        })
        .map_err(raise)
    }

    /// Remove entries: all of them, or none.
    ///
    /// Raises:
    ///     UnknownIdError: An id is not there.
    fn remove(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids = integers::<u64>(ids, "ids")?;
        py.detach(|| self.index.write_detached().remove(&ids))
            .map_err(raise)
    }

    /// Find the nearest entries.
    ///
    /// Args:
    ///     query: Shape (dim,), as the vectors of `add`.
    ///     k: How many, at least 1; fewer come back if there are fewer.
    ///     where: A `Filter` of small integers; it decides before an entry is scored.
    ///     threads: How many threads share the rows, at least 1; never changes the answer. A
    ///         thread pays from about ten thousand rows on.
    ///
    /// Returns:
    ///     Ids (uint64) and scores (float32), best first, ties by id.
    ///
    /// Raises:
    ///     InvalidInputError: `k`, `threads`, the query or the filter is not usable.
    #[pyo3(signature = (query, k, *, r#where=None, threads=None),
           text_signature = "($self, query, k, *, where=None, threads=1)")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Hits<'py>> {
        let query = self.query(py, query)?;
        let Wish { k, filter, threads } = Wish::of(k, r#where, threads)?;
        let search = || {
            self.index
                .read_detached()
                .search_on(&query, k, filter.as_ref(), threads)
        };
        let found = py.detach(search).map_err(raise)?;
        Ok(arrays(py, found))
    }

    /// Search, and tell what the search did: which codes were read first, how many rows each step
    /// scored, and above which score no row can be that was left out.
    ///
    /// Arguments and errors are those of `search`.
    #[pyo3(signature = (query, k, *, r#where=None))]
    fn explain(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        k: &Bound<'_, PyAny>,
        r#where: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SearchExplanation> {
        let query = self.query(py, query)?;
        let Wish { k, filter, .. } = Wish::of(k, r#where, None)?;
        py.detach(|| {
            self.index
                .read_detached()
                .explain(&query, k, filter.as_ref())
        })
        .map(SearchExplanation::new)
        .map_err(raise)
    }

    /// Find the nearest entries of several queries.
    ///
    /// Args:
    ///     queries: Shape (m, dim), as the vectors of `add`.
    ///     k: How many for each, at least 1.
    ///     where: A `Filter` of small integers for all queries.
    ///     threads: How many threads share the queries, at least 1; never changes the answer.
    ///
    /// Returns:
    ///     Ids and scores, shape (m, w) with w the longest result, and how many of each row count;
    ///     cells behind a row's count hold the largest id and minus infinity.
    ///
    /// Raises:
    ///     InvalidInputError: `k`, `threads`, a query or the filter is not usable; the message names
    ///         the query's row.
    #[pyo3(signature = (queries, k, *, r#where=None, threads=None),
           text_signature = "($self, queries, k, *, where=None, threads=1)")]
    fn search_batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Found<'py>> {
        let queries = of_dim(matrix(queries, "queries")?, self.dim(py))?.values;
        let Wish { k, filter, threads } = Wish::of(k, r#where, threads)?;
        let search = || {
            let index = self.index.read_detached();
            index.search_batch_on(&queries, k, filter.as_ref(), threads)
        };
        table(py, &py.detach(search).map_err(raise)?)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let index = self.index.read(py);
        format!(
            "HotIndex(dim={}, metric={:?}, entries={}, simd={:?})",
            index.dim(),
            index.metric().name(),
            index.len(),
            index.tier().name()
        )
    }
}
