//! Keeping up with other handles: what they acknowledged since becomes visible here.
//!
//! The mark's count tells whether anything changed. If only records were added, they are read on from
//! where this handle stood; if segments were replaced or cut, the directory is read anew. Nothing is
//! written, and nothing beyond the mark is looked at: another handle may be writing there.

use std::io;
use std::sync::Arc;

use crate::entry::Kind;
use crate::error::{Error, Result};

use crate::cold::erase::fold::take;
use crate::cold::format::bytes::wide;
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::{HEADER, RecordHeader};
use crate::cold::format::{MARK, PREAMBLE};
use crate::cold::mark::Mark;
use crate::cold::medium::refused;
use crate::cold::open::load::{Repair, load, sealed};
use crate::cold::open::survey::look;
use crate::cold::read::index::Index;
use crate::cold::read::segment::{Listing, Segment};
use crate::cold::read::source::Source;
use crate::cold::read::window::Window;
use crate::cold::shelf::Shelf;

/// Brings an index up to the mark.
///
/// # Errors
///
/// As opening; what the operating system answers.
pub(in crate::cold) fn follow(shelf: &Shelf, index: &mut Index) -> Result<()> {
    shelf.keyring.others_wrote();
    let Some(file) = &index.file else {
        return reload(shelf, index);
    };
    let mark = file
        .read()
        .map_err(|error| refused("read", &shelf.medium.path(MARK), error))?;
    match mark {
        Some(mark) if mark.generation == index.mark.generation => {
            if !advance(shelf, index, mark)? {
                return reload(shelf, index);
            }
            index.mark = mark;
            Ok(())
        }
        _ => reload(shelf, index),
    }
}

/// Reads the directory anew, without changing anything in it.
fn reload(shelf: &Shelf, index: &mut Index) -> Result<()> {
    let mut loaded = load(
        &*shelf.medium,
        &shelf.options,
        Repair::Forbidden,
        shelf.uuid,
    )?;
    loaded.index.succeed(index);
    *index = loaded.index;
    shelf.keyring.forget();
    if index.all_damages().next().is_some() {
        shelf.counters.damage();
    }
    Ok(())
}

/// Reads on up to the mark; `false` if that is not all that happened.
fn advance(shelf: &Shelf, index: &mut Index, mark: Mark) -> Result<bool> {
    loop {
        let Some(last) = index.segments.last_mut() else {
            return Ok(false);
        };
        let number = last.source.header.number;
        if mark.segment < number || (mark.segment == number && mark.end < last.len) {
            return Ok(false);
        }
        if mark.segment == number {
            if last.is_sealed() {
                return Ok(mark.end == last.len);
            }
            let (source, from, after) = (Arc::clone(&last.source), last.len, last.last());
            let Some(entries) = read_on(&source, from, mark.end, after)? else {
                return Ok(false);
            };
            last.extend(&entries, mark.end);
            index.tail = mark.tainted != number;
            return take_away(shelf, index, &source, &entries);
        }
        if !last.is_sealed() {
            let source = Arc::clone(&last.source);
            let len = source.len()?;
            match sealed(&source, len)? {
                Some(end) if !end.takes_away() => *last = Segment::sealed(source, len, end),
                _ => return Ok(false),
            }
        }
        let next = number.saturating_add(1);
        let Some(segment) = newborn(shelf, next)? else {
            return Ok(false);
        };
        index.segments.push(segment);
        index.tail = true;
    }
}

/// A segment that was begun since, as if it held nothing yet.
fn newborn(shelf: &Shelf, number: u64) -> Result<Option<Segment>> {
    let found = match look(&*shelf.medium, number, shelf.options.access()) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        other => other?,
    };
    let Some(header) = found.header.filter(|header| header.number == number) else {
        return Ok(None);
    };
    let path = shelf.medium.path(&found.name);
    let source = Source::new(header, path, found.file, shelf.options.read);
    let listing = Listing::default();
    Ok(Some(Segment::listed(Arc::new(source), PREAMBLE, listing)))
}

/// The whole records between two offsets; `None` if they are not all there is.
fn read_on(source: &Source, from: u64, to: u64, mut last: u64) -> Result<Option<Vec<Entry>>> {
    let identity = &source.header.identity;
    let mut window = Window::new(&*source.file, to);
    let mut entries = Vec::new();
    let mut at = from;
    let trouble = |error| refused("read", &source.path, error);
    while at < to {
        let header = window.get(at, wide(HEADER)).map_err(trouble)?;
        let header = header.and_then(|bytes| RecordHeader::decode(identity, at, bytes));
        let seal = Kind::Seal.code();
        let Some(header) = header.filter(|h| h.seq > last && h.kind != seal) else {
            return Ok(None);
        };
        let whole = window.get(at, header.len()).map_err(trouble)?;
        if whole.is_none_or(|bytes| header.body(bytes).is_err()) {
            return Ok(None);
        }
        entries.push(Entry {
            seq: header.seq,
            offset: at,
            len: header.len(),
            kind: header.kind,
        });
        last = header.seq;
        at = at.saturating_add(header.len());
    }
    Ok(Some(entries))
}

/// Takes up what these records take away; `false` if one of them makes no sense.
fn take_away(shelf: &Shelf, index: &mut Index, source: &Source, entries: &[Entry]) -> Result<bool> {
    let codes = [Kind::Tombstone.code(), Kind::Removed.code()];
    for entry in entries.iter().filter(|entry| codes.contains(&entry.kind)) {
        let erased = Arc::make_mut(&mut index.erasures);
        let removed = Arc::make_mut(&mut index.removals);
        if !take(source, *entry, erased, removed)? {
            return Ok(false);
        }
        shelf.keyring.forget();
    }
    Ok(true)
}
