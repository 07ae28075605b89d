//! What tells messages from each other: a number of all that is in one.
//!
//! Messages come back with every call, and whatever was read of one is kept by its number. The walk
//! takes JSON types alone, in the order of their keys, and writes down their types: values that
//! Python takes for equal and JSON does not (`1`, `1.0` and `true`) make other numbers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

/// Makes the numbers of this process other ones than anybody can foresee.
static SEED: OnceLock<u64> = OnceLock::new();

/// Return what tells each message from any other one: 16 bytes, other ones in every process.
///
/// Args:
///     messages: Messages as callers have them.
///     depth: Levels that a message may have.
///
/// Returns:
///     One key a message; None for a message that is no dict of plain JSON types, is too deep, or
///     holds a lone surrogate or an integer of more than 64 bits.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a list from Python arrives as a Vec"
)]
pub(crate) fn message_keys<'py>(
    py: Python<'py>,
    messages: Vec<Bound<'py, PyAny>>,
    depth: usize,
) -> Vec<Option<Bound<'py, PyBytes>>> {
    let seed = *SEED.get_or_init(|| RandomState::new().build_hasher().finish());
    let mut written = Vec::new();
    let mut key = |message: &Bound<'py, PyAny>| {
        written.clear();
        message.cast_exact::<PyDict>().ok()?;
        write(message, depth, &mut written)?;
        let hash = warmset_core::cold::keyed_hash(&written, seed);
        Some(PyBytes::new(py, &hash.to_le_bytes()))
    };
    messages.iter().map(&mut key).collect()
}

/// Write a value down so that no two values are written the same; none if it is no plain JSON.
fn write(value: &Bound<'_, PyAny>, room: usize, out: &mut Vec<u8>) -> Option<()> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return string(text, out);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let room = room.checked_sub(1)?;
        head(b'{', dict.len(), out);
        // Nothing of Python's runs in between that could change it.
        return dict.iter().try_for_each(|(key, item)| {
            string(key.cast_exact::<PyString>().ok()?, out)?;
            write(&item, room, out)
        });
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        let room = room.checked_sub(1)?;
        head(b'[', list.len(), out);
        return list.iter().try_for_each(|item| write(&item, room, out));
    }
    if value.is_none() {
        out.push(b'n');
        return Some(());
    }
    if let Ok(truth) = value.cast_exact::<PyBool>() {
        out.push(if truth.is_true() { b't' } else { b'f' });
        return Some(());
    }
    if value.cast_exact::<PyInt>().is_ok() {
        out.push(b'i');
        let number: i64 = value.extract().ok()?;
        out.extend_from_slice(&number.to_le_bytes());
        return Some(());
    }
    let number = value.cast_exact::<PyFloat>().ok()?.value();
    out.push(b'd');
    out.extend_from_slice(&number.to_bits().to_le_bytes());
    number.is_finite().then_some(())
}

/// A text with its length; none for lone surrogates.
fn string(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> Option<()> {
    let text = text.to_str().ok()?;
    head(b's', text.len(), out);
    out.extend_from_slice(text.as_bytes());
    Some(())
}

fn head(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&length.to_le_bytes());
}
