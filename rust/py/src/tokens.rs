//! Counting tokens and splitting text into terms.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;
use warmset_core::tokens::Encoding;

use crate::convert::text;
use crate::error::raise;

/// The number of tokens of a text, and whether the count is the reference's.
#[pyfunction]
#[pyo3(signature = (text, encoding="o200k_base"))]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn count_text(
    py: Python<'_>,
    text: Bound<'_, PyString>,
    encoding: &str,
) -> PyResult<(u64, bool)> {
    let encoding = Encoding::named(encoding).map_err(raise)?;
    let text = crate::convert::text(&text);
    let whole = matches!(text, Cow::Borrowed(_));
    let count = py.detach(|| encoding.count(&text));
    Ok((count, encoding.is_exact() && whole))
}

/// The number of tokens of each text.
#[pyfunction]
#[pyo3(signature = (texts, encoding="o200k_base"))]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn count_texts(
    py: Python<'_>,
    texts: Vec<Bound<'_, PyString>>,
    encoding: &str,
) -> PyResult<Vec<u64>> {
    let encoding = Encoding::named(encoding).map_err(raise)?;
    let texts: Vec<Cow<'_, str>> = texts.iter().map(text).collect();
    Ok(py.detach(|| texts.iter().map(|text| encoding.count(text)).collect()))
}

/// Return the terms that the lexical index sees in a text.
///
/// Words lose their endings (Snowball English) and stop words leave; accents are dropped. Names of
/// joined words (`src/db_pool.rs`, `HTTPServerError`, `v1.2.3`) give their words, the names inside them
/// and the whole; scripts without spaces give pairs of characters. Prose joins words too (well-being,
/// and/or), and gives its words alone.
///
/// Args:
///     text: Any text.
///
/// Returns:
///     The terms, in order, with repeats.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn terms(py: Python<'_>, text: Bound<'_, PyString>) -> Vec<String> {
    let text = crate::convert::text(&text);
    py.detach(|| warmset_core::hot::terms(&text))
}
