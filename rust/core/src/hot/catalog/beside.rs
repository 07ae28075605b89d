//! Which entries stand beside one in its session.

use super::{Catalog, Slot, position};
use crate::hot::filter::Labels;

impl Catalog {
    /// The next entries of a slot's session on the same branch, in order.
    pub(in crate::hot) fn following(&self, slot: Slot, most: usize) -> impl Iterator<Item = Slot> {
        let own = self.labels_of(slot).unwrap_or_default();
        let later = self.lists(&own).into_iter().flat_map(move |slots| {
            let after = slots.partition_point(|other| *other <= slot);
            slots.get(after..).unwrap_or_default().iter().copied()
        });
        self.beside(own, later, most)
    }

    /// The entries of a slot's session before it on the same branch, the nearest first.
    pub(in crate::hot) fn preceding(&self, slot: Slot, most: usize) -> impl Iterator<Item = Slot> {
        let own = self.labels_of(slot).unwrap_or_default();
        let earlier = self.lists(&own).into_iter().rev().flat_map(move |slots| {
            let before = slots.partition_point(|other| *other < slot);
            let before = slots.get(..before).unwrap_or_default();
            before.iter().rev().copied()
        });
        self.beside(own, earlier, most)
    }

    /// The slots of a conversation, ascending over all lists; removed ones may be among them.
    fn lists(&self, own: &Labels) -> Vec<&[Slot]> {
        let keys = self.places.keys(Some(own.tenant), Some(own.conversation));
        keys.map(|(_, slots)| slots).collect()
    }

    fn beside<'a>(
        &'a self,
        own: Labels,
        others: impl Iterator<Item = Slot> + 'a,
        most: usize,
    ) -> impl Iterator<Item = Slot> + 'a {
        let session = |other: Slot| self.labels.session.get(position(other));
        others
            .filter(move |other| self.present.get(*other) && self.live.get(*other) == own.live)
            .take(most)
            .take_while(move |other| session(*other) == Some(own.session))
    }
}
