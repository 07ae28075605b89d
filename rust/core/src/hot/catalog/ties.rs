//! By which numbers the ties of scores go.

use super::{Catalog, Slot};

/// A number for every entry, in the order of ids: the slot's own where ids ascend with slots, which is
/// found again without a search.
#[derive(Clone, Copy, Debug)]
pub(in crate::hot) struct Ties<'a> {
    catalog: &'a Catalog,
    plain: bool,
}

impl<'a> Ties<'a> {
    pub(in crate::hot) fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            plain: catalog.ids.ascend(),
        }
    }

    /// The number of a slot, if its entry is present.
    pub(in crate::hot) fn number(&self, slot: Slot) -> Option<u64> {
        if self.plain {
            self.catalog.present.get(slot).then_some(u64::from(slot))
        } else {
            self.catalog.id(slot)
        }
    }

    /// The slot of a number.
    pub(in crate::hot) fn slot(&self, number: u64) -> Option<Slot> {
        if self.plain {
            Slot::try_from(number).ok()
        } else {
            self.catalog.slot(number).ok()
        }
    }
}
