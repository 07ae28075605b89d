//! Opening: what a directory holds becomes an index.
//!
//! ```text
//! last file without header and records   set aside: its creation was cut short
//! sealed segment                         header and end block are read, no record
//! left after a failed sync               scanned up to where the next header says it ends
//! any other but the last                 scanned; what is missing in it was acknowledged
//! last, unsealed                         see `tail`
//! ```
//!
//! A file that is missing, empty, cut or damaged costs its own records and is reported. Nothing that
//! opening does is lost by a crash in it: each step is durable before the next, and done again if it
//! was not. Without leave to repair, nothing is written, and no further is read than the mark says.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use super::aside::move_file;
use super::erasures::{Erasures, Tombstone};
use super::footer::{END, End, end_block};
use super::format::{MIN_RECORD, PREAMBLE, segment_name};
use super::header::Header;
use super::index::Index;
use super::mark::{Mark, MarkFile};
use super::medium::{Medium, refused};
use super::options::{Options, Read};
use super::report::{Cut, Damage, DamageKind};
use super::scan::{Place, scan};
use super::segment::{Segment, footer};
use super::source::Source;
use super::survey::{Found, survey};
use super::tail::{settle, tail};

/// Ids that are left out after a segment whose header is lost: more than it can have held.
const UNREADABLE_GAP: u64 = 1 << 20;

/// Whether opening may mend what it finds: only who holds the lock may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    Allowed,
    Forbidden,
}

/// A directory that was read back.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) index: Index,
    pub(super) cuts: Vec<Cut>,
    pub(super) uuid: [u8; 16],
}

/// What reading a directory back has come to so far.
pub(super) struct Loading<'a> {
    pub(super) medium: &'a dyn Medium,
    pub(super) options: &'a Options,
    pub(super) repair: Repair,
    /// The mark as it was found.
    pub(super) found: Mark,
    pub(super) file: Option<MarkFile>,
    pub(super) index: Index,
    pub(super) cuts: Vec<Cut>,
    uuid: [u8; 16],
    next_number: u64,
    /// The id after the last one that was given.
    pub(super) next_seq: u64,
    /// How many ids are left out after the last one.
    skipped: u64,
}

/// Reads a directory back, and cuts its torn tail if that is allowed. `own` is the uuid that the store
/// has, or gets if it is new.
///
/// # Errors
///
/// As [`survey`]; [`Error::Interrupted`]; what the operating system answers.
pub(super) fn load(
    medium: &dyn Medium,
    options: &Options,
    repair: Repair,
    own: [u8; 16],
) -> Result<Loaded> {
    let mut files = survey(medium, repair, options.access())?;
    let header = files.iter().find_map(|f| f.header);
    let uuid = header.map_or(own, |header| header.identity.uuid);
    let mut state = Loading::new(medium, options, repair, uuid)?;
    let mut stubs = Vec::new();
    let known = state.found.segment;
    while let Some(stub) = files.pop_if(|last| last.is_stub() && last.number > known) {
        // Nothing tells whether it never held a record, or was emptied by somebody else.
        state.skipped = UNREADABLE_GAP;
        stubs.push(stub);
    }
    let headers: Vec<Option<Header>> = files
        .iter()
        .map(|f| f.header.filter(|h| h.number == f.number))
        .collect();
    let count = files.len();
    for (at, file) in files.into_iter().enumerate() {
        interrupt::check()?;
        let after = at.saturating_add(1);
        let next = headers.iter().skip(after).find_map(|header| *header);
        let here = headers.iter().skip(at).find_map(|header| *header);
        state.missing(file.number, here.map(|header| header.first_seq));
        state.next_number = file.number.saturating_add(1);
        let left_at = headers.get(after).copied().flatten().map(|h| h.left_at);
        let next = next.map(|header| header.first_seq);
        state.segment(file, next, left_at, after == count)?;
    }
    // The mark may know of more than is there.
    state.missing(known.saturating_add(1), Some(state.found.durable + 1));
    state.finish(stubs)
}

