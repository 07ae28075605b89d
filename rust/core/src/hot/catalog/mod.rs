//! Which entries there are: ids, slots, labels.
//!
//! A slot is an entry's position in every column of the index. Slots are handed out in order and are
//! never handed out twice, so a column that has not heard of a slot yet simply has no value for it.
//!
//! ```text
//! ids      slot ─▶ id        id ─▶ slot, by the ids' order or a map
//! labels   slot ─▶ labels    one column a label; blocks: bounds of 4,096 slots' labels
//! places   tenant, conversation ─▶ slots
//! ```

mod beside;
mod bits;
mod blocks;
mod ids;
mod kept;
mod labels;
mod places;
mod selection;
#[cfg(test)]
mod tests;
mod ties;

use std::io::{self, Write};

pub(super) use self::beside::Beside;
use self::bits::Bits;
use self::blocks::Blocks;
use self::ids::Ids;
pub(super) use self::kept::Kept;
use self::labels::LabelColumns;
use self::places::Places;
pub(super) use self::selection::Selection;
pub(super) use self::ties::Ties;
use super::filter::{Branches, Filter, Labels};
use crate::error::{Error, Result};
use crate::hot::file::{Saved, Writer};

/// An entry's position in every column.
pub(super) type Slot = u32;

/// A list of slots that is longer than all slots over this is slower than one bit for each.
const SPARSE: usize = 32;

/// Ids and labels of all entries.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    ids: Ids,
    labels: LabelColumns,
    live: Bits,
    present: Bits,
    entries: usize,
    blocks: Blocks,
    places: Places,
}

impl Catalog {
    /// Adds an entry and hands out its slot.
    pub(super) fn add(&mut self, id: u64, labels: Labels) -> Result<Slot> {
        if self.contains(id) {
            return Err(Error::DuplicateId { id });
        }
        let at = self.ids.len();
        let slot = Slot::try_from(at)
            .ok()
            .filter(|slot| *slot < Slot::MAX)
            .ok_or_else(|| Error::Argument {
                name: "ids",
                expected: "fewer than 2^32 entries in one index, removed ones included".into(),
                found: "one more; save and open it to drop removed ones".into(),
            })?;
        self.ids.push(id, slot);
        self.labels.push(&labels);
        self.blocks.push(at, &labels);
        self.live.set(slot, labels.live);
        self.present.set(slot, true);
        self.places.push((labels.tenant, labels.conversation), slot);
        self.entries += 1;
        Ok(slot)
    }

    /// Takes an entry out and returns the slot that it had.
    pub(super) fn remove(&mut self, id: u64) -> Result<Slot> {
        let slot = self.slot(id)?;
        if let Some(labels) = self.labels_of(slot) {
            self.places
                .remove((labels.tenant, labels.conversation), slot);
        }
        self.present.set(slot, false);
        self.entries -= 1;
        Ok(slot)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// The slot of an id.
    pub(super) fn slot(&self, id: u64) -> Result<Slot> {
        self.ids
            .find(id, |slot| self.present.get(slot))
            .ok_or(Error::UnknownId { id })
    }

    /// Whether an id is present.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.slot(id).is_ok()
    }

    /// The id of a slot, if its entry is present.
    pub(super) fn id(&self, slot: Slot) -> Option<u64> {
        self.present
            .get(slot)
            .then(|| self.ids.get(position(slot)))?
    }

    /// The labels of a slot.
    pub(super) fn labels_of(&self, slot: Slot) -> Option<Labels> {
        self.labels.get(position(slot), self.live.get(slot))
    }

    /// Moves an entry onto the current branch or off it.
    pub(super) fn set_live(&mut self, id: u64, live: bool) -> Result<()> {
        let slot = self.slot(id)?;
        self.live.set(slot, live);
        Ok(())
    }

