//! Which slots pass a filter.

use std::ops::Range;

use super::{Slot, position};

/// The slots that pass a filter.
#[derive(Debug)]
pub(in crate::hot) enum Selection {
    /// These, ascending.
    Few(Vec<Slot>),
    /// One bit a slot, 64 slots a word, the lowest bit first.
    Words(Vec<u64>),
}

impl Selection {
    /// Whether a slot is among them.
    pub(in crate::hot) fn contains(&self, slot: Slot) -> bool {
        match self {
            Self::Few(slots) => slots.binary_search(&slot).is_ok(),
            Self::Words(words) => {
                (words.get(position(slot) / 64)).is_some_and(|word| word >> (slot % 64) & 1 == 1)
            }
        }
    }

    /// The slots, ascending.
    pub(in crate::hot) fn slots(&self) -> Vec<Slot> {
        match self {
            Self::Few(slots) => slots.clone(),
            Self::Words(_) => self.runs().into_iter().flatten().collect(),
        }
    }

    /// The slots as runs of neighbours: ascending, none empty, none touching the next.
    pub(in crate::hot) fn runs(&self) -> Vec<Range<Slot>> {
        let mut runs: Vec<Range<Slot>> = Vec::new();
        let mut add = |run: Range<Slot>| match runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => runs.push(run),
        };
        match self {
            Self::Few(slots) => slots.iter().for_each(|slot| add(*slot..slot + 1)),
            Self::Words(words) => {
                for (word, start) in words.iter().zip((0..).step_by(64)) {
                    let mut rest = *word;
                    while rest != 0 {
                        let first = rest.trailing_zeros();
                        let ones = (rest >> first).trailing_ones();
                        add(start + first..start + first + ones);
                        let above = u64::MAX.checked_shl(first + ones).unwrap_or(0);
                        rest &= above;
                    }
                }
            }
        }
        runs
    }
}

/// One bit for each of so many slots: whether it is listed.
pub(super) fn words(listed: &[Slot], slots: usize) -> Vec<u64> {
    let mut words = vec![0; slots.div_ceil(64)];
    for slot in listed {
        if let Some(word) = words.get_mut(position(*slot) / 64) {
            *word |= 1_u64 << (slot % 64);
        }
    }
    words
}

/// Clears the bit of a slot.
pub(super) fn clear(words: &mut [u64], slot: Slot) {
    if let Some(word) = words.get_mut(position(slot) / 64) {
        *word &= !(1 << (slot % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_forms_are_one_set(bits in prop::collection::vec(prop::bool::weighted(0.8), 0..300)) {
            let slots: Vec<Slot> = (0..).zip(&bits).filter(|(_, bit)| **bit).map(|(at, _)| at).collect();
            let mut all: Vec<Slot> = (0..u32::try_from(bits.len()).unwrap()).collect();
            let mut words = super::words(&all, bits.len());
            all.retain(|slot| !slots.contains(slot));
            for slot in &all {
                clear(&mut words, *slot);
            }
            for selection in [Selection::Words(words), Selection::Few(slots.clone())] {
                prop_assert_eq!(selection.slots(), slots.clone());
                for slot in 0..u32::try_from(bits.len()).unwrap() + 70 {
                    prop_assert_eq!(selection.contains(slot), slots.contains(&slot));
                }
                let runs = selection.runs();
                prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
                prop_assert_eq!(runs.into_iter().flatten().collect::<Vec<_>>(), slots.clone());
            }
        }
    }
}
