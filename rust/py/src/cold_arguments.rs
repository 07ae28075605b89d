//! Single arguments of a store's calls: what is none of them is refused by name.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyMemoryView, PyString};
use warmset_core::Seq;

use crate::convert::text;
use crate::error::invalid;

/// An id that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Id(pub(crate) u64);

impl FromPyObject<'_, '_> for Id {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let id = whole(&given).map(Self);
        id.ok_or_else(|| expected("id", "an integer from 0 to 2**64 - 1", &given))
    }
}

/// About how many bytes to read at once.
#[derive(Clone, Copy)]
pub(crate) struct AtOnce(pub(crate) usize);

impl FromPyObject<'_, '_> for AtOnce {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let size = whole(&given).map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        size.map(Self)
            .ok_or_else(|| expected("max_bytes", "a number of bytes", &given))
    }
}

/// A store's directory; `None` for a store in memory.
pub(crate) struct Place(pub(crate) Option<PathBuf>);

impl FromPyObject<'_, '_> for Place {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self(None));
        }
        let path = given.extract::<PathBuf>().ok();
        let path = path
            .filter(|path| !has_nul(path))
            .ok_or_else(|| expected("path", "a directory's name or None", &given))?;
        if let Ok(target) = path.read_link()
            && !path.exists()
        {
            return Err(invalid(&format!(
                "path: {} is a symbolic link to {}, which is not there; make that directory, or \
                 name another one",
                path.display(),
                target.display()
            )));
        }
        Ok(Self(Some(path)))
    }
}

/// A progress callback of a long call; `None` if the caller gave none.
pub(crate) struct Progress(pub(crate) Option<Py<PyAny>>);

impl FromPyObject<'_, '_> for Progress {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match (given.is_none(), given.is_callable()) {
            (true, _) => Ok(Self(None)),
            (_, true) => Ok(Self(Some(given.to_owned().unbind()))),
            _ => Err(expected("progress", "a function or None", &given)),
        }
    }
}

/// A sequence of ids.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn ids(name: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Vec<Seq>> {
    // Bytes are a sequence of integers, which are hardly meant as ids.
    let raw = given.is_instance_of::<PyBytes>()
        || given.is_instance_of::<PyByteArray>()
        || given.is_instance_of::<PyMemoryView>();
    let numbers: Option<Vec<Bound<'_, PyAny>>> = given.extract().ok();
    let numbers = numbers.filter(|_| !raw);
    let numbers = numbers.ok_or_else(|| wrong(&name, "a sequence of ids", given))?;
    let mut seqs = Vec::with_capacity(numbers.len());
    for number in &numbers {
        let seq = whole(number).map(Seq);
        seqs.push(seq.ok_or_else(|| wrong(&name, "ids from 0 to 2**64 - 1", number))?);
    }
    Ok(seqs)
}

/// Ids as Python counts them.
pub(crate) fn numbers(seqs: Vec<Seq>) -> Vec<u64> {
    seqs.into_iter().map(|seq| seq.0).collect()
}

/// One integer that is no truth value.
pub(crate) fn whole(given: &Bound<'_, PyAny>) -> Option<u64> {
    let number = given.extract::<u64>().ok();
    number.filter(|_| !given.is_instance_of::<PyBool>())
}

/// An `InvalidInputError` that says what an argument should be and shows what it is.
pub(crate) fn expected(name: &str, what: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let found = given.repr().map_or_else(
        |_| given.get_type().to_string(),
        |text: Bound<'_, PyString>| text.to_string_lossy().chars().take(80).collect(),
    );
    invalid(&format!("{name}: expected {what}, found {found}"))
}

/// An `InvalidInputError` that says what an argument should be and of what sort it is.
pub(crate) fn wrong(name: impl Display, what: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given.get_type();
    let shown = given.cast::<PyString>().map_or_else(
        |_| {
            kind.name()
                .map_or_else(|_| kind.to_string(), |n| n.to_string())
        },
        |found| format!("{:?}", text(found)),
    );
    invalid(&format!("{name}: expected {what}, found {shown:.80}"))
}

fn has_nul(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().contains(&0)
}
