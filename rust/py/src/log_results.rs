//! What the log answers: cells and entries.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use warmset_core::Seq;
use warmset_core::cold::Born;
use warmset_core::log;

use crate::log_columns::{as_dict, columns};

type Key<'py> = Bound<'py, PyTuple>;
type Raw<'py> = Bound<'py, PyBytes>;
/// How a pickle makes a value again: by whom, and of what.
pub(crate) type Again<'py, T> = (Bound<'py, PyAny>, T);

/// The newest version of a cell: key, version, at, born, born_at, expires, columns, codec, own, payload.
#[pyclass(frozen, eq, module = "warmset.native")]
#[derive(PartialEq)]
pub(crate) struct Cell(log::Cell);

impl From<log::Cell> for Cell {
    fn from(inner: log::Cell) -> Self {
        Self(inner)
    }
}

#[pymethods]
impl Cell {
    /// The key's parts.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Key<'py>> {
        key(py, &self.0.key)
    }

    /// The id of this version.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version.0
    }

    /// When it was put, in microseconds since 1970 UTC.
    #[getter]
    fn at(&self) -> i64 {
        self.0.at
    }

    /// The id of the cell's first version.
    #[getter]
    fn born(&self) -> u64 {
        self.0.born.seq.0
    }

    /// When that one was put, in microseconds since 1970 UTC.
    #[getter]
    fn born_at(&self) -> u64 {
        self.0.born.at
    }

    /// From when on it counts as absent, in microseconds since 1970 UTC; None for never.
    #[getter]
    fn expires(&self) -> Option<i64> {
        self.0.expires
    }

    /// The columns, as a new dictionary.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.0.columns)
    }

    /// The caller's name of the payload's encoding.
    #[getter]
    fn codec(&self) -> Option<&str> {
        self.0.codec.as_deref()
    }

    /// The bytes beside the payload.
    #[getter]
    fn own<'py>(&self, py: Python<'py>) -> Raw<'py> {
        PyBytes::new(py, &self.0.own)
    }

    /// The payload.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Raw<'py> {
        PyBytes::new(py, &self.0.payload)
    }

    fn __hash__(&self) -> u64 {
        self.0.version.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = shown(py, &self.0.key)?;
        let (version, len) = (self.0.version.0, self.0.payload.len());
        Ok(format!("Cell({key}, version={version}, {len} bytes)"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Again<'py, CellParts<'py>>> {
        let again = PyType::new::<Self>(py).getattr("_again")?;
        let numbers = (
            self.version(),
            self.at(),
            self.born(),
            self.born_at(),
            self.expires(),
        );
        let beside = (self.0.codec.clone(), self.own(py), self.payload(py));
        Ok((again, (self.key(py)?, numbers, self.columns(py)?, beside)))
    }

    /// What a pickled cell is made from again.
    #[staticmethod]
    fn _again(
        key: Vec<Vec<u8>>,
        numbers: (u64, i64, u64, u64, Option<i64>),
        columns: &Bound<'_, PyDict>,
        beside: (Option<String>, Vec<u8>, Vec<u8>),
    ) -> PyResult<Self> {
        let (version, at, born, born_at, expires) = numbers;
        let (codec, own, payload) = beside;
        Ok(Self(log::Cell {
            key,
            version: Seq(version),
            at,
            born: Born {
                seq: Seq(born),
                at: born_at,
            },
            expires,
            columns: self::columns("columns", columns)?,
            codec,
            own,
            payload,
        }))
    }
}

type CellParts<'py> = (
    Key<'py>,
    (u64, i64, u64, u64, Option<i64>),
    Bound<'py, PyDict>,
    (Option<String>, Raw<'py>, Raw<'py>),
);

/// A cell without its payload: key, version, at, born, born_at, expires, columns.
#[pyclass(frozen, eq, module = "warmset.native")]
#[derive(PartialEq)]
pub(crate) struct Listed(pub(crate) log::Listed);

impl From<log::Listed> for Listed {
    fn from(inner: log::Listed) -> Self {
        Self(inner)
    }
}

#[pymethods]
impl Listed {
    /// The key's parts.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Key<'py>> {
        key(py, &self.0.key)
    }

    /// The id of the newest version.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version.0
    }

    /// When that one was put, in microseconds since 1970 UTC.
    #[getter]
    fn at(&self) -> i64 {
        self.0.at
    }

    /// The id of the cell's first version.
    #[getter]
    fn born(&self) -> u64 {
        self.0.born.seq.0
    }

    /// When that one was put, in microseconds since 1970 UTC.
    #[getter]
    fn born_at(&self) -> u64 {
        self.0.born.at
    }

    /// From when on it counts as absent, in microseconds since 1970 UTC; None for never.
    #[getter]
    fn expires(&self) -> Option<i64> {
        self.0.expires
    }

    /// The columns, as a new dictionary.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.0.columns)
    }

    /// Whether no damaged record may have changed it since.
    #[getter]
    fn is_certain(&self) -> bool {
        self.0.is_certain
    }

    fn __hash__(&self) -> u64 {
        self.0.version.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = shown(py, &self.0.key)?;
        Ok(format!("Listed({key}, version={})", self.0.version.0))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Again<'py, ListedParts<'py>>> {
        let again = PyType::new::<Self>(py).getattr("_again")?;
        let numbers = (
            self.version(),
            self.at(),
            self.born(),
            self.born_at(),
            self.expires(),
        );
        let parts = (self.key(py)?, numbers, self.columns(py)?, self.is_certain());
        Ok((again, parts))
    }

    /// What a pickled one is made from again.
    #[staticmethod]
    fn _again(
        key: Vec<Vec<u8>>,
        numbers: (u64, i64, u64, u64, Option<i64>),
        columns: &Bound<'_, PyDict>,
        is_certain: bool,
    ) -> PyResult<Self> {
        let (version, at, born, born_at, expires) = numbers;
        Ok(Self(log::Listed {
            key,
            version: Seq(version),
            at,
            born: Born {
                seq: Seq(born),
                at: born_at,
            },
            expires,
            is_certain,
            columns: self::columns("columns", columns)?,
        }))
    }
}

