//! The newest version of each cell, in the order of keys.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::cold::Born;
use crate::entry::Seq;
use crate::log::attributes::{Attributes, is_live};
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
}

impl Cell {
    /// Whether it counts as there.
    pub(in crate::log) fn is_live(&self, now: i64) -> bool {
        is_live(self.expires, now)
    }
}

/// All cells, by their keys as `order` encodes them.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Cells(BTreeMap<Vec<u8>, Cell>);

impl Cells {
    pub(in crate::log) fn get(&self, key: &[u8]) -> Option<&Cell> {
        self.0.get(key)
    }

    /// Takes up a version, unless a newer one is known.
    pub(super) fn put(
        &mut self,
        key: Vec<u8>,
        version: Seq,
        born: Option<Born>,
        attributes: Option<Attributes>,
    ) {
        let readable = attributes.is_some();
        let attributes = attributes.unwrap_or_default();
        let at = attributes.at;
        let before = self.0.get(&key);
        if before.is_some_and(|before| before.version >= version) {
            return;
        }
        let own = Born {
            seq: version,
            at: u64::try_from(at).unwrap_or(0),
        };
        // Who wrote it said when the cell was born: what expired before was absent then.
        let cell = Cell {
            version,
            at,
            born: born.unwrap_or(own),
            expires: attributes.expires,
            columns: attributes.columns,
            patch: None,
            readable,
        };
        self.0.insert(key, cell);
    }

    /// Changes columns and expiry of a version, if it is still the newest; without attributes nobody knows
    /// to what.
    pub(super) fn patch(&mut self, key: &[u8], of: Seq, seq: Seq, said: Option<&Attributes>) {
        let cell = self.0.get_mut(key).filter(|cell| cell.version == of);
        if let Some(cell) = cell.filter(|cell| cell.patch.is_none_or(|patch| patch < seq)) {
            cell.readable = said.is_some();
            if let Some(said) = said {
                cell.columns = said.columns.clone();
                cell.expires = said.expires;
            }
            cell.patch = Some(seq);
        }
    }

    /// Takes a cell away, if its newest version is not above an id.
    pub(super) fn remove(&mut self, key: &[u8], upto: Seq) {
        if self.0.get(key).is_some_and(|cell| cell.version <= upto) {
            self.0.remove(key);
        }
    }

    /// Takes away every cell that does not pass.
    pub(super) fn retain(&mut self, prefix: &[u8], mut stays: impl FnMut(&[u8], &Cell) -> bool) {
        let gone: Vec<Vec<u8>> = self
            .below(prefix, None, false)
            .filter(|(key, cell)| !stays(key, cell))
            .map(|(key, _)| key.to_vec())
            .collect();
        for key in gone {
            self.0.remove(&key);
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
