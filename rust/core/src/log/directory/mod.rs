//! The directory: what each key holds, worked out of the records in the order of their ids.
//!
//! It is derived and may be thrown away. Whoever follows the same records has the same directory, in
//! whatever process.

pub(super) mod cells;
pub(super) mod lists;

use std::ops::RangeInclusive;

use crate::cold::Gone;
use crate::cold::removal::{Removal, Target};
use crate::entry::Seq;

use super::event::{Event, What};
use super::order;
use cells::Cells;
use lists::Lists;

/// What the keys of a store hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) cells: Cells,
    pub(super) lists: Lists,
    /// Up to which id records were taken up.
    pub(super) seen: Seq,
    /// Up to which erasure it is without what was erased.
    erased: u64,
    /// How often records that were read once had been found to be gone when it was begun.
    rewound: u64,
    /// Ids of records that are damaged so that nobody knows their keys.
    lost: Vec<RangeInclusive<u64>>,
}

impl Directory {
    /// Takes up one event; an id that was taken up already changes nothing.
    pub(super) fn apply(&mut self, event: Event) {
        let Event {
            record,
            seq,
            key,
            what,
        } = event;
        if record > self.seen {
            self.seen = record;
            self.take(seq, key, what);
        }
    }

    fn take(&mut self, seq: Seq, key: Vec<u8>, what: What) {
        match what {
            What::Put { born, attributes } => self.cells.put(key, seq, born, attributes),
            What::Added {
                parent,
                uid,
                attributes,
            } => self
                .lists
                .add(key, seq, parent, uid, attributes.unwrap_or_default()),
            What::Patched { of, attributes } => {
                self.cells.patch(&key, of, seq, attributes.as_ref());
                if let Some(said) = attributes {
                    self.lists.patch(&key, of, seq, &said);
                }
            }
            What::Removed(removal) => self.remove(seq, &key, &removal),
            What::Head(head) => self.lists.head(&key, seq, head),
        }
    }

    fn remove(&mut self, at: Seq, key: &[u8], removal: &Removal) {
        // What comes later is another one of that name.
        let upto = Seq(at.0.saturating_sub(1));
        let names = |seq: Seq| seq <= upto && removal.names(seq);
        match removal.target {
            Target::Cell => self.cells.remove(key, upto),
            Target::Prefix => {
                self.cells.retain(key, |_, cell| cell.version > upto);
                self.lists.remove_below(key, |_, seq| seq <= upto);
            }
            Target::Entries => {
                self.lists.remove(key, names, &removal.relinked);
            }
            Target::Records => {
                self.cells.retain(&[], |_, cell| !names(cell.version));
                self.lists.remove_below(&[], |_, seq| names(seq));
            }
        }
    }

    /// Forgets what was erased, and learns what is damaged.
    pub(super) fn without(&mut self, gone: &Gone) {
        for range in &gone.lost {
            if !self.lost.contains(range) {
                self.lost.push(range.clone());
            }
        }
        if gone.version() == self.erased {
            return;
        }
        self.erased = gone.version();
        self.cells.retain(&[], |key, cell| {
            !gone.covers(cell.version, &order::decode(key))
        });
        let lists: Vec<Vec<u8>> = self.lists.below(&[]).map(|(key, _)| key.to_vec()).collect();
        for key in lists {
            let parts = order::decode(&key);
            self.lists.remove(&key, |seq| gone.covers(seq, &parts), &[]);
        }
    }

    /// A directory that begins anew, after records had been found to be gone so often.
    pub(super) fn rewound(rewound: u64) -> Self {
        Self {
            rewound,
            ..Self::default()
        }
    }

    /// Up to which erasure it is without what was erased, and how often records had been found to be gone
    /// when it was begun.
    pub(super) fn followed(&self) -> (u64, u64) {
        (self.erased, self.rewound)
    }

