//! Where the records of a segment lie, in about two bytes a record.
//!
//! Records lie behind each other and their ids grow by one, but for gaps. So a run of records has the id
//! and the offset of its first one, and each record has its length, in units of eight bytes, and its kind:
//!
//! ```text
//! runs     (at 0, id 7, offset 64)          (at 3, id 12, offset 400)   ...
//! packed    13:1 13:1 5:4                     9:1 ...
//! ```
//!
//! The record with id 9 is the third one of its run; it lies at 64 + 8 · (13 + 13).

use std::collections::BTreeMap;

use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::footer::Entry;

/// The most records of a run: so many lengths are added up to find one.
const RUN: usize = 128;
/// The unit of lengths.
const UNIT: u64 = 8;
/// The bits of a kind; a length has the others.
const KIND: u32 = 5;
/// The mark of a kind that does not fit.
const ODD: u16 = (1 << KIND) - 1;

/// Records without a gap between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Where its first record stands among all.
    at: usize,
    seq: u64,
    offset: u64,
}

/// The entries of a segment, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cold) struct Entries {
    runs: Vec<Run>,
    /// Of each record the length in units, 0 for one that is in `long`, and the kind.
    packed: Vec<u16>,
    long: BTreeMap<usize, u64>,
    odd: BTreeMap<usize, u16>,
    last: Option<Entry>,
}

impl Entries {
    pub(in crate::cold) fn len(&self) -> usize {
        self.packed.len()
    }

    pub(in crate::cold) fn last(&self) -> Option<Entry> {
        self.last
    }

    /// Adds a record behind the last one; its id is higher.
    pub(in crate::cold) fn push(&mut self, entry: Entry) {
        let at = self.packed.len();
        let follows = self.last.is_some_and(|last| {
            last.seq.checked_add(1) == Some(entry.seq)
                && last.offset.checked_add(last.len) == Some(entry.offset)
        });
        let begun = self.runs.last().map(|run| at.saturating_sub(run.at));
        if !follows || begun.is_none_or(|begun| begun >= RUN) {
            self.runs.push(Run {
                at,
                seq: entry.seq,
                offset: entry.offset,
            });
        }
        let units = u16::try_from(entry.len / UNIT).ok();
        let fits = |units: &u16| entry.len.is_multiple_of(UNIT) && *units <= u16::MAX >> KIND;
        let length = units.filter(fits).unwrap_or(0);
        if length == 0 {
            self.long.insert(at, entry.len);
        }
        if entry.kind >= ODD {
            self.odd.insert(at, entry.kind);
        }
        self.packed.push(length << KIND | entry.kind.min(ODD));
        self.last = Some(entry);
    }

    /// Gives back the memory that was reserved for more.
    pub(in crate::cold) fn shrink(&mut self) {
        self.runs.shrink_to_fit();
        self.packed.shrink_to_fit();
    }

    /// The record at a place among all.
    pub(in crate::cold) fn get(&self, at: usize) -> Option<Entry> {
        self.from(at).next()
    }

    /// The record of an id.
    pub(in crate::cold) fn find(&self, seq: u64) -> Option<Entry> {
        self.get(self.position(seq))
            .filter(|entry| entry.seq == seq)
    }

    /// The place of the first record with an id of at least `seq`; their number if there is none.
    pub(in crate::cold) fn position(&self, seq: u64) -> usize {
        let after = self.runs.partition_point(|run| run.seq <= seq);
        let Some(run) = after.checked_sub(1).and_then(|at| self.runs.get(at)) else {
            return 0;
        };
        let end = self.runs.get(after).map_or(self.len(), |next| next.at);
        run.at
            .saturating_add(narrow(seq.saturating_sub(run.seq)))
            .min(end)
    }

