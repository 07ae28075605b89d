//! What a batch of the log is made of: rows and conditions, from the dataclasses of `warmset.store`.

use std::fmt::Display;
use std::ops::Range;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyBytesMethods, PyString};
use warmset_core::Seq;
use warmset_core::log::{Columns, Expect, IfPresent, Item, Row};

use crate::cold_arguments::{ids, wrong};
use crate::error::invalid;
use crate::log_arguments::{Parts, add_key, bytes, duration, id, moment};
use crate::log_columns::columns;

const ROWS: &str = "one of Put, Add, Patch, Cut, Remove, RemoveBelow, RemoveExpired, RemoveEntries of warmset.native";

/// What a row is.
#[derive(Clone, Copy)]
enum Sort {
    Put,
    Add,
    Patch,
    Cut,
    Remove,
    RemoveBelow,
    RemoveExpired,
    RemoveEntries,
}

/// What a condition is about.
#[derive(Clone, Copy)]
enum About {
    Version,
    Tail,
}

/// One row, as Python gave it; a key is where its parts stand among all of them.
struct One<'py> {
    key: Range<usize>,
    what: What<'py>,
}

enum What<'py> {
    Put(Content<'py>),
    Add(Content<'py>),
    Patch {
        version: Option<Seq>,
        columns: Columns,
        expires: Option<i64>,
    },
    Cut(Seq),
    Remove,
    RemoveBelow,
    RemoveExpired,
    RemoveEntries(Vec<Seq>),
}

/// A version or an entry.
struct Content<'py> {
    payload: Bound<'py, PyBytes>,
    turn: Option<Bound<'py, PyBytes>>,
    uid: Option<Bound<'py, PyAny>>,
    codec: Option<Bound<'py, PyString>>,
    expires: Option<i64>,
    columns: Option<Columns>,
    own: Bound<'py, PyBytes>,
    sources: Vec<Seq>,
    if_present: IfPresent,
}

/// The rows and conditions of a batch, and the parts of all their keys one after the other.
#[derive(Default)]
pub(crate) struct Given<'py> {
    rows: Vec<One<'py>>,
    expect: Vec<(About, Range<usize>, Seq)>,
    pub(crate) parts: Parts<'py>,
}

