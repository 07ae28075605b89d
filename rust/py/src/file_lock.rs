//! The lock of a file, as `library` uses it to keep savers and erasers of one index apart.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warmset_core::file;

use crate::signals::run;

/// A lock that this process has until it is released.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct FileLock {
    file: Mutex<Option<File>>,
    pid: u32,
}

#[pymethods]
impl FileLock {
    /// Give the lock back; doing it twice does nothing, and neither does the child of a fork.
    fn release(&self) {
        if self.pid != std::process::id() {
            return;
        }
        let held = self
            .file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A child of a fork may have the file open, too: closing it here would not be enough.
        if let Some(file) = held {
            let _ = file.unlock();
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&self, _exc: &Bound<'_, PyTuple>) {
        self.release();
    }
}

/// Take the lock that a file of that name stands for; None if somebody has it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn lock_file(py: Python<'_>, path: PathBuf) -> PyResult<Option<FileLock>> {
    let file = run(py, || file::lock(&path))?;
    Ok(file.map(|file| FileLock {
        file: Mutex::new(Some(file)),
        pid: std::process::id(),
    }))
}
