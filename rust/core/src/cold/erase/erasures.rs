//! What was erased: tombstones, and which records they cover.
//!
//! A tombstone names a beginning of keys by its hash, so that it says nothing about whose records
//! they were, or ids. It covers what had been written before it, and nothing that comes later.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use crate::cold::format::bytes::{Fields, wide};
use crate::cold::format::header::now;
use crate::cold::format::key;
use crate::cold::intervals::{Intervals, ranges};
use crate::cold::report::Erasure;

/// One erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cold) struct Tombstone {
    /// Ids up to this one are concerned.
    pub(in crate::cold) upto: u64,
    /// When, in nanoseconds since 1970.
    pub(in crate::cold) at: u64,
    /// The beginning of the keys concerned: how many parts, and their hash.
    pub(in crate::cold) prefix: Option<(u64, u128)>,
    /// Ids, ascending and apart.
    pub(in crate::cold) seqs: Vec<RangeInclusive<u64>>,
}

impl Tombstone {
    /// An erasure of now.
    pub(in crate::cold) fn new(
        upto: u64,
        prefix: Option<(u64, u128)>,
        seqs: &BTreeSet<u64>,
    ) -> Self {
        Self {
            upto,
            at: now(),
            prefix,
            seqs: ranges(seqs),
        }
    }

    pub(in crate::cold) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.upto.to_le_bytes());
        out.extend(self.at.to_le_bytes());
        let (depth, hash) = self.prefix.unwrap_or_default();
        out.extend(depth.to_le_bytes());
        out.extend(hash.to_le_bytes());
        out.extend(wide(self.seqs.len()).to_le_bytes());
        for range in &self.seqs {
            out.extend(range.start().to_le_bytes());
            out.extend(range.end().to_le_bytes());
        }
        out
    }

    pub(in crate::cold) fn decode(payload: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(payload);
        let (upto, at) = (fields.u64()?, fields.u64()?);
        let (depth, hash, count) = (fields.u64()?, fields.u128()?, fields.u64()?);
        let mut seqs = Vec::new();
        for _ in 0..count {
            seqs.push(fields.u64()?..=fields.u64()?);
        }
        Some(Self {
            upto,
            at,
            prefix: (depth > 0).then_some((depth, hash)),
            seqs,
        })
    }
}

/// The hash of the beginning of a key, under the store's own name.
pub(in crate::cold) fn hash_of<P: AsRef<[u8]>>(uuid: &[u8; 16], parts: &[P]) -> Option<u128> {
    let parts: Vec<&[u8]> = parts.iter().map(AsRef::as_ref).collect();
    let mut bytes = uuid.to_vec();
    key::encode(&mut bytes, &parts)?;
    Some(xxhash_rust::xxh3::xxh3_128(&bytes))
}

/// What all tombstones of a store cover.
#[derive(Clone, Debug, Default)]
pub(in crate::cold) struct Erasures {
    /// The tombstones that the segments hold, in order.
    pub(in crate::cold) listed: Vec<Erasure>,
    uuid: [u8; 16],
    /// By the hash of a beginning: how many parts it has, and up to which id it is erased.
    prefixes: HashMap<u128, (u64, u64)>,
    depths: BTreeSet<u64>,
    seqs: Intervals,
    /// The highest id that any tombstone is about, and when the last one was made.
    upto: u64,
    at: u64,
    /// Whether there is any.
    any: bool,
}

impl Erasures {
    pub(in crate::cold) fn new(uuid: [u8; 16]) -> Self {
        Self {
            uuid,
            ..Self::default()
        }
    }

    /// A number that grows with each erasure and with nothing else; 0 if nothing was erased. Folding
    /// tombstones leaves it as it is, or lets it grow.
    pub(in crate::cold) fn version(&self) -> u64 {
        if self.any {
            self.upto.saturating_add(1)
        } else {
            0
        }
    }

    /// The highest id that any tombstone is about.
    pub(in crate::cold) fn upto(&self) -> u64 {
        self.upto
    }

    /// Takes up a tombstone of a segment.
    pub(in crate::cold) fn add(&mut self, tombstone: &Tombstone) {
        self.listed.push(tombstone.into());
        self.cover(tombstone);
    }

    /// Covers what a tombstone covers, which no segment need hold.
    pub(in crate::cold) fn cover(&mut self, tombstone: &Tombstone) {
        self.any = true;
        self.upto = self.upto.max(tombstone.upto);
        self.at = self.at.max(tombstone.at);
        if let Some((depth, hash)) = tombstone.prefix {
            let (_, upto) = self.prefixes.entry(hash).or_insert((depth, 0));
            *upto = (*upto).max(tombstone.upto);
            self.depths.insert(depth);
        }
        self.seqs.add(&tombstone.seqs, tombstone.upto);
    }

    /// Covers what the other one covers, too.
    pub(in crate::cold) fn join(&mut self, other: &Self) {
        if other.any {
            for tombstone in other.folded(&BTreeSet::new(), true) {
                self.cover(&tombstone);
            }
        }
    }

