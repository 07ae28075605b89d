//! What a search did, as `warmset.SearchExplanation`.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warmset_core::hot::{Explanation, Neighbours};

/// What a search of a `HotIndex` did, and why its answer is that of a full scan.
#[pyclass(frozen, module = "warmset.native")]
pub(crate) struct SearchExplanation {
    found: Neighbours,
    what: Explanation,
}

impl SearchExplanation {
    pub(crate) fn new((found, what): (Neighbours, Explanation)) -> Self {
        Self { found, what }
    }
}

#[pymethods]
impl SearchExplanation {
    /// The ids that the search returns, best first (uint64).
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let ids: Vec<u64> = self.found.iter().map(|hit| hit.0).collect();
        ids.into_pyarray(py)
    }

    /// Their scores (float32).
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        let scores: Vec<f32> = self.found.iter().map(|hit| hit.1).collect();
        scores.into_pyarray(py)
    }

    /// The codes that were read first: how many of the index's rows have each. "int8", "int4",
    /// "projected" (int8 on 128 leading directions), or "plain" where rows are scored in full.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let heads = PyDict::new(py);
        for (name, rows) in &self.what.heads {
            heads.set_item(*name, *rows)?;
        }
        Ok(heads)
    }

    /// Bytes of codes that are read of every row first; 0 without codes.
    #[getter]
    fn bytes_per_row(&self) -> usize {
        self.what.bytes
    }

    /// Rows whose first codes were scored.
    #[getter]
    fn screened(&self) -> usize {
        self.what.steps.screened
    }

    /// Rows of those that could not be left out.
    #[getter]
    fn kept(&self) -> usize {
        self.what.steps.kept
    }

    /// Rows of those whose finer codes were scored, where there are any.
    #[getter]
    fn refined(&self) -> usize {
        self.what.steps.refined
    }

    /// Rows that were scored in full.
    #[getter]
    fn exact(&self) -> usize {
        self.what.steps.exact
    }

    /// No row that was not scored in full has a score above this; minus infinity if all were.
    #[getter]
    fn bound(&self) -> f32 {
        self.what.bound
    }

    fn __repr__(&self) -> String {
        let steps = self.what.steps;
        let heads: Vec<String> = self
            .what
            .heads
            .iter()
            .map(|(name, rows)| format!("{name}: {rows}"))
            .collect();
        format!(
            "SearchExplanation({}; screened={}, kept={}, refined={}, exact={}, bound={})",
            heads.join(", "),
            steps.screened,
            steps.kept,
            steps.refined,
            steps.exact,
            self.what.bound
        )
    }
}
