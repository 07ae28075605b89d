//! From the facts of messages, as Python has them, to the core's.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use warmset_core::turns::{Bond, Fact, Id, Role};

use crate::error::invalid;

/// What is known of a message, read from the attributes of a `warmset.messages.Facts`.
pub(crate) fn fact(given: &Bound<'_, PyAny>) -> PyResult<Fact> {
    let py = given.py();
    let flag = |name| given.getattr(name)?.is_truthy();
    let role = given.getattr(intern!(py, "role"))?;
    let bond: u8 = given.getattr(intern!(py, "bond"))?.extract()?;
    let item = id(&given.getattr(intern!(py, "item_id"))?)?;
    Ok(Fact {
        role: match role.cast::<PyString>()?.to_cow()?.as_ref() {
            "system" | "developer" => Role::System,
            "assistant" => Role::Assistant,
            _ => Role::Other,
        },
        calls: ids(&given.getattr(intern!(py, "calls"))?)?,
        results: ids(&given.getattr(intern!(py, "results"))?)?,
        request: flag(intern!(py, "request"))?,
        keep: flag(intern!(py, "keep"))?,
        thinks: flag(intern!(py, "thinks"))?,
        bond: Bond::of(bond).ok_or_else(|| invalid(&format!("bond: unknown number {bond}")))?,
        item: (!item.is_empty()).then_some(item),
    })
}

fn ids(given: &Bound<'_, PyAny>) -> PyResult<Vec<Id>> {
    given
        .cast::<PyTuple>()?
        .iter()
        .map(|one| id(&one))
        .collect()
}

/// The bytes of an id: lone surrogates, which a provider's id may have, keep ids apart.
pub(crate) fn id(given: &Bound<'_, PyAny>) -> PyResult<Id> {
    let text = given.cast::<PyString>()?;
    if let Ok(text) = text.to_str() {
        return Ok(text.as_bytes().into());
    }
    let py = given.py();
    let bytes = text.call_method1(intern!(py, "encode"), ("utf-8", "surrogatepass"))?;
    Ok(bytes.extract::<&[u8]>()?.into())
}

/// An id as a text, as it came.
pub(crate) fn text_of<'py>(py: Python<'py>, id: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if let Ok(text) = std::str::from_utf8(id) {
        return Ok(PyString::new(py, text));
    }
    PyString::from_encoded_object(
        &pyo3::types::PyBytes::new(py, id),
        Some(c"utf-8"),
        Some(c"surrogatepass"),
    )
}
