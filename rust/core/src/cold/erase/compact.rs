//! Compaction: segments with erased records are written anew without them, and replaced by rename.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Result;
use crate::interrupt;

use crate::cold::erase::{clear, erased_in};
use crate::cold::format::bytes::wide;
use crate::cold::format::encode::{Stamp, stamp};
use crate::cold::format::footer::{Contents, Entry, Gap, Why, seal};
use crate::cold::format::header::Header;
use crate::cold::format::{PREAMBLE, rewritten_name, segment_name};
use crate::cold::medium::{Access, put_file, refused};
use crate::cold::open::load::sealed;
use crate::cold::read::segment::Segment;
use crate::cold::read::source::Source;
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
    contents.gaps.extend(
        crate::cold::erase::erasures::ranges(gone)
            .into_iter()
            .map(|seqs| Gap {
                seqs,
                why: Why::Erased,
            }),
    );
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
