//! A segment written anew without some of its records, and put in the place of the old one.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Result;
use crate::interrupt;

use crate::cold::format::bytes::wide;
use crate::cold::format::encode::{Stamp, stamp};
use crate::cold::format::entries::Entries;
use crate::cold::format::footer::{Contents, Entry, Gap, Why, seal};
use crate::cold::format::frame::RecordHeader;
use crate::cold::format::header::Header;
use crate::cold::format::{PREAMBLE, rewritten_name, segment_name};
use crate::cold::intervals::ranges;
use crate::cold::medium::{Access, put_file, refused};
use crate::cold::open::load::sealed;
use crate::cold::read::segment::{Listing, Segment};
use crate::cold::read::source::Source;
use crate::cold::shelf::Shelf;

/// What becomes of a record in a segment that is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
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
pub(super) enum End {
    /// With a seal: nobody writes on it again.
    Sealed,
    /// Without: it stays the one that is written on.
    Open,
}

/// A segment that was written anew.
pub(super) struct Rewritten {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
    contents: Contents,
}

/// Replaces a segment by one without these records; gives its length before and after. The lock is held.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn rewrite(
    shelf: &Shelf,
    at: usize,
    fate: &dyn Fn(u64) -> Fate,
    how: End,
) -> Result<(u64, u64)> {
    let (made, before) = {
        let index = shelf.known()?;
        let Some(segment) = index.segments.get(at) else {
            return Ok((0, 0));
        };
        (without(segment, fate, how)?, segment.len)
    };
    let name = segment_name(made.header.number);
    let temporary = rewritten_name(made.header.number);
    put_file(&*shelf.medium, "", &temporary, &name, &made.bytes)
        .map_err(|error| refused("rewrite", &shelf.medium.path(&name), error))?;
    let after = wide(made.bytes.len());
    let listing = Listing {
        contents: made.contents,
        damages: Vec::new(),
    };
    show(
        shelf,
        at,
        made.header,
        after,
        (how == End::Open).then_some(listing),
    )?;
    Ok((before, after))
}

/// Takes up the new file of a segment, which is durable under its name: sealed, or with these records.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn show(
    shelf: &Shelf,
    at: usize,
    header: Header,
    len: u64,
    open: Option<Listing>,
) -> Result<()> {
    let name = segment_name(header.number);
    let path = shelf.medium.path(&name);
    let file = shelf.medium.open(&name, Access::Write);
    let file = file.map_err(|error| refused("rewrite", &path, error))?;
    let source = Arc::new(Source::new(header, path, file, shelf.options.read));
    let end = sealed(&source, len)?;
    let mut index = shelf.write();
    index.mark.generation = index.mark.generation.saturating_add(1);
    if index.mark.segment == header.number {
        index.mark.end = len;
    }
    let is_open = open.is_some();
    let made = match (open, end) {
        (Some(listing), _) => Some(Segment::listed(source, len, listing)),
        (None, end) => end.map(|end| Segment::sealed(source, len, end)),
    };
    if let (Some(slot), Some(made)) = (index.segments.get_mut(at), made) {
        *slot = made;
    }
    if is_open {
        // It was synced before it got its name.
        index.mark.durable = index.mark.durable.max(index.next_seq().saturating_sub(1));
        index.mark.tainted = 0;
    }
    index.tell();
    Ok(())
}

/// A segment's bytes without these records. What was damaged is left out too, and remembered.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted); what the operating system answers.
pub(super) fn without(
    segment: &Segment,
    fate: &dyn Fn(u64) -> Fate,
    how: End,
) -> Result<Rewritten> {
    let old = &segment.source.header;
    let listing = segment.listing()?;
    let header = old.again();
    let mut out = header.encode();
    let mut contents = Contents {
        entries: Entries::default(),
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
    for entry in listing.contents.entries.iter() {
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
            contents.entries.push(Entry { offset, ..entry });
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
        return Ok(Rewritten {
            header,
            bytes: out,
            contents,
        });
    }
    contents.gaps = joined(contents.gaps);
    let end = wide(out.len()).max(PREAMBLE);
    let footer = seal(&header.identity, end, header.first_seq, &contents);
    out.extend(footer.unwrap_or_default());
    Ok(Rewritten {
        header,
        bytes: out,
        contents,
    })
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
