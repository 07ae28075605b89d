//! One mapping from the core's errors to the classes of `warmset.errors`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use warmset_core::Error;

/// The exception that says what `error` says.
#[expect(clippy::needless_pass_by_value, reason = "the signature of map_err")]
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| exception(py, &error).unwrap_or_else(|failure| failure))
}

/// An `InvalidInputError` with that text.
pub(crate) fn invalid(text: &str) -> PyErr {
    Python::attach(|py| build(py, "InvalidInputError", (text,)).unwrap_or_else(|failure| failure))
}

/// A `StoreError` with that text.
pub(crate) fn store_error(text: &str) -> PyErr {
    Python::attach(|py| build(py, "StoreError", (text,)).unwrap_or_else(|failure| failure))
}

/// A `NotFound` with that text.
pub(crate) fn not_found(text: &str) -> PyErr {
    Python::attach(|py| build(py, "NotFound", (text,)).unwrap_or_else(|failure| failure))
}

/// A `NotPortable` with that text.
pub(crate) fn not_portable(text: &str) -> PyErr {
    Python::attach(|py| build(py, "NotPortable", (text,)).unwrap_or_else(|failure| failure))
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let text = error.to_string();
    let class = match error {
        Error::Locked { path, owner } => {
            return build(py, "Locked", (path.display().to_string(), owner));
        }
        Error::TooLarge { size, limit } => return build(py, "TooLarge", (*size, *limit)),
        Error::Dimension { expected, found } => {
            return build(py, "DimensionError", (*expected, *found));
        }
        Error::BudgetTooSmall { need, have } => return build(py, "BudgetTooSmall", (*need, *have)),
        Error::Io { op, path, source } => {
            let reason = format!("{op}: {source}");
            let file = path.display().to_string();
            return build(
                py,
                "StoreIOError",
                (source.raw_os_error().unwrap_or(0), reason, file),
            );
        }
        Error::Corrupt {
            path,
            offset,
            seqs,
            detail,
        } => {
            let file = path.display().to_string();
            return build(py, "Corrupt", (file, *offset, seqs, detail));
        }
        Error::Truncated {
            path,
            expected,
            found,
        } => {
            let file = path.display().to_string();
            return build(py, "Truncated", (file, *expected, *found));
        }
        Error::Conflict {
            row,
            key,
            reason,
            current,
        } => {
            let key = PyTuple::new(py, key.iter().map(|part| PyBytes::new(py, part)))?;
            return build(py, "Conflict", (*row, key, *reason, current.map(|id| id.0)));
        }
        Error::Uncertain { seq, version } => return build(py, "Uncertain", (seq.0, version.0)),
        Error::IndexDamaged {
            path,
            offset,
            detail,
        } => {
            let file = path.display().to_string();
            return build(py, "IndexDamaged", (file, *offset, detail));
        }
        Error::SavedIndex { offset, detail } => {
            return build(
                py,
                "IndexDamaged",
                ("a saved part of an index", *offset, detail),
            );
        }
        Error::EmbedderMismatch { stored, given } => {
            return build(py, "EmbedderMismatch", (stored, given));
        }
        Error::NotAnIndex { .. } => "NotAnIndex",
        Error::NewerIndex { .. } => "NewerIndex",
        Error::Erased { seq } => return build(py, "Erased", (seq.0,)),
        Error::NoKey { seq } => return build(py, "NoKey", (seq.0,)),
        Error::Poisoned { .. } => "Poisoned",
        Error::Full { .. } => "StoreFull",
        Error::NewerFormat { .. } => "NewerFormat",
        Error::NotAStore { .. } => "NotAStore",
        Error::ForeignSegment { .. } => "ForeignSegment",
        Error::NotFound { .. } => "NotFound",
        Error::ReadOnly { .. } => "ReadOnly",
        Error::Interrupted => "Interrupted",
        Error::Forked => "Forked",
        Error::Closed => "Closed",
        Error::NotFinite { .. } => "NotFiniteError",
        Error::ZeroNorm { .. } => "ZeroNormError",
        Error::DuplicateId { .. } => "DuplicateIdError",
        Error::UnknownId { .. } => "UnknownIdError",
        Error::NormTooLarge { .. } | Error::Argument { .. } => "InvalidInputError",
        _ => "WarmsetError",
    };
    build(py, class, (text,))
}

fn build<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<PyErr> {
    let class = py.import("warmset.errors")?.getattr(class)?;
    Ok(PyErr::from_value(
        class.call1(arguments)?.into_bound_py_any(py)?,
    ))
}