    /// Whether the entry of a slot is present and passes the filter.
    pub(super) fn admits(&self, slot: Slot, filter: &Filter) -> bool {
        let listed = filter.ids.as_ref().is_none_or(|ids| {
            self.id(slot)
                .is_some_and(|id| ids.binary_search(&id).is_ok())
        });
        listed && self.labels.placed(position(slot), filter) && self.passes(slot, filter)
    }

    /// Whether the entry of a slot is present and passes the filter, but for the tenant, the
    /// conversation and the list of ids, which led to the slot.
    fn passes(&self, slot: Slot, filter: &Filter) -> bool {
        self.present.get(slot)
            && (filter.branches == Branches::All || self.live.get(slot))
            && self.labels.pass(position(slot), filter)
            && (filter.except.is_empty()
                || self
                    .id(slot)
                    .is_some_and(|id| filter.except.binary_search(&id).is_err()))
    }

    /// The slots that pass a filter.
    ///
    /// A filter on ids, on a conversation, or on a tenant with few entries costs what those cost;
    /// others cost one look at the bounds of each block, and one at each label of the blocks that the
    /// bounds leave open.
    pub(super) fn selection(&self, filter: &Filter) -> Selection {
        let slots = self.ids.len();
        let most = slots / SPARSE + SPARSE;
        let few = match &filter.ids {
            Some(ids) => {
                let mut found = Vec::with_capacity(ids.len().min(slots));
                let present = |slot| self.present.get(slot);
                self.ids.each_of(ids, present, |slot| found.push(slot));
                Some(found)
            }
            None => self.places.of(filter.tenant, filter.conversation, most),
        };
        let mut words = match few {
            Some(mut few) if few.len() <= most => {
                let listed = filter.ids.is_some();
                few.retain(|slot| {
                    (!listed || self.labels.placed(position(*slot), filter))
                        && self.passes(*slot, filter)
                });
                few.sort_unstable();
                few.dedup();
                return Selection::Few(few);
            }
            Some(many) => selection::words(&many, slots),
            None => self.present.words(),
        };
        if filter.branches == Branches::Live {
            self.live.mask(&mut words);
        }
        self.blocks.narrow(filter, &self.labels, &mut words);
        self.ids.each_of(
            &filter.except,
            |_| true,
            |slot| selection::clear(&mut words, slot),
        );
        Selection::Words(words)
    }

    /// The conversations that have entries and pass the filter's tenant and conversation, ascending.
    pub(super) fn conversations(&self, filter: &Filter) -> Vec<(u32, u32)> {
        let mut keys: Vec<(u32, u32)> = self
            .places
            .keys(filter.tenant, filter.conversation)
            .filter(|(key, slots)| {
                filter.conversation.is_none_or(|wanted| wanted == key.1)
                    && slots.iter().any(|slot| self.present.get(*slot))
            })
            .map(|(key, _)| key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The slots of the entries that are present.
    pub(super) fn kept(&self) -> Kept {
        Kept::new(Selection::Words(self.present.words()).runs())
    }

    /// Writes the entries that are present.
    pub(super) fn save<W: Write>(&self, out: &mut Writer<W>, kept: &Kept) -> io::Result<()> {
        self.ids.save(out, kept)?;
        self.labels.save(out, kept)?;
        self.live.save(out, "live", kept)?;
        Blocks::save(out, &self.labels, kept)?;
        Places::save(out, &self.labels, kept)
    }

    /// The saved entries, of which there are so many.
    pub(super) fn open(saved: &Saved, entries: usize) -> Result<Self> {
        Ok(Self {
            ids: Ids::open(saved, entries)?,
            labels: LabelColumns::open(saved, entries)?,
            live: Bits::open(saved, "live", entries)?,
            present: Bits::ones(entries),
            entries,
            blocks: Blocks::open(saved, entries)?,
            places: Places::open(saved, entries)?,
        })
    }
}

/// A slot as a position in a column.
pub(super) fn position(slot: Slot) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}
