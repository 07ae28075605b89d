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
                if let Some(said) = attributes {
                    self.cells.patch(&key, of, seq, &said);
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

    /// Up to which erasure it is without what was erased.
    pub(super) fn erased(&self) -> u64 {
        self.erased
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
