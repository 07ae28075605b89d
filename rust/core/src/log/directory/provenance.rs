//! What was made from what: so that removing or erasing something finds the rest without a look at all
//! records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use crate::cold::Intervals;
use crate::entry::Seq;

/// The sources of records, the other way round.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Provenance {
    /// By source: what was made from it.
    made: HashMap<Seq, Vec<Seq>>,
    /// The keys of what was made from something.
    keys: BTreeMap<Seq, Vec<u8>>,
    /// Records that are no cells and no entries, by key.
    others: BTreeMap<Vec<u8>, Vec<Seq>>,
    /// What went with something that was removed, by the key of the removal.
    taken: BTreeMap<Vec<u8>, Intervals>,
}

impl Provenance {
    /// Takes up a record; `is_other` where it is neither of a cell nor of a list.
    pub(super) fn add(&mut self, seq: Seq, key: &[u8], sources: &[Seq], is_other: bool) {
        for source in sources {
            self.made.entry(*source).or_default().push(seq);
        }
        if is_other {
            self.others.entry(key.to_vec()).or_default().push(seq);
        }
        if !sources.is_empty() {
            self.keys.insert(seq, key.to_vec());
        }
    }

    /// What was made from a record.
    pub(in crate::log) fn made_from(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let made = self.made.get(&seq).into_iter().flatten();
        made.filter(|seq| self.keys.contains_key(seq)).copied()
    }

    /// What was made from these records, and from that, without themselves.
    pub(in crate::log) fn all_made_from(&self, roots: &BTreeSet<u64>) -> BTreeSet<u64> {
        let mut out = BTreeSet::new();
        if self.keys.is_empty() {
            return out;
        }
        let mut open: Vec<u64> = roots.iter().copied().collect();
        while let Some(seq) = open.pop() {
            for Seq(one) in self.made_from(Seq(seq)) {
                if !roots.contains(&one) && out.insert(one) {
                    open.push(one);
                }
            }
        }
        out
    }

    /// The records within a range of ids, up to one, that were made from something, with their keys.
    pub(super) fn within(
        &self,
        range: &RangeInclusive<u64>,
        upto: Seq,
    ) -> impl Iterator<Item = (Seq, &[u8])> {
        let known = self.keys.range(Seq(*range.start())..);
        let last = Seq(*range.end()).min(upto);
        let known = known.take_while(move |(seq, _)| **seq <= last);
        known.map(|(seq, key)| (*seq, key.as_slice()))
    }

    /// The key of a record that was made from something.
    pub(in crate::log) fn key(&self, seq: Seq) -> Option<&[u8]> {
        self.keys.get(&seq).map(Vec::as_slice)
    }

    /// Records below a prefix that are neither of cells nor of lists.
    pub(in crate::log) fn others<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = Seq> + 'a {
        let below = self.others.range(prefix.to_vec()..);
        let below = below.take_while(move |(key, _)| key.starts_with(prefix));
        below.flat_map(|(_, seqs)| seqs).copied()
    }

    /// Takes up what went with something that was removed.
    pub(super) fn take(&mut self, key: &[u8], seqs: &[RangeInclusive<u64>], upto: Seq) {
        if !seqs.is_empty() {
            let taken = self.taken.entry(key.to_vec()).or_default();
            taken.add(seqs, upto.0);
        }
    }

    /// What went with something that was removed below a prefix.
    pub(in crate::log) fn taken<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let below = self.taken.range(prefix.to_vec()..);
        let below = below.take_while(move |(key, _)| key.starts_with(prefix));
        below.flat_map(|(_, seqs)| seqs.iter().flatten())
    }

    /// Whether something that is there was made from a record.
    pub(in crate::log) fn is_source(&self, seq: Seq) -> bool {
        self.made_from(seq).next().is_some()
    }

    /// Forgets these records.
    pub(super) fn forget(&mut self, seqs: &BTreeSet<u64>) {
        for seq in seqs {
            self.keys.remove(&Seq(*seq));
            self.made.remove(&Seq(*seq));
        }
    }

    /// Forgets the records below a prefix that are neither of cells nor of lists.
    pub(super) fn forget_below(&mut self, prefix: &[u8]) {
        let below = self.others.range(prefix.to_vec()..);
        let below = below.take_while(|(key, _)| key.starts_with(prefix));
        let below: Vec<Vec<u8>> = below.map(|(key, _)| key.clone()).collect();
        for key in below {
            self.others.remove(&key);
        }
        let below = self.taken.range(prefix.to_vec()..);
        let below = below.take_while(|(key, _)| key.starts_with(prefix));
        let below: Vec<Vec<u8>> = below.map(|(key, _)| key.clone()).collect();
        for key in below {
            self.taken.remove(&key);
        }
    }

    /// Forgets what passes.
    pub(super) fn forget_all(&mut self, goes: impl Fn(Seq, &[u8]) -> bool) {
        self.keys.retain(|seq, key| !goes(*seq, key));
        self.others.retain(|key, seqs| {
            seqs.retain(|seq| !goes(*seq, key));
            !seqs.is_empty()
        });
    }
}
