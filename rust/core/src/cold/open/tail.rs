//! The last segment at open: it is written on, or its torn end is cut and it is sealed, or it is
//! damaged and left alone.

use std::sync::Arc;

use crate::error::Result;

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::footer::{END, seal};
use crate::cold::format::{MIN_RECORD, PREAMBLE};
use crate::cold::medium::{refused, write_full};
use crate::cold::open::aside::cut_tail;
use crate::cold::open::load::{Loading, Repair, sealed};
use crate::cold::open::scan::{Place, scan};
use crate::cold::read::segment::{Listing, Segment};
use crate::cold::read::source::Source;

/// Takes up the last segment, which has no seal.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn tail(
    loading: &mut Loading<'_>,
    source: Arc<Source>,
    len: u64,
) -> Result<Segment> {
    match loading.repair {
        Repair::Allowed => mend(loading, source, len),
        Repair::Forbidden => look(loading, source, len),
    }
}

/// What another handle has acknowledged so far, and nothing that it may be writing.
fn look(loading: &mut Loading<'_>, source: Arc<Source>, len: u64) -> Result<Segment> {
    let mark = loading.found;
    let here = mark.segment == source.header.number;
    loading.index.beyond = !here;
    let here = here && !on(Defect::ReadBeyondMark);
    let end = if here { mark.end.min(len) } else { len };
    let found = scan(&source, end, Place::Tail(mark.durable))?;
    let end = found.cut.unwrap_or(end);
    let clean = found.damages.is_empty() && !found.sealed;
    loading.index.tail = clean && mark.tainted != source.header.number;
    Ok(Segment::listed(source, end, found.into()))
}

fn mend(loading: &mut Loading<'_>, source: Arc<Source>, len: u64) -> Result<Segment> {
    let mark = loading.found;
    let found = scan(&source, len, Place::Tail(mark.durable))?;
    let clean = found.damages.is_empty();
    let number = source.header.number;
    loading.next_seq = loading.next_seq.max(found.highest.saturating_add(1));
    loading.index.tail = clean && found.cut.is_none() && !found.sealed && mark.tainted != number;
    let last = found.entries.last();
    let reached = last.map_or(0, |entry| entry.seq);
    let Some(cut) = found.cut else {
        if reached > mark.durable || mark.segment != number {
            // What a killed process left unsynced is about to be relied on.
            settle(loading, &source)?;
        }
        return Ok(Segment::listed(source, len, found.into()));
    };
    // Where a header is lost, its id is not known; no more ids fit than the shortest records.
    let kept = last.map_or(PREAMBLE, |e| e.offset.saturating_add(e.len));
    let after = last.map_or(source.header.first_seq, |e| e.seq.saturating_add(1));
    let held = len.saturating_sub(kept).div_ceil(MIN_RECORD);
    loading.next_seq = loading.next_seq.max(after.saturating_add(held));
    // The headers that are about to be cut off may be the only ones to say what was synced.
    loading.found.durable = loading.found.durable.max(found.durable);
    if mark.segment == number {
        loading.found.end = mark.end.min(cut);
    }
    loading.raise()?;
    loading
        .cuts
        .push(cut_tail(loading.medium, &source, cut, len)?);
    close(source, cut, found.into(), clean)
}

/// Makes durable what a killed process may have left in the operating system's hands.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn settle(loading: &Loading<'_>, source: &Source) -> Result<()> {
    source
        .file
        .sync_data()
        .and_then(|()| loading.medium.sync_dir(""))
        .map_err(|error| refused("sync", &source.path, error))
}

/// Ends a segment whose records end at `end` with a seal, durably.
///
/// A damaged one gets no end block: its footer would hide from the next open what is missing, so it
/// is scanned each time.
fn close(source: Arc<Source>, end: u64, listing: Listing, clean: bool) -> Result<Segment> {
    let header = &source.header;
    let bytes = seal(&header.identity, end, header.first_seq, &listing.contents);
    let Some(mut bytes) = bytes else {
        return Ok(Segment::listed(source, end, listing));
    };
    if !clean {
        bytes.truncate(bytes.len().saturating_sub(narrow(END)));
    }
    let len = end.saturating_add(wide(bytes.len()));
    write_full(&*source.file, &bytes, end)
        .and_then(|()| source.file.sync_data())
        .map_err(|error| refused("seal", &source.path, error))?;
    let block = if clean { sealed(&source, len)? } else { None };
    let mut segment = Segment::listed(source, len, listing);
    if let Some(block) = block {
        segment.close(len, block);
    }
    Ok(segment)
}
