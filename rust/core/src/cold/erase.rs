//! Erasing: a tombstone first, so that every handle says "erased" at once; then the bytes go.
//!
//! ```text
//! erase     find what is concerned, and what was made from it ─▶ tombstone, synced ─▶ keys removed
//!           ─▶ set-aside tails removed
//! compact   for each segment with erased records: write it anew without them, sync ─▶ rename over the
//!           old one, sync the directory ─▶ mark, with a new generation
//! ```
//!
//! A crash in between leaves the tombstone: reads say "erased", and the next `compact` does the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use super::bytes::wide;
use super::defect::{Defect, on};
use super::erasures::{Erasures, Tombstone, hash_of};
use super::footer::{Contents, Entry, Gap, Why, seal};
use super::format::{PREAMBLE, TORN, rewritten_name, segment_name};
use super::frame::{Stamp, stamp};
use super::header::Header;
use super::load::sealed;
use super::medium::{Access, put_file, refused};
use super::packet::{Packet, bookkeeping};
use super::segment::Segment;
use super::shelf::Shelf;
use super::source::Source;
use super::writer::Writer;

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

/// Writes the tombstone of a scope. The lock is held.
///
/// # Errors
///
/// [`Error::Argument`] for an empty scope; [`Error::Interrupted`]; as appending.
pub(super) fn erase(writer: &mut Writer, shelf: &Shelf, scope: Scope<'_>) -> Result<Erased> {
    let (prefix, mut listed) = target(shelf, scope)?;
    let mut told = Erased::default();
    let upto = {
        let index = shelf.known()?;
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
                if listed.contains(&entry.seq) || begins(&key, scope) {
                    told.records += 1;
                    listed.insert(entry.seq);
                } else if on(Defect::NoCascade) {
                } else if sources.iter().any(|source| listed.contains(&source.0)) {
                    told.derived += 1;
                    listed.insert(entry.seq);
                }
            }
        }
        index.next_seq().saturating_sub(1)
    };
    let tombstone = Tombstone::new(upto, prefix, &listed);
    let payload = tombstone.encode();
    let batch = [bookkeeping(Kind::Tombstone, &[], &payload)];
    let mut press = shelf.press(false)?;
    press.limit = u64::MAX;
    let mut packet = Packet::own(&press, &batch)?;
    let synced = !on(Defect::TombstoneUnsynced);
    writer.write(shelf, &mut [&mut packet], synced)?;
    Arc::make_mut(&mut shelf.write().erasures).add(tombstone);
    told.keys = clear(shelf)?;
    Ok(told)
}

/// Writes every segment anew that still has erased records. The lock is held.
///
/// # Errors
///
/// [`Error::Interrupted`] between two segments; as appending.
pub(super) fn compact(writer: &mut Writer, shelf: &Shelf) -> Result<Compacted> {
    clear(shelf)?;
    let mut told = Compacted::default();
    let count = shelf.known()?.segments.len();
    for at in 0..count {
        interrupt::check()?;
        let Some(gone) = erased_in(shelf, at)? else {
            continue;
        };
        if at.saturating_add(1) == count {
            writer.seal(shelf)?;
        }
        let (before, after) = rewrite(shelf, at, &gone)?;
        told.segments += 1;
        told.records += wide(gone.len());
        told.bytes += before.saturating_sub(after);
    }
    Ok(told)
}

/// How many erased records still lie in the segments.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn pending(shelf: &Shelf) -> Result<u64> {
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

/// Removes the keys of what is erased, and every set-aside tail: nobody knows what is in them.
fn clear(shelf: &Shelf) -> Result<u64> {
    let erasures = Arc::clone(&shelf.known()?.erasures);
    if erasures.count() == 0 {
        return Ok(0);
    }
    let keys = shelf
        .keyring
        .shred(|scope, born| erasures.covers_scope(scope, born))?;
    let trouble = |error| refused("remove", &shelf.medium.path(TORN), error);
    let names = shelf.medium.list(TORN).map_err(trouble)?;
    for name in &names {
        shelf
            .medium
            .remove(&format!("{TORN}/{name}"))
            .map_err(trouble)?;
    }
    if !names.is_empty() {
        shelf.medium.sync_dir(TORN).map_err(trouble)?;
    }
    Ok(keys)
}

/// The erased records of a segment; `None` if it has none.
fn erased_in(shelf: &Shelf, at: usize) -> Result<Option<BTreeSet<u64>>> {
    let index = shelf.known()?;
    let erasures: &Erasures = &index.erasures;
    if erasures.count() == 0 {
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

/// Replaces a segment by one without these records; gives its length before and after.
fn rewrite(shelf: &Shelf, at: usize, gone: &BTreeSet<u64>) -> Result<(u64, u64)> {
    let (header, bytes, before) = {
        let index = shelf.known()?;
        let Some(segment) = index.segments.get(at) else {
            return Ok((0, 0));
        };
        let (header, bytes) = without(segment, gone, shelf.uuid)?;
        (header, bytes, segment.len)
    };
    let medium = &*shelf.medium;
    let name = segment_name(header.number);
    let path = medium.path(&name);
    let trouble = |error| refused("rewrite", &path, error);
    put_file(medium, "", &rewritten_name(header.number), &name, &bytes).map_err(trouble)?;
    let file = medium.open(&name, Access::Write).map_err(trouble)?;
    let source = Arc::new(Source::new(header, path.clone(), file, shelf.options.read));
    let len = wide(bytes.len());
    let end = sealed(&source, len)?;
    let mut index = shelf.write();
    index.mark.generation = index.mark.generation.saturating_add(1);
    if index.mark.segment == header.number {
        index.mark.end = len;
    }
    if let (Some(slot), Some(end)) = (index.segments.get_mut(at), end) {
        *slot = Segment::sealed(source, len, end);
    }
    index.tell();
    Ok((before, len))
}

/// A segment's bytes without these records. What was damaged is left out too, and remembered.
fn without(segment: &Segment, gone: &BTreeSet<u64>, uuid: [u8; 16]) -> Result<(Header, Vec<u8>)> {
    let old = &segment.source.header;
    let listing = segment.listing()?;
    let header = Header::new(uuid, old.number, old.first_seq, old.left_at);
    let mut out = header.encode();
    let mut contents = Contents {
        entries: Vec::new(),
        gaps: listing.contents.gaps.clone(),
    };
    for damage in &listing.damages {
        let seqs = damage.seqs.as_ref().map(|s| s.start().0..=s.end().0);
        contents.gaps.extend(seqs.map(|seqs| Gap {
            seqs,
            why: Why::Damaged,
        }));
    }
    contents
        .gaps
        .extend(super::erasures::ranges(gone).into_iter().map(|seqs| Gap {
            seqs,
            why: Why::Erased,
        }));
    for entry in &listing.contents.entries {
        interrupt::check()?;
        if gone.contains(&entry.seq) {
            continue;
        }
        let offset = wide(out.len());
        let mut record = segment.source.bytes(entry.offset, entry.len)?;
        let place = Stamp {
            seq: entry.seq,
            durable: entry.seq,
            batch_first: entry.seq,
            batch_count: 1,
        };
        // A record that is damaged stays so: its body is checked again when it is read.
        if stamp(&mut record, &header.identity, offset, place).is_some() {
            out.extend_from_slice(&record);
            contents.entries.push(Entry { offset, ..*entry });
        }
    }
    contents.gaps.sort_by_key(|gap| *gap.seqs.start());
    let end = wide(out.len()).max(PREAMBLE);
    let footer = seal(&header.identity, end, header.first_seq, &contents);
    out.extend(footer.unwrap_or_default());
    Ok((header, out))
}