    pub(in crate::cold) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.from(0)
    }

    /// The records from a place on.
    pub(in crate::cold) fn from(&self, at: usize) -> impl Iterator<Item = Entry> {
        let after = self.runs.partition_point(|run| run.at <= at);
        let mut next = after;
        let run = after
            .checked_sub(1)
            .and_then(|before| self.runs.get(before));
        let (mut seq, mut offset) = run.map_or((0, 0), |run| {
            let skipped = (run.at..at.min(self.len())).map(|at| self.length(at));
            (
                run.seq.saturating_add(wide(at.saturating_sub(run.at))),
                run.offset.saturating_add(skipped.sum::<u64>()),
            )
        });
        (at..self.len()).map(move |at| {
            if let Some(run) = self.runs.get(next).filter(|run| run.at == at) {
                (seq, offset) = (run.seq, run.offset);
                next = next.saturating_add(1);
            }
            let entry = Entry {
                seq,
                offset,
                len: self.length(at),
                kind: self.kind(at),
            };
            seq = seq.saturating_add(1);
            offset = offset.saturating_add(entry.len);
            entry
        })
    }

    fn length(&self, at: usize) -> u64 {
        match self.packed.get(at).map_or(0, |packed| packed >> KIND) {
            0 => self.long.get(&at).copied().unwrap_or(0),
            units => u64::from(units).saturating_mul(UNIT),
        }
    }

    fn kind(&self, at: usize) -> u16 {
        match self.packed.get(at).map_or(ODD, |packed| packed & ODD) {
            ODD => self.odd.get(&at).copied().unwrap_or(0),
            kind => kind,
        }
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<T: IntoIterator<Item = Entry>>(entries: T) -> Self {
        let mut made = Self::default();
        made.extend(entries);
        made.shrink();
        made
    }
}

impl Extend<Entry> for Entries {
    fn extend<T: IntoIterator<Item = Entry>>(&mut self, entries: T) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Steps to the next record: of ids, of bytes between them, its length, its kind.
    fn step() -> impl Strategy<Value = (u64, u64, u64, u16)> {
        let skipped = prop_oneof![20 => Just(0), 1 => 1_u64..4];
        let between = prop_oneof![20 => Just(0), 1 => 1_u64..100];
        let unit = 8 * u64::from(u16::MAX >> KIND);
        let len = prop_oneof![
            20 => (1_u64..200).prop_map(|units| 8 * units),
            1 => 0_u64..100,
            1 => prop::sample::select(vec![unit - 8, unit, unit + 8, 1 << 40]),
        ];
        let kind = prop_oneof![20 => 0_u16..25, 1 => prop::sample::select(vec![ODD - 1, ODD, ODD + 1, u16::MAX])];
        (skipped, between, len, kind)
    }

    fn listed(steps: &[(u64, u64, u64, u16)]) -> Vec<Entry> {
        let (mut seq, mut offset) = (5, 64);
        let mut made = Vec::new();
        for (skipped, between, len, kind) in steps {
            seq += 1 + skipped;
            offset += between;
            made.push(Entry {
                seq,
                offset,
                len: *len,
                kind: *kind,
            });
            offset += len;
        }
        made
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_was_listed(steps in vec(step(), 0..300)) {
            let plain = listed(&steps);
            let packed: Entries = plain.iter().copied().collect();
            prop_assert_eq!(packed.len(), plain.len());
            prop_assert_eq!(packed.last(), plain.last().copied());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), plain.clone());
            for at in 0..=plain.len() {
                prop_assert_eq!(packed.get(at), plain.get(at).copied());
                let rest: Vec<_> = packed.from(at).take(3).collect();
                prop_assert_eq!(&rest[..], &plain[at..plain.len().min(at + 3)]);
            }
            prop_assert_eq!(packed.from(plain.len() + 1).next(), None);
            for seq in 0..plain.last().map_or(9, |last| last.seq + 3) {
                let wanted = plain.partition_point(|entry| entry.seq < seq);
                prop_assert_eq!(packed.position(seq), wanted);
                let there = plain.get(wanted).copied().filter(|entry| entry.seq == seq);
                prop_assert_eq!(packed.find(seq), there);
            }
            prop_assert_eq!(packed.position(u64::MAX), plain.len());
        }
    }

    #[test]
    fn ordinary_records_take_few_bytes() {
        let steps = vec![(0, 0, 344, 1); 10_000];
        let packed: Entries = listed(&steps).into_iter().collect();
        assert_eq!(packed.runs.len(), 10_000_usize.div_ceil(RUN));
        assert!(packed.long.is_empty() && packed.odd.is_empty());
        let runs = packed.runs.capacity() * size_of::<Run>();
        assert!(runs + packed.packed.capacity() * 2 < 5 * 10_000 / 2);
    }
}
