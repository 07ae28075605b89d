//! Records, on their way into a store and out of it.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyList, PyString, PyTuple, PyType};
use warmset_core::cold::{Draft, Links};
use warmset_core::{Kind, Seq};

use crate::cold_arguments::{ids, wrong};
use crate::convert::text;

/// One record, read and verified: seq, kind, key, meta, payload, sources, hash.
#[pyclass(frozen, module = "warmset.native")]
pub(crate) struct Record {
    inner: warmset_core::cold::Record,
}

impl From<warmset_core::cold::Record> for Record {
    fn from(inner: warmset_core::cold::Record) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Record {
    /// The id that the store gave it.
    #[getter]
    fn seq(&self) -> u64 {
        self.inner.seq.0
    }

    /// What it is; "other" for a kind of a newer version.
    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind.name()
    }

    /// The key's parts.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.key.iter().map(|part| PyBytes::new(py, part)))
    }

    /// The bytes beside the payload.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.meta)
    }

    /// The payload.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.payload)
    }

    /// Ids of the records that it was made from.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.sources.iter().map(|seq| seq.0))
    }

    /// Of an entry that the log wrote: the id of the one before it, 0 for none; else None.
    #[getter]
    fn parent(&self) -> Option<u64> {
        Some(self.inner.links.as_deref()?.parent?.0)
    }

    /// The record that this one changes, replaces, or is the second copy of; None if there is none.
    #[getter]
    fn of(&self) -> Option<u64> {
        let of = self.inner.links.as_deref()?.of?;
        (of != Seq(0)).then_some(of.0)
    }

    /// The payload's `content_hash`.
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.hash.to_le_bytes())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let again = PyType::new::<Self>(py).getattr("_again")?;
        let ties = self.inner.links.as_deref();
        let ties = ties.map(|links| (links.parent.map(|seq| seq.0), links.of.map(|seq| seq.0)));
        let numbers = (self.inner.seq.0, self.inner.kind.code(), ties);
        let (key, sources) = (self.key(py)?, self.sources(py)?);
        let parts = (numbers, key, self.meta(py), self.payload(py), sources);
        Ok((again, parts))
    }

    /// What a pickled record is made from again.
    #[staticmethod]
    fn _again(
        numbers: Numbers,
        key: Vec<Vec<u8>>,
        meta: Vec<u8>,
        payload: Vec<u8>,
        sources: Vec<u64>,
    ) -> Self {
        let (seq, kind, ties) = numbers;
        let links = ties.map(|(parent, of)| {
            Box::new(Links {
                parent: parent.map(Seq),
                of: of.map(Seq),
                ..Links::default()
            })
        });
        let inner = warmset_core::cold::Record {
            seq: Seq(seq),
            kind: Kind::from_code(kind),
            key,
            meta,
            sources: sources.into_iter().map(Seq).collect(),
            links,
            depth: 0,
            hash: warmset_core::cold::content_hash(&payload),
            payload,
        };
        Self { inner }
    }

    fn __repr__(&self) -> String {
        format!(
            "Record(seq={}, kind={:?}, {} bytes)",
            self.inner.seq.0,
            self.inner.kind.name(),
            self.inner.payload.len()
        )
    }
}

/// The id and the kind of a record, and what it is tied to.
type Numbers = (u64, u16, Option<(Option<u64>, Option<u64>)>);

type Parts<'py> = (
    Numbers,
    Bound<'py, PyTuple>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyTuple>,
);

/// One record to append, as Python gave it.
struct Row<'py> {
    kind: Kind,
    /// Where its key stands among all parts.
    key: Range<usize>,
    meta: Bound<'py, PyBytes>,
    payload: Bound<'py, PyBytes>,
    sources: Vec<Seq>,
}

/// The rows of a batch, and the parts of all their keys one after the other.
#[derive(Default)]
pub(crate) struct Rows<'py> {
    rows: Vec<Row<'py>>,
    parts: Vec<Bound<'py, PyBytes>>,
}

/// The rows of a batch.
///
/// # Errors
/// `InvalidInputError` that names the row and what is wrong with it.
pub(crate) fn rows<'py>(records: &Bound<'py, PyAny>) -> PyResult<Rows<'py>> {
    let mut out = Rows::default();
    if let Ok(list) = records.cast::<PyList>() {
        out.rows.reserve(list.len());
        for row in list {
            out.push(&row)?;
        }
        return Ok(out);
    }
    let items = records.try_iter();
    for row in items.map_err(|_| wrong("records", "a sequence of tuples", records))? {
        out.push(&row?)?;
    }
    Ok(out)
}

