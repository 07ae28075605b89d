//! What happened to a log, one change after the other.

use std::ops::RangeInclusive;

use pyo3::prelude::*;
use pyo3::types::{PyRange, PyTuple, PyType};
use warmset_core::Seq;
use warmset_core::log::{self, Happened, Scrubbed};

use crate::cold_arguments::wrong;
use crate::error::invalid;
use crate::log_arguments::{key as parts_of, slices};
use crate::log_results::{Again, key, shown};

/// First and last id of each range.
type Ranges = Vec<(u64, u64)>;
/// Of an erasure: uuid, number of parts and hash of the prefix, and up to which id it is erased.
type Below = ([u8; 16], Option<(u64, u128)>, u64);
/// What a pickle keeps of what happened: the word, up to two ids, up to two lists of ranges, an erasure.
type Parts<W> = (W, [u64; 2], [bool; 2], [Ranges; 2], Option<Below>);

/// What a change is made from again.
type ChangeParts<'py> = (u64, Bound<'py, PyTuple>, Parts<&'static str>);

/// One thing that happened to a log: id, key, what, and what is said beside it.
#[pyclass(frozen, eq, module = "warmset.native")]
#[derive(PartialEq)]
pub(crate) struct Change(log::Change);

impl From<log::Change> for Change {
    fn from(inner: log::Change) -> Self {
        Self(inner)
    }
}

#[pymethods]
impl Change {
    /// The id of the record that made the change; of a put the version, of an addition the entry.
    #[getter]
    fn id(&self) -> u64 {
        self.0.seq.0
    }

