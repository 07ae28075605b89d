//! Opening: what a directory holds becomes an index, and a torn tail is cut.
//!
//! ```text
//! last file without header and records   set aside: its creation was cut short
//! sealed segment                         header, end block and footer are read, no record
//! any other but the last                 scanned; what is missing in it was acknowledged
//! last, unsealed                         scanned; a torn tail is copied aside and cut
//!                                        without a blemish it is written on,
//!                                        after a cut it is sealed; damaged it is left alone
//! ```
//!
//! A file that is missing, empty, cut or damaged costs its own records and is reported. Nothing that
//! recovery does is lost by a crash in it: each step is durable before the next, and done again if it
//! was not.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::Result;

use super::aside::{cut_tail, move_file};
use super::bytes::{narrow, wide};
use super::footer::{END, Entry, end_block, entries, seal};
use super::format::{MIN_RECORD, PREAMBLE, segment_name};
use super::frame::RecordHeader;
use super::header::random;
use super::index::{Index, Segment};
use super::mark::Mark;
use super::medium::{Medium, refused, write_full};
use super::options::Options;
use super::report::{Cut, Damage, DamageKind};
use super::scan::{Place, scan};
use super::source::Source;
use super::survey::{Found, survey};

/// Ids that are left out after a segment whose header is lost: more than it can have held.
const UNREADABLE_GAP: u64 = 1 << 20;

/// A directory that was read back.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    pub(super) index: Index,
    pub(super) cuts: Vec<Cut>,
    pub(super) uuid: [u8; 16],
    /// The number of the next segment.
    pub(super) next_number: u64,
    /// Whether the last segment is written on.
    pub(super) tail: bool,
    mark: Mark,
    /// How many ids are left out after the last one.
    skipped: u64,
}

/// Reads a directory back, and cuts its torn tail.
///
/// # Errors
///
/// As [`survey`]; what the operating system answers.
pub(super) fn recover(medium: &dyn Medium, options: &Options) -> Result<Recovered> {
    let mut found = survey(medium)?;
    let mut state = Recovered {
        mark: Mark::read(medium)?,
        ..Recovered::default()
    };
    let mut stubs = Vec::new();
    while let Some(stub) = found.pop_if(|last| last.is_stub()) {
        // Nothing tells whether it never held a record, or was emptied by somebody else.
        state.skipped = UNREADABLE_GAP;
        stubs.push(stub);
    }
    let header = found.iter().find_map(|f| f.header);
    state.uuid = header.map_or_else(random, |header| header.identity.uuid);
    state.next_number = 1;
    state.index.next_seq = 1;

    let firsts: Vec<Option<u64>> = found
        .iter()
        .map(|f| {
            f.header
                .filter(|h| h.number == f.number)
                .map(|h| h.first_seq)
        })
        .collect();
    let count = found.len();
    for (at, file) in found.into_iter().enumerate() {
        let from = |start: usize| firsts.iter().skip(start).find_map(|first| *first);
        let (here, next) = (from(at), from(at.saturating_add(1)));
        state.missing(medium, file.number, here);
        state.next_number = file.number.saturating_add(1);
        let last = at.saturating_add(1) == count;
        state.segment(medium, options, file, next, last)?;
    }
    let next_seq = state.index.next_seq.saturating_add(state.skipped);
    state.index.next_seq = next_seq.max(state.mark.next_seq);
    for stub in stubs {
        state.raise(medium, 0)?;
        let Found {
            name,
            number,
            len,
            file,
            ..
        } = stub;
        drop(file);
        state.cuts.push(move_file(medium, &name, number, len)?);
    }
    Ok(state)
}

impl Recovered {
    /// Reports the segments between the last one that was read and this one.
    fn missing(&mut self, medium: &dyn Medium, number: u64, first_seq: Option<u64>) {
        let last = number.saturating_sub(1);
        if self.next_number > last {
            return;
        }
        let seqs = self.unread(first_seq);
        self.index.damages.push(Damage {
            segment: self.next_number,
            path: medium.path(&segment_name(self.next_number)),
            bytes: 0..0,
            seqs,
            kind: DamageKind::Missing,
            detail: format!("segments {} to {last} are missing", self.next_number),
        });
    }

    /// The ids from the next one up to, and without, the first of a later segment.
    fn unread(&mut self, first_seq: Option<u64>) -> Option<RangeInclusive<Seq>> {
        let start = self.index.next_seq;
        let next = first_seq.filter(|next| *next > start)?;
        self.index.next_seq = next;
        Some(Seq(start)..=Seq(next.saturating_sub(1)))
    }

