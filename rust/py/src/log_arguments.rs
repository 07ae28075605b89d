//! Single arguments of a log's calls: keys, times, limits; what is none of them is refused by name.

use std::fmt::Display;
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBoolMethods, PyBytes, PyBytesMethods, PyInt, PyList, PyString, PyTuple,
};
use warmset_core::Seq;
use warmset_core::log::{Order, SPACE};

use crate::cold_arguments::{whole, wrong};
use crate::error::{invalid, store_error};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The parts of keys, as Python gave them: bytes, or text that has an encoding.
pub(crate) type Parts<'py> = Vec<Bound<'py, PyAny>>;

/// The parts of a key.
///
/// # Errors
/// `InvalidInputError` for what is no sequence of byte strings and texts.
pub(crate) fn key<'py>(name: impl Display, given: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    let mut out = Vec::new();
    add_key(&mut out, name, given)?;
    Ok(out)
}

/// Appends the parts of a key.
///
/// # Errors
/// As [`key`].
pub(crate) fn add_key<'py>(
    out: &mut Parts<'py>,
    name: impl Display,
    given: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let begin = out.len();
    if let Ok(tuple) = given.cast::<PyTuple>() {
        out.extend(tuple.iter());
    } else if let Ok(list) = given.cast::<PyList>() {
        out.extend(list.iter());
    } else {
        let parts: Option<Parts<'py>> = given.extract().ok();
        out.extend(parts.ok_or_else(|| wrong(&name, "a tuple of bytes or str", given))?);
    }
    for part in out.iter().skip(begin) {
        bytes(part).ok_or_else(|| wrong(&name, "parts that are bytes or UTF-8 text", part))?;
    }
    Ok(())
}

/// The bytes of parts that were found to have some.
pub(crate) fn slices<'a>(parts: &'a [Bound<'_, PyAny>]) -> Vec<&'a [u8]> {
    let parts = parts.iter();
    parts.map(|part| bytes(part).unwrap_or_default()).collect()
}

/// The bytes of a byte string, or of a text in UTF-8.
pub(crate) fn bytes<'a>(part: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if let Ok(raw) = part.cast::<PyBytes>() {
        return Some(raw.as_bytes());
    }
    let text = part.cast::<PyString>().ok()?;
    text.to_str().ok().map(str::as_bytes)
}

/// The key's part that names a space: what is below it is no conversation.
///
/// Args:
///     name: The name of the space.
///
/// Raises:
///     InvalidInputError: It is no text, or empty.
#[pyfunction]
pub(crate) fn space<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let text = name.cast::<PyString>().ok().and_then(|t| t.to_str().ok());
    let text = text.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| wrong("name", "the name of a space, a text", name))?;
    Ok(PyBytes::new(
        name.py(),
        &[&[SPACE], text.as_bytes()].concat(),
    ))
}

/// One id.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn id(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Seq> {
    let id = whole(given).map(Seq);
    id.ok_or_else(|| wrong(name, "an id from 0 to 2**64 - 1", given))
}

/// The most that are wanted; no limit for `None`.
///
/// # Errors
/// `InvalidInputError` for what is no number.
pub(crate) fn limit(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    if given.is_none() {
        return Ok(usize::MAX);
    }
    let most = whole(given).map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    most.ok_or_else(|| wrong("limit", "a number of rows or None", given))
}

/// A truth value.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn flag(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let flag = given.cast::<PyBool>();
    flag.map(PyBoolMethods::is_true)
        .map_err(|_| wrong(name, "True or False", given))
}

/// What comes first.
///
/// # Errors
/// `InvalidInputError` for an unknown word.
pub(crate) fn order(given: &Bound<'_, PyAny>) -> PyResult<Order> {
    let word = given.cast::<PyString>().ok().and_then(|w| w.to_str().ok());
    match word {
        Some("key") => Ok(Order::Key),
        Some("born") => Ok(Order::Born),
        Some("changed") => Ok(Order::Changed),
        _ => Err(wrong(
            "order",
            "one of \"key\", \"born\", \"changed\"",
            given,
        )),
    }
}

/// A moment in microseconds since 1970 UTC: such a number, or a datetime with its zone.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn moment(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<i64> {
    if given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>() {
        let number = given.extract::<i64>();
        return number.map_err(|_| wrong(name, "microseconds that fit 64 bits", given));
    }
    if is_datetime(given)? {
        return since_1970(name, given);
    }
    let what = "microseconds since 1970 UTC or a datetime with a time zone";
    Err(wrong(name, what, given))
}

/// Whether it is a `datetime`.
pub(crate) fn is_datetime(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.is_instance(Clock::of(given.py())?.datetime.bind(given.py()))
}

/// The microseconds of a `datetime` since 1970 UTC, exactly.
///
/// # Errors
/// `InvalidInputError` for one without a time zone.
pub(crate) fn since_1970(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<i64> {
    let epoch = Clock::of(given.py())?.epoch.bind(given.py());
    let passed = given
        .sub(epoch)
        .map_err(|_| wrong(name, "a datetime with a time zone (tzinfo=)", given))?;
    micros(&passed)
}

/// The `datetime`, in UTC, of microseconds since 1970.
///
/// # Errors
/// `StoreError` for a year before 1 or after 9999, which only other languages can have stored.
pub(crate) fn datetime(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    let clock = Clock::of(py)?;
    let passed = clock.timedelta.bind(py).call1((0, 0, micros));
    let at = passed.and_then(|passed| clock.epoch.bind(py).add(passed));
    at.map_err(|_| {
        store_error(&format!(
            "{micros} µs since 1970 is outside of what datetime holds"
        ))
    })
}

/// For how long: a `timedelta`, or seconds; in microseconds.
///
/// # Errors
/// `InvalidInputError` for what is no length of time above 0.
pub(crate) fn duration(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = given.py();
    let length = if given.is_instance(Clock::of(py)?.timedelta.bind(py))? {
        micros(given).ok()
    } else if given.is_instance_of::<PyBool>() {
        None
    } else {
        let seconds = given.extract::<f64>().ok();
        let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        length.and_then(|length| i64::try_from(length.as_micros()).ok())
    };
    let length = length.filter(|length| *length > 0);
    length.ok_or_else(|| wrong(name, "seconds or a timedelta, more than 0", given))
}

/// The microseconds of a `timedelta`, which always fit.
fn micros(length: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = length.py();
    let days: i64 = length.getattr(intern!(py, "days"))?.extract()?;
    let seconds: i64 = length.getattr(intern!(py, "seconds"))?.extract()?;
    let micros: i64 = length.getattr(intern!(py, "microseconds"))?.extract()?;
    let sum = days.checked_mul(DAY).and_then(|sum| {
        sum.checked_add(seconds.checked_mul(SECOND)?)?
            .checked_add(micros)
    });
    sum.ok_or_else(|| invalid("a timedelta: expected one that fits 64 bits of microseconds"))
}

/// What is used of Python's module `datetime`.
struct Clock {
    datetime: Py<PyAny>,
    timedelta: Py<PyAny>,
    epoch: Py<PyAny>,
}

impl Clock {
    fn of(py: Python<'_>) -> PyResult<&'static Self> {
        static CLOCK: PyOnceLock<Clock> = PyOnceLock::new();
        CLOCK.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let datetime = module.getattr("datetime")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
            Ok(Self {
                datetime: datetime.unbind(),
                timedelta: module.getattr("timedelta")?.unbind(),
                epoch: epoch.unbind(),
            })
        })
    }
}
