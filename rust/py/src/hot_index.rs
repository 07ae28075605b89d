//! The exact index of vectors, as `warmset.HotIndex`.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use warmset_core::hot::{Batch, Index, Labels, Metric};

use crate::convert::{filter, integers, kind_code, matrix};
use crate::error::{invalid, raise};

type Ids<'py> = Bound<'py, PyArray1<u64>>;
type Scores<'py> = Bound<'py, PyArray1<f32>>;
type Table<'py, T> = Bound<'py, PyArray2<T>>;
type Found<'py> = (Table<'py, u64>, Table<'py, f32>, Bound<'py, PyArray1<i64>>);

/// An exact index of vectors.
///
/// Ids and scores equal those of a brute-force scan with the canonical sum, bit for bit, in the
/// order of score descending, then id ascending. Safe to use from several threads.
///
/// Args:
///     dim: The vectors' dimension, 1 to 65,536.
///     metric: "cosine" brings rows and queries to unit length; "ip" takes them as they are.
///
/// Raises:
///     InvalidInputError: The dimension or the metric is out of range.
#[pyclass(frozen, module = "warmset")]
pub(crate) struct HotIndex {
    index: RwLock<Index>,
}

impl HotIndex {
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl HotIndex {
    #[new]
    #[pyo3(signature = (dim, *, metric="cosine"))]
    fn new(dim: &Bound<'_, PyAny>, metric: &str) -> PyResult<Self> {
        let dim = positive(dim)
            .map_err(|_| invalid(&format!("dim: expected 1 to 65,536, found {dim}")))?;
        let metric = Metric::named(metric).map_err(raise)?;
        let index = Index::new(dim, metric).map_err(raise)?;
        Ok(Self {
            index: RwLock::new(index),
        })
    }

    /// The vectors' dimension.
    #[getter]
    fn dim(&self) -> usize {
        self.read().dim()
    }

    /// "cosine" or "ip".
    #[getter]
    fn metric(&self) -> &'static str {
        self.read().metric().name()
    }

    fn __len__(&self) -> usize {
        self.read().len()
    }

    fn __contains__(&self, id: u64) -> bool {
        self.read().contains(id)
    }

