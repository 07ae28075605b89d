//! Which entries stand beside one in its session.

use super::{Catalog, Slot, position};
use crate::hot::filter::Labels;

/// Finds what stands beside one entry after another: the list of a conversation is looked up once.
#[derive(Debug)]
pub(in crate::hot) struct Beside<'a> {
    catalog: &'a Catalog,
    key: Option<(u32, u32)>,
    /// The slots of the conversation, ascending over all lists; removed ones may be among them.
    lists: Vec<&'a [Slot]>,
}

impl<'a> Beside<'a> {
    pub(in crate::hot) fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            key: None,
            lists: Vec::new(),
        }
    }

    /// The next entries of a slot's session on the same branch, in order; `own` is what the slot has for
    /// labels.
    pub(in crate::hot) fn following(
        &mut self,
        slot: Slot,
        own: &Labels,
        most: usize,
    ) -> impl Iterator<Item = Slot> {
        self.turn_to(own);
        let later = self.lists.iter().flat_map(move |slots| {
            let later = slots.get(behind(slots, slot)..).unwrap_or_default();
            later.iter().copied()
        });
        self.catalog.beside(own, later, most)
    }

    /// The entries of a slot's session before it on the same branch, the nearest first.
    pub(in crate::hot) fn preceding(
        &mut self,
        slot: Slot,
        own: &Labels,
        most: usize,
    ) -> impl Iterator<Item = Slot> {
        self.turn_to(own);
        let earlier = self.lists.iter().rev().flat_map(move |slots| {
            let upto = slots.get(..behind(slots, slot)).unwrap_or_default();
            let before = match upto {
                [before @ .., last] if *last == slot => before,
                before => before,
            };
            before.iter().rev().copied()
        });
        self.catalog.beside(own, earlier, most)
    }

    fn turn_to(&mut self, own: &Labels) {
        let key = (own.tenant, own.conversation);
        if self.key != Some(key) {
            let keys = self.catalog.places.keys(Some(key.0), Some(key.1));
            self.lists = keys.map(|(_, slots)| slots).collect();
            self.key = Some(key);
        }
    }
}

impl Catalog {
    fn beside(
        &self,
        own: &Labels,
        others: impl Iterator<Item = Slot>,
        most: usize,
    ) -> impl Iterator<Item = Slot> {
        let (live, own) = (own.live, own.session);
        let session = |other: Slot| self.labels.session.get(position(other));
        others
            .filter(move |other| self.present.get(*other) && self.live.get(*other) == live)
            .take(most)
            .take_while(move |other| session(*other) == Some(own))
    }
}

/// How many of ascending slots are at most this one.
fn behind(slots: &[Slot], slot: Slot) -> usize {
    // The slots of one conversation mostly follow one another.
    let guess = slots.first().and_then(|first| slot.checked_sub(*first));
    match guess.map(position) {
        Some(at) if slots.get(at) == Some(&slot) => at + 1,
        _ => slots.partition_point(|other| *other <= slot),
    }
}
