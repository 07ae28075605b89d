//! What became of the rows of a batch.

use pyo3::prelude::*;
use pyo3::types::PyType;
use warmset_core::log;

use crate::cold_arguments::wrong;
use crate::error::invalid;
use crate::log_results::Again;

/// What became of a row of a batch.
///
/// Args:
///     status: "written": it is in the store, under `id`. "present": it was left out for what is
///         there under `id`. "nothing": there was nothing to do. "spooled": it waits for the next
///         writer, who judges it.
///     id: The record's id; None for "nothing" and "spooled".
#[pyclass(frozen, eq, module = "warmset.native")]
#[derive(PartialEq)]
pub(crate) struct Outcome(log::Outcome);

impl From<log::Outcome> for Outcome {
    fn from(inner: log::Outcome) -> Self {
        Self(inner)
    }
}

#[pymethods]
impl Outcome {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("status", "id")
    }

    #[new]
    #[pyo3(signature = (status, id=None))]
    fn new(status: &Bound<'_, PyAny>, id: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let word: Option<String> = status.extract().ok();
        let id = id
            .map(|id| crate::log_arguments::id("id", &id))
            .transpose()?;
        match (word.as_deref(), id) {
            (Some("written"), Some(seq)) => Ok(Self(log::Outcome::Written(seq))),
            (Some("present"), Some(seq)) => Ok(Self(log::Outcome::Present(seq))),
            (Some("nothing"), None) => Ok(Self(log::Outcome::Nothing)),
            (Some("spooled"), None) => Ok(Self(log::Outcome::Spooled)),
            (Some("written" | "present"), None) => Err(invalid("id: expected an id, found None")),
            (Some("nothing" | "spooled"), Some(_)) => {
                Err(invalid("id: expected None where nothing was written yet"))
            }
            _ => {
                let what = "one of \"written\", \"present\", \"nothing\", \"spooled\"";
                Err(wrong("status", what, status))
            }
        }
    }

    /// What became of it: "written", "present", "nothing" or "spooled".
    #[getter]
    fn status(&self) -> &'static str {
        match self.0 {
            log::Outcome::Written(_) => "written",
            log::Outcome::Present(_) => "present",
            log::Outcome::Nothing => "nothing",
            log::Outcome::Spooled => "spooled",
        }
    }

    /// The id of the record that was written, or of what is there; None for neither.
    #[getter]
    fn id(&self) -> Option<u64> {
        match self.0 {
            log::Outcome::Written(seq) | log::Outcome::Present(seq) => Some(seq.0),
            log::Outcome::Nothing | log::Outcome::Spooled => None,
        }
    }

    fn __hash__(&self) -> u64 {
        self.id().unwrap_or_default()
    }

    fn __repr__(&self) -> String {
        let status = self.status();
        self.id().map_or_else(
            || format!("Outcome('{status}')"),
            |id| format!("Outcome('{status}', {id})"),
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Again<'py, (&'static str, Option<u64>)> {
        (
            PyType::new::<Self>(py).into_any(),
            (self.status(), self.id()),
        )
    }
}
