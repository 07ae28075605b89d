//! What a record of kind `removed` says.
//!
//! ```text
//! key      that of the cell, the list or the prefix
//! payload  8 what: 1 a cell, 2 all below a prefix, 3 entries of a list
//!          8 number of ranges of ids (3), for each 8 first and 8 last
//!          8 number of ranges of ids, for each 8 first and 8 last: what was made from what is removed
//! ```
//!
//! It concerns what was written before it, and nothing that comes later.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use crate::entry::{Kind, Seq};

use crate::cold::erase::erasures::hash_of;
use crate::cold::intervals::{Intervals, ranges};

/// What is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The cell of the key.
    Cell,
    /// Every cell and every entry whose key begins with the parts of the key.
    Prefix,
    /// Some entries of the list of the key.
    Entries,
}

/// One removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) target: Target,
    /// Of entries: which, ascending and apart.
    pub(crate) seqs: Vec<RangeInclusive<u64>>,
    /// Which records go with them, whatever they are: they were made from what is removed.
    pub(crate) derived: Vec<RangeInclusive<u64>>,
}

impl Removal {
    /// The removal of what the key says, or of these ids.
    pub(crate) fn new(target: Target, seqs: &BTreeSet<u64>) -> Self {
        Self {
            target,
            seqs: ranges(seqs),
            derived: Vec::new(),
        }
    }

