//! What each signal gave each hit of a search: as columns, where somebody asks.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use warmset_core::hot::Scored;

use crate::error::invalid;

/// The signals, in the order in which `warmset.retrieve.hits.SIGNALS` names them.
const COUNT: usize = 10;

/// What makes them again: their class and its arguments.
type Rebuilt<'py> = (Bound<'py, PyType>, (Vec<Vec<f32>>,));

/// What each signal gave each hit of a search, before its weight.
///
/// Args:
///     columns: One a signal, each of shape (n,).
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct SearchSignals {
    rows: Vec<[f32; COUNT]>,
}

impl SearchSignals {
    pub(crate) fn of(hits: &[Scored]) -> Self {
        let row = |hit: &Scored| {
            [
                hit.dense,
                hit.lexical,
                hit.speaker,
                hit.date,
                hit.when,
                hit.number,
                hit.asking,
                hit.reply,
                hit.near,
                hit.session,
            ]
        };
        Self {
            rows: hits.iter().map(row).collect(),
        }
    }

    fn values(&self, signal: usize) -> PyResult<Vec<f32>> {
        if signal >= COUNT {
            return Err(PyIndexError::new_err(signal));
        }
        let values = self.rows.iter().filter_map(|row| row.get(signal));
        Ok(values.copied().collect())
    }
}

#[pymethods]
impl SearchSignals {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn new(columns: Vec<Vec<f32>>) -> PyResult<Self> {
        let lengths: Vec<usize> = columns.iter().map(Vec::len).collect();
        let most = lengths.first().copied().unwrap_or(0);
        if lengths != [most; COUNT] {
            return Err(invalid(&format!(
                "columns: expected {COUNT} of one length, found lengths {lengths:?}"
            )));
        }
        let mut rows = vec![[0.0; COUNT]; most];
        for (at, row) in rows.iter_mut().enumerate() {
            for (value, column) in row.iter_mut().zip(&columns) {
                *value = column.get(at).copied().unwrap_or_default();
            }
        }
        Ok(Self { rows })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Return what a signal gave each hit, shape (n,).
    ///
    /// Raises:
    ///     IndexError: There is no such signal.
    fn column<'py>(&self, py: Python<'py>, signal: usize) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(self.values(signal)?.into_pyarray(py))
    }

    /// Return what each signal gave a hit.
    ///
    /// Raises:
    ///     IndexError: There is no such hit.
    fn row(&self, hit: usize) -> PyResult<[f32; COUNT]> {
        let row = self.rows.get(hit).copied();
        row.ok_or_else(|| PyIndexError::new_err(hit))
    }

    /// Return whether a hit is near enough by vector and words alone.
    ///
    /// Args:
    ///     dense: The weight of the similarity of vectors.
    ///     lexical: The weight of the words that are shared.
    ///     least: What the weighted sum of both must reach.
    fn match_by(&self, dense: f32, lexical: f32, least: f32) -> bool {
        let mut sums = self.rows.iter().map(|row| {
            let [by_vector, by_words, ..] = row;
            dense * by_vector + lexical * by_words
        });
        sums.any(|sum| sum >= least)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Rebuilt<'py>> {
        let columns = (0..COUNT).map(|signal| slf.get().values(signal));
        let columns = columns.collect::<PyResult<_>>()?;
        Ok((slf.get_type(), (columns,)))
    }
}