impl<'a> Loading<'a> {
    fn new(
        medium: &'a dyn Medium,
        options: &'a Options,
        repair: Repair,
        uuid: [u8; 16],
    ) -> Result<Self> {
        let trouble = |error| refused("read", &medium.path(super::format::MARK), error);
        let access = options.access();
        let mapped = options.read == Read::Map;
        let file = MarkFile::open(medium, uuid, access, mapped).map_err(trouble)?;
        let found = match &file {
            Some(file) => file.read().map_err(trouble)?,
            None => None,
        };
        Ok(Self {
            medium,
            options,
            repair,
            found: found.unwrap_or_default(),
            file: file.filter(|_| found.is_some()),
            index: Index {
                erasures: Arc::new(Erasures::new(uuid)),
                ..Index::default()
            },
            cuts: Vec::new(),
            uuid,
            next_number: 1,
            next_seq: 1,
            skipped: 0,
        })
    }

    /// Reports the segments between the last one that was read and this one.
    fn missing(&mut self, number: u64, first_seq: Option<u64>) {
        let last = number.saturating_sub(1);
        if self.next_number > last {
            return;
        }
        let seqs = self.unread(first_seq);
        self.index.damages.push(Damage {
            segment: self.next_number,
            path: self.medium.path(&segment_name(self.next_number)),
            bytes: 0..0,
            seqs,
            kind: DamageKind::Missing,
            detail: format!("segments {} to {last} are missing", self.next_number),
        });
        self.next_number = number;
        self.index.tail = false;
    }

    /// The ids from the next one up to, and without, the first of a later segment.
    fn unread(&mut self, first_seq: Option<u64>) -> Option<RangeInclusive<Seq>> {
        let start = self.next_seq;
        let next = first_seq.filter(|next| *next > start)?;
        self.next_seq = next;
        Some(Seq(start)..=Seq(next.saturating_sub(1)))
    }

    fn segment(
        &mut self,
        file: Found,
        next: Option<u64>,
        left_at: Option<u64>,
        last: bool,
    ) -> Result<()> {
        let path = self.medium.path(&file.name);
        let usable = file
            .header
            .filter(|h| h.number == file.number && h.first_seq >= self.next_seq);
        let Some(header) = usable else {
            self.unreadable(&file, next);
            return Ok(());
        };
        self.next_seq = header.first_seq;
        let source = Arc::new(Source::new(header, path, file.file, self.options.read));
        for range in file.blemishes {
            self.index.damages.push(source.blemish(range));
        }
        let may_be_torn = last && self.found.segment <= file.number;
        let told = self.found.segment == file.number && self.found.end >= file.len;
        // The end block may have arrived without the seal before it.
        let whole = |end: &End| !may_be_torn || told || footer(&source, *end).is_some();
        let segment = match sealed(&source, file.len)?.filter(whole) {
            Some(end) => {
                if may_be_torn && !told && self.repair == Repair::Allowed {
                    settle(self, &source)?;
                }
                Segment::sealed(source, file.len, end)
            }
            None if may_be_torn => tail(self, source, file.len)?,
            None => self.inner(source, file.len, next, left_at)?,
        };
        self.next_seq = self.next_seq.max(segment.last().saturating_add(1));
        self.index.segments.push(segment);
        Ok(())
    }

    fn unreadable(&mut self, file: &Found, next: Option<u64>) {
        // What it held is not known; its length, unless it was cut, gives an upper bound.
        let start = self.next_seq;
        let held = file.len.checked_sub(PREAMBLE).map(|len| len / MIN_RECORD);
        let after = start.saturating_add(held.unwrap_or(UNREADABLE_GAP));
        let end = next.map_or(after, |next| next.min(after));
        let seqs = (start < end).then(|| Seq(start)..=Seq(end.saturating_sub(1)));
        if next.is_none() {
            self.skipped = UNREADABLE_GAP;
        }
        self.next_seq = next.unwrap_or(after).max(start);
        self.index.tail = false;
        self.index.damages.push(Damage {
            segment: file.number,
            path: self.medium.path(&file.name),
            bytes: 0..file.len,
            seqs,
            kind: if file.len < PREAMBLE {
                DamageKind::Truncated
            } else {
                DamageKind::Corrupt
            },
            detail: match file.header {
                Some(header) if header.number == file.number => "its ids were given before".into(),
                Some(header) => format!("its header is that of segment {}", header.number),
                None => "its header is damaged in both copies".into(),
            },
        });
    }

