//! The newest version of each cell, in the order of keys.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use crate::cold::Born;
use crate::entry::Seq;
use crate::log::attributes::{Attributes, is_live};
use crate::log::once;
use crate::log::order;
use crate::log::value::Columns;

/// What is known of a cell without its payload.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::log) struct Cell {
    /// The id of its newest version.
    pub(in crate::log) version: Seq,
    /// When that one was put, in microseconds since 1970 UTC.
    pub(in crate::log) at: i64,
    /// Its first version.
    pub(in crate::log) born: Born,
    /// From when on it counts as absent.
    pub(in crate::log) expires: Option<i64>,
    pub(in crate::log) columns: Columns,
    /// The newest patch of this version.
    pub(in crate::log) patch: Option<Seq>,
    /// Whether what says its columns and expiry could be read.
    pub(in crate::log) readable: bool,
    /// Versions and patches that it superseded, as far as they may lie in the store still.
    pub(in crate::log) older: Vec<Older>,
    /// How many bytes its version and its patch take.
    pub(in crate::log) len: u64,
    /// Whether it remembers a batch, which no scan shows.
    pub(in crate::log) is_own: bool,
}

/// A superseded record of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) struct Older {
    pub(in crate::log) seq: Seq,
    /// The version that it is, or changes.
    pub(in crate::log) version: Seq,
}

impl Cell {
    /// Whether it counts as there.
    pub(in crate::log) fn is_live(&self, now: i64) -> bool {
        is_live(self.expires, now)
    }

    /// Its version, its patch, and those that they superseded.
    pub(in crate::log) fn records(&self) -> impl Iterator<Item = Seq> {
        let newest = std::iter::once(self.version).chain(self.patch);
        newest.chain(self.older.iter().map(|one| one.seq))
    }

    /// Its records that go with one of them: all that are older, and the patches of a version.
    pub(in crate::log) fn going_with(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let newest = [Some(self.version), self.patch].into_iter().flatten();
        let newest = newest.map(|seq| Older {
            seq,
            version: self.version,
        });
        let all = newest.chain(self.older.iter().copied());
        let goes = move |one: &Older| one.seq <= seq || one.version <= seq;
        all.filter(goes).map(|one| one.seq)
    }
}

/// All cells, by their keys as `order` encodes them.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Cells(BTreeMap<Vec<u8>, Cell>);

impl Cells {
    pub(in crate::log) fn get(&self, key: &[u8]) -> Option<&Cell> {
        self.0.get(key)
    }

    /// Takes up a version of `len` bytes, unless a newer one is known; gives how many bytes it superseded.
    pub(super) fn put(
        &mut self,
        key: Vec<u8>,
        version: Seq,
        born: Option<Born>,
        attributes: Option<Attributes>,
        len: u64,
    ) -> u64 {
        let readable = attributes.is_some();
        let attributes = attributes.unwrap_or_default();
        let at = attributes.at;
        let own = Born {
            seq: version,
            at: u64::try_from(at).unwrap_or(0),
        };
        let mut cell = Cell {
            version,
            at,
            // Who wrote it said when the cell was born: what expired before was absent then.
            born: born.unwrap_or(own),
            expires: attributes.expires,
            columns: attributes.columns,
            patch: None,
            readable,
            older: Vec::new(),
            len,
            is_own: once::is_place(&key),
        };
        match self.0.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(cell);
                0
            }
            Entry::Occupied(slot) if slot.get().version >= version => 0,
            Entry::Occupied(mut slot) => {
                let before = slot.get_mut();
                cell.older = std::mem::take(&mut before.older);
                let of = before.version;
                let own = std::iter::once(of).chain(before.patch);
                cell.older.extend(own.map(|seq| Older { seq, version: of }));
                slot.insert(cell).len
            }
        }
    }

    /// Changes columns and expiry of a version, if it is still the newest; without attributes nobody knows
    /// to what.
    pub(super) fn patch(
        &mut self,
        key: &[u8],
        of: Seq,
        seq: Seq,
        said: Option<&Attributes>,
        len: u64,
    ) {
        let cell = self.0.get_mut(key).filter(|cell| cell.version == of);
        if let Some(cell) = cell.filter(|cell| cell.patch.is_none_or(|patch| patch < seq)) {
            cell.readable = said.is_some();
            if let Some(said) = said {
                cell.columns = said.columns.clone();
                cell.expires = said.expires;
            }
            let older = cell.patch.replace(seq);
            let version = cell.version;
            cell.older.extend(older.map(|seq| Older { seq, version }));
            cell.len = cell.len.saturating_add(len);
        }
    }

    /// Takes a cell away, if its newest version is not above an id; gives how many bytes it took.
    pub(super) fn remove(&mut self, key: &[u8], upto: Seq) -> u64 {
        let goes = self.0.get(key).is_some_and(|cell| cell.version <= upto);
        let cell = goes.then(|| self.0.remove(key)).flatten();
        cell.map_or(0, |cell| cell.len)
    }

    /// Takes away every cell that does not pass; gives how many bytes they took.
    pub(super) fn retain(
        &mut self,
        prefix: &[u8],
        mut stays: impl FnMut(&[u8], &Cell) -> bool,
    ) -> u64 {
        let gone: Vec<Vec<u8>> = self
            .below(prefix, None, false)
            .filter(|(key, cell)| !stays(key, cell))
            .map(|(key, _)| key.to_vec())
            .collect();
        let cells = gone.iter().filter_map(|key| self.0.remove(key));
        cells.map(|cell| cell.len).sum()
    }

    /// Forgets a superseded record of a cell, which lies in the store no more.
    pub(in crate::log) fn forget_older(&mut self, key: &[u8], seq: Seq) {
        if let Some(cell) = self.0.get_mut(key) {
            cell.older.retain(|one| one.seq != seq);
        }
    }

    /// The cells below a prefix in the order of keys, or against it, beyond a key if one is given.
    pub(in crate::log) fn below<'a>(
        &'a self,
        prefix: &[u8],
        beyond: Option<&[u8]>,
        reverse: bool,
    ) -> Box<dyn Iterator<Item = (&'a [u8], &'a Cell)> + 'a> {
        let (mut from, mut to) = (
            Bound::Included(prefix.to_vec()),
            order::after(prefix).map_or(Bound::Unbounded, Bound::Excluded),
        );
        if let Some(beyond) = beyond {
            let bound = Bound::Excluded(beyond.to_vec());
            if !beyond.starts_with(prefix) {
                // Nothing, or all: a page goes on where the one before ended.
                let all = (beyond < prefix) != reverse;
                if !all {
                    return Box::new(std::iter::empty());
                }
            } else if reverse {
                to = bound;
            } else {
                from = bound;
            }
        }
        let empty = matches!((&from, &to), (Bound::Excluded(a), Bound::Excluded(b)) if a >= b);
        if empty {
            return Box::new(std::iter::empty());
        }
        let range = self.0.range::<Vec<u8>, _>((from, to));
        let range = range.map(|(key, cell)| (key.as_slice(), cell));
        if reverse {
            Box::new(range.rev())
        } else {
            Box::new(range)
        }
    }

    /// The first key that is not less than this one.
    pub(in crate::log) fn next_key(&self, key: &[u8]) -> Option<&[u8]> {
        let from = Bound::Included(key);
        let mut range = self.0.range::<[u8], _>((from, Bound::Unbounded));
        range.next().map(|(key, _)| key.as_slice())
    }
}
