//! Erasing: a tombstone first, so that every handle says "erased" at once; then the bytes go.
//!
//! ```text
//! erase     find what is concerned, and what was made from it ─▶ tombstone, synced ─▶ its second copy
//!           ─▶ keys removed ─▶ set-aside tails removed
//! compact   fold the tombstones of segments with erased records ─▶ for each segment with erased records: write it anew without them, sync ─▶ rename over the
//!           old one, sync the directory ─▶ mark, with a new generation
//! ```
//!
//! A crash in between leaves the tombstone: reads say "erased", and the next `compact` does the rest.

pub(in crate::cold) mod compact;
pub(in crate::cold) mod copy;
pub(in crate::cold) mod erasures;
pub(in crate::cold) mod fold;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::defect::{Defect, on};
use crate::cold::erase::erasures::{Erasures, Tombstone, hash_of};
use crate::cold::format::TORN;
use crate::cold::format::bytes::wide;
use crate::cold::format::footer::Entry;
use crate::cold::medium::{Access, Medium, refused};
use crate::cold::open::aside::is_batch;
use crate::cold::shelf::Shelf;
use crate::cold::write::leave;
use crate::cold::write::packet::{Packet, bookkeeping};
use crate::cold::write::writer::Writer;

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
    let (prefix, asked) = target(shelf, scope)?;
    let mut listed = asked.clone();
    let mut seen = BTreeSet::new();
    let mut told = Erased::default();
    // A batch of the spool may name what came behind it: then one look is not enough.
    while look(shelf, scope, &asked, &mut listed, &mut seen)? {}
    let upto = shelf.known()?.next_seq().saturating_sub(1);
    told.records = wide(seen.iter().filter(|(_, derived)| !derived).count());
    told.derived = wide(seen.len()).saturating_sub(told.records);
    listed.retain(|seq| *seq <= upto);
    let tombstone = Tombstone::new(upto, prefix, &listed);
    let payload = tombstone.encode();
    let batch = [bookkeeping(Kind::Tombstone, &[], &payload)];
    let mut press = shelf.press(false)?;
    press.limit = u64::MAX;
    let mut packet = Packet::own(&press, &batch)?;
    let synced = !on(Defect::TombstoneUnsynced);
    writer.write(shelf, &mut [&mut packet], synced)?;
    Arc::make_mut(&mut shelf.write().erasures).add(&tombstone);
    let erasures = Arc::clone(&shelf.known()?.erasures);
    if synced {
        copy::write(&*shelf.medium, &erasures, shelf.uuid)?;
    }
    told.keys = clear(shelf)?;
    Ok(told)
}

/// Lists what is in a scope and what was made from what is listed, in the order of ids; tells whether
/// something that is listed now may have been a source of something before it.
fn look(
    shelf: &Shelf,
    scope: Scope<'_>,
    asked: &BTreeSet<u64>,
    listed: &mut BTreeSet<u64>,
    seen: &mut BTreeSet<(u64, bool)>,
) -> Result<bool> {
    let index = shelf.known()?;
    let (mut forward, before) = (false, seen.len());
    for segment in &index.segments {
        for entry in &segment.listing()?.contents.entries {
            interrupt::check()?;
            if index.erasures.covers_seq(entry.seq) || is_bookkeeping(entry) {
                continue;
            }
            let (key, sources) = match segment.source.origin(*entry) {
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => continue,
                other => other?,
            };
            if index.erasures.covers(entry.seq, &key) {
                continue;
            }
            forward |= sources.iter().any(|source| source.0 >= entry.seq);
            if begins(&key, scope) || asked.contains(&entry.seq) {
                listed.insert(entry.seq);
                seen.insert((entry.seq, false));
            } else if sources.iter().any(|source| listed.contains(&source.0))
                && !on(Defect::NoCascade)
            {
                listed.insert(entry.seq);
                seen.insert((entry.seq, true));
            }
        }
    }
    Ok(forward && seen.len() > before)
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

type Target = (Option<(u64, u128)>, BTreeSet<u64>);

fn target(shelf: &Shelf, scope: Scope<'_>) -> Result<Target> {
    let empty = |name| Error::Argument {
        name,
        expected: "at least one".into(),
        found: "none".into(),
    };
    match scope {
        Scope::Prefix([]) => Err(empty("prefix")),
        Scope::Records([]) => Err(empty("records")),
        Scope::Prefix(parts) => {
            let hash = hash_of(&shelf.uuid, parts);
            Ok((hash.map(|hash| (wide(parts.len()), hash)), BTreeSet::new()))
        }
        Scope::Records(seqs) => Ok((None, seqs.iter().map(|seq| seq.0).collect())),
    }
}

fn begins(key: &[Vec<u8>], scope: Scope<'_>) -> bool {
    match scope {
        Scope::Prefix(parts) => {
            key.len() >= parts.len() && parts.iter().zip(key).all(|(part, own)| part == own)
        }
        Scope::Records(_) => false,
    }
}

/// Removes the keys of what is erased, and the bytes of all that was set aside: nobody knows what is
/// in them.
pub(super) fn clear(shelf: &Shelf) -> Result<u64> {
    let erasures = Arc::clone(&shelf.known()?.erasures);
    if erasures.version() == 0 {
        return Ok(0);
    }
    let keys = shelf
        .keyring
        .shred(|scope, born| erasures.covers_scope(scope, born))?;
    leave::sweep(shelf)?;
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
    for entry in &segment.listing()?.contents.entries {
        interrupt::check()?;
        if is_bookkeeping(entry) {
            continue;
        }
        let erased = erasures.covers_seq(entry.seq)
            || match segment.source.origin(*entry) {
                Ok((key, _)) => erasures.covers(entry.seq, &key),
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => false,
                Err(other) => return Err(other),
            };
        if erased {
            gone.insert(entry.seq);
        }
    }
    Ok((!gone.is_empty()).then_some(gone))
}