impl<'py> Given<'py> {
    /// Reads a batch; `now` is the batch's clock, from which a time to live counts.
    ///
    /// # Errors
    /// `InvalidInputError` that names the row, its field, and what is wrong with it.
    pub(crate) fn of(
        rows: &Bound<'py, PyAny>,
        expect: &Bound<'py, PyAny>,
        now: i64,
    ) -> PyResult<Self> {
        let mut out = Self::default();
        let several = |name, what, given: &Bound<'py, PyAny>| {
            let items = if given.is_instance_of::<PyString>() {
                None
            } else {
                given.try_iter().ok()
            };
            items.ok_or_else(|| wrong(name, what, given))
        };
        for (at, row) in several("rows", "a sequence of rows", rows)?.enumerate() {
            let reader = Reader {
                at,
                row: &row?,
                now,
            };
            out.push(&reader)?;
        }
        for (at, one) in several("expect", "a sequence of conditions", expect)?.enumerate() {
            out.condition(at, &one?)?;
        }
        Ok(out)
    }

    /// The rows as the core takes them; `parts` are the bytes of those of the keys.
    pub(crate) fn rows<'a>(&'a self, parts: &'a [&'a [u8]]) -> Vec<Row<'a>> {
        let row = |one: &'a One<'_>| {
            let key = parts.get(one.key.clone()).unwrap_or_default();
            match &one.what {
                What::Put(content) => Row::Put(content.item(key)),
                What::Add(content) => Row::Add(content.item(key)),
                What::Patch {
                    version,
                    columns,
                    expires,
                } => Row::Patch {
                    key,
                    version: *version,
                    columns,
                    expires: *expires,
                },
                What::Cut(after) => Row::Cut {
                    list: key,
                    after: *after,
                },
                What::Remove => Row::Remove(key),
                What::RemoveBelow => Row::RemoveBelow(key),
                What::RemoveExpired => Row::RemoveExpired(key),
                What::RemoveEntries(entries) => Row::RemoveEntries { list: key, entries },
            }
        };
        self.rows.iter().map(row).collect()
    }

    /// The conditions as the core takes them.
    pub(crate) fn expect<'a>(&self, parts: &'a [&'a [u8]]) -> Vec<Expect<'a>> {
        let expect = self.expect.iter().map(|(about, key, seq)| {
            let key = parts.get(key.clone()).unwrap_or_default();
            match about {
                About::Version => Expect::Version(key, *seq),
                About::Tail => Expect::Tail(key, *seq),
            }
        });
        expect.collect()
    }

    fn push(&mut self, row: &Reader<'_, 'py>) -> PyResult<()> {
        let py = row.row.py();
        let sort = sort_of(Classes::of(py)?.rows.as_slice(), row.row)?;
        let sort = sort.ok_or_else(|| wrong(format_args!("rows[{}]", row.at), ROWS, row.row))?;
        let begin = self.parts.len();
        let name = match sort {
            Sort::Add | Sort::Cut | Sort::RemoveEntries => "list",
            Sort::RemoveBelow => "prefix",
            Sort::Put | Sort::Patch | Sort::Remove | Sort::RemoveExpired => "key",
        };
        add_key(&mut self.parts, row.name(name), &row.row.getattr(name)?)?;
        let what = match sort {
            Sort::Put => What::Put(row.content(None, None)?),
            Sort::Add => {
                let uid = row.some(intern!(py, "uid"))?;
                if let Some(uid) = &uid {
                    bytes(uid).ok_or_else(|| wrong(row.name("uid"), "bytes, str or None", uid))?;
                }
                let turn = row.some(intern!(py, "turn"))?;
                let turn = turn.map(|_| row.bytes(intern!(py, "turn"))).transpose()?;
                What::Add(row.content(turn, uid)?)
            }
            Sort::Patch => What::Patch {
                version: row
                    .some(intern!(py, "version"))?
                    .map(|version| id(row.name("version"), &version))
                    .transpose()?,
                columns: columns(
                    row.name("columns"),
                    &row.row.getattr(intern!(py, "columns"))?,
                )?,
                expires: row.expires()?,
            },
            Sort::Cut => {
                let after = row.row.getattr(intern!(py, "after"))?;
                What::Cut(id(row.name("after"), &after)?)
            }
            Sort::Remove => What::Remove,
            Sort::RemoveBelow => What::RemoveBelow,
            Sort::RemoveExpired => What::RemoveExpired,
            Sort::RemoveEntries => {
                let given = row.row.getattr(intern!(py, "ids"))?;
                What::RemoveEntries(ids(row.name("ids"), &given)?)
            }
        };
        let key = begin..self.parts.len();
        self.rows.push(One { key, what });
        Ok(())
    }

    fn condition(&mut self, at: usize, given: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = given.py();
        let about = sort_of(Classes::of(py)?.conditions.as_slice(), given)?;
        let about = about.ok_or_else(|| {
            let what = "Version or Tail of warmset.native";
            wrong(format_args!("expect[{at}]"), what, given)
        })?;
        let name = match about {
            About::Version => "key",
            About::Tail => "list",
        };
        let begin = self.parts.len();
        let key = given.getattr(name)?;
        add_key(&mut self.parts, format_args!("expect[{at}].{name}"), &key)?;
        let seq = given.getattr(intern!(py, "id"))?;
        let seq = id(format_args!("expect[{at}].id"), &seq)?;
        self.expect.push((about, begin..self.parts.len(), seq));
        Ok(())
    }
}

impl Content<'_> {
    fn item<'a>(&'a self, key: &'a [&'a [u8]]) -> Item<'a> {
        Item {
            turn: self.turn.as_ref().map(PyBytesMethods::as_bytes),
            uid: self.uid.as_ref().and_then(bytes),
            codec: self.codec.as_ref().and_then(|codec| codec.to_str().ok()),
            expires: self.expires,
            columns: self.columns.as_ref(),
            own: self.own.as_bytes(),
            sources: &self.sources,
            if_present: self.if_present,
            ..Item::new(key, self.payload.as_bytes())
        }
    }
}

/// One row while it is read.
struct Reader<'a, 'py> {
    at: usize,
    row: &'a Bound<'py, PyAny>,
    now: i64,
}