    fn segment(
        &mut self,
        medium: &dyn Medium,
        options: &Options,
        file: Found,
        next: Option<u64>,
        last: bool,
    ) -> Result<()> {
        let path = medium.path(&file.name);
        let start = self.index.next_seq;
        let usable = file
            .header
            .filter(|h| h.number == file.number && h.first_seq >= start);
        let Some(header) = usable else {
            // What it held is not known; its length, unless it was cut, gives an upper bound.
            let held = file.len.checked_sub(PREAMBLE).map(|len| len / MIN_RECORD);
            let after = start.saturating_add(held.unwrap_or(UNREADABLE_GAP));
            let end = next.map_or(after, |next| next.min(after));
            let seqs = (start < end).then(|| Seq(start)..=Seq(end.saturating_sub(1)));
            if next.is_none() {
                self.skipped = UNREADABLE_GAP;
            }
            self.index.next_seq = next.unwrap_or(after).max(start);
            self.index.damages.push(Damage {
                segment: file.number,
                path,
                bytes: 0..file.len,
                seqs,
                kind: if file.len < PREAMBLE {
                    DamageKind::Truncated
                } else {
                    DamageKind::Corrupt
                },
                detail: match file.header {
                    Some(header) if header.number == file.number => {
                        "its ids were given before".into()
                    }
                    Some(header) => format!("its header is that of segment {}", header.number),
                    None => "its header is damaged in both copies".into(),
                },
            });
            return Ok(());
        };
        self.index.next_seq = header.first_seq;
        let source = Arc::new(Source::new(header, path, file.file, options.read));
        for range in file.blemishes {
            self.index.damages.push(source.blemish(range));
        }
        let (entries, len) = match sealed(&source, file.len)? {
            Some(entries) => {
                source.seal(file.len);
                (entries, file.len)
            }
            None if last => self.tail(medium, &source, file.len)?,
            None => self.inner(&source, file.len, next)?,
        };
        let highest = entries.last().map_or(0, |entry| entry.seq);
        self.index.next_seq = self.index.next_seq.max(highest.saturating_add(1));
        if last {
            // What a killed process left unsynced is about to be relied on.
            let synced = source.file.sync_data().and_then(|()| medium.sync_dir(""));
            synced.map_err(|error| refused("sync", &source.path, error))?;
        }
        self.index.segments.push(Segment {
            source,
            entries,
            len,
        });
        Ok(())
    }

    /// Makes durable what a cut is about to take the evidence for.
    fn raise(&self, medium: &dyn Medium, durable: u64) -> Result<()> {
        let mark = Mark {
            durable,
            next_seq: self.index.next_seq,
        };
        mark.raise(medium)
    }

    fn inner(&mut self, source: &Source, len: u64, next: Option<u64>) -> Result<(Vec<Entry>, u64)> {
        let found = scan(source, len, Place::Inner(next.unwrap_or(0)))?;
        self.index.damages.extend(found.damages);
        self.index.next_seq = self.index.next_seq.max(found.highest.saturating_add(1));
        Ok((found.entries, len))
    }

    fn tail(
        &mut self,
        medium: &dyn Medium,
        source: &Source,
        len: u64,
    ) -> Result<(Vec<Entry>, u64)> {
        let found = scan(source, len, Place::Tail(self.mark.durable))?;
        let clean = found.damages.is_empty();
        self.index.damages.extend(found.damages);
        self.index.next_seq = self.index.next_seq.max(found.highest.saturating_add(1));
        self.tail = clean && found.cut.is_none() && !found.sealed;
        let Some(cut) = found.cut else {
            return Ok((found.entries, len));
        };
        // Where a header is lost, its id is not known; no more ids fit than the shortest records.
        let last = found.entries.last();
        let kept = last.map_or(PREAMBLE, |e| e.offset.saturating_add(e.len));
        let after = last.map_or(source.header.first_seq, |e| e.seq.saturating_add(1));
        let held = len.saturating_sub(kept).div_ceil(MIN_RECORD);
        self.index.next_seq = self.index.next_seq.max(after.saturating_add(held));
        self.raise(medium, found.durable)?;
        self.cuts.push(cut_tail(medium, source, cut, len)?);
        let end = close(source, cut, &found.entries, clean)?;
        Ok((found.entries, end))
    }
}

/// Ends a segment whose records end at `end` with a seal, durably, and gives its final length.
///
/// A damaged one gets no end block: its footer would hide from the next open what is missing, so it
/// is scanned each time.
fn close(source: &Source, end: u64, list: &[Entry], clean: bool) -> Result<u64> {
    let bytes = seal(&source.header.identity, end, source.header.first_seq, list);
    let Some(mut bytes) = bytes else {
        return Ok(end);
    };
    if !clean {
        bytes.truncate(bytes.len().saturating_sub(narrow(END)));
    }
    let len = end.saturating_add(wide(bytes.len()));
    write_full(&*source.file, &bytes, end)
        .and_then(|()| source.file.sync_data())
        .map_err(|error| refused("seal", &source.path, error))?;
    if clean {
        source.seal(len);
    }
    Ok(len)
}

/// The entries of a sealed segment; `None` if it is not sealed, or not as it was.
fn sealed(source: &Source, len: u64) -> Result<Option<Vec<Entry>>> {
    let identity = &source.header.identity;
    let Some(end) = len.checked_sub(END).filter(|end| *end >= PREAMBLE) else {
        return Ok(None);
    };
    let Some((offset, len)) = end_block(identity, end, &source.bytes(end, END)?) else {
        return Ok(None);
    };
    let record = source.bytes(offset, len)?;
    let header = RecordHeader::decode(identity, offset, &record);
    let header = header.filter(|h| h.kind == Kind::Seal.code() && h.len() == len);
    Ok(header.and_then(|header| {
        let footer = header.body(&record).ok()?.payload;
        entries(record.get(footer)?, offset)
    }))
}
