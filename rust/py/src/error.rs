//! One mapping from the core's errors to the classes of `warmset.errors`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
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
        Error::Poisoned { .. } => "Poisoned",
        Error::Full { .. } => "StoreFull",
        Error::Corrupt { .. } => "Corrupt",
        Error::NewerFormat { .. } => "NewerFormat",
        Error::NotAStore { .. } => "NotAStore",
        Error::ForeignSegment { .. } => "ForeignSegment",
        Error::Truncated { .. } => "Truncated",
        Error::NotFound { .. } => "NotFound",
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
