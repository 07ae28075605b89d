//! Values that Python need not look at, written as JSON, and the content hashes of such messages, which
//! most of a list are.
//!
//! Such a message holds plain JSON types alone, no field that an SDK added, and nothing that looks
//! like a tag of a private part. It is written as `messages.dumps` writes it. Of any other message,
//! and wherever there is a doubt, nothing is said: Python reads it.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyListMethods, PyString, PyType,
};
use warmset_core::cold;

/// Levels of a message that is written here.
const DEPTH: usize = 64;

/// Fields below which any null may be an SDK's.
const HOLDERS: [&str; 2] = ["action", "parts"];

/// Hashes messages that Python need not look at.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct PlainHasher {
    always: HashSet<PyBackedStr>,
    empty: HashSet<PyBackedStr>,
    kin: Py<PyType>,
}

#[pymethods]
impl PlainHasher {
    /// Args:
    ///     always: Fields that are left out wherever they stand.
    ///     empty: Fields that are left out of what has no type if they are null or an empty list; no
    ///         other field is left out for an empty list.
    ///     kin: A class of messages derived from dict, that says nothing itself of what it has.
    #[new]
    fn new(always: HashSet<PyBackedStr>, empty: HashSet<PyBackedStr>, kin: Py<PyType>) -> Self {
        Self { always, empty, kin }
    }

    /// Return the content hash of each message that Python need not look at, else None.
    fn hashes<'py>(&self, messages: &Bound<'py, PyList>) -> Vec<Option<Bound<'py, PyBytes>>> {
        let mut written = Vec::new();
        let hash = |message: Bound<'py, PyAny>| self.hash(self.fields_of(&message)?, &mut written);
        messages.iter().map(hash).collect()
    }

    /// Return each message as `messages.dumps` writes it; None if Python is to look at one of them.
    fn payloads<'py>(&self, messages: &Bound<'py, PyList>) -> Option<Vec<Bound<'py, PyBytes>>> {
        let mut written = Vec::new();
        let payload = |message: Bound<'py, PyAny>| {
            self.write(self.fields_of(&message)?, &mut written)?;
            Some(PyBytes::new(message.py(), &written))
        };
        messages.iter().map(payload).collect()
    }
}

impl PlainHasher {
    /// A message as the dict that it is; none if its class may say itself what it has.
    pub(crate) fn fields_of<'a, 'py>(
        &self,
        message: &'a Bound<'py, PyAny>,
    ) -> Option<&'a Bound<'py, PyDict>> {
        let exact = message.cast_exact::<PyDict>().ok();
        let is_kin = || message.get_type().is(&self.kin);
        exact.or_else(|| message.cast::<PyDict>().ok().filter(|_| is_kin()))
    }

    /// The content hash of a message; none if Python is to look at it.
    pub(crate) fn hash<'py>(
        &self,
        message: &Bound<'py, PyDict>,
        written: &mut Vec<u8>,
    ) -> Option<Bound<'py, PyBytes>> {
        self.write(message, written)?;
        let hash = cold::content_hash(written);
        Some(PyBytes::new(message.py(), &hash.to_le_bytes()))
    }

    fn write(&self, message: &Bound<'_, PyDict>, written: &mut Vec<u8>) -> Option<()> {
        // A whole reply of Anthropic's is reduced to some of its fields.
        if field(message, "model").is_some() {
            return None;
        }
        written.clear();
        let mut writer = Writer {
            rules: Some(self),
            written,
        };
        writer.fields(message, DEPTH, false)
    }
}

/// Return a value of plain types as compact JSON in UTF-8; None if Python is to write it.
#[pyfunction]
pub(crate) fn plain_json<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
    let mut written = Vec::new();
    let mut writer = Writer {
        rules: None,
        written: &mut written,
    };
    writer.value(value, DEPTH, false)?;
    Some(PyBytes::new(value.py(), &written))
}

