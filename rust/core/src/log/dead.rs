//! What nothing shows any more goes: superseded versions, patches and heads, what was removed, and removals
//! of which nothing is left.
//!
//! ```text
//! a pass    from the first segment to the last sealed one, one at a time, each under the lock:
//!           the dead records of a segment ─▶ the segment anew without them
//! ```
//!
//! A removal lies behind what it concerns, so in a pass it goes after that. It stays where something before
//! it had to stay, where a damaged record may be one that it concerns, and while anything waits in the spool.

use std::collections::{BTreeSet, HashSet};

use crate::cold::defect::{Defect, on};
use crate::cold::{Compacted, Shown};
use crate::entry::{Kind, Seq};
use crate::error::Result;

use super::directory::Directory;
use super::directory::lists::List;
use super::handle::Log;
use super::order;
use super::turns;

/// A pass over the segments that has come so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The place of the next segment.
    at: usize,
    /// Whether nothing dead was left behind.
    clean: bool,
}

impl Pass {
    pub(super) const NEW: Self = Self { at: 0, clean: true };
}

/// The share of a segment's bytes that must be dead for it to be written anew by itself: one of so many.
const WORTH: u64 = 8;

impl Log {
    /// Writes the segments anew that hold what nothing shows any more: superseded versions and patches, what
    /// was removed or has expired by `now`, and what was erased. The lock is held for one segment at a time;
    /// what lies in the segment that is written on stays until it is sealed.
    ///
    /// # Errors
    ///
    /// As [`Store::compact`](crate::cold::Store::compact).
    pub fn compact(&self, now: i64) -> Result<Compacted> {
        self.sweep(now)?;
        let mut told = Compacted::default();
        let mut pass = Some(Pass::NEW);
        while let Some(open) = pass {
            let (next, one) = self.slice(open, u64::MAX)?;
            (pass, told) = (next, sum(told, one));
        }
        Ok(sum(told, self.store().compact()?))
    }

    /// Does the part of a pass that is due with a write, if dead bytes have become too many.
    pub(super) fn tidy(&self) {
        let shared = self.shared();
        let Some(mut slot) = shared.pass() else {
            // Another thread is at it.
            return;
        };
        if slot.is_none() && !shared.is_crowded() {
            return;
        }
        let slice = self.slice((*slot).unwrap_or(Pass::NEW), WORTH);
        // What went wrong will go wrong again, or will not, when dead bytes are counted next.
        *slot = slice.ok().and_then(|(next, _)| next);
        if slot.is_none() {
            shared.recount();
        }
    }

    /// Goes over one segment; `None` once there is no further one.
    fn slice(&self, pass: Pass, worth: u64) -> Result<(Option<Pass>, Compacted)> {
        let shared = self.shared();
        let (mut clean, mut gone) = (pass.clean, Vec::new());
        let told = self.store().compact_dead(pass.at, |shown| {
            let directory = shared.followed()?;
            let keeps = !clean || directory.doubts.are_any() || self.store().is_spooling()?;
            let keeps = keeps && !on(Defect::RemovalDroppedFirst);
            let dead = dead(&directory, shown, keeps);
            let is_dead = |one: &&Shown| dead.contains(&one.outline.seq.0);
            let all: u64 = shown.iter().map(|one| one.outline.len).sum();
            let bytes: u64 = shown
                .iter()
                .filter(is_dead)
                .map(|one| one.outline.len)
                .sum();
            if bytes < all / worth {
                clean &= bytes == 0;
                return Ok(BTreeSet::new());
            }
            let cells = shown.iter().filter(is_dead);
            let cells = cells.filter(|one| matches!(one.outline.kind, Kind::Cell | Kind::Patch));
            gone.extend(cells.map(|one| (order::encode(&one.outline.key), one.outline.seq)));
            Ok(dead)
        })?;
        let Some(told) = told else {
            return Ok((None, Compacted::default()));
        };
        if told.segments > 0 {
            shared.forget_older(&gone);
        }
        let at = pass.at.saturating_add(1);
        Ok((Some(Pass { at, clean }), told))
    }
}

fn sum(a: Compacted, b: Compacted) -> Compacted {
    Compacted {
        segments: a.segments + b.segments,
        records: a.records + b.records,
        bytes: a.bytes + b.bytes,
    }
}

/// Which records of a segment are dead; with `keeps`, removals and heads are not.
fn dead(directory: &Directory, shown: &[Shown], keeps: bool) -> BTreeSet<u64> {
    let replaced = replaced(directory, shown);
    let mut out = BTreeSet::new();
    for one in shown {
        let (record, seq) = (&one.outline, one.outline.seq);
        let key = order::encode(&record.key);
        let links = record.links.as_deref().cloned().unwrap_or_default();
        if record.is_copy {
            // It follows the first one, in the same segment; a first one that is damaged stays a mystery.
            if links.of.is_some_and(|first| out.contains(&first.0)) {
                out.insert(seq.0);
            }
            continue;
        }
        // A removal says of more than what a later one covers by its id.
        let says = matches!(record.kind, Kind::Removed | Kind::Head);
        let goes = (one.is_removed && !says)
            || match record.kind {
                Kind::Cell => directory.cells.get(&key).is_none_or(|cell| {
                    // Erasing what something was made from must find that.
                    let superseded = cell.version > seq && !directory.provenance.is_source(seq);
                    superseded && directory.doubts.after(seq).is_none()
                }),
                Kind::Turn if record.key.len() != turns::DEPTH => false,
                Kind::Entry | Kind::Turn => {
                    let list = directory.lists.get(&key);
                    let there = list.is_some_and(|list| list.node(seq).is_some());
                    !there && !replaced.contains(&seq)
                }
                Kind::Patch => {
                    let cell = directory.cells.get(&key).and_then(|cell| cell.patch);
                    let list = directory.lists.get(&key);
                    let node = links.of.and_then(|of| list?.node(of));
                    cell != Some(seq) && node.and_then(|node| node.patch) != Some(seq)
                }
                Kind::Head => {
                    let list = directory.lists.get(&key);
                    !keeps && list.is_none_or(|list| !list.needs_move(seq))
                }
                Kind::Removed => !keeps,
                _ => false,
            };
        if goes {
            out.insert(seq.0);
        }
    }
    out
}

/// Entries that others replaced which are still there, where something was made from one of them: one that
/// stays needs those that say what became of it.
fn replaced(directory: &Directory, shown: &[Shown]) -> HashSet<Seq> {
    let mut keys: Vec<Vec<u8>> = shown
        .iter()
        .filter(|one| one.outline.kind == Kind::Entry)
        .map(|one| order::encode(&one.outline.key))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let lists = keys.iter().filter_map(|key| directory.lists.get(key));
    let is_source = |seq: &Seq| directory.provenance.is_source(*seq);
    let nodes = lists.flat_map(List::nodes);
    let nodes = nodes.filter(|node| node.older.iter().any(is_source));
    nodes.flat_map(|node| node.older.iter().copied()).collect()
}
