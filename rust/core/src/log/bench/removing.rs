//! Removals: what they take with them, and what is removed because it has expired.

use std::collections::BTreeSet;

use crate::cold::removal::{Removal, Target};
use crate::cold::{Links, Verdict};
use crate::entry::Seq;
use crate::error::Result;

use super::Bench;
use crate::log::attributes::is_live;
use crate::log::event::What;
use crate::log::records::Step;

impl Bench<'_> {
    pub(super) fn remove(&mut self, step: &Step, removal: &Removal) -> Result<()> {
        let key = &step.key;
        let gone = match removal.target {
            Target::Cell => {
                let there = self.draft.version(self.base, key, i64::MIN);
                let records = self.draft.records_of(self.base, key);
                self.draft.remove_cell(key);
                // Without a version only what waits in the spool, or nobody can read, may be one.
                if there.is_some() {
                    records
                } else {
                    BTreeSet::new()
                }
            }
            Target::Prefix => {
                let records = self.draft.records_below(self.base, key);
                self.draft.remove_below(key);
                records
            }
            Target::Entries => {
                let seqs = removal.seqs.iter().flat_map(Clone::clone).map(Seq);
                let list = self.base.lists.get(key);
                let known = |seq: &Seq| list.is_some_and(|list| list.node(*seq).is_some());
                let (mut there, other): (Vec<Seq>, Vec<Seq>) = seqs.partition(known);
                let added = other
                    .into_iter()
                    .filter(|seq| self.draft.holds(self.base, key, *seq));
                there.extend(added);
                self.draft.remove_entries(self.base, key, &there);
                self.records_of(key, &there)
            }
        };
        let store = &self.shared.store;
        if gone.is_empty() && self.certain(key).is_ok() && !store.is_spooling()? {
            self.leave_out();
            return Ok(());
        }
        self.removed(step, removal.clone(), &gone);
        Ok(())
    }

    /// These entries of a list, with their patches and what they replaced.
    pub(super) fn records_of(&self, key: &[u8], entries: &[Seq]) -> BTreeSet<u64> {
        let records = |one: &Seq| self.draft.records_of_entry(self.base, key, *one);
        entries.iter().flat_map(records).collect()
    }

    pub(super) fn expire(&mut self, step: &Step, target: Target) -> Result<()> {
        let key = &step.key;
        let expired = match target {
            Target::Cell => {
                let there = self.draft.version(self.base, key, i64::MIN);
                let live = self.draft.version(self.base, key, self.now);
                there.filter(|_| live.is_none()).map(|_| BTreeSet::new())
            }
            Target::Entries | Target::Prefix => {
                let all = [0..=u64::MAX];
                let path = self.draft.within(self.base, key, &all);
                let list = self.base.lists.get(key);
                let node = |seq: &Seq| list.and_then(|list| list.node(*seq));
                let expires =
                    |seq: &Seq| node(seq).is_some_and(|one| !is_live(one.expires, self.now));
                let gone: BTreeSet<u64> =
                    path.into_iter().filter(expires).map(|seq| seq.0).collect();
                (!gone.is_empty()).then_some(gone)
            }
        };
        let Some(expired) = expired else {
            self.leave_out();
            return Ok(());
        };
        self.remove(step, &Removal::new(target, &expired))
    }

    /// Writes a removal of these records, with what was made from them. It names all of them, so that nobody
    /// shows again what an entry had replaced that is not there any more.
    pub(super) fn removed(&mut self, step: &Step, removal: Removal, gone: &BTreeSet<u64>) {
        let named = match removal.target {
            Target::Entries => removal.naming(gone),
            Target::Cell | Target::Prefix => removal,
        };
        let made = self.draft.remove_made(self.base, gone);
        let removal = named.with(&made);
        let payload = removal.encode();
        self.write(step, Links::default(), Some(What::Removed(removal)));
        self.say(payload);
    }

    /// Lets the last record hold these bytes.
    pub(super) fn say(&mut self, payload: Vec<u8>) {
        self.payloads
            .insert(self.verdicts.len().saturating_sub(1), payload.clone());
        if let Some(Verdict::Written(links)) = self.verdicts.pop() {
            self.verdicts.push(Verdict::Rewritten(links, payload));
        }
    }
}