    /// The first damaged record after an id of which nobody knows what it changed.
    pub(super) fn lost_after(&self, seq: Seq) -> Option<Seq> {
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
    use crate::log::attributes::Attributes;

    const KEY: &[u8] = b"list\0\0";

    fn event(seq: u64, what: What) -> Event {
        Event {
            record: Seq(seq),
            seq: Seq(seq),
            key: KEY.to_vec(),
            what,
        }
    }

    fn added(seq: u64, parent: u64) -> Event {
        let what = What::Added {
            parent: Some(Seq(parent)),
            uid: None,
            attributes: Some(Attributes::default()),
        };
        event(seq, what)
    }

    fn removed(seq: u64, seqs: &[u64], relinked: &[(u64, u64)]) -> Event {
        let removal = Removal {
            relinked: relinked.iter().map(|(a, b)| (Seq(*a), Seq(*b))).collect(),
            ..Removal::new(Target::Entries, &seqs.iter().copied().collect())
        };
        event(seq, What::Removed(removal))
    }

    /// The path of the list after these events.
    fn path(events: impl IntoIterator<Item = Event>) -> Vec<u64> {
        let mut directory = Directory::default();
        for one in events {
            directory.apply(one);
        }
        let list = directory.lists.get(KEY);
        let path = list.map_or(&[][..], lists::List::path);
        path.iter().map(|seq| seq.0).collect()
    }

    #[test]
    fn a_path_leads_from_its_head_to_the_first_entry() {
        let tree = || {
            [
                added(1, 0),
                added(2, 1),
                added(3, 2),
                added(4, 1),
                added(5, 4),
            ]
        };
        assert_eq!(path(tree()), [1, 4, 5]);
        let head = |seq, to| event(seq, What::Head(Seq(to)));
        assert_eq!(path(tree().into_iter().chain([head(6, 3)])), [1, 2, 3]);
        assert_eq!(path(tree().into_iter().chain([head(6, 4)])), [1, 4]);
        assert_eq!(path(tree().into_iter().chain([head(6, 0)])), []);
        let again = [head(6, 0), added(7, 0)];
        assert_eq!(path(tree().into_iter().chain(again)), [7]);
        // An entry whose parent nobody knows follows the one before that.
        assert_eq!(path([added(1, 0), added(3, 2)]), [1, 3]);
        assert_eq!(path([added(5, 4)]), [5]);
    }

    #[test]
    fn what_followed_a_removed_entry_follows_what_that_one_followed() {
        let tree = || [added(1, 0), added(2, 1), added(3, 1), added(4, 2)];
        assert_eq!(
            path(tree().into_iter().chain([removed(5, &[2], &[])])),
            [1, 4]
        );
        assert_eq!(
            path(tree().into_iter().chain([removed(5, &[1, 2], &[])])),
            [4]
        );
        assert_eq!(
            path(tree().into_iter().chain([removed(5, &[4], &[])])),
            [1, 2]
        );
        assert_eq!(
            path(tree().into_iter().chain([removed(5, &[9], &[])])),
            [1, 2, 4]
        );
        // What is said of it counts more: the entry itself may be gone from the records already.
        let compacted = [
            added(1, 0),
            added(3, 1),
            added(4, 2),
            removed(5, &[3], &[(4, 1)]),
        ];
        assert_eq!(path(compacted), [1, 4]);
        let said = removed(5, &[2], &[(4, 3)]);
        assert_eq!(path(tree().into_iter().chain([said])), [1, 3, 4]);
    }

    #[test]
    fn a_second_copy_counts_as_the_first() {
        let copy = |record, seq, what| Event {
            record: Seq(record),
            ..event(seq, what)
        };
        let head = copy(4, 2, What::Head(Seq(1)));
        // The first copy of the head, 2, is damaged, and an entry came between.
        assert_eq!(path([added(1, 0), added(3, 1), head.clone()]), [1, 3]);
        assert_eq!(path([added(1, 0), head]), [1]);
        let behind = Removal::behind(Seq(1));
        let cut = copy(5, 3, What::Removed(behind));
        assert_eq!(path([added(1, 0), added(2, 1), added(4, 1), cut]), [1, 4]);
    }

    #[test]
    fn a_patch_is_of_its_version_alone_and_the_newest_counts() {
        let said = |expires| Attributes {
            expires: Some(expires),
            ..Attributes::default()
        };
        let put = |seq| {
            let what = What::Put {
                born: None,
                attributes: Some(Attributes::default()),
            };
            event(seq, what)
        };
        let patch = |seq, of, expires| {
            let what = What::Patched {
                of: Seq(of),
                attributes: Some(said(expires)),
            };
            event(seq, what)
        };
        let expires = |events: Vec<Event>| {
            let mut directory = Directory::default();
            for one in events {
                directory.apply(one);
            }
            directory.cells.get(KEY).unwrap().expires
        };
        assert_eq!(
            expires(vec![put(1), patch(2, 1, 20), patch(3, 1, 30)]),
            Some(30)
        );
        assert_eq!(expires(vec![put(1), put(2), patch(3, 1, 30)]), None);
        assert_eq!(expires(vec![put(1), patch(2, 1, 20), put(3)]), None);
        assert_eq!(expires(vec![put(2), patch(3, 4, 30)]), None);
        // What was taken up already changes nothing.
        assert_eq!(expires(vec![put(3), patch(2, 3, 20)]), None);
    }

    #[test]
    fn a_cell_is_uncertain_behind_a_damaged_record() {
        let mut directory = Directory::default();
        directory.lost.extend([3..=4, 8..=8]);
        let lost = |seq| directory.lost_after(Seq(seq)).map(|seq| seq.0);
        assert_eq!(
            [0, 2, 3, 4, 7, 8].map(lost),
            [Some(3), Some(3), Some(4), Some(8), Some(8), None]
        );
    }
}
