//! The rows of a batch as records, with what their judge must know of them.
//!
//! ```text
//! rows     put · cut · add · remove                    as the caller gave them
//! records  put · head · add · removed │ filler │ head · removed
//! ```
//!
//! What moves a head or removes something is written twice, with a filler between, so that no sector holds
//! both copies: its loss would show what is gone.

use std::collections::BTreeSet;

use crate::cold::defect::{Defect, on};
use crate::cold::removal::{Removal, Target};
use crate::cold::{self, Born, Draft, Links};
use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::attributes::{Attributes, MAX_CODEC, MAX_UID};
use super::batch::{Batch, IfPresent, Item, Key, Row};
use super::event::head_payload;
use super::once::Once;
use super::order;
use super::turns;
use super::value::Columns;

/// The longest key, all its parts together, in bytes.
pub const MAX_KEY: usize = 16 << 10;
/// The most parts of a key.
pub const MAX_PARTS: usize = 32;
/// The most bytes that a caller may keep beside a payload.
pub const MAX_OWN: usize = 1 << 20;
/// How many zeros a filler has: with its header, more than a sector.
const FILLER: [u8; 512] = [0; 512];
/// The birth of a cell that is known when it is written.
const AT_COMMIT: Option<Born> = Some(Born {
    seq: Links::AT_COMMIT,
    at: 0,
});
/// About how many bytes a record takes beside its parts.
const AROUND: usize = 96;

/// What the judge must know of a record; the key is ordered.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The row that it is of.
    pub(super) row: usize,
    pub(super) key: Vec<u8>,
    /// What the record is made from.
    pub(super) sources: Vec<Seq>,
    /// About how many bytes it takes.
    pub(super) len: u64,
    pub(super) what: Change,
}

/// What a record changes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put {
        if_present: IfPresent,
        attributes: Attributes,
    },
    Add {
        uid: Option<u128>,
        if_present: IfPresent,
        attributes: Attributes,
    },
    Patch {
        of: Option<Seq>,
        attributes: Attributes,
    },
    Cut {
        after: Seq,
        /// Whether what is cut off is removed.
        removes: bool,
    },
    Remove(Removal),
    /// The removal of what has expired.
    Expire(Target),
    /// The cell that remembers the batch.
    Once(Attributes),
    /// The second copy of the record of this step, or the filler before it.
    Copy(Option<usize>),
}

/// One record, owned.
#[derive(Debug)]
pub(super) struct Made<'a> {
    kind: Kind,
    key: Key<'a>,
    meta: Vec<u8>,
    payload: std::borrow::Cow<'a, [u8]>,
    sources: &'a [Seq],
    links: Links,
    copy_of: Option<usize>,
}

impl<'a> Made<'a> {
    fn bare(kind: Kind, key: Key<'a>, payload: Vec<u8>) -> Self {
        Self {
            kind,
            key,
            meta: Vec::new(),
            payload: payload.into(),
            sources: &[],
            links: Links::default(),
            copy_of: None,
        }
    }

    /// The record of an item.
    fn of_item(kind: Kind, item: &Item<'a>, meta: Vec<u8>, links: Links) -> Self {
        Self {
            meta,
            payload: item.payload.into(),
            sources: item.sources,
            links,
            ..Self::bare(kind, item.key, Vec::new())
        }
    }

    /// As the store encodes it.
    pub(super) fn row(&self, depth: u8) -> cold::Row<'_> {
        cold::Row {
            draft: Draft {
                kind: self.kind,
                key: self.key,
                meta: &self.meta,
                sources: self.sources,
                payload: &self.payload,
            },
            links: (self.links != Links::default()).then_some(&self.links),
            depth: if self.kind == Kind::Filler { 0 } else { depth },
            copy_of: self.copy_of,
        }
    }
}

/// The records of a batch.
#[derive(Debug, Default)]
pub(super) struct Records<'a> {
    pub(super) made: Vec<Made<'a>>,
    pub(super) steps: Vec<Step>,
}