/// Writes a value down; each step gives nothing where Python is to look at it. With rules it is a
/// message's.
struct Writer<'a> {
    rules: Option<&'a PlainHasher>,
    written: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// Writes an object; `strict` if a null in it may have to go whatever its field is.
    fn fields(&mut self, dict: &Bound<'_, PyDict>, room: usize, strict: bool) -> Option<()> {
        let room = room.checked_sub(1)?;
        let kind = field(dict, "type");
        let has_kind = kind.as_ref().is_some_and(is_name);
        let strict = strict || kind.is_some();
        let mut before = b'{';
        // Nothing of Python's runs in between that could change it.
        for (key, value) in dict.iter() {
            self.written.push(before);
            before = b',';
            let key = key.cast_into_exact::<PyString>().ok()?;
            let name = key.to_str().ok()?;
            self.text(name)?;
            self.written.push(b':');
            if let Some(rules) = self.rules {
                if rules.always.contains(name) {
                    return None;
                }
                let goes = rules.empty.contains(name);
                let is_empty = || {
                    value
                        .cast_exact::<PyList>()
                        .is_ok_and(PyListMethods::is_empty)
                };
                if value.is_none() && (strict || goes) || goes && !has_kind && is_empty() {
                    return None;
                }
            }
            self.value(&value, room, strict || HOLDERS.contains(&name))?;
        }
        if before == b'{' {
            self.written.push(before);
        }
        self.written.push(b'}');
        Some(())
    }

    fn value(&mut self, value: &Bound<'_, PyAny>, room: usize, strict: bool) -> Option<()> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            return self.text(text.to_str().ok()?);
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return self.fields(dict, room, strict);
        }
        if let Ok(items) = value.cast_exact::<PyList>() {
            return self.items(items, room, strict);
        }
        if value.is_none() {
            self.written.extend_from_slice(b"null");
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            let word: &[u8] = if truth.is_true() { b"true" } else { b"false" };
            self.written.extend_from_slice(word);
        } else if value.cast_exact::<PyInt>().is_ok() {
            let number: i64 = value.extract().ok()?;
            self.written
                .extend_from_slice(number.to_string().as_bytes());
        } else {
            let number = value.cast_exact::<PyFloat>().ok()?;
            if !number.value().is_finite() {
                return None;
            }
            let shortest = number.repr().ok()?;
            self.written
                .extend_from_slice(shortest.to_str().ok()?.as_bytes());
        }
        Some(())
    }

    fn items(&mut self, list: &Bound<'_, PyList>, room: usize, strict: bool) -> Option<()> {
        let room = room.checked_sub(1)?;
        self.written.push(b'[');
        for (at, item) in list.iter().enumerate() {
            if at > 0 {
                self.written.push(b',');
            }
            self.value(&item, room, strict)?;
        }
        self.written.push(b']');
        Some(())
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            b'"' | b'\\' => byte,
            _ => {
                let long = format!("\\u{byte:04x}");
                return self.written.extend_from_slice(long.as_bytes());
            }
        };
        self.written.extend_from_slice(&[b'\\', short]);
    }

    /// Writes a text, unless it is a message's and may have a tag of a private part.
    fn text(&mut self, text: &str) -> Option<()> {
        if self.rules.is_some() && may_be_private(text) {
            return None;
        }
        self.written.push(b'"');
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|byte| is_escaped(*byte)) {
            let (plain, after) = rest.split_at(at);
            self.written.extend_from_slice(plain);
            let Some((byte, after)) = after.split_first() else {
                break;
            };
            self.escape(*byte);
            rest = after;
        }
        self.written.extend_from_slice(rest);
        self.written.push(b'"');
        Some(())
    }
}

/// The value of a field, by a walk: to look it up would call the keys' own comparison, which may be a
/// caller's.
fn field<'py>(dict: &Bound<'py, PyDict>, name: &str) -> Option<Bound<'py, PyAny>> {
    let is_it = |key: &Bound<'_, PyAny>| {
        let key = key.cast_exact::<PyString>();
        key.is_ok_and(|key| key.to_str().is_ok_and(|key| key == name))
    };
    dict.iter()
        .find_map(|(key, value)| is_it(&key).then_some(value))
}

/// Tells whether the value of a field tells what its object is.
fn is_name(value: &Bound<'_, PyAny>) -> bool {
    let text = value.cast_exact::<PyString>();
    text.is_ok_and(|text| text.len().is_ok_and(|length| length > 0))
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Tells whether a text, or JSON that it is, may have a tag of a private part. In JSON, a backslash may
/// stand for white space or a stroke before the name, or for any character.
fn may_be_private(text: &str) -> bool {
    let opens = text.split('<').skip(1).any(|rest| {
        let name = rest.trim_start_matches(|one: char| {
            one == '/' || one.is_whitespace() || ('\x1c'..='\x1f').contains(&one)
        });
        name.starts_with(['p', 'P', '\\'])
    });
    opens || text.contains("\\u")
}