    /// The key of the cell, the list or the prefix; empty for an erasure.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if self.what() == "erased" {
            return Ok(PyTuple::empty(py));
        }
        key(py, &self.0.key)
    }

    /// What happened: "put", "added", "patched", "head", "removed", "removed below", "removed entries" or
    /// "erased".
    #[getter]
    fn what(&self) -> &'static str {
        match self.0.what {
            Happened::Put => "put",
            Happened::Added { .. } => "added",
            Happened::Patched { .. } => "patched",
            Happened::Head { .. } => "head",
            Happened::Removed { .. } => "removed",
            Happened::RemovedBelow { .. } => "removed below",
            Happened::RemovedEntries { .. } => "removed entries",
            Happened::Erased(_) => "erased",
        }
    }

    /// Of "added": the id of the entry before it, 0 for none; None if it is unknown.
    #[getter]
    fn parent(&self) -> Option<u64> {
        match self.0.what {
            Happened::Added { parent, .. } => parent.map(|seq| seq.0),
            _ => None,
        }
    }

    /// Of "added": the id of the entry of its uid that made way for it; None for none.
    #[getter]
    fn replaces(&self) -> Option<u64> {
        match self.0.what {
            Happened::Added { replaces, .. } => replaces.map(|seq| seq.0),
            _ => None,
        }
    }

    /// Of "patched": the id of the version or the entry whose columns and expiry changed.
    #[getter]
    fn of(&self) -> Option<u64> {
        match self.0.what {
            Happened::Patched { of } => Some(of.0),
            _ => None,
        }
    }

    /// Of "head": the id of the entry that the conversation goes on from, 0 for none.
    #[getter]
    fn tail(&self) -> Option<u64> {
        match self.0.what {
            Happened::Head { at } => Some(at.0),
            _ => None,
        }
    }

    /// Of "removed entries" the ids of the entries, of "erased" those of the records, as ranges.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        ranges(py, self.named())
    }

    /// The ids, as ranges, of records that went as well because they were made from what was removed.
    #[getter]
    fn derived<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        ranges(py, self.with())
    }

    /// Return whether a cell or an entry is gone by this change; False unless it is a removal or an erasure.
    ///
    /// Args:
    ///     id: The version of the cell, or the id of the entry.
    ///     key: The key of the cell, or of the list.
    ///
    /// Raises:
    ///     InvalidInputError: One of them is none.
    fn covers(&self, id: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let seq = crate::log_arguments::id("id", id)?;
        let parts = parts_of("key", key)?;
        Ok(self.0.covers(seq, &slices(&parts)))
    }

    fn __hash__(&self) -> u64 {
        self.0.seq.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (id, what) = (self.0.seq.0, self.what());
        if what == "erased" {
            return Ok(format!("Change({id}, '{what}')"));
        }
        Ok(format!(
            "Change({id}, '{what}', {})",
            shown(py, &self.0.key)?
        ))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Again<'py, ChangeParts<'py>>> {
        let again = PyType::new::<Self>(py).getattr("_again")?;
        let ids = match self.0.what {
            Happened::Added { parent, replaces } => [parent, replaces],
            Happened::Patched { of } => [Some(of), None],
            Happened::Head { at } => [Some(at), None],
            _ => [None, None],
        };
        let below = match &self.0.what {
            Happened::Erased(one) => Some((one.uuid, one.prefix, one.upto)),
            _ => None,
        };
        let said = (
            self.what(),
            ids.map(|id| id.unwrap_or_default().0),
            ids.map(|id| id.is_some()),
            [pairs(self.named()), pairs(self.with())],
            below,
        );
        Ok((again, (self.0.seq.0, key(py, &self.0.key)?, said)))
    }

    /// What a pickled one is made from again.
    #[staticmethod]
    fn _again(id: u64, key: Vec<Vec<u8>>, said: Parts<Bound<'_, PyAny>>) -> PyResult<Self> {
        let (given, [one, other], [has_one, has_other], [named, with], below) = said;
        let word: Option<String> = given.extract().ok();
        let (named, with) = (inclusive(&named), inclusive(&with));
        let what = match (word.as_deref().unwrap_or_default(), below) {
            ("put", None) => Happened::Put,
            ("added", None) => Happened::Added {
                parent: has_one.then_some(Seq(one)),
                replaces: has_other.then_some(Seq(other)),
            },
            ("patched", None) => Happened::Patched { of: Seq(one) },
            ("head", None) => Happened::Head { at: Seq(one) },
            ("removed", None) => Happened::Removed { with },
            ("removed below", None) => Happened::RemovedBelow { with },
            ("removed entries", None) => Happened::RemovedEntries {
                entries: named,
                with,
            },
            ("erased", Some((uuid, prefix, upto))) => Happened::Erased(Scrubbed {
                records: named,
                uuid,
                prefix,
                upto,
            }),
            ("erased", None) => return Err(invalid("an erasure: expected what it covers")),
            _ => return Err(wrong("what", "a word for what happened", &given)),
        };
        let seq = Seq(id);
        Ok(Self(log::Change { seq, key, what }))
    }
}

impl Change {
    /// What it names: entries of a list, or erased records.
    fn named(&self) -> &[RangeInclusive<u64>] {
        match &self.0.what {
            Happened::RemovedEntries { entries, .. } => entries,
            Happened::Erased(scrubbed) => &scrubbed.records,
            _ => &[],
        }
    }

    /// What went with it.
    fn with(&self) -> &[RangeInclusive<u64>] {
        match &self.0.what {
            Happened::Removed { with }
            | Happened::RemovedBelow { with }
            | Happened::RemovedEntries { with, .. } => with,
            _ => &[],
        }
    }
}

fn pairs(all: &[RangeInclusive<u64>]) -> Ranges {
    all.iter().map(|one| (*one.start(), *one.end())).collect()
}

fn inclusive(all: &Ranges) -> Vec<RangeInclusive<u64>> {
    all.iter().map(|(first, last)| *first..=*last).collect()
}

/// Ids as ranges of Python, which end before their last number.
fn ranges<'py>(py: Python<'py>, all: &[RangeInclusive<u64>]) -> PyResult<Bound<'py, PyTuple>> {
    let class = PyType::new::<PyRange>(py);
    let range = |one: &RangeInclusive<u64>| class.call1((*one.start(), u128::from(*one.end()) + 1));
    let all: Vec<_> = all.iter().map(range).collect::<PyResult<_>>()?;
    PyTuple::new(py, all)
}
