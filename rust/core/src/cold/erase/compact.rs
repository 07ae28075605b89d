//! Compaction: segments with erased records are written anew without them, and replaced by rename.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::erase::fold::{fold, settle};
use crate::cold::erase::{clear, erased_in};
use crate::cold::format::bytes::wide;
use crate::cold::format::encode::{Stamp, stamp};
use crate::cold::format::footer::{Contents, Entry, Gap, Why, seal};
use crate::cold::format::frame::RecordHeader;
use crate::cold::format::header::Header;
use crate::cold::format::links::Born;
use crate::cold::format::{MARK, PREAMBLE, rewritten_name, segment_name};
use crate::cold::intervals::ranges;
use crate::cold::medium::{Access, put_file, refused};
use crate::cold::open::load::sealed;
use crate::cold::read::segment::{Listing, Segment};
use crate::cold::read::source::Source;
use crate::cold::record::Outline;
use crate::cold::shelf::Shelf;
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

/// Writes every segment anew that still has erased records. The lock is held.
///
/// # Errors
///
/// [`Error::Interrupted`] between two segments; as appending.
pub(in crate::cold) fn compact(writer: &mut Writer, shelf: &Shelf) -> Result<Compacted> {
    clear(shelf)?;
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

/// Writes the sealed segment at a place anew without the records that `dead` names of it; `None` at the first
/// one that is not sealed. The lock is held, and everything that was written is durable.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted); as appending; what `dead` answers.
pub(in crate::cold) fn compact_dead(
    shelf: &Shelf,
    at: usize,
    dead: impl FnOnce(&[Shown]) -> Result<BTreeSet<u64>>,
) -> Result<Option<Compacted>> {
    let Some((shown, fillers)) = shown(shelf, at)? else {
        return Ok(None);
    };
    let mut dead = dead(&shown)?;
    let records = wide(dead.len());
    if dead.is_empty() {
        return Ok(Some(Compacted::default()));
    }
    // What lies between two copies is needed as long as one of them is there.
    for (filler, copies) in fillers {
        if copies.iter().all(|copy| dead.contains(copy)) {
            dead.insert(filler);
        }
    }
    // What says of other records that they are gone: an entry does that of the one that it replaced, and a
    // version of older ones, which only a removal of its key names.
    let says = |one: &Shown| {
        let record = &one.outline;
        let links = record.links.as_deref();
        let is_later = |born: Born| born.seq != record.seq;
        let takes = match record.kind {
            Kind::Entry => links
                .and_then(|links| links.of)
                .is_some_and(|of| of != Seq(0)),
            Kind::Cell => {
                record.is_taken && links.and_then(|links| links.born).is_some_and(is_later)
            }
            kind => kind.is_plain(),
        };
        takes && dead.contains(&record.seq.0)
    };
    let why = if shown.iter().any(says) {
        Fate::Dropped
    } else {
        Fate::Dead
    };
    let fate = |seq| {
        if dead.contains(&seq) { why } else { Fate::Kept }
    };
    let (before, after) = rewrite(shelf, at, &fate, End::Sealed)?;
    Ok(Some(Compacted {
        segments: 1,
        records,
        bytes: before.saturating_sub(after),
    }))
}

/// A record of a segment that may be dead.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) outline: Outline,
    /// Whether it was removed.
    pub(crate) is_removed: bool,
}

/// Fillers, each with the second copies behind it.
type Fillers = Vec<(u64, Vec<u64>)>;

/// The records of a sealed segment that are neither erased nor damaged, and its fillers.
fn shown(shelf: &Shelf, at: usize) -> Result<Option<(Vec<Shown>, Fillers)>> {
    let index = shelf.known()?;
    let Some(segment) = index.segments.get(at).filter(|one| one.is_sealed()) else {
        return Ok(None);
    };
    let (mut out, mut fillers) = (Vec::new(), Fillers::new());
    for entry in &segment.listing()?.contents.entries {
        interrupt::check()?;
        let kind = Kind::from_code(entry.kind);
        if kind == Kind::Filler {
            fillers.push((entry.seq, Vec::new()));
            continue;
        }
        if kind.is_own() {
            continue;
        }
        let outline = match segment.source.outline(*entry, &shelf.keyring) {
            Ok(outline) => outline,
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) => continue,
            Err(other) => return Err(other),
        };
        if outline.is_copy
            && let Some((_, copies)) = fillers.last_mut()
        {
            copies.push(entry.seq);
        }
        if !index.erasures.covers(entry.seq, &outline.key) {
            let is_removed = index.removals.covers(entry.seq, kind, &outline.key);
            let is_taken = index.removals.take(outline.seq);
            out.push(Shown {
                outline: Outline {
                    is_taken,
                    ..outline
                },
                is_removed,
            });
        }
    }
    Ok(Some((out, fillers)))
}

