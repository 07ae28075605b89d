//! Sets of ids as ranges that lie apart.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// A set of ids, which mostly follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intervals(
    /// By first id: the last one. As few as can be, so that at most one can hold an id.
    BTreeMap<u64, u64>,
);

impl Intervals {
    /// Takes up ranges of ids, as far as they are not above `upto`: an id that had not been given yet is of
    /// a record that comes later.
    pub(crate) fn add(&mut self, ranges: &[RangeInclusive<u64>], upto: u64) {
        for range in ranges {
            let end = upto.min(*range.end());
            if *range.start() <= end {
                self.merge(*range.start(), end);
            }
        }
    }

    /// Whether an id is among them.
    pub(crate) fn hold(&self, seq: u64) -> bool {
        self.end_of(seq).is_some()
    }

    /// Whether all ids of a range are among them.
    pub(crate) fn hold_all(&self, range: &RangeInclusive<u64>) -> bool {
        self.end_of(*range.start())
            .is_some_and(|end| *range.end() <= end)
    }

    /// The greatest id.
    pub(crate) fn last(&self) -> Option<u64> {
        self.0.last_key_value().map(|(_, end)| *end)
    }

    /// The ranges, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        self.0.iter().map(|(from, to)| *from..=*to)
    }

    /// The last id of the range that holds this one.
    fn end_of(&self, seq: u64) -> Option<u64> {
        let before = self.0.range(..=seq).next_back();
        before.map(|(_, end)| *end).filter(|end| seq <= *end)
    }

    fn merge(&mut self, mut start: u64, mut end: u64) {
        while let Some((&from, &to)) = self.0.range(..=end.saturating_add(1)).next_back()
            && to.saturating_add(1) >= start
        {
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.0.insert(start, end);
    }
}

/// Ids as ranges.
pub(crate) fn ranges(seqs: &BTreeSet<u64>) -> Vec<RangeInclusive<u64>> {
    let mut out: Vec<RangeInclusive<u64>> = Vec::new();
    for seq in seqs {
        match out.last_mut() {
            Some(last) if last.end().saturating_add(1) == *seq => *last = *last.start()..=*seq,
            _ => out.push(*seq..=*seq),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_of_ranges_holds_what_was_added(
            added in prop::collection::vec((0..40_u64, 0..6_u64, 0..50_u64), 0..8),
            from in 0..50_u64,
            len in 0..8_u64,
        ) {
            let (mut all, mut model) = (Intervals::default(), BTreeSet::new());
            for (start, more, upto) in added {
                all.add(&[start..=start + more], upto);
                model.extend((start..=start + more).filter(|seq| *seq <= upto));
            }
            prop_assert_eq!(all.iter().collect::<Vec<_>>(), ranges(&model));
            prop_assert_eq!(all.last(), model.last().copied());
            prop_assert_eq!(all.hold(from), model.contains(&from));
            let range = from..=from + len;
            prop_assert_eq!(all.hold_all(&range), range.clone().all(|seq| model.contains(&seq)));
        }
    }
}