    /// The fewest tombstones that cover the same: one for all ids, these among them, and where
    /// `prefixes` are still needed one for each.
    pub(in crate::cold) fn folded(&self, more: &BTreeSet<u64>, prefixes: bool) -> Vec<Tombstone> {
        let mut all = Self::new(self.uuid);
        all.seqs.clone_from(&self.seqs);
        all.seqs.add(&ranges(more), u64::MAX);
        let mut out = vec![Tombstone {
            // The newest tombstone is about ids before its own, which is among `more`.
            upto: self.upto.max(more.last().copied().unwrap_or_default()),
            at: self.at,
            prefix: None,
            seqs: all.seqs.iter().collect(),
        }];
        if prefixes {
            let mut kept: Vec<_> = self.prefixes.iter().collect();
            kept.sort_unstable();
            out.extend(kept.into_iter().map(|(hash, (depth, upto))| Tombstone {
                upto: *upto,
                at: self.at,
                prefix: Some((*depth, *hash)),
                seqs: Vec::new(),
            }));
        }
        out
    }

    /// Whether both cover the same.
    pub(in crate::cold) fn agrees(&self, other: &Self) -> bool {
        (self.any, self.upto) == (other.any, other.upto)
            && self.seqs == other.seqs
            && self.prefixes == other.prefixes
    }

    /// Whether a record with this id and key is erased.
    pub(in crate::cold) fn covers<P: AsRef<[u8]>>(&self, seq: u64, key: &[P]) -> bool {
        self.covers_seq(seq) || self.covers_key(seq, key)
    }

    /// Whether only ids were erased, and no beginning of keys: then a record's key need not be read.
    pub(in crate::cold) fn are_ids(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Whether a tombstone lists this id.
    pub(in crate::cold) fn covers_seq(&self, seq: u64) -> bool {
        self.seqs.hold(seq)
    }

    /// Whether tombstones list an id that is not less than this one.
    pub(in crate::cold) fn covers_any(&self, from: u64) -> bool {
        self.seqs.last().is_some_and(|last| from <= last)
    }

    /// Whether tombstones list all these ids.
    pub(in crate::cold) fn covers_all(&self, seqs: &RangeInclusive<u64>) -> bool {
        self.seqs.hold_all(seqs)
    }

    /// Whether a tombstone names the beginning of this key, for this id.
    pub(in crate::cold) fn covers_key<P: AsRef<[u8]>>(&self, seq: u64, key: &[P]) -> bool {
        self.depths.iter().any(|depth| {
            let parts = usize::try_from(*depth).ok().and_then(|d| key.get(..d));
            let hash = parts.and_then(|parts| hash_of(&self.uuid, parts));
            let upto = hash.and_then(|hash| self.prefixes.get(&hash));
            upto.is_some_and(|(_, upto)| seq <= *upto)
        })
    }

    /// Whether the key of a scope was made before the scope was erased.
    pub(in crate::cold) fn covers_scope(&self, scope: &[u8], born: u64) -> bool {
        let parts = key::decode(scope).unwrap_or_default();
        self.covers_key(born, &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_covers_what_was_there_and_nothing_later() {
        let uuid = [3; 16];
        let prefix = hash_of(&uuid, &[b"tenant".to_vec(), b"a".to_vec()]).map(|h| (2, h));
        let listed = BTreeSet::from([3, 4, 5, 9]);
        let first = Tombstone::new(7, prefix, &BTreeSet::new());
        let second = Tombstone::new(10, None, &listed);
        assert_eq!(second.seqs, [3..=5, 9..=9]);
        let mut all = Erasures::new(uuid);
        for tombstone in [first, second] {
            let back = Tombstone::decode(&tombstone.encode()).unwrap();
            assert_eq!(back, tombstone);
            all.add(&back);
        }
        let key = |name: &str| vec![b"tenant".to_vec(), name.into(), b"more".to_vec()];
        assert!(all.covers(7, &key("a")));
        assert!(!all.covers(8, &key("a")));
        assert!(!all.covers(7, &key("b")));
        assert!(!all.covers(7, &[b"tenant".to_vec()]));
        for (seq, erased) in [(2, false), (3, true), (5, true), (6, false), (9, true)] {
            assert_eq!(all.covers(seq, &key("b")), erased, "{seq}");
        }
    }
    #[test]
    fn folded_tombstones_cover_the_same_with_the_fewest_ranges() {
        let uuid = [3; 16];
        let prefix = hash_of(&uuid, &[b"tenant".to_vec()]).map(|hash| (1, hash));
        let mut all = Erasures::new(uuid);
        all.add(&Tombstone::new(7, prefix, &BTreeSet::from([1, 3, 5])));
        all.add(&Tombstone::new(20, None, &BTreeSet::from([2, 9, 11])));
        let kept = all.folded(&BTreeSet::from([4, 10]), true);
        let seqs: Vec<_> = kept.iter().map(|one| one.seqs.clone()).collect();
        assert_eq!(seqs, [vec![1..=5, 9..=11], vec![]]);
        let mut anew = Erasures::new(uuid);
        for tombstone in &kept {
            anew.add(tombstone);
        }
        assert_eq!((anew.version(), anew.upto()), (21, 20));
        let key = [b"tenant".to_vec()];
        for seq in 0..30 {
            let filled = [4, 10].contains(&seq);
            assert_eq!(
                anew.covers(seq, &key),
                all.covers(seq, &key) || filled,
                "{seq}"
            );
            assert_eq!(anew.covers_seq(seq), all.covers_seq(seq) || filled, "{seq}");
        }
        assert_eq!(all.folded(&BTreeSet::new(), false).len(), 1);
        let own = all.folded(&BTreeSet::from([21]), false);
        assert_eq!((own[0].upto, own[0].seqs.last()), (21, Some(&(21..=21))));
        assert!(anew.agrees(&anew.clone()) && !anew.agrees(&all));
    }
}
