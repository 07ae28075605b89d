//! What nothing shows any more goes: superseded versions, patches and heads, what was removed, and removals
//! of which nothing is left.
//!
//! ```text
//! a pass    from the first segment to the last sealed one, one at a time:
//!           the dead records of a segment ─▶ the segment anew without them ─▶ in its place, under the lock
//! ```
//!
//! A removal lies behind what it concerns, so in a pass it goes after that. It stays where it came after the
//! pass began, where something before it had to stay, where a damaged record may be one that it concerns,
//! and while anything waits in the spool.

use std::collections::{BTreeSet, HashSet};

use crate::cold::defect::{Defect, on};
use crate::cold::{Compacted, Replaced, Shown};
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
    /// The last id when it began: what came later may say of what it went past that it is gone.
    upto: Seq,
}

impl Pass {
    fn new(upto: Seq) -> Self {
        Self {
            at: 0,
            clean: true,
            upto,
        }
    }

    /// Leaves the next segment as it is.
    fn without_this(self) -> Self {
        Self {
            at: self.at.saturating_add(1),
            clean: false,
            ..self
        }
    }
}

/// The share of a segment's bytes that must be dead for it to be written anew by itself: one of so many.
const WORTH: u64 = 8;

/// How often a segment is replaced without the lock before it is done with it: others may always be faster.
const TRIES: usize = 3;

impl Log {
    /// Writes the segments anew that hold what nothing shows any more: superseded versions and patches, what
    /// was removed or has expired by `now`, and what was erased. Others go on writing meanwhile; what lies in
    /// the segment that is written on stays until it is sealed.
    ///
    /// # Errors
    ///
    /// As [`Store::compact`](crate::cold::Store::compact).
    pub fn compact(&self, now: i64) -> Result<Compacted> {
        self.sweep(now)?;
        let mut told = Compacted::default();
        let (mut pass, mut tries) = (Pass::new(self.shared().current()?.seen), 0);
        loop {
            match self.slice(&mut pass, u64::MAX, tries == TRIES)? {
                Replaced::Nothing => break,
                Replaced::Done(one) => {
                    told.add(one);
                    tries = 0;
                }
                Replaced::Stale if tries < TRIES => tries += 1,
                Replaced::Stale => (pass, tries) = (pass.without_this(), 0),
            }
        }
        told.add(self.store().compact()?);
        Ok(told)
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
        let begun = slot.or_else(|| Some(Pass::new(shared.current().ok()?.seen)));
        let Some(mut pass) = begun else {
            return;
        };
        *slot = match self.slice(&mut pass, WORTH, false) {
            Ok(Replaced::Done(_)) => Some(pass),
            // Another handle is at it, too.
            Ok(Replaced::Stale) => Some(pass.without_this()),
            // What went wrong will go wrong again, or will not, when dead bytes are counted next.
            Ok(Replaced::Nothing) | Err(_) => None,
        };
        if slot.is_none() {
            shared.recount();
        }
    }

    /// Goes over the next segment of a pass.
    fn slice(&self, pass: &mut Pass, worth: u64, held: bool) -> Result<Replaced> {
        let shared = self.shared();
        let before = *pass;
        let judge = |directory: &Directory, shown: &[&Shown]| {
            let keeps =
                !before.clean || directory.doubts.are_any() || self.store().is_spooling()?;
            let keeps = |seq| {
                let is_needed = keeps || seq > before.upto;
                is_needed && !on(Defect::RemovalDroppedFirst)
            };
            Ok(dead(directory, shown, &keeps))
        };
        let mut gone = Vec::new();
        let first = |shown: &[Shown]| {
            let directory = if held {
                shared.followed()
            } else {
                shared.current()
            };
            let shown: Vec<&Shown> = shown.iter().collect();
            let dead = judge(&*directory?, &shown)?;
            let is_dead = |one: &&&Shown| dead.contains(&one.outline.seq.0);
            let all: u64 = shown.iter().map(|one| one.outline.len).sum();
            let bytes = shown.iter().filter(is_dead);
            let bytes: u64 = bytes.map(|one| one.outline.len).sum();
            if bytes < all / worth {
                pass.clean &= bytes == 0;
                return Ok(BTreeSet::new());
            }
            let cells = shown.iter().filter(is_dead);
            let cells = cells.filter(|one| matches!(one.outline.kind, Kind::Cell | Kind::Patch));
            gone.extend(cells.map(|one| (order::encode(&one.outline.key), one.outline.seq)));
            Ok(dead)
        };
        let again = |gone: &[Shown]| {
            let directory = shared.followed()?;
            let rest: Vec<&Shown> = gone
                .iter()
                .filter(|one| !stays_dead(&directory, one))
                .collect();
            Ok(judge(&directory, &rest)?.len() == rest.len())
        };
        let told = self.store().replace(pass.at, held, first, again)?;
        if let Replaced::Done(done) = told {
            pass.at = pass.at.saturating_add(1);
            if done.segments > 0 {
                shared.forget_older(&gone);
            }
        }
        Ok(told)
    }
}

/// Whether a record that was found dead is so without another look at its key: nothing brings a patch back,
/// and a version only what is made from it and a damaged record that may have removed the newer one.
fn stays_dead(directory: &Directory, one: &Shown) -> bool {
    let seq = one.outline.seq;
    match one.outline.kind {
        Kind::Patch => true,
        Kind::Cell => !directory.provenance.is_source(seq) && directory.doubts.after(seq).is_none(),
        _ => false,
    }
}

/// Which records of a segment are dead; what says of others that they are gone is not where `keeps` wants it.
fn dead(directory: &Directory, shown: &[&Shown], keeps: &dyn Fn(Seq) -> bool) -> BTreeSet<u64> {
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
                    // What it took the place of may be there still.
                    let takes = links.of.is_some_and(|of| of != Seq(0));
                    let is_needed = replaced.contains(&seq) || (takes && keeps(seq));
                    !there && !is_needed
                }
                Kind::Patch => {
                    let cell = directory.cells.get(&key).and_then(|cell| cell.patch);
                    let list = directory.lists.get(&key);
                    let node = links.of.and_then(|of| list?.node(of));
                    cell != Some(seq) && node.and_then(|node| node.patch) != Some(seq)
                }
                Kind::Head => {
                    let list = directory.lists.get(&key);
                    !keeps(seq) && list.is_none_or(|list| !list.needs_move(seq))
                }
                Kind::Removed => !keeps(seq),
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
fn replaced(directory: &Directory, shown: &[&Shown]) -> HashSet<Seq> {
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
