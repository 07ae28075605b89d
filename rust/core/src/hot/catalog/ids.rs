//! From an id to its slot.
//!
//! Ids mostly arrive in ascending order, then the column itself is searched. What grew in another
//! order has a map; what was saved in another order has its slots by id beside it.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use super::kept::Kept;
use super::{Slot, position};
use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};

/// A list of wanted ids that is at least the length of a column over this is merged with it.
const MERGE: usize = 16;

/// The id of every slot, whether its entry is present or not.
#[derive(Debug, Default)]
pub(super) struct Ids {
    all: Column<u64>,
    /// The saved slots by ascending id, where the saved ids do not ascend.
    order: Option<Column<Slot>>,
    /// Id ─▶ the last grown slot that has it, from the first grown id on that did not ascend.
    map: Option<HashMap<u64, Slot>>,
}

impl Ids {
    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether ids ascend with slots, those of removed entries among them.
    pub(super) fn ascend(&self) -> bool {
        let (saved, grown) = (self.saved().last(), self.grown().first());
        let joined = saved.is_none() || grown.is_none() || saved < grown;
        self.map.is_none() && self.order.is_none() && joined
    }

    /// The id of a slot.
    pub(super) fn get(&self, at: usize) -> Option<u64> {
        self.all.get(at)
    }

    /// Gives the next slot its id.
    pub(super) fn push(&mut self, id: u64, slot: Slot) {
        if let Some(map) = &mut self.map {
            map.insert(id, slot);
        } else if self.grown().last().is_some_and(|last| *last >= id) {
            let first = slot - Slot::try_from(self.grown().len()).unwrap_or(slot);
            let mut map: HashMap<u64, Slot> = self.grown().iter().copied().zip(first..).collect();
            map.insert(id, slot);
            self.map = Some(map);
        }
        self.all.push(id);
    }

    /// The slot that an id has or had last: a grown one, then a saved one. `present` decides.
    pub(super) fn find(&self, id: u64, present: impl Fn(Slot) -> bool) -> Option<Slot> {
        let grown = match &self.map {
            Some(map) => map.get(&id).copied(),
            None => self
                .grown()
                .binary_search(&id)
                .ok()
                .and_then(|at| self.slot(at)),
        };
        grown
            .filter(|slot| present(*slot))
            .or_else(|| self.find_saved(id).filter(|slot| present(*slot)))
    }

    /// Visits the present slots of ascending ids, in no order.
    pub(super) fn each_of(
        &self,
        wanted: &[u64],
        present: impl Fn(Slot) -> bool,
        mut visit: impl FnMut(Slot),
    ) {
        let merges = wanted.len().saturating_mul(MERGE) >= self.len()
            && self.map.is_none()
            && self.order.is_none();
        if !merges {
            let slots = wanted.iter().filter_map(|id| self.find(*id, &present));
            return slots.for_each(visit);
        }
        let parts = [(0, self.saved()), (self.all.cut(), self.grown())];
        for (start, part) in parts {
            let mut wanted = wanted.iter().peekable();
            for (id, at) in part.iter().zip(start..) {
                while wanted.next_if(|next| *next < id).is_some() {}
                if wanted.peek() == Some(&id)
                    && let Ok(slot) = Slot::try_from(at)
                    && present(slot)
                {
                    visit(slot);
                }
            }
        }
    }

    /// Writes the kept ids and, where they do not ascend, their slots by id.
    pub(super) fn save<W: Write>(&self, out: &mut Writer<W>, kept: &Kept) -> io::Result<()> {
        kept.column(out, "ids", &self.all)?;
        let mut last = None;
        let ascends = kept.slots().all(|slot| {
            let id = self.get(position(slot));
            std::mem::replace(&mut last, id) < id
        });
        if ascends {
            return Ok(());
        }
        let mut order: Vec<(u64, Slot)> = kept
            .slots()
            .filter_map(|slot| self.get(position(slot)))
            .zip(0..)
            .collect();
        order.sort_unstable();
        let order: Vec<Slot> = order.into_iter().map(|(_, slot)| slot).collect();
        out.section("ids.order", |section| section.values(&order))
    }

    /// The saved ids of so many slots.
    pub(super) fn open(saved: &Saved, slots: usize) -> Result<Self> {
        let order = saved
            .find("ids.order")
            .map(|_| saved.column_of("ids.order", slots));
        Ok(Self {
            all: saved.column_of("ids", slots)?,
            order: order.transpose()?,
            map: None,
        })
    }

    fn find_saved(&self, id: u64) -> Option<Slot> {
        let Some(order) = &self.order else {
            let at = self.saved().binary_search(&id).ok()?;
            return Slot::try_from(at).ok();
        };
        let slots = order.slice(0..order.cut())?;
        let at =
            slots.partition_point(|slot| self.get(position(*slot)).is_some_and(|own| own < id));
        let slot = *slots.get(at)?;
        (self.get(position(slot)) == Some(id)).then_some(slot)
    }

    fn saved(&self) -> &[u64] {
        self.part(0..self.all.cut())
    }

    fn grown(&self) -> &[u64] {
        self.part(self.all.cut()..self.all.len())
    }

    fn part(&self, range: Range<usize>) -> &[u64] {
        self.all.slice(range).unwrap_or_default()
    }

    /// The slot of the grown id at a position.
    fn slot(&self, at: usize) -> Option<Slot> {
        Slot::try_from(self.all.cut() + at).ok()
    }
}