impl<'py> Reader<'_, 'py> {
    /// What an error calls a field.
    fn name(&self, field: &str) -> impl Display {
        format!("rows[{}].{field}", self.at)
    }

    /// A field that is not None.
    fn some(&self, field: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let given = self.row.getattr(field)?;
        Ok((!given.is_none()).then_some(given))
    }

    fn bytes(&self, field: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
        let given = self.row.getattr(field)?.cast_into::<PyBytes>();
        given.map_err(|error| {
            let field = field.to_string_lossy();
            wrong(self.name(&field), "bytes", &error.into_inner())
        })
    }

    fn content(
        &self,
        turn: Option<Bound<'py, PyBytes>>,
        uid: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Content<'py>> {
        let py = self.row.py();
        let codec = self.some(intern!(py, "codec"))?.map(|given| {
            let codec = given.cast_into::<PyString>();
            let codec = codec.map_err(pyo3::CastIntoError::into_inner);
            let codec = codec.and_then(|text| {
                if text.to_str().is_ok() {
                    Ok(text)
                } else {
                    Err(text.into_any())
                }
            });
            codec.map_err(|given| wrong(self.name("codec"), "UTF-8 text or None", &given))
        });
        let said = self.some(intern!(py, "columns"))?;
        let said = said.map(|given| columns(self.name("columns"), &given));
        let sources = self.row.getattr(intern!(py, "sources"))?;
        Ok(Content {
            payload: self.bytes(intern!(py, "payload"))?,
            turn,
            uid,
            codec: codec.transpose()?,
            expires: self.expires()?,
            columns: said.transpose()?,
            own: self.bytes(intern!(py, "own"))?,
            sources: ids(self.name("sources"), &sources)?,
            if_present: self.if_present()?,
        })
    }

    fn if_present(&self) -> PyResult<IfPresent> {
        let given = self.row.getattr(intern!(self.row.py(), "if_present"))?;
        let word = given
            .cast::<PyString>()
            .ok()
            .and_then(|word| word.to_str().ok());
        match word {
            Some("replace") => Ok(IfPresent::Replace),
            Some("skip") => Ok(IfPresent::Skip),
            Some("fail") => Ok(IfPresent::Fail),
            _ => {
                let what = "one of \"replace\", \"skip\", \"fail\"";
                Err(wrong(self.name("if_present"), what, &given))
            }
        }
    }

    /// From when on it counts as absent, by `expires` or by `ttl`.
    fn expires(&self) -> PyResult<Option<i64>> {
        let py = self.row.py();
        let expires = self.some(intern!(py, "expires"))?;
        match (expires, self.some(intern!(py, "ttl"))?) {
            (None, None) => Ok(None),
            (Some(expires), None) => moment(self.name("expires"), &expires).map(Some),
            (None, Some(ttl)) => {
                let ttl = duration(self.name("ttl"), &ttl)?;
                Ok(Some(self.now.saturating_add(ttl)))
            }
            (Some(_), Some(_)) => Err(invalid(&format!(
                "{}: expected None beside expires; give one of the two",
                self.name("ttl")
            ))),
        }
    }
}

/// The dataclasses that rows and conditions are of.
struct Classes {
    rows: [(Py<PyAny>, Sort); 8],
    conditions: [(Py<PyAny>, About); 2],
}

impl Classes {
    fn of(py: Python<'_>) -> PyResult<&'static Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || {
            let rows = py.import("warmset.store.rows")?;
            let conditions = py.import("warmset.store.conditions")?;
            let row = |name: &str, sort| Ok::<_, PyErr>((rows.getattr(name)?.unbind(), sort));
            let about =
                |name: &str, about| Ok::<_, PyErr>((conditions.getattr(name)?.unbind(), about));
            Ok(Self {
                rows: [
                    row("Put", Sort::Put)?,
                    row("Add", Sort::Add)?,
                    row("Patch", Sort::Patch)?,
                    row("Cut", Sort::Cut)?,
                    row("Remove", Sort::Remove)?,
                    row("RemoveBelow", Sort::RemoveBelow)?,
                    row("RemoveExpired", Sort::RemoveExpired)?,
                    row("RemoveEntries", Sort::RemoveEntries)?,
                ],
                conditions: [
                    about("Version", About::Version)?,
                    about("Tail", About::Tail)?,
                ],
            })
        })
    }
}

/// What an object is by its class, or by the one that its class is derived from.
fn sort_of<T: Copy>(classes: &[(Py<PyAny>, T)], given: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    let class = given.get_type();
    if let Some((_, sort)) = classes.iter().find(|(known, _)| class.is(known)) {
        return Ok(Some(*sort));
    }
    for (known, sort) in classes {
        if given.is_instance(known.bind(given.py()))? {
            return Ok(Some(*sort));
        }
    }
    Ok(None)
}
