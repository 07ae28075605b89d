//! Erasing: a tombstone first, so that every handle says "erased" at once; then the bytes go.
//!
//! ```text
//! erase     find what is concerned, and what was made from it ─▶ tombstone, synced ─▶ its second copy
//!           ─▶ keys removed ─▶ set-aside tails removed
//! compact   fold the tombstones of segments with erased records ─▶ for each segment with erased records:
//!           write it anew without them, sync ─▶ rename over the old one, sync the directory ─▶ mark, with a
//!           new generation
//! replace   the same with what nothing shows any more, one segment at a time, written without the lock
//! ```
//!
//! A crash in between leaves the tombstone: reads say "erased", and the next `compact` does the rest.

pub(in crate::cold) mod compact;
pub(in crate::cold) mod copy;
pub(in crate::cold) mod erasures;
pub(in crate::cold) mod find;
pub(in crate::cold) mod fold;
pub(in crate::cold) mod replace;
mod rewrite;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::Result;
use crate::interrupt;

use crate::cold::defect::{Defect, on};
use crate::cold::erase::erasures::{Erasures, Tombstone, hash_of};
use crate::cold::erase::find::{Found, find};
use crate::cold::format::bytes::wide;
use crate::cold::format::footer::Entry;
use crate::cold::format::{TORN, key};
use crate::cold::medium::{Access, Medium, refused};
use crate::cold::open::aside::is_batch;
use crate::cold::shelf::Shelf;
use crate::cold::write::packet::{Packet, bookkeeping};
use crate::cold::write::writer::Writer;
use crate::cold::write::{leave, spool};

/// What is to be erased.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// Every record whose key begins with these parts, and what was made from it.
    Prefix(&'a [&'a [u8]]),
    /// These records, and what was made from them.
    Records(&'a [Seq]),
}

/// What an erasure concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Records in the scope.
    pub records: u64,
    /// Records outside of it that were made from them.
    pub derived: u64,
    /// Keys that were removed.
    pub keys: u64,
}

/// Writes the tombstone of a scope. The lock is held.
///
/// # Errors
///
/// [`Error::Argument`] for an empty scope; [`Error::Interrupted`]; as appending.
pub(in crate::cold) fn erase(
    writer: &mut Writer,
    shelf: &Shelf,
    scope: Scope<'_>,
) -> Result<Erased> {
    let found = find(shelf, scope)?;
    erase_found(writer, shelf, scope, &found)
}

/// As [`erase`], of what is concerned as somebody knows already.
///
/// # Errors
///
/// As [`erase`].
pub(in crate::cold) fn erase_found(
    writer: &mut Writer,
    shelf: &Shelf,
    scope: Scope<'_>,
    found: &Found,
) -> Result<Erased> {
    let prefix = match scope {
        Scope::Prefix(parts) => hash_of(&shelf.uuid, parts).map(|hash| (wide(parts.len()), hash)),
        Scope::Records(_) => None,
    };
    let upto = shelf.known()?.next_seq().saturating_sub(1);
    let mut listed: BTreeSet<u64> = found.records.union(&found.derived).copied().collect();
    listed.extend(&found.taken);
    if let Scope::Records(seqs) = scope {
        // Also those that cannot be read: nobody has to know what they were any more.
        listed.extend(seqs.iter().map(|seq| seq.0));
    }
    listed.retain(|seq| *seq <= upto && !found.spared.contains(seq));
    let tombstone = Tombstone::new(upto, prefix, &listed);
    let payload = tombstone.encode();
    let batch = [bookkeeping(Kind::Tombstone, &[], &payload)];
    let mut press = shelf.press(false)?;
    press.limit = u64::MAX;
    let mut packet = Packet::own(&press, &batch)?;
    let synced = !on(Defect::TombstoneUnsynced);
    writer.write(shelf, &mut [&mut packet], synced)?;
    let before = shelf.known()?.erasures.version();
    Arc::make_mut(&mut shelf.write().erasures).add(&tombstone);
    let erasures = Arc::clone(&shelf.known()?.erasures);
    if synced {
        copy::write(&*shelf.medium, &erasures, shelf.uuid)?;
    }
    Ok(Erased {
        records: wide(found.records.len()),
        derived: wide(found.derived.len()),
        keys: clear(shelf, scope, before)?,
    })
}

/// How many erased records still lie in the segments.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn pending(shelf: &Shelf) -> Result<u64> {
    let count = shelf.known()?.segments.len();
    let mut all = 0;
    for at in 0..count {
        interrupt::check()?;
        all += erased_in(shelf, at)?.map_or(0, |gone| wide(gone.len()));
    }
    Ok(all)
}

fn is_bookkeeping(entry: &Entry) -> bool {
    Kind::from_code(entry.kind).is_own()
}

/// Removes the keys of what is erased, and the bytes of all that was set aside: nobody knows what is
/// in them. `newest` is what was erased since the version `before` of erasures.
pub(super) fn clear(shelf: &Shelf, newest: Scope<'_>, before: u64) -> Result<u64> {
    let erasures = Arc::clone(&shelf.known()?.erasures);
    if erasures.version() == 0 {
        return Ok(0);
    }
    let mut prefix = Vec::new();
    if let Scope::Prefix(parts) = newest {
        key::encode(&mut prefix, parts);
    }
    let upto = erasures.upto();
    let keys = shelf.keyring.shred(
        (before, erasures.version()),
        |scope, born| erasures.covers_scope(scope, born),
        |scope, born| born <= upto && key::begins_with(scope, &prefix),
    )?;
    leave::sweep(shelf)?;
    spool::forget_erased(shelf)?;
    let trouble = |error| refused("remove", &shelf.medium.path(TORN), error);
    let names = shelf.medium.list(TORN).map_err(trouble)?;
    for name in &names {
        let own = format!("{TORN}/{name}");
        if is_batch(name) {
            // Its name goes on saying that a batch was lost.
            empty(&*shelf.medium, &own).map_err(trouble)?;
        } else {
            shelf.medium.remove(&own).map_err(trouble)?;
        }
    }
    if !names.is_empty() {
        shelf.medium.sync_dir(TORN).map_err(trouble)?;
    }
    Ok(keys)
}

fn empty(medium: &dyn Medium, name: &str) -> io::Result<()> {
    let file = medium.open(name, Access::Write)?;
    if file.len()? == 0 {
        return Ok(());
    }
    file.set_len(0)?;
    file.sync_data()
}

/// The erased records of a segment; `None` if it has none.
pub(super) fn erased_in(shelf: &Shelf, at: usize) -> Result<Option<BTreeSet<u64>>> {
    let index = shelf.known()?;
    let erasures: &Erasures = &index.erasures;
    if erasures.version() == 0 {
        return Ok(None);
    }
    let Some(segment) = index.segments.get(at) else {
        return Ok(None);
    };
    let mut gone = BTreeSet::new();
    let listing = segment.listing()?;
    for entry in listing.contents.entries.iter() {
        interrupt::check()?;
        if !is_bookkeeping(&entry) && erasures.covers_seq(entry.seq) {
            gone.insert(entry.seq);
        }
    }
    if erasures.are_ids() {
        return Ok((!gone.is_empty()).then_some(gone));
    }
    let left = listing
        .contents
        .entries
        .iter()
        .filter(|entry| !is_bookkeeping(entry) && !erasures.covers_seq(entry.seq));
    segment.source.each_tied(left, |entry, ties| {
        if erasures.covers_key(entry.seq, &ties.key) {
            gone.insert(entry.seq);
        }
        Ok(())
    })?;
    Ok((!gone.is_empty()).then_some(gone))
}