impl<'a> Records<'a> {
    /// Makes the records; `name` gives the hash of a caller's own id, and `once` is what is remembered of
    /// the batch, with its key.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a key, a name or an id that is over a limit.
    pub(super) fn of(
        batch: &Batch<'a>,
        once: Option<(&Once, Key<'a>)>,
        name: impl Fn(&[u8]) -> u128,
    ) -> Result<Self> {
        let mut out = Self::default();
        for (at, row) in batch.rows.iter().enumerate() {
            match *row {
                Row::Put(item) => out.put(at, &item, batch.now)?,
                Row::Add(item) => out.add(at, &item, &name, batch.now)?,
                Row::Patch {
                    key,
                    version,
                    columns,
                    expires,
                } => out.patch(at, key, version, columns, expires, batch.now)?,
                Row::Cut { list, after } => out.cut(at, list, after)?,
                Row::Remove(key) => out.remove(at, key, Target::Cell, &[])?,
                Row::RemoveBelow(key) => out.remove(at, key, Target::Prefix, &[])?,
                Row::RemoveExpired(key) => {
                    for target in [Target::Cell, Target::Entries] {
                        let removal = Removal::new(target, &BTreeSet::new());
                        let made = Made::bare(Kind::Removed, key, removal.encode());
                        out.push(at, key, made, Change::Expire(target))?;
                    }
                }
                Row::RemoveEntries { list, entries } => {
                    out.remove(at, list, Target::Entries, entries)?;
                }
            }
        }
        if let Some((once, key)) = once {
            out.remember(batch, once, key)?;
        }
        out.double();
        Ok(out)
    }

    /// Behind all rows, when it is known what became of them.
    fn remember(&mut self, batch: &Batch<'a>, once: &Once, key: Key<'a>) -> Result<()> {
        let attributes = Attributes {
            at: batch.now,
            expires: Some(once.expires),
            columns: once.columns()?,
            ..Attributes::default()
        };
        let made = Made {
            meta: encoded(&attributes)?,
            links: Links {
                born: AT_COMMIT,
                answers: vec![0; batch.rows.len()],
                ..Links::default()
            },
            ..Made::bare(Kind::Cell, key, Vec::new())
        };
        let none = batch.rows.len();
        self.push(none, key, made, Change::Once(attributes))
    }

    fn put(&mut self, row: usize, item: &Item<'a>, now: i64) -> Result<()> {
        if item.uid.is_some() {
            return Err(argument(
                "uid",
                "none: the key is the name of a cell",
                "one",
            ));
        }
        if item.turn.is_some() {
            return Err(argument("turn", "none: a cell is no message", "one"));
        }
        let attributes = said(item, now)?;
        let links = Links {
            born: AT_COMMIT,
            ..Links::default()
        };
        let made = Made::of_item(Kind::Cell, item, encoded(&attributes)?, links);
        let change = Change::Put {
            if_present: item.if_present,
            attributes,
        };
        self.push(row, item.key, made, change)
    }

    fn add(
        &mut self,
        row: usize,
        item: &Item<'a>,
        name: &impl Fn(&[u8]) -> u128,
        now: i64,
    ) -> Result<()> {
        let (kind, attributes, meta) = if let Some(meta) = item.turn {
            let (attributes, meta) = turn(item, meta)?;
            (Kind::Turn, attributes, meta)
        } else {
            let attributes = said(item, now)?;
            let meta = encoded(&attributes)?;
            (Kind::Entry, attributes, meta)
        };
        let uid = attributes.uid.as_deref().map(name);
        let replaces = uid.filter(|_| item.if_present == IfPresent::Replace);
        let links = Links {
            parent: Some(Links::AT_COMMIT),
            of: replaces.map(|_| Links::AT_COMMIT),
            ..Links::default()
        };
        let made = Made::of_item(kind, item, meta, links);
        let change = Change::Add {
            uid,
            if_present: item.if_present,
            attributes,
        };
        self.push(row, item.key, made, change)
    }

    fn patch(
        &mut self,
        row: usize,
        key: Key<'a>,
        version: Option<Seq>,
        columns: &Columns,
        expires: Option<i64>,
        now: i64,
    ) -> Result<()> {
        let attributes = Attributes {
            at: now,
            expires,
            columns: columns.clone(),
            ..Attributes::default()
        };
        let made = Made {
            meta: encoded(&attributes)?,
            links: Links {
                of: Some(Links::AT_COMMIT),
                ..Links::default()
            },
            ..Made::bare(Kind::Patch, key, Vec::new())
        };
        let change = Change::Patch {
            of: version,
            attributes,
        };
        self.push(row, key, made, change)
    }

    fn cut(&mut self, row: usize, list: Key<'a>, after: Seq) -> Result<()> {
        let removes = cold::is_space(list);
        let made = if removes {
            let removal = Removal::behind(after);
            Made::bare(Kind::Removed, list, removal.encode())
        } else {
            Made::bare(Kind::Head, list, head_payload(after).to_vec())
        };
        self.push(row, list, made, Change::Cut { after, removes })
    }

    fn remove(&mut self, row: usize, key: Key<'a>, target: Target, seqs: &[Seq]) -> Result<()> {
        let removal = Removal::new(target, &seqs.iter().map(|seq| seq.0).collect());
        let made = Made::bare(Kind::Removed, key, removal.encode());
        self.push(row, key, made, Change::Remove(removal))
    }

    fn push(&mut self, row: usize, key: Key<'a>, made: Made<'a>, what: Change) -> Result<()> {
        check(key)?;
        self.push_made(row, order::encode(key), made, what);
        Ok(())
    }

    fn push_made(&mut self, row: usize, key: Vec<u8>, made: Made<'a>, what: Change) {
        let sources = made.sources.to_vec();
        let len = AROUND + key.len() + made.meta.len() + made.payload.len() + 8 * sources.len();
        self.made.push(made);
        self.steps.push(Step {
            row,
            key,
            sources,
            len: u64::try_from(len).unwrap_or(u64::MAX),
            what,
        });
    }

    /// Adds the second copies.
    fn double(&mut self) {
        let twice = |made: &Made<'_>| matches!(made.kind, Kind::Head | Kind::Removed);
        let originals: Vec<usize> = (0..self.made.len())
            .filter(|at| self.made.get(*at).is_some_and(twice))
            .collect();
        if originals.is_empty() || on(Defect::OneCopy) {
            return;
        }
        let filler = Made::bare(Kind::Filler, &[], FILLER.to_vec());
        self.push_made(0, Vec::new(), filler, Change::Copy(None));
        for at in originals {
            let (Some(made), Some(step)) = (self.made.get(at), self.steps.get(at)) else {
                continue;
            };
            let copy = Made {
                links: Links {
                    of: Some(Links::AT_COMMIT),
                    ..Links::default()
                },
                copy_of: Some(at),
                ..Made::bare(made.kind, made.key, made.payload.to_vec())
            };
            let (row, key) = (step.row, step.key.clone());
            self.push_made(row, key, copy, Change::Copy(Some(at)));
        }
    }
}

/// What an item says beside its payload.
fn said(item: &Item<'_>, now: i64) -> Result<Attributes> {
    let over = |name, most: usize, found: usize| {
        (found > most)
            .then(|| argument(name, &format!("at most {most} bytes"), &format!("{found}")))
    };
    let limits = [
        over("uid", MAX_UID, item.uid.map_or(0, <[u8]>::len)),
        over("codec", MAX_CODEC, item.codec.map_or(0, str::len)),
        over("own", MAX_OWN, item.own.len()),
    ];
    if let Some(error) = limits.into_iter().flatten().next() {
        return Err(error);
    }
    Ok(Attributes {
        at: now,
        uid: item.uid.map(<[u8]>::to_vec),
        expires: item.expires,
        codec: item.codec.map(str::to_owned),
        columns: item.columns.cloned().unwrap_or_default(),
        own: item.own.to_vec(),
    })
}

/// What a turn says beside its message, and its meta as it is kept.
fn turn(item: &Item<'_>, meta: &[u8]) -> Result<(Attributes, Vec<u8>)> {
    let is_talk = item.key.len() == turns::DEPTH && !cold::is_space(item.key);
    if !is_talk {
        let found = format!("{} parts, or a space", item.key.len());
        return Err(argument(
            "turn",
            "the key of a conversation, two parts",
            &found,
        ));
    }
    let beside = item.uid.is_some()
        || item.codec.is_some()
        || item.columns.is_some()
        || item.expires.is_some()
        || !item.own.is_empty();
    if beside {
        return Err(argument(
            "turn",
            "all that is beside a message",
            "more beside it",
        ));
    }
    let meta = turns::without_parent(meta)
        .ok_or_else(|| argument("turn", "a JSON object", "something else"))?;
    let (attributes, _) = turns::turn(&meta);
    let len = attributes.uid.as_ref().map_or(0, Vec::len);
    if len > MAX_UID {
        return Err(argument(
            "key",
            &format!("at most {MAX_UID} bytes"),
            &format!("{len}"),
        ));
    }
    Ok((attributes, meta))
}

fn encoded(attributes: &Attributes) -> Result<Vec<u8>> {
    let none = || argument("columns", "less than 4 GiB", "more");
    attributes.encode().ok_or_else(none)
}

/// Refuses a key that is over a limit.
///
/// # Errors
///
/// [`Error::Argument`].
pub(super) fn check(key: Key<'_>) -> Result<()> {
    checked(key, 1)
}

/// Refuses a prefix that is over a limit; it may be empty.
///
/// # Errors
///
/// [`Error::Argument`].
pub(super) fn check_prefix(key: Key<'_>) -> Result<()> {
    checked(key, 0)
}

fn checked(key: Key<'_>, least: usize) -> Result<()> {
    let len: usize = key.iter().map(|part| part.len()).sum();
    if key.len() < least || key.len() > MAX_PARTS || len > MAX_KEY {
        let expected = format!("1 to {MAX_PARTS} parts of {MAX_KEY} bytes together");
        let found = format!("{} parts of {len} bytes", key.len());
        return Err(argument("key", &expected, &found));
    }
    Ok(())
}

fn argument(name: &'static str, expected: &str, found: &str) -> Error {
    Error::Argument {
        name,
        expected: expected.into(),
        found: found.into(),
    }
}
