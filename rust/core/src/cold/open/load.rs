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

use crate::entry::Seq;
use crate::error::Result;
use crate::interrupt;

use crate::cold::erase::erasures::Erasures;
use crate::cold::format::footer::{END, End, end_block};
use crate::cold::format::header::Header;
use crate::cold::format::{MARK, MIN_RECORD, PREAMBLE, segment_name};
use crate::cold::mark::{Mark, MarkFile};
use crate::cold::medium::{Medium, refused};
use crate::cold::open::scan::{Place, scan};
use crate::cold::open::survey::{Found, survey};
use crate::cold::open::tail::{settle, tail};
use crate::cold::options::{Options, Read};
use crate::cold::read::index::Index;
use crate::cold::read::segment::{Segment, footer};
use crate::cold::read::source::Source;
use crate::cold::removal::Removals;
use crate::cold::report::{Cut, Damage, DamageKind};

/// Ids that are left out after a segment whose header is lost: more than it can have held.
const UNREADABLE_GAP: u64 = 1 << 20;

/// Whether opening may mend what it finds: only who holds the lock may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) enum Repair {
    Allowed,
    Forbidden,
}

/// A directory that was read back.
#[derive(Debug)]
pub(in crate::cold) struct Loaded {
    pub(in crate::cold) index: Index,
    pub(in crate::cold) cuts: Vec<Cut>,
    pub(in crate::cold) uuid: [u8; 16],
}

/// What reading a directory back has come to so far.
pub(in crate::cold) struct Loading<'a> {
    pub(in crate::cold) medium: &'a dyn Medium,
    pub(in crate::cold) options: &'a Options,
    pub(in crate::cold) repair: Repair,
    /// The mark as it was found.
    pub(in crate::cold) found: Mark,
    pub(in crate::cold) file: Option<MarkFile>,
    pub(in crate::cold) index: Index,
    pub(in crate::cold) cuts: Vec<Cut>,
    pub(super) uuid: [u8; 16],
    pub(super) next_number: u64,
    /// The id after the last one that was given.
    pub(in crate::cold) next_seq: u64,
    /// How many ids are left out after the last one.
    pub(super) skipped: u64,
}

/// Reads a directory back, and cuts its torn tail if that is allowed. `own` is the uuid that the store
/// has, or gets if it is new.
///
/// # Errors
///
/// As [`survey`]; [`Error::Interrupted`]; what the operating system answers.
pub(in crate::cold) fn load(
    medium: &dyn Medium,
    options: &Options,
    repair: Repair,
    own: [u8; 16],
) -> Result<Loaded> {
    let mut files = survey(medium, repair, options.access())?;
    let mut state = Loading::new(medium, options, repair, named(medium, &files, own)?)?;
    let mut stubs = Vec::new();
    let known = state.found.segment;
    let marked = files.iter().rfind(|file| file.number == known);
    if repair == Repair::Forbidden && marked.is_none_or(|file| file.len < state.found.end) {
        // Written after the directory was listed and before the mark was read.
        files = survey(medium, repair, options.access())?;
        let uuid = named(medium, &files, own)?;
        if uuid != state.uuid {
            // Somebody has just made the store, and named it.
            state = Loading::new(medium, options, repair, uuid)?;
        }
    }
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

/// The uuid of a store with these segments; `own` if nothing names it yet.
///
/// # Errors
///
/// What the operating system answers.
fn named(medium: &dyn Medium, files: &[Found], own: [u8; 16]) -> Result<[u8; 16]> {
    if let Some(header) = files.iter().find_map(|file| file.header) {
        return Ok(header.identity.uuid);
    }
    // Emptied by somebody else, or not begun yet.
    let owner = MarkFile::owner(medium);
    let owner = owner.map_err(|error| refused("read", &medium.path(MARK), error))?;
    Ok(owner.unwrap_or(own))
}

impl<'a> Loading<'a> {
    fn new(
        medium: &'a dyn Medium,
        options: &'a Options,
        repair: Repair,
        uuid: [u8; 16],
    ) -> Result<Self> {
        let trouble = |error| refused("read", &medium.path(crate::cold::format::MARK), error);
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
                removals: Arc::new(Removals::new(uuid)),
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
        let whole = file.header.filter(|_| file.len >= PREAMBLE);
        let usable = whole.filter(|h| h.number == file.number && h.first_seq >= self.next_seq);
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
        // The end block may have arrived without the seal before it. The mark does not tell: it may be from before
        // a compaction, when the segment was longer.
        let whole = |end: &End| !may_be_torn || footer(&source, *end).is_some();
        let segment = match sealed(&source, file.len)?.filter(whole) {
            Some(end) => {
                if may_be_torn && self.repair == Repair::Allowed {
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
                Some(_) if file.len < PREAMBLE => "it ends inside of its preamble".into(),
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
}

/// The end block of a sealed segment; `None` if it is not sealed, or not as it was.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn sealed(source: &Source, len: u64) -> Result<Option<End>> {
    let Some(at) = len.checked_sub(END).filter(|at| *at >= PREAMBLE) else {
        return Ok(None);
    };
    let bytes = source.bytes(at, END)?;
    let first = source.header.first_seq;
    Ok(end_block(&source.header.identity, at, &bytes).filter(|end| end.first == first))
}
