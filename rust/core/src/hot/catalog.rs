//! Which entries there are: ids, slots, labels.
//!
//! A slot is an entry's position in every column of the index. Slots are handed out in order and are
//! never handed out twice, so a column that has not heard of a slot yet simply has no value for it.

use std::collections::HashMap;

use super::filter::{Filter, Labels};
use crate::error::{Error, Result};

/// An entry's position in every column.
pub(super) type Slot = u32;

/// Ids and labels of all entries.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    ids: Vec<u64>,
    labels: Vec<Labels>,
    present: Vec<bool>,
    by_id: HashMap<u64, Slot>,
    by_conversation: HashMap<(u32, u32), Vec<Slot>>,
}

impl Catalog {
    /// Adds an entry and hands out its slot.
    pub(super) fn add(&mut self, id: u64, labels: Labels) -> Result<Slot> {
        if self.by_id.contains_key(&id) {
            return Err(Error::DuplicateId { id });
        }
        let slot = Slot::try_from(self.ids.len()).map_err(|_| Error::Argument {
            name: "ids",
            expected: "at most 2^32 entries in one index".into(),
            found: "one more".into(),
        })?;
        self.by_id.insert(id, slot);
        self.by_conversation
            .entry((labels.tenant, labels.conversation))
            .or_default()
            .push(slot);
        self.ids.push(id);
        self.labels.push(labels);
        self.present.push(true);
        Ok(slot)
    }

    /// Takes an entry out and returns the slot that it had.
    pub(super) fn remove(&mut self, id: u64) -> Result<Slot> {
        let slot = self.by_id.remove(&id).ok_or(Error::UnknownId { id })?;
        if let Some(labels) = self.labels_of(slot).copied()
            && let Some(slots) = self
                .by_conversation
                .get_mut(&(labels.tenant, labels.conversation))
            && let Ok(at) = slots.binary_search(&slot)
        {
            slots.remove(at);
        }
        if let Some(present) = self.present.get_mut(position(slot)) {
            *present = false;
        }
        Ok(slot)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The slot of an id.
    pub(super) fn slot(&self, id: u64) -> Result<Slot> {
        self.by_id.get(&id).copied().ok_or(Error::UnknownId { id })
    }

    /// Whether an id is present.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.by_id.contains_key(&id)
    }

    /// The id of a slot, if its entry is present.
    pub(super) fn id(&self, slot: Slot) -> Option<u64> {
        let at = position(slot);
        self.present
            .get(at)
            .copied()
            .unwrap_or(false)
            .then(|| self.ids.get(at).copied())?
    }

    /// The labels of a slot.
    pub(super) fn labels_of(&self, slot: Slot) -> Option<&Labels> {
        self.labels.get(position(slot))
    }

    /// Moves an entry onto the current branch or off it.
    pub(super) fn set_live(&mut self, id: u64, live: bool) -> Result<()> {
        let slot = self.slot(id)?;
        if let Some(labels) = self.labels.get_mut(position(slot)) {
            labels.live = live;
        }
        Ok(())
    }

    /// The next entries of a slot's session on the same branch, in order.
    pub(super) fn following(&self, slot: Slot, most: usize) -> impl Iterator<Item = Slot> {
        let (slots, after) = self.conversation_of(slot);
        let later = slots.get(after..).unwrap_or_default().iter().copied();
        self.beside(slot, later, most)
    }

    /// The entries of a slot's session before it on the same branch, the nearest first.
    pub(super) fn preceding(&self, slot: Slot, most: usize) -> impl Iterator<Item = Slot> {
        let (slots, after) = self.conversation_of(slot);
        let before = slots.get(..after).unwrap_or_default();
        let earlier = before.iter().rev().copied();
        self.beside(slot, earlier.filter(move |other| *other != slot), most)
    }

    /// The slots of a slot's conversation, and the position behind it.
    fn conversation_of(&self, slot: Slot) -> (&[Slot], usize) {
        let own = self.labels_of(slot).copied().unwrap_or_default();
        let slots = self.by_conversation.get(&(own.tenant, own.conversation));
        let slots = slots.map_or(&[][..], Vec::as_slice);
        (slots, slots.partition_point(|other| *other <= slot))
    }

    fn beside<'a>(
        &'a self,
        slot: Slot,
        others: impl Iterator<Item = Slot> + 'a,
        most: usize,
    ) -> impl Iterator<Item = Slot> + 'a {
        let own = self.labels_of(slot).copied().unwrap_or_default();
        let labels = |other: &Slot| self.labels_of(*other).copied().unwrap_or_default();
        others
            .filter(move |other| labels(other).live == own.live)
            .take(most)
            .take_while(move |other| labels(other).session == own.session)
    }

    /// Whether the entry of a slot is present and passes the filter.
    pub(super) fn admits(&self, slot: Slot, filter: &Filter) -> bool {
        self.id(slot)
            .zip(self.labels_of(slot))
            .is_some_and(|(id, labels)| filter.admits(id, labels))
    }

    /// The slots that pass a filter, ascending. A filter on one conversation, or on ids, costs what
    /// that conversation or those ids cost.
    pub(super) fn select(&self, filter: &Filter) -> Vec<Slot> {
        let admitted = |slot: &Slot| self.admits(*slot, filter);
        if let Some(ids) = &filter.ids {
            let mut slots: Vec<Slot> = ids
                .iter()
                .filter_map(|id| self.by_id.get(id).copied())
                .filter(admitted)
                .collect();
            slots.sort_unstable();
            return slots;
        }
        if let (Some(tenant), Some(conversation)) = (filter.tenant, filter.conversation) {
            let slots = self.by_conversation.get(&(tenant, conversation));
            return slots
                .into_iter()
                .flatten()
                .copied()
                .filter(admitted)
                .collect();
        }
        (0..).take(self.ids.len()).filter(admitted).collect()
    }

    /// The conversations that have entries and pass the filter's tenant and conversation.
    pub(super) fn conversations(&self, filter: &Filter) -> Vec<(u32, u32)> {
        let mut keys: Vec<(u32, u32)> = self
            .by_conversation
            .iter()
            .filter(|(_, slots)| !slots.is_empty())
            .map(|(key, _)| *key)
            .filter(|(tenant, conversation)| {
                filter.tenant.is_none_or(|wanted| wanted == *tenant)
                    && filter
                        .conversation
                        .is_none_or(|wanted| wanted == *conversation)
            })
            .collect();
        keys.sort_unstable();
        keys
    }
}

/// A slot as a position in a column.
pub(super) fn position(slot: Slot) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}
