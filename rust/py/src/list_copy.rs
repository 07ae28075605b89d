//! The messages of the list that a caller sent last, so that the next one costs what is new in it.
//!
//! Callers that resend whole lists send the same messages again and again, often the same objects,
//! and sometimes edit one in place. So each message is held as a copy of its containers that shares
//! the strings, and compared by value: an unchanged message costs a comparison of pointers, an
//! edited one is noticed. Values that Python takes for equal and JSON does not (`1`, `1.0` and
//! `True`) differ, and so do the same keys in another order.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::guarded::Guarded;
use crate::plain_json::PlainHasher;

/// Levels of a message that is held; a deeper one is none of an API, and is read each time.
const DEPTH: usize = 64;

/// Messages of one list that are held; the rest is read each time.
const MOST: usize = 200_000;

/// A value of JSON, held so that no edit of what it was read from changes it.
enum Copied {
    Null,
    Truth(bool),
    Float(u64),
    Integer(Py<PyInt>),
    Text(Py<PyString>),
    List(Box<[Copied]>),
    Fields(Box<[(Py<PyString>, Copied)]>),
    /// What nobody changes.
    Fixed(Py<PyAny>),
}

impl Copied {
    /// Copies a value; none if it is no plain JSON, or is too deep.
    fn of(value: &Bound<'_, PyAny>, room: usize) -> Option<Self> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            return Some(Self::Text(text.clone().unbind()));
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return Self::fields(dict, room);
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            let room = room.checked_sub(1)?;
            let items = list.iter().map(|item| Self::of(&item, room));
            return items.collect::<Option<_>>().map(Self::List);
        }
        if value.is_none() {
            return Some(Self::Null);
        }
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            return Some(Self::Truth(truth.is_true()));
        }
        if let Ok(number) = value.cast_exact::<PyInt>() {
            return Some(Self::Integer(number.clone().unbind()));
        }
        let number = value.cast_exact::<PyFloat>().ok()?.value();
        Some(Self::Float(number.to_bits()))
    }

    /// Copies an object.
    fn fields(dict: &Bound<'_, PyDict>, room: usize) -> Option<Self> {
        let room = room.checked_sub(1)?;
        // Nothing of Python's runs in between that could change it.
        let fields = dict.iter().map(|(key, item)| {
            let name = key.cast_exact::<PyString>().ok()?.clone().unbind();
            Some((name, Self::of(&item, room)?))
        });
        fields.collect::<Option<_>>().map(Self::Fields)
    }

    /// Tells whether a value would be the same JSON.
    fn is(&self, value: &Bound<'_, PyAny>) -> bool {
        match self {
            Self::Text(text) => same_text(text, value),
            Self::Fields(fields) => value
                .cast_exact::<PyDict>()
                .is_ok_and(|dict| same_fields(fields, dict)),
            Self::List(items) => value.cast_exact::<PyList>().is_ok_and(|list| {
                list.len() == items.len()
                    && list
                        .iter()
                        .zip(items)
                        .all(|(item, copied)| copied.is(&item))
            }),
            Self::Null => value.is_none(),
            Self::Truth(truth) => value
                .cast_exact::<PyBool>()
                .is_ok_and(|other| other.is_true() == *truth),
            Self::Integer(number) => value
                .cast_exact::<PyInt>()
                .is_ok_and(|other| other.as_any().eq(number).unwrap_or(false)),
            Self::Float(bits) => value
                .cast_exact::<PyFloat>()
                .is_ok_and(|other| other.value().to_bits() == *bits),
            Self::Fixed(one) => value.is(one),
        }
    }
}

/// Tells whether an object would be the same JSON.
fn same_fields(fields: &[(Py<PyString>, Copied)], dict: &Bound<'_, PyDict>) -> bool {
    dict.len() == fields.len()
        && dict
            .iter()
            .zip(fields)
            .all(|((key, item), (name, copied))| same_text(name, &key) && copied.is(&item))
}