    fn inner(
        &mut self,
        source: Arc<Source>,
        len: u64,
        next: Option<u64>,
        left_at: Option<u64>,
    ) -> Result<Segment> {
        let next = next.unwrap_or_else(|| self.found.durable.saturating_add(1));
        let left = left_at.filter(|end| *end > 0);
        let present = left.map_or(len, |end| end.min(len));
        let place = left
            .filter(|end| *end <= len)
            .map_or(Place::Inner(next), |_| Place::Live);
        let found = scan(&source, present, place)?;
        self.next_seq = self.next_seq.max(found.highest.saturating_add(1));
        Ok(Segment::listed(source, present, found.into()))
    }

    fn finish(mut self, stubs: Vec<Found>) -> Result<Loaded> {
        let next_seq = self.next_seq.saturating_add(self.skipped);
        self.next_seq = next_seq.max(self.found.next_seq);
        if self.repair == Repair::Allowed {
            for stub in stubs {
                self.raise()?;
                let Found {
                    name,
                    number,
                    len,
                    file,
                    ..
                } = stub;
                drop(file);
                self.cuts.push(move_file(self.medium, &name, number, len)?);
            }
        }
        self.tombstones()?;
        let last = self.index.segments.last();
        self.index.mark = Mark {
            segment: self.next_number.saturating_sub(1),
            end: last.map_or(0, |segment| segment.len),
            next_seq: self.next_seq,
            durable: match self.repair {
                Repair::Allowed => last.map_or(0, Segment::last).max(self.found.durable),
                Repair::Forbidden => self.found.durable,
            },
            ..self.found
        };
        if !self.cuts.is_empty() {
            self.index.mark.generation = self.found.generation.saturating_add(1);
        }
        self.index.file = self.file;
        Ok(Loaded {
            index: self.index,
            cuts: self.cuts,
            uuid: self.uuid,
        })
    }

    /// Makes durable, before bytes are taken away, what they are the evidence for.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn raise(&mut self) -> Result<()> {
        let mark = Mark {
            count: self.found.count.saturating_add(1),
            next_seq: self.next_seq.max(self.found.next_seq),
            ..self.found
        };
        let trouble = |error| refused("write", &self.medium.path(super::format::MARK), error);
        if let Some(file) = &self.file {
            file.write(&mark).and_then(|()| file.sync())
        } else {
            let mapped = self.options.read == Read::Map;
            MarkFile::create(self.medium, self.uuid, &mark, mapped)
                .map(|file| self.file = Some(file))
        }
        .map_err(trouble)?;
        self.found = mark;
        Ok(())
    }

    fn tombstones(&mut self) -> Result<()> {
        let code = Kind::Tombstone.code();
        let mut broken = Vec::new();
        for segment in self.index.segments.iter().filter(|s| s.has_tombstones()) {
            let entries = &segment.listing()?.contents.entries;
            for entry in entries.iter().filter(|entry| entry.kind == code) {
                match segment.source.payload(*entry) {
                    Ok(payload) => {
                        if let Some(tombstone) = Tombstone::decode(&payload) {
                            Arc::make_mut(&mut self.index.erasures).add(tombstone);
                        }
                    }
                    Err(Error::Corrupt { detail, .. }) => {
                        let bytes = entry.offset..entry.offset.saturating_add(entry.len);
                        let seqs = entry.seq..=entry.seq;
                        let kind = DamageKind::Corrupt;
                        broken.push(segment.source.damage(bytes, seqs, kind, &detail));
                    }
                    Err(other) => return Err(other),
                }
            }
        }
        for damage in broken {
            self.index.note(damage);
        }
        Ok(())
    }
}

/// The end block of a sealed segment; `None` if it is not sealed, or not as it was.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn sealed(source: &Source, len: u64) -> Result<Option<End>> {
    let Some(at) = len.checked_sub(END).filter(|at| *at >= PREAMBLE) else {
        return Ok(None);
    };
    let bytes = source.bytes(at, END)?;
    let first = source.header.first_seq;
    Ok(end_block(&source.header.identity, at, &bytes).filter(|end| end.first == first))
}
