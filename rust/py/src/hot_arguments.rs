//! From arguments of the hot index to the core's words, and from its answers to arrays.

use std::num::NonZero;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use warmset_core::Error;
use warmset_core::hot::{Filter, Labels, Neighbours};

use crate::convert::{Matrix, filter, integers, kind_code, matrix};
use crate::error::{invalid, raise};

type Table<'py, T> = Bound<'py, PyArray2<T>>;

/// Ids, scores, and how many of each row count.
pub(crate) type Found<'py> = (Table<'py, u64>, Table<'py, f32>, Bound<'py, PyArray1<i64>>);

/// Ids and scores.
pub(crate) type Hits<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f32>>);

/// What a search asks for beside its query.
pub(crate) struct Wish {
    pub(crate) k: usize,
    pub(crate) filter: Option<Filter>,
    pub(crate) threads: NonZero<usize>,
}

impl Wish {
    /// # Errors
    /// `InvalidInputError` for what is not usable.
    pub(crate) fn of(
        k: &Bound<'_, PyAny>,
        r#where: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            k: positive(k, "k")?.get(),
            threads: thread_count(threads)?,
            filter: r#where.map(filter).transpose()?,
        })
    }
}

/// The answer to one query as arrays.
pub(crate) fn arrays(py: Python<'_>, found: Neighbours) -> Hits<'_> {
    let (ids, scores): (Vec<u64>, Vec<f32>) = found.into_iter().unzip();
    (ids.into_pyarray(py), scores.into_pyarray(py))
}

/// The ids and the row-major vectors of entries, one row an id.
///
/// # Errors
/// `InvalidInputError` or `DimensionError` for what is not usable.
pub(crate) fn entries(
    ids: &Bound<'_, PyAny>,
    vectors: &Bound<'_, PyAny>,
    dim: usize,
) -> PyResult<(Vec<u64>, Vec<f32>)> {
    let ids = integers::<u64>(ids, "ids")?;
    let mut matrix = matrix(vectors, "vectors")?;
    if !ids.is_empty() {
        matrix = of_dim(matrix, dim)?;
    }
    if matrix.values.len() != ids.len() * dim {
        return Err(invalid(&format!(
            "vectors: expected {} rows, one an id, found {}",
            ids.len(),
            matrix.values.len() / dim
        )));
    }
    Ok((ids, matrix.values))
}

/// The columns of labels, as they were given.
pub(crate) struct Columns<'a, 'py> {
    pub(crate) tenant: Option<&'a Bound<'py, PyAny>>,
    pub(crate) conversation: Option<&'a Bound<'py, PyAny>>,
    pub(crate) kind: Option<&'a Bound<'py, PyAny>>,
    pub(crate) role: Option<&'a Bound<'py, PyAny>>,
    pub(crate) at: Option<&'a Bound<'py, PyAny>>,
}

impl Columns<'_, '_> {
    /// The labels of so many entries.
    ///
    /// # Errors
    /// `InvalidInputError` for a column that is not made of integers or is of another length.
    pub(crate) fn labels(&self, entries: usize) -> PyResult<Vec<Labels>> {
        let mut labels = vec![Labels::default(); entries];
        let all = &mut labels;
        column(self.tenant, "tenant", all, |label, v| label.tenant = v)?;
        column(self.conversation, "conversation", all, |label, v| {
            label.conversation = v;
        })?;
        column(self.role, "role", all, |label, v| label.role = v)?;
        column(self.at, "at", all, |label, v| label.at = v)?;
        match self.kind {
            Some(name) if name.is_instance_of::<PyString>() => {
                let code = kind_code(name)?;
                for label in all {
                    label.kind = code;
                }
            }
            kinds => column(kinds, "kind", all, |label, v| label.kind = v)?,
        }
        Ok(labels)
    }
}

/// A number of results or of threads: at least one.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn positive(value: &Bound<'_, PyAny>, name: &str) -> PyResult<NonZero<usize>> {
    (!value.is_instance_of::<PyBool>())
        .then(|| value.extract::<usize>().ok())
        .flatten()
        .and_then(NonZero::new)
        .ok_or_else(|| {
            invalid(&format!(
                "{name}: expected an integer of at least 1, found {value}"
            ))
        })
}

/// A number of threads; one where nothing is said.
///
/// # Errors
/// `InvalidInputError` for anything but an integer of at least 1.
fn thread_count(threads: Option<&Bound<'_, PyAny>>) -> PyResult<NonZero<usize>> {
    threads.map_or(Ok(NonZero::<usize>::MIN), |threads| {
        positive(threads, "threads")
    })
}

/// A matrix whose rows are as long as the index's.
///
/// # Errors
/// `DimensionError`.
pub(crate) fn of_dim(matrix: Matrix, dim: usize) -> PyResult<Matrix> {
    if matrix.columns == dim {
        return Ok(matrix);
    }
    Err(raise(Error::Dimension {
        expected: dim,
        found: matrix.columns,
    }))
}

/// The answers of a batch as arrays, as wide as the longest; cells behind the end of an answer hold
/// the largest id and minus infinity.
pub(crate) fn table<'py>(py: Python<'py>, found: &[Neighbours]) -> PyResult<Found<'py>> {
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