type ListedParts<'py> = (
    Key<'py>,
    (u64, i64, u64, u64, Option<i64>),
    Bound<'py, PyDict>,
    bool,
);

/// One entry of a list: id, parent, uid, at, expires, columns, codec, own, payload.
#[pyclass(frozen, eq, module = "warmset.native")]
#[derive(PartialEq)]
pub(crate) struct Entry(log::Entry);

impl From<log::Entry> for Entry {
    fn from(inner: log::Entry) -> Self {
        Self(inner)
    }
}

#[pymethods]
impl Entry {
    /// Its id, by which the entries of a list are in order.
    #[getter]
    fn id(&self) -> u64 {
        self.0.seq.0
    }

    /// The id of the entry before it on its path; 0 for none.
    #[getter]
    fn parent(&self) -> u64 {
        self.0.parent.0
    }

    /// Of a message of a conversation: what lies beside it, a JSON object; None for another entry.
    #[getter]
    fn turn<'py>(&self, py: Python<'py>) -> Option<Raw<'py>> {
        self.0.turn.as_ref().map(|turn| PyBytes::new(py, turn))
    }

    /// The caller's own id.
    #[getter]
    fn uid<'py>(&self, py: Python<'py>) -> Option<Raw<'py>> {
        self.0.uid.as_ref().map(|uid| PyBytes::new(py, uid))
    }

    /// When it was added, in microseconds since 1970 UTC.
    #[getter]
    fn at(&self) -> i64 {
        self.0.at
    }

    /// From when on it is not shown, in microseconds since 1970 UTC; None for never.
    #[getter]
    fn expires(&self) -> Option<i64> {
        self.0.expires
    }

    /// The columns, as a new dictionary.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        as_dict(py, &self.0.columns)
    }

    /// The caller's name of the payload's encoding.
    #[getter]
    fn codec(&self) -> Option<&str> {
        self.0.codec.as_deref()
    }

    /// The bytes beside the payload.
    #[getter]
    fn own<'py>(&self, py: Python<'py>) -> Raw<'py> {
        PyBytes::new(py, &self.0.own)
    }

    /// The payload.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Raw<'py> {
        PyBytes::new(py, &self.0.payload)
    }

    fn __hash__(&self) -> u64 {
        self.0.seq.0
    }

    fn __repr__(&self) -> String {
        format!("Entry({}, {} bytes)", self.0.seq.0, self.0.payload.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Again<'py, EntryParts<'py>>> {
        let again = PyType::new::<Self>(py).getattr("_again")?;
        let numbers = (self.id(), self.parent(), self.at(), self.expires());
        let turn = self.0.turn.clone();
        let beside = (self.0.codec.clone(), turn, self.own(py), self.payload(py));
        Ok((again, (numbers, self.uid(py), self.columns(py)?, beside)))
    }

    /// What a pickled entry is made from again.
    #[staticmethod]
    #[pyo3(signature = (numbers, uid, columns, beside))]
    fn _again(
        numbers: (u64, u64, i64, Option<i64>),
        uid: Option<Vec<u8>>,
        columns: &Bound<'_, PyDict>,
        beside: (Option<String>, Option<Vec<u8>>, Vec<u8>, Vec<u8>),
    ) -> PyResult<Self> {
        let (seq, parent, at, expires) = numbers;
        let (codec, turn, own, payload) = beside;
        Ok(Self(log::Entry {
            seq: Seq(seq),
            parent: Seq(parent),
            turn,
            uid,
            at,
            expires,
            columns: self::columns("columns", columns)?,
            codec,
            own,
            payload,
        }))
    }
}

type EntryParts<'py> = (
    (u64, u64, i64, Option<i64>),
    Option<Raw<'py>>,
    Bound<'py, PyDict>,
    (Option<String>, Option<Vec<u8>>, Raw<'py>, Raw<'py>),
);

/// The parts of a key.
pub(crate) fn key<'py>(py: Python<'py>, parts: &[Vec<u8>]) -> PyResult<Key<'py>> {
    PyTuple::new(py, parts.iter().map(|part| PyBytes::new(py, part)))
}

/// A key as a short text.
pub(crate) fn shown(py: Python<'_>, parts: &[Vec<u8>]) -> PyResult<String> {
    const MOST: usize = 80;
    let text = key(py, parts)?.repr()?.to_string();
    if text.len() <= MOST {
        return Ok(text);
    }
    Ok(format!("{}…", text.chars().take(MOST).collect::<String>()))
}