    /// The removal of the entries of a list behind one of them.
    pub(crate) fn behind(after: Seq) -> Self {
        Self {
            seqs: vec![after.0.saturating_add(1)..=u64::MAX],
            ..Self::new(Target::Entries, &BTreeSet::new())
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let what = match self.target {
            Target::Cell => 1_u64,
            Target::Prefix => 2,
            Target::Entries => 3,
        };
        let mut words = vec![what];
        for ranges in [&self.seqs, &self.derived] {
            words.push(count(ranges.len()));
            words.extend(ranges.iter().flat_map(|one| [*one.start(), *one.end()]));
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// What [`encode`](Self::encode) wrote; `None` unless the bytes are exactly that.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let (words, rest) = payload.as_chunks::<8>();
        rest.is_empty().then_some(())?;
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let target = match words.next()? {
            1 => Target::Cell,
            2 => Target::Prefix,
            3 => Target::Entries,
            _ => return None,
        };
        let mut listed = || -> Option<Vec<RangeInclusive<u64>>> {
            let count = words.next()?;
            // The count is not trusted with an allocation.
            let one = |_| Some(words.next()?..=words.next()?);
            (0..count).map(one).collect()
        };
        let (seqs, derived) = (listed()?, listed()?);
        words.next().is_none().then_some(Self {
            target,
            seqs,
            derived,
        })
    }

    /// The same, naming these entries, too.
    pub(crate) fn naming(mut self, seqs: &BTreeSet<u64>) -> Self {
        let mut all = Intervals::default();
        all.add(&self.seqs, u64::MAX);
        all.add(&ranges(seqs), u64::MAX);
        self.seqs = all.iter().collect();
        self
    }

    /// The same, with these records that were made from what it removes.
    pub(crate) fn with(mut self, derived: &BTreeSet<u64>) -> Self {
        self.derived = ranges(derived);
        self
    }
}

/// What all removals of a store cover, for whoever asks for a record by its id.
#[derive(Clone, Debug, Default)]
pub(in crate::cold) struct Removals {
    uuid: [u8; 16],
    /// Up to which id a cell is removed, by the hash of its key.
    cells: HashMap<u128, u64>,
    /// Up to which id all below a prefix is removed, by number of parts and hash.
    below: BTreeMap<(usize, u128), u64>,
    /// Which entries are removed, by the hash of their list's key.
    entries: HashMap<u128, Intervals>,
    /// Which records are removed, whatever they are, because of what they were made from.
    records: Intervals,
    /// Whether there is any.
    any: bool,
}

impl Removals {
    pub(in crate::cold) fn new(uuid: [u8; 16]) -> Self {
        Self {
            uuid,
            ..Self::default()
        }
    }

    /// Takes up the removal of a record with this id and key.
    pub(in crate::cold) fn add<P: AsRef<[u8]>>(&mut self, seq: u64, key: &[P], said: &Removal) {
        let upto = seq.saturating_sub(1);
        let Some(hash) = hash_of(&self.uuid, key) else {
            return;
        };
        self.any = true;
        let raise = |slot: &mut u64| *slot = (*slot).max(upto);
        match said.target {
            Target::Cell => raise(self.cells.entry(hash).or_default()),
            Target::Prefix => raise(self.below.entry((key.len(), hash)).or_default()),
            Target::Entries => self.entries.entry(hash).or_default().add(&said.seqs, upto),
        }
        self.records.add(&said.derived, upto);
    }

    /// Whether anything was removed.
    pub(in crate::cold) fn any(&self) -> bool {
        self.any
    }

    /// Whether a record was removed because of what it was made from.
    pub(in crate::cold) fn take(&self, seq: Seq) -> bool {
        self.records.hold(seq.0)
    }

    /// Whether a record with this id, kind and key was removed. A cell and a list may have one key.
    pub(in crate::cold) fn covers<P: AsRef<[u8]>>(&self, seq: u64, kind: Kind, key: &[P]) -> bool {
        if !self.any {
            return false;
        }
        let entries = || hash_of(&self.uuid, key).and_then(|hash| self.entries.get(&hash));
        self.covers_key(seq, kind, key)
            || self.records.hold(seq)
            || (kind != Kind::Cell && entries().is_some_and(|entries| entries.hold(seq)))
    }

    /// Whether what would have this kind, key and at most this id was removed by its key.
    pub(in crate::cold) fn covers_key<P: AsRef<[u8]>>(
        &self,
        seq: u64,
        kind: Kind,
        key: &[P],
    ) -> bool {
        if !self.any {
            return false;
        }
        let hash = |len: usize| key.get(..len).and_then(|parts| hash_of(&self.uuid, parts));
        let is_cell = matches!(kind, Kind::Cell | Kind::Patch) && !self.cells.is_empty();
        let cell = is_cell.then(|| hash(key.len())).flatten();
        let mut lengths = self.below.keys().map(|(len, _)| *len);
        let mut last = usize::MAX;
        cell.and_then(|hash| self.cells.get(&hash))
            .is_some_and(|upto| seq <= *upto)
            || lengths.any(|len| {
                let fresh = len != last;
                last = len;
                let upto = hash(len)
                    .filter(|_| fresh)
                    .and_then(|hash| self.below.get(&(len, hash)));
                upto.is_some_and(|upto| seq <= *upto)
            })
    }
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_removal_comes_back_as_it_was(
            what in 0..3_usize,
            listed in prop::collection::btree_set(0..40_u64, 0..12),
            derived in prop::collection::btree_set(0..40_u64, 0..4),
        ) {
            let targets = [Target::Cell, Target::Prefix, Target::Entries];
            let one = Removal::new(targets[what], &listed).with(&derived);
            let bytes = one.encode();
            prop_assert_eq!(Removal::decode(&bytes), Some(one.clone()));
            prop_assert_eq!(Removal::decode(&bytes[..bytes.len() - 8]), None);
            prop_assert_eq!(Removal::decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Removal::decode(&[&bytes[..], &[0; 8]].concat()), None);
            prop_assert_eq!(one.seqs.into_iter().flatten().collect::<Vec<_>>(), Vec::from_iter(listed));
            prop_assert_eq!(one.derived.into_iter().flatten().collect::<Vec<_>>(), Vec::from_iter(derived));
        }

        #[test]
        fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(found) = Removal::decode(&bytes) {
                prop_assert_eq!(found.encode(), bytes);
            }
        }
    }
}
