//! Columns, from Python and back: the types that come back are those that were given.

use std::fmt::Display;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use warmset_core::log::{Columns, Value};

use crate::cold_arguments::wrong;
use crate::error::invalid;
use crate::log_arguments::{datetime, is_datetime, since_1970};

/// A key and a value.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The pairs of a mapping; `None` if it is none.
///
/// # Errors
/// What the mapping's own methods raise.
pub(crate) fn pairs<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Pair<'py>>>> {
    if let Ok(dict) = given.cast::<PyDict>() {
        return Ok(Some(dict.iter().collect()));
    }
    let Ok(mapping) = given.cast::<PyMapping>() else {
        return Ok(None);
    };
    let items = mapping.items()?;
    items
        .iter()
        .map(|pair| pair.extract())
        .collect::<PyResult<_>>()
        .map(Some)
}

/// Columns of a mapping from names to values.
///
/// # Errors
/// `InvalidInputError` that names the column and what is wrong with it.
pub(crate) fn columns(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Columns> {
    let shape = || wrong(&name, "a mapping from names to values", given);
    let pairs = pairs(given)?.ok_or_else(shape)?;
    let mut out = Vec::with_capacity(pairs.len());
    for (column, given) in &pairs {
        let text = column
            .cast::<PyString>()
            .ok()
            .and_then(|text| text.to_str().ok());
        let text = text.ok_or_else(|| wrong(&name, "names of columns in UTF-8", column))?;
        let value = value(format_args!("{name}[{text:?}]"), given)?;
        out.push((text.to_owned(), value));
    }
    Columns::new(out).map_err(|error| {
        // It begins with "columns".
        let text = error.to_string();
        invalid(&format!(
            "{name}{}",
            text.strip_prefix("columns").unwrap_or(&text)
        ))
    })
}

/// One value.
///
/// # Errors
/// `InvalidInputError` for one of another type.
pub(crate) fn value(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let mut values = Vec::new();
        for (at, one) in given.try_iter()?.enumerate() {
            let one = one?;
            let name = format_args!("{name}[{at}]");
            let single = single(name, &one)?;
            values.push(single.ok_or_else(|| wrong(name, SINGLE, &one))?);
        }
        return Ok(Value::List(values));
    }
    single(&name, given)?.ok_or_else(|| {
        let what = format!("{SINGLE}, or a list of such values");
        wrong(name, &what, given)
    })
}

const SINGLE: &str = "None, bool, int, float, str or a datetime with a time zone";

/// A value that is no list; `None` for another type.
///
/// # Errors
/// `InvalidInputError` for what is of a right type and cannot be stored.
pub(crate) fn single(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    Ok(Some(if given.is_none() {
        Value::Null
    } else if let Ok(truth) = given.cast::<PyBool>() {
        Value::Bool(truth.is_true())
    } else if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str();
        Value::Text(
            text.map_err(|_| wrong(name, "text that UTF-8 has", given))?
                .to_owned(),
        )
    } else if let Ok(number) = given.cast::<PyFloat>() {
        let number = number.value();
        if number.is_nan() {
            return Err(invalid(&format!("{name}: expected a number, found NaN")));
        }
        Value::Float(number)
    } else if let Ok(number) = given.extract::<i64>() {
        // Of numpy, too, and of whatever else is a whole number.
        Value::Int(number)
    } else if given.is_instance_of::<PyInt>() {
        return Err(wrong(name, "an integer of 64 bits", given));
    } else if is_datetime(given)? {
        Value::Time(since_1970(name, given)?)
    } else {
        return Ok(None);
    }))
}

/// Columns as a dictionary.
///
/// # Errors
/// As [`datetime`].
pub(crate) fn as_dict<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, value) in columns.iter() {
        out.set_item(name, as_object(py, value)?)?;
    }
    Ok(out)
}

fn as_object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(truth) => truth.into_bound_py_any(py),
        Value::Int(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Time(micros) => datetime(py, *micros),
        Value::List(values) => {
            let values = values.iter().map(|value| as_object(py, value));
            let values: Vec<_> = values.collect::<PyResult<_>>()?;
            PyList::new(py, values)?.into_bound_py_any(py)
        }
    }
}
