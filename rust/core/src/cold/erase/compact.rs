//! Compaction: segments with erased records are written anew without them, and replaced by rename.

use std::collections::BTreeSet;
use std::io;

use crate::error::Result;
use crate::interrupt;

use crate::cold::crypt::cipher::KeyId;
use crate::cold::erase::fold::{fold, settle};
use crate::cold::erase::rewrite::{End, Fate, rewrite};
use crate::cold::erase::{Scope, clear, erased_in};
use crate::cold::format::bytes::wide;
use crate::cold::format::{MARK, is_rewritten};
use crate::cold::medium::{refused, remove_if_there};
use crate::cold::shelf::Shelf;
use crate::cold::write::leave;
use crate::cold::write::spool::keys_in_use;
use crate::cold::write::writer::Writer;

/// What a compaction came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Segments that were written anew.
    pub segments: u64,
    /// Records that are gone from them.
    pub records: u64,
    /// Bytes that were given back.
    pub bytes: u64,
}

impl Compacted {
    /// Adds what another part of it came to.
    pub(crate) fn add(&mut self, other: Self) {
        self.segments += other.segments;
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

/// Writes every segment anew that still has erased records. The lock is held.
///
/// # Errors
///
/// [`Error::Interrupted`] between two segments; as appending.
pub(in crate::cold) fn compact(writer: &mut Writer, shelf: &Shelf) -> Result<Compacted> {
    let version = shelf.known()?.erasures.version();
    let spool_keys = shelf.keyring.spool_keys()?;
    clear(shelf, Scope::Records(&[]), version)?;
    remove_orphans(shelf, spool_keys)?;
    remove_drafts(shelf)?;
    let mut told = Compacted::default();
    let mut concerned = Vec::new();
    for at in 0..shelf.known()?.segments.len() {
        if erased_in(shelf, at)?.is_some() {
            concerned.push(at);
        }
    }
    if concerned.is_empty() {
        return Ok(told);
    }
    let spent = fold(writer, shelf, &concerned)?;
    for at in concerned {
        interrupt::check()?;
        let Some(gone) = erased_in(shelf, at)? else {
            continue;
        };
        let last = at.saturating_add(1) == shelf.known()?.segments.len();
        let end = if last && is_open(shelf) {
            announce(shelf)?;
            End::Open
        } else {
            if last {
                writer.seal(shelf)?;
            }
            End::Sealed
        };
        told.records += wide(gone.len());
        let fate = |seq| {
            if gone.contains(&seq) || spent.contains(&seq) {
                Fate::Erased
            } else {
                Fate::Kept
            }
        };
        let (before, after) = rewrite(shelf, at, &fate, end)?;
        told.segments += 1;
        told.bytes += before.saturating_sub(after);
    }
    if !spent.is_empty() {
        settle(shelf)?;
    }
    Ok(told)
}

/// Removes those of these keys that no batch in the spool has: whoever made or used them has ended, or makes
/// the batch once more with other keys, because the spool is swept.
fn remove_orphans(shelf: &Shelf, mut keys: BTreeSet<KeyId>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    leave::sweep(shelf)?;
    let Some(used) = keys_in_use(shelf)? else {
        return Ok(());
    };
    keys.retain(|key| !used.contains(key));
    shelf.keyring.clear_spool(&keys)
}

/// Removes segments that somebody is writing anew at this moment, or began to: what is erased may be in them.
fn remove_drafts(shelf: &Shelf) -> Result<()> {
    let medium = &*shelf.medium;
    let names = medium.list("");
    let names = names.map_err(|error| refused("list", &medium.path(""), error))?;
    let mut drafts = names.iter().filter(|name| is_rewritten(name)).peekable();
    if drafts.peek().is_none() {
        return Ok(());
    }
    for name in drafts {
        remove_if_there(medium, name)
            .map_err(|error| refused("remove", &medium.path(name), error))?;
    }
    let synced = medium.sync_dir("");
    synced.map_err(|error| refused("sync", &medium.path(""), error))
}

/// Whether the last segment may stay the one that is written on: nothing in it must be remembered
/// that only a seal can tell. So erasing again and again makes no segment each time.
fn is_open(shelf: &Shelf) -> bool {
    let index = shelf.peek();
    let last = index.segments.last();
    index.tail && last.is_some_and(|s| !s.is_sealed() && s.damages().is_empty())
}

/// Keeps every other handle off the last segment, whose file is about to be replaced: should this
/// process end in between, nobody may go on writing on the old one.
fn announce(shelf: &Shelf) -> Result<()> {
    let mut index = shelf.write();
    index.mark.generation = index.mark.generation.saturating_add(1);
    index.mark.tainted = index.mark.segment;
    let told = index.tell();
    if !told {
        index.mark.tainted = 0;
        let path = shelf.medium.path(MARK);
        return Err(refused("write", &path, io::ErrorKind::Other.into()));
    }
    Ok(())
}
