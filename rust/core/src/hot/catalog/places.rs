//! From a conversation to its slots.
//!
//! ```text
//! saved   keys (tenant, conversation), ascending ─▶ starts ─▶ slots, ascending within a key
//! fresh   (tenant, conversation) ─▶ slots, ascending; all of them after the saved ones
//! ```

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use super::kept::Kept;
use super::labels::LabelColumns;
use super::{Slot, position};
use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};

/// A tenant and one of its conversations.
pub(super) type Key = (u32, u32);

/// A conversation is looked up under every tenant if there are no more tenants than this.
const TENANTS: usize = 64;

/// The slots of every conversation; saved ones may have been removed since.
#[derive(Debug, Default)]
pub(super) struct Places {
    keys: Column<[u32; 2]>,
    starts: Column<Slot>,
    slots: Column<Slot>,
    fresh: BTreeMap<Key, Vec<Slot>>,
}

impl Places {
    /// Adds a slot, the highest so far.
    pub(super) fn push(&mut self, key: Key, slot: Slot) {
        self.fresh.entry(key).or_default().push(slot);
    }

    /// Forgets a slot that was removed; a saved one stays until the next save.
    pub(super) fn remove(&mut self, key: Key, slot: Slot) {
        if let Some(slots) = self.fresh.get_mut(&key)
            && let Ok(at) = slots.binary_search(&slot)
        {
            slots.remove(at);
            if slots.is_empty() {
                self.fresh.remove(&key);
            }
        }
    }

    /// The slots that a tenant, a conversation, or both may admit, in no order; `None` where there is
    /// no cheaper way than to look at all slots, or they are more than `most`.
    pub(super) fn of(
        &self,
        tenant: Option<u32>,
        conversation: Option<u32>,
        most: usize,
    ) -> Option<Vec<Slot>> {
        let mut found = Vec::new();
        match (tenant, conversation) {
            (Some(tenant), Some(own)) => {
                self.collect((tenant, own)..=(tenant, own), most, &mut found)?;
            }
            (Some(tenant), None) => {
                self.collect((tenant, 0)..=(tenant, u32::MAX), most, &mut found)?;
            }
            (None, Some(own)) => {
                for tenant in self.tenants()? {
                    self.collect((tenant, own)..=(tenant, own), most, &mut found)?;
                }
            }
            (None, None) => return None,
        }
        Some(found)
    }

    /// The conversations of a tenant, or of all, with their slots: the saved ones, then the fresh ones,
    /// each ascending. One conversation of a tenant is found without a look at the others.
    pub(super) fn keys(
        &self,
        tenant: Option<u32>,
        conversation: Option<u32>,
    ) -> impl Iterator<Item = (Key, &[Slot])> {
        let own = conversation.filter(|_| tenant.is_some());
        let from = (tenant.unwrap_or(0), own.unwrap_or(0));
        let to = (tenant.unwrap_or(u32::MAX), own.unwrap_or(u32::MAX));
        let saved = self.saved_keys(from, to).filter_map(|at| {
            let [tenant, conversation] = self.keys.get(at)?;
            Some(((tenant, conversation), self.saved_slots(at..at + 1)?))
        });
        let fresh = self.fresh.range(from..=to);
        saved.chain(fresh.map(|(key, slots)| (*key, slots.as_slice())))
    }

    /// Writes the kept slots by conversation.
    pub(super) fn save<W: Write>(
        out: &mut Writer<W>,
        labels: &LabelColumns,
        kept: &Kept,
    ) -> io::Result<()> {
        let mut all: Vec<([u32; 2], Slot)> = kept
            .slots()
            .zip(0..)
            .filter_map(|(slot, number)| {
                let at = position(slot);
                Some((
                    [labels.tenant.get(at)?, labels.conversation.get(at)?],
                    number,
                ))
            })
            .collect();
        all.sort_unstable();
        let groups = || all.chunk_by(|one, next| one.0 == next.0);
        let keys: Vec<[u32; 2]> = groups().filter_map(|part| Some(part.first()?.0)).collect();
        let mut end = 0_usize;
        let ends = groups().map(|part| {
            end += part.len();
            Slot::try_from(end).unwrap_or(Slot::MAX)
        });
        let starts: Vec<Slot> = std::iter::once(0).chain(ends).collect();
        let slots: Vec<Slot> = all.iter().map(|(_, slot)| *slot).collect();
        out.section("places.keys", |section| section.values(&keys))?;
        out.section("places.starts", |section| section.values(&starts))?;
        out.section("places.slots", |section| section.values(&slots))
    }

    /// The saved slots by conversation, of so many slots.
    pub(super) fn open(saved: &Saved, slots: usize) -> Result<Self> {
        let keys = saved.column::<[u32; 2]>("places.keys")?;
        Ok(Self {
            starts: saved.column_of("places.starts", keys.len() + 1)?,
            slots: saved.column_of("places.slots", slots)?,
            keys,
            fresh: BTreeMap::new(),
        })
    }

    fn collect(
        &self,
        keys: std::ops::RangeInclusive<Key>,
        most: usize,
        found: &mut Vec<Slot>,
    ) -> Option<()> {
        let saved = self.saved_slots(self.saved_keys(*keys.start(), *keys.end()));
        let fresh = self.fresh.range(keys).map(|(_, slots)| slots.as_slice());
        for slots in saved.into_iter().chain(fresh) {
            if found.len() + slots.len() > most {
                return None;
            }
            found.extend_from_slice(slots);
        }
        Some(())
    }

    /// All tenants, unless they are too many to ask each.
    fn tenants(&self) -> Option<Vec<u32>> {
        let mut tenants = Vec::new();
        let mut from = Some(0);
        while let Some(least) = from {
            let at = self.saved_keys((least, 0), (u32::MAX, u32::MAX)).start;
            let saved = self.keys.get(at).map(|[tenant, _]| tenant);
            let fresh = self.fresh.range((least, 0)..).next().map(|(key, _)| key.0);
            let next = saved.into_iter().chain(fresh).min();
            tenants.extend(next);
            if tenants.len() > TENANTS {
                return None;
            }
            from = next.and_then(|tenant| tenant.checked_add(1));
        }
        Some(tenants)
    }

    /// The positions of the saved keys between two, both included.
    fn saved_keys(&self, from: Key, to: Key) -> Range<usize> {
        let keys = self.keys.slice(0..self.keys.cut()).unwrap_or_default();
        let start = keys.partition_point(|key| (key[0], key[1]) < from);
        let end = keys.partition_point(|key| (key[0], key[1]) <= to);
        start..end.max(start)
    }

    /// The slots of neighbouring saved keys.
    fn saved_slots(&self, keys: Range<usize>) -> Option<&[Slot]> {
        if keys.is_empty() {
            return Some(&[]);
        }
        let (start, end) = (self.starts.get(keys.start)?, self.starts.get(keys.end)?);
        (start <= end).then(|| self.slots.slice(position(start)..position(end)))?
    }
}
