//! Damaged records that may be of any key, and what is certain nevertheless.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::cold::Gone;
use crate::entry::Seq;
use crate::log::order;

/// What nobody can tell.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Doubts {
    /// Ids of records that are damaged so that nobody knows their keys.
    lost: Vec<RangeInclusive<u64>>,
    /// Up to which id cells are known to be removed, whatever was damaged before: by key, and by prefix.
    settled: HashMap<Vec<u8>, Seq>,
    settled_below: HashMap<Vec<u8>, Seq>,
}

impl Doubts {
    /// Takes up that a cell was removed, up to an id.
    pub(super) fn settle(&mut self, key: Vec<u8>, upto: Seq) {
        self.settled.insert(key, upto);
    }

    /// Takes up that all below a prefix was removed, up to an id.
    pub(super) fn settle_below(&mut self, prefix: Vec<u8>, upto: Seq) {
        self.settled_below.insert(prefix, upto);
    }

    /// Learns what is damaged.
    pub(super) fn learn(&mut self, gone: &Gone) {
        for range in &gone.lost {
            if !self.lost.contains(range) {
                self.lost.push(range.clone());
            }
        }
        // Of what was erased nobody has to know any more what it was.
        self.lost.retain(|range| !gone.covers_all(range));
    }

    /// Whether any record is damaged so that nobody knows its key.
    pub(in crate::log) fn are_any(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Up to which id a cell is known to be removed.
    pub(super) fn settled(&self, key: &[u8]) -> Seq {
        let removed = self.settled.get(key).copied();
        let below = order::prefixes(key).filter_map(|prefix| self.settled_below.get(prefix));
        let all = removed.into_iter().chain(below.copied());
        all.max().unwrap_or_default()
    }

    /// The first damaged record after an id of which nobody knows what it changed.
    pub(in crate::log) fn after(&self, seq: Seq) -> Option<Seq> {
        let lost = self.lost.iter().filter(|range| *range.end() > seq.0);
        let first = lost
            .map(|range| (*range.start()).max(seq.0.saturating_add(1)))
            .min();
        first.map(Seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_uncertain_behind_a_damaged_record() {
        let mut doubts = Doubts::default();
        doubts.lost.extend([3..=4, 8..=8]);
        let lost = |seq| doubts.after(Seq(seq)).map(|seq| seq.0);
        assert_eq!(
            [0, 2, 3, 4, 7, 8].map(lost),
            [Some(3), Some(3), Some(4), Some(8), Some(8), None]
        );
    }
}