/// What the core appends for rows and the parts of their keys.
pub(crate) fn drafts<'a>(rows: &'a Rows<'_>, parts: &'a [&'a [u8]]) -> Vec<Draft<'a>> {
    let rows = rows.rows.iter();
    rows.map(|row| Draft {
        kind: row.kind,
        key: parts.get(row.key.clone()).unwrap_or_default(),
        meta: row.meta.as_bytes(),
        sources: &row.sources,
        payload: row.payload.as_bytes(),
    })
    .collect()
}

/// The parts of the rows' keys.
pub(crate) fn keys<'a>(rows: &'a Rows<'_>) -> Vec<&'a [u8]> {
    slices(&rows.parts)
}

/// The bytes of several byte strings.
pub(crate) fn slices<'a>(parts: &'a [Bound<'_, PyBytes>]) -> Vec<&'a [u8]> {
    parts.iter().map(PyBytesMethods::as_bytes).collect()
}

/// A sequence of byte strings.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn byte_strings<'py>(
    name: impl Display,
    given: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut out = Vec::new();
    match add_byte_strings(&mut out, given) {
        Some(()) => Ok(out),
        None => Err(wrong(name, "a sequence of bytes", given)),
    }
}

/// Appends a sequence of byte strings; `None` if it is none.
fn add_byte_strings<'py>(
    out: &mut Vec<Bound<'py, PyBytes>>,
    given: &Bound<'py, PyAny>,
) -> Option<()> {
    if let Ok(list) = given.cast::<PyList>() {
        for part in list {
            out.push(part.cast_into().ok()?);
        }
    } else {
        out.extend(given.extract::<Vec<Bound<'py, PyBytes>>>().ok()?);
    }
    Some(())
}

impl<'py> Rows<'py> {
    fn push(&mut self, row: &Bound<'py, PyAny>) -> PyResult<()> {
        let at = self.rows.len();
        let shape = || {
            let shape = "(kind, key, meta, payload) or (kind, key, meta, payload, sources)";
            wrong(format_args!("records[{at}]"), shape, row)
        };
        let tuple = row.cast::<PyTuple>().map_err(|_| shape())?;
        let sources = match tuple.len() {
            4 => Vec::new(),
            5 => ids(format_args!("records[{at}].sources"), &tuple.get_item(4)?)?,
            _ => return Err(shape()),
        };
        let bytes = |part: &str, place: usize| {
            let given = tuple.get_item(place)?.cast_into::<PyBytes>();
            given.map_err(|error| {
                let name = format_args!("records[{at}].{part}");
                wrong(name, "bytes", &error.into_inner())
            })
        };
        let (begin, key) = (self.parts.len(), tuple.get_item(1)?);
        add_byte_strings(&mut self.parts, &key).ok_or_else(|| {
            let name = format_args!("records[{at}].key");
            wrong(name, "a sequence of bytes", &key)
        })?;
        self.rows.push(Row {
            kind: writable(&tuple.get_item(0)?)?,
            key: begin..self.parts.len(),
            meta: bytes("meta", 2)?,
            payload: bytes("payload", 3)?,
            sources,
        });
        Ok(())
    }
}

/// A kind that callers may write: the store's own bookkeeping is its own.
fn writable(given: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let name: Cow<'_, str> = given.cast::<PyString>().map_or(Cow::Borrowed(""), text);
    match Kind::from_name(&name) {
        Some(kind) if !kind.is_own() && !is_reserved(kind) => Ok(kind),
        _ => Err(wrong(
            "kind",
            "one of turn, summary, embedding, episode, distilled, prepared, item, checkpoint",
            given,
        )),
    }
}

fn is_reserved(kind: Kind) -> bool {
    matches!(kind, Kind::BatchMember | Kind::BatchCommit)
}

/// The 128-bit content hash of a payload, as the store keeps it (XXH3, little-endian).
#[pyfunction]
pub(crate) fn content_hash<'py>(
    py: Python<'py>,
    payload: &Bound<'py, PyBytes>,
) -> Bound<'py, PyBytes> {
    let hash = warmset_core::cold::content_hash(payload.as_bytes());
    PyBytes::new(py, &hash.to_le_bytes())
}
