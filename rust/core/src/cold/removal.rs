//! What a record of kind `removed` says.
//!
//! ```text
//! key      that of the cell, the list or the prefix; none where ids are listed
//! payload  8 what: 1 a cell, 2 all below a prefix, 3 entries of a list, 4 records
//!          8 number of ranges of ids (3, 4), for each 8 first and 8 last
//!          8 number of entries (3) that follow another one now, for each 8 entry, 8 the one before it
//! ```
//!
//! It concerns what was written before it, and nothing that comes later.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use crate::entry::{Kind, Seq};

use crate::cold::erase::erasures::{hash_of, ranges};

/// What is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The cell of the key.
    Cell,
    /// Every cell and every entry whose key begins with the parts of the key.
    Prefix,
    /// Some entries of the list of the key.
    Entries,
    /// Records, whatever they are.
    Records,
}

/// One removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) target: Target,
    /// Of entries and records: which, ascending and apart.
    pub(crate) seqs: Vec<RangeInclusive<u64>>,
    /// Entries that follow another one from now on.
    pub(crate) relinked: Vec<(Seq, Seq)>,
}

impl Removal {
    /// The removal of what the key says, or of these ids.
    pub(crate) fn new(target: Target, seqs: &BTreeSet<u64>) -> Self {
        Self {
            target,
            seqs: ranges(seqs),
            relinked: Vec::new(),
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
            Target::Records => 4,
        };
        let mut words = vec![what, count(self.seqs.len())];
        words.extend(
            self.seqs
                .iter()
                .flat_map(|range| [*range.start(), *range.end()]),
        );
        words.push(count(self.relinked.len()));
        words.extend(
            self.relinked
                .iter()
                .flat_map(|(entry, parent)| [entry.0, parent.0]),
        );
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
            4 => Target::Records,
            _ => return None,
        };
        let (mut seqs, mut relinked) = (Vec::new(), Vec::new());
        for _ in 0..words.next()? {
            seqs.push(words.next()?..=words.next()?);
        }
        for _ in 0..words.next()? {
            relinked.push((Seq(words.next()?), Seq(words.next()?)));
        }
        words.next().is_none().then_some(Self {
            target,
            seqs,
            relinked,
        })
    }

    /// Whether it names an id, where it names ids.
    pub(crate) fn names(&self, seq: Seq) -> bool {
        let after = self.seqs.partition_point(|range| *range.start() <= seq.0);
        let range = after.checked_sub(1).and_then(|at| self.seqs.get(at));
        range.is_some_and(|range| range.contains(&seq.0))
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
    /// By the id of what was removed: up to which id that says so, and which.
    listed: Vec<(u64, Vec<RangeInclusive<u64>>, Option<u128>)>,
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
            Target::Entries => self.listed.push((upto, said.seqs.clone(), Some(hash))),
            Target::Records => self.listed.push((upto, said.seqs.clone(), None)),
        }
    }

    /// Whether anything was removed.
    pub(in crate::cold) fn any(&self) -> bool {
        self.any
    }

    /// Whether a record with this id, kind and key was removed. A cell and a list may have one key.
    pub(in crate::cold) fn covers<P: AsRef<[u8]>>(&self, seq: u64, kind: Kind, key: &[P]) -> bool {
        if !self.any {
            return false;
        }
        let hash = |len: usize| key.get(..len).and_then(|parts| hash_of(&self.uuid, parts));
        let whole = hash(key.len());
        let is_cell = matches!(kind, Kind::Cell | Kind::Patch);
        let cell = whole
            .and_then(|hash| self.cells.get(&hash))
            .filter(|_| is_cell);
        let mut lengths = self.below.keys().map(|(len, _)| *len);
        let mut last = usize::MAX;
        cell.is_some_and(|upto| seq <= *upto)
            || lengths.any(|len| {
                let fresh = len != last;
                last = len;
                let upto = hash(len)
                    .filter(|_| fresh)
                    .and_then(|hash| self.below.get(&(len, hash)));
                upto.is_some_and(|upto| seq <= *upto)
            })
            || self.listed.iter().any(|(upto, ranges, list)| {
                seq <= *upto
                    && list.is_none_or(|list| whole == Some(list) && kind != Kind::Cell)
                    && ranges.iter().any(|range| range.contains(&seq))
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
        fn a_removal_comes_back_and_names_what_it_lists(
            what in 0..4_usize,
            listed in prop::collection::btree_set(0..40_u64, 0..12),
            relinked in prop::collection::vec((any::<u64>(), any::<u64>()), 0..3),
        ) {
            let targets = [Target::Cell, Target::Prefix, Target::Entries, Target::Records];
            let one = Removal {
                target: targets[what],
                seqs: ranges(&listed),
                relinked: relinked.into_iter().map(|(a, b)| (Seq(a), Seq(b))).collect(),
            };
            let bytes = one.encode();
            prop_assert_eq!(Removal::decode(&bytes), Some(one.clone()));
            prop_assert_eq!(Removal::decode(&bytes[..bytes.len() - 8]), None);
            prop_assert_eq!(Removal::decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Removal::decode(&[&bytes[..], &[0; 8]].concat()), None);
            for seq in 0..41 {
                let named = listed.contains(&seq);
                prop_assert_eq!(one.names(Seq(seq)), named, "{}", seq);
            }
        }

        #[test]
        fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(found) = Removal::decode(&bytes) {
                prop_assert_eq!(found.encode(), bytes);
            }
        }
    }
}
