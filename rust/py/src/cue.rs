//! What fused search is given beside vectors and words, read from fields of Python's objects.

use pyo3::prelude::*;
use warmset_core::hot::{Cue, Days, Weights};

use crate::error::invalid;

/// The weights of the signals, by their names.
pub(crate) fn weights(value: &Bound<'_, PyAny>) -> PyResult<Weights> {
    let of = |name: &str| -> PyResult<f32> {
        let weight: f32 = field(value, "weights", name)?;
        if weight.is_finite() {
            Ok(weight)
        } else {
            Err(invalid(&format!(
                "weights.{name}: expected a finite number, found {weight}"
            )))
        }
    };
    Ok(Weights {
        dense: of("dense")?,
        lexical: of("lexical")?,
        speaker: of("speaker")?,
        date: of("date")?,
        when: of("when")?,
        number: of("number")?,
        asking: of("asking")?,
        reply: of("reply")?,
        near: of("near")?,
        session: of("session")?,
    })
}

/// What was read out of the query; its terms are the caller's to add.
pub(crate) fn cue(value: &Bound<'_, PyAny>) -> PyResult<Cue> {
    Ok(Cue {
        terms: Vec::new(),
        speakers: field(value, "cue", "speakers")?,
        roles: field(value, "cue", "roles")?,
        days: field::<Vec<Days>>(value, "cue", "days")?,
        when: field(value, "cue", "when")?,
        number: field(value, "cue", "number")?,
    })
}

fn field<'py, T>(value: &Bound<'py, PyAny>, whose: &str, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    value
        .getattr(name)
        .ok()
        .and_then(|field| field.extract().ok())
        .ok_or_else(|| invalid(&format!("{whose}.{name}: not usable in {value}")))
}