/// Tells whether a value is a text of the same characters.
fn same_text(text: &Py<PyString>, value: &Bound<'_, PyAny>) -> bool {
    value.is(text)
        || value
            .cast_exact::<PyString>()
            .is_ok_and(|other| other.as_any().eq(text).unwrap_or(false))
}

/// A message that is held; none where it cannot be. What is known of it stands beside it.
struct Held {
    copied: Option<Copied>,
    digest: Py<PyBytes>,
}

/// Copies of a list's messages with their content hashes.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct ListCopy {
    held: Guarded<Vec<Held>>,
}

/// Copies of the messages that are new in a list, until their content hashes are known.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct ListDraft {
    made: Guarded<Vec<(usize, Option<Copied>)>>,
    size: usize,
}

#[pymethods]
impl ListCopy {
    #[new]
    fn new() -> Self {
        Self {
            held: Guarded::default(),
        }
    }

    /// Compare a list with the last one, and copy what is new in it.
    ///
    /// A message that is edited meanwhile differs from its copy, and is read again the next time.
    ///
    /// Args:
    ///     given: The list.
    ///     fixed: Whether nobody changes its messages; they stay in memory as long as they are held.
    ///     hasher: Hashes messages that need not be read; without one, all that are new are.
    ///
    /// Returns:
    ///     The hash of each message that is as it was in the last list or needs no reading, else
    ///     None; the positions of those that are to be read; and copies of what is new, for `take`.
    #[pyo3(signature = (given, *, fixed=false, hasher=None))]
    fn known<'py>(
        &self,
        given: &Bound<'py, PyList>,
        fixed: bool,
        hasher: Option<&PlainHasher>,
    ) -> (Vec<Option<Bound<'py, PyBytes>>>, Vec<usize>, ListDraft) {
        let py = given.py();
        let mut written = Vec::new();
        let held = self.held.read(py);
        let (mut made, mut fresh) = (Vec::new(), Vec::new());
        let known = given.iter().enumerate().map(|(at, message)| {
            let fields = hasher.and_then(|one| one.fields_of(&message));
            let is_same = |copied: &Copied| match (copied, fields) {
                (Copied::Fields(before), Some(fields)) => same_fields(before, fields),
                _ => copied.is(&message),
            };
            let same = held
                .get(at)
                .filter(|one| one.copied.as_ref().is_some_and(is_same));
            if let Some(same) = same {
                return Some(same.digest.bind(py).clone());
            }
            let copied = || {
                if fixed {
                    return Some(Copied::Fixed(message.clone().unbind()));
                }
                match fields {
                    Some(fields) => Copied::fields(fields, DEPTH),
                    None => Copied::of(&message, DEPTH),
                }
            };
            made.push((at, (at < MOST).then(copied).flatten()));
            let digest = hasher.and_then(|one| one.hash(fields?, &mut written));
            if digest.is_none() {
                fresh.push(at);
            }
            digest
        });
        let known = known.collect();
        let made = Guarded::new(made);
        let size = given.len();
        (known, fresh, ListDraft { made, size })
    }

    /// Hold a list for the next time.
    ///
    /// Args:
    ///     draft: What `known` returned for it; taken once.
    ///     digests: The content hashes of all messages.
    fn take(&self, draft: &ListDraft, digests: &Bound<'_, PyList>) -> PyResult<()> {
        let py = digests.py();
        let drafted = std::mem::take(&mut *draft.made.write(py));
        let most = draft.size.min(MOST);
        let mut made = Vec::with_capacity(drafted.len());
        for (at, copied) in drafted {
            let digest = digests.get_item(at)?.cast_into::<PyBytes>()?.unbind();
            made.push((at, Held { copied, digest }));
        }
        let mut held = self.held.write(py);
        let kept = most.min(held.len());
        let mut left = held.split_off(kept);
        for (at, one) in made {
            let size = held.len();
            match held.get_mut(at) {
                Some(before) => left.push(std::mem::replace(before, one)),
                None if at == size && at < most => held.push(one),
                None => left.push(one), // another list was taken meanwhile, a shorter one
            }
        }
        drop(held);
        drop(left); // strings may go, which nobody should wait for
        Ok(())
    }
}