    /// Add entries: all of them, or none.
    ///
    /// Args:
    ///     ids: Integers, shape (n,); each is new.
    ///     vectors: Real numbers, shape (n, dim); f32 is taken as it is, other types are converted.
    ///     tenant: Small integers for filters, one an entry or one for all; so are the next two.
    ///     conversation: The conversation within the tenant.
    ///     kind: What the entries are, as "turn".
    ///     at: Times in milliseconds since 1970 UTC.
    ///
    /// Raises:
    ///     InvalidInputError: Shapes do not fit, or a column is not made of integers.
    ///     DimensionError: The vectors have another dimension.
    ///     NotFiniteError: A vector holds a NaN or an infinity.
    ///     ZeroNormError: A vector has no direction (cosine).
    ///     DuplicateIdError: An id is there already, or twice in the batch.
    #[pyo3(signature = (ids, vectors, *, tenant=None, conversation=None, kind=None, at=None))]
    #[expect(clippy::too_many_arguments, reason = "one optional column each")]
    fn add(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        vectors: &Bound<'_, PyAny>,
        tenant: Option<&Bound<'_, PyAny>>,
        conversation: Option<&Bound<'_, PyAny>>,
        kind: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let ids = integers::<u64>(ids, "ids")?;
        let matrix = matrix(vectors, "vectors")?;
        let dim = self.read().dim();
        if matrix.columns != dim && !ids.is_empty() {
            return Err(raise(warmset_core::Error::Dimension {
                expected: dim,
                found: matrix.columns,
            }));
        }
        if matrix.values.len() != ids.len() * dim {
            return Err(invalid(&format!(
                "vectors: expected {} rows, one an id, found {}",
                ids.len(),
                matrix.values.len() / dim
            )));
        }
        let mut labels = vec![Labels::default(); ids.len()];
        column(tenant, "tenant", &mut labels, |label, v| label.tenant = v)?;
        column(conversation, "conversation", &mut labels, |label, v| {
            label.conversation = v;
        })?;
        column(at, "at", &mut labels, |label, v| label.at = v)?;
        if let Some(kind) = kind {
            let code = kind_code(kind)?;
            for label in &mut labels {
                label.kind = code;
            }
        }
        py.detach(|| {
            self.write().add(Batch {
                ids: &ids,
                vectors: &matrix.values,
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
        py.detach(|| self.write().remove(&ids)).map_err(raise)
    }

    /// Find the nearest entries.
    ///
    /// Args:
    ///     query: Shape (dim,).
    ///     k: How many, at least 1; fewer come back if there are fewer.
    ///     where: A `Filter` of small integers; it decides before an entry is scored.
    ///
    /// Returns:
    ///     Ids (uint64) and scores (float32), best first, ties by id.
    ///
    /// Raises:
    ///     InvalidInputError: `k`, the query or the filter is not usable.
    #[pyo3(signature = (query, k, *, r#where=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Ids<'py>, Scores<'py>)> {
        let query = matrix(query, "query")?;
        let dim = self.read().dim();
        if query.columns != dim {
            return Err(raise(warmset_core::Error::Dimension {
                expected: dim,
                found: query.columns,
            }));
        }
        let query = query.one("query")?;
        let k = positive(k)?;
        let filter = r#where.map(filter).transpose()?;
        let hits = py
            .detach(|| self.read().search(&query, k, filter.as_ref()))
            .map_err(raise)?;
        let (ids, scores): (Vec<u64>, Vec<f32>) = hits.into_iter().unzip();
        Ok((ids.into_pyarray(py), scores.into_pyarray(py)))
    }

    /// Find the nearest entries of several queries.
    ///
    /// Args:
    ///     queries: Shape (m, dim).
    ///     k: How many for each, at least 1.
    ///
    /// Returns:
    ///     Ids and scores, shape (m, w) with w the longest result, and how many of each row count;
    /// cells     behind a row's count hold the largest id and minus infinity.
    fn search_batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
    ) -> PyResult<Found<'py>> {
        let queries = matrix(queries, "queries")?;
        let k = positive(k)?;
        let index = self.read();
        if queries.columns != index.dim() {
            return Err(raise(warmset_core::Error::Dimension {
                expected: index.dim(),
                found: queries.columns,
            }));
        }
        drop(index);
        let found = py
            .detach(|| self.read().search_batch(&queries.values, k))
            .map_err(raise)?;
        let width = found.iter().map(Vec::len).max().unwrap_or(0);
        let mut ids = vec![u64::MAX; found.len() * width];
        let mut scores = vec![f32::NEG_INFINITY; found.len() * width];
        let mut counts = Vec::with_capacity(found.len());
        for (at, hits) in found.iter().enumerate() {
            counts.push(i64::try_from(hits.len()).unwrap_or(i64::MAX));
            let cells = ids.iter_mut().zip(&mut scores).skip(at * width);
            for ((id, score), hit) in cells.zip(hits) {
                (*id, *score) = *hit;
            }
        }
        let shape = [found.len(), width];
        Ok((
            ids.into_pyarray(py).reshape(shape)?,
            scores.into_pyarray(py).reshape(shape)?,
            counts.into_pyarray(py),
        ))
    }

    fn __repr__(&self) -> String {
        let index = self.read();
        format!(
            "HotIndex(dim={}, metric={:?}, entries={}, simd={:?})",
            index.dim(),
            index.metric().name(),
            index.len(),
            index.tier().name()
        )
    }
}

/// A number of results: at least one.
pub(crate) fn positive(k: &Bound<'_, PyAny>) -> PyResult<usize> {
    (!k.is_instance_of::<PyBool>())
        .then(|| k.extract::<usize>().ok())
        .flatten()
        .filter(|k| *k > 0)
        .ok_or_else(|| invalid(&format!("k: expected an integer of at least 1, found {k}")))
}

/// Writes one value an entry, or one for all, into the labels.
fn column<T: TryFrom<i128> + Copy>(
    value: Option<&Bound<'_, PyAny>>,
    name: &str,
    labels: &mut [Labels],
    set: impl Fn(&mut Labels, T),
) -> PyResult<()> {
    let Some(value) = value else {
        return Ok(());
    };
    let values = integers::<T>(value, name)?;
    match values.as_slice() {
        [one] => {
            for label in labels {
                set(label, *one);
            }
        }
        many if many.len() == labels.len() => {
            for (label, value) in labels.iter_mut().zip(many) {
                set(label, *value);
            }
        }
        many => {
            return Err(invalid(&format!(
                "{name}: expected 1 or {} values, found {}",
                labels.len(),
                many.len()
            )));
        }
    }
    Ok(())
}