/// What becomes of a record in a segment that is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    /// It goes, and the segment remembers that it was erased.
    Erased,
    /// It goes without a trace: later records say what is there now.
    Dead,
    /// It goes, and the segment remembers that: somebody may not have followed what it said.
    Dropped,
}

/// How a rewritten segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With a seal: nobody writes on it again.
    Sealed,
    /// Without: it stays the one that is written on.
    Open,
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

/// Replaces a segment by one without these records; gives its length before and after.
fn rewrite(shelf: &Shelf, at: usize, fate: &dyn Fn(u64) -> Fate, how: End) -> Result<(u64, u64)> {
    let (header, bytes, contents, before) = {
        let index = shelf.known()?;
        let Some(segment) = index.segments.get(at) else {
            return Ok((0, 0));
        };
        let (header, bytes, contents) = without(segment, fate, how)?;
        (header, bytes, contents, segment.len)
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
    let made = match (how, end) {
        (End::Sealed, Some(end)) => Some(Segment::sealed(source, len, end)),
        (End::Sealed, None) => None,
        (End::Open, _) => {
            let listing = Listing {
                contents,
                damages: Vec::new(),
            };
            Some(Segment::listed(source, len, listing))
        }
    };
    if let (Some(slot), Some(made)) = (index.segments.get_mut(at), made) {
        *slot = made;
    }
    if how == End::Open {
        // It was synced before it got its name.
        index.mark.durable = index.mark.durable.max(index.next_seq().saturating_sub(1));
        index.mark.tainted = 0;
    }
    index.tell();
    Ok((before, len))
}

/// A segment's bytes without these records. What was damaged is left out too, and remembered.
fn without(
    segment: &Segment,
    fate: &dyn Fn(u64) -> Fate,
    how: End,
) -> Result<(Header, Vec<u8>, Contents)> {
    let old = &segment.source.header;
    let listing = segment.listing()?;
    let header = old.again();
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
    for (goes, why) in [(Fate::Erased, Why::Erased), (Fate::Dropped, Why::Dropped)] {
        let gone = listing.contents.entries.iter().map(|entry| entry.seq);
        let gone: BTreeSet<u64> = gone.filter(|seq| fate(*seq) == goes).collect();
        let gone = ranges(&gone).into_iter().map(|seqs| Gap { seqs, why });
        contents.gaps.extend(gone);
    }
    for entry in &listing.contents.entries {
        interrupt::check()?;
        if fate(entry.seq) != Fate::Kept {
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
        // A body that is damaged stays so, and is checked again when it is read. A header that is would get
        // a checksum that holds.
        let whole =
            RecordHeader::decode(&old.identity, entry.offset, &record).is_some_and(|found| {
                (found.seq, found.len(), found.kind) == (entry.seq, entry.len, entry.kind)
            });
        if whole && stamp(&mut record, &header.identity, offset, place).is_some() {
            out.extend_from_slice(&record);
            contents.entries.push(Entry { offset, ..*entry });
        } else {
            contents.gaps.push(Gap {
                seqs: entry.seq..=entry.seq,
                why: Why::Damaged,
            });
        }
    }
    if how == End::Open {
        // The tombstones tell what is missing.
        contents.gaps.clear();
        return Ok((header, out, contents));
    }
    contents.gaps = joined(contents.gaps);
    let end = wide(out.len()).max(PREAMBLE);
    let footer = seal(&header.identity, end, header.first_seq, &contents);
    out.extend(footer.unwrap_or_default());
    Ok((header, out, contents))
}

/// The gaps in order, those that touch as one: there are no more of them than runs of records.
fn joined(mut gaps: Vec<Gap>) -> Vec<Gap> {
    gaps.sort_by_key(|gap| *gap.seqs.start());
    let mut out: Vec<Gap> = Vec::new();
    for gap in gaps {
        match out.last_mut() {
            Some(last)
                if last.why == gap.why
                    && last.seqs.end().saturating_add(1) == *gap.seqs.start() =>
            {
                last.seqs = *last.seqs.start()..=*gap.seqs.end();
            }
            _ => out.push(gap),
        }
    }
    out
}
