//! Reading a segment from its bytes alone: what is whole, what is damaged, where a torn tail begins.
//!
//! ```text
//! at each offset: a header whose checksum holds?   its length leads to the next record,
//!                                                  whether its body is intact or not
//!                 otherwise                        a hole, up to the next such header
//! ```
//!
//! A bad record or a hole that could have held id n is *damage* if any header in the segment says
//! that n was synced, for then it was whole once. Otherwise it is a *torn tail*: a write that nobody
//! was told had succeeded, and with it goes everything behind it and the rest of its batch. Only the
//! last segment can have a torn tail, because the next one is begun after the last sync of this one.

use std::ops::RangeInclusive;

use crate::entry::Kind;
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::format::PREAMBLE;
use crate::cold::format::bytes::wide;
use crate::cold::format::footer::{END, Entry, end_block};
use crate::cold::format::frame::{HEADER, RecordHeader};
use crate::cold::medium::refused;
use crate::cold::read::source::Source;
use crate::cold::read::window::Window;
use crate::cold::report::{Damage, DamageKind};

/// What may be expected of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) enum Place {
    /// The last segment at open: its end may be torn, but no id up to this one.
    Tail(u64),
    /// The last segment while it is written: everything up to its end is acknowledged.
    Live,
    /// Any other: everything is acknowledged, a seal is expected, and ids up to this one.
    Inner(u64),
}

/// What a segment holds.
#[derive(Debug, Default)]
pub(in crate::cold) struct Scan {
    /// The intact records, without those behind a cut.
    pub(in crate::cold) entries: Vec<Entry>,
    /// What is damaged.
    pub(in crate::cold) damages: Vec<Damage>,
    /// Where the torn tail begins.
    pub(in crate::cold) cut: Option<u64>,
    /// Whether the segment ends with a seal, with or without an end block.
    pub(in crate::cold) sealed: bool,
    /// The highest id that any valid header speaks of, behind a cut as well.
    pub(in crate::cold) highest: u64,
    /// The highest id that is known to have been synced.
    pub(in crate::cold) durable: u64,
}

/// A stretch of the segment.
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) end: u64,
    /// The ids that lie in it, or may have done so.
    pub(super) seqs: RangeInclusive<u64>,
    pub(super) header: Option<RecordHeader>,
    pub(super) fault: Option<(DamageKind, &'static str)>,
}

/// Reads the first `end` bytes of a segment.
///
/// # Errors
///
/// Only what the operating system answers: no content is an error.
pub(in crate::cold) fn scan(source: &Source, end: u64, place: Place) -> Result<Scan> {
    let marked = match place {
        Place::Tail(mark) => mark,
        Place::Live | Place::Inner(_) => 0,
    };
    let mut walk = Walk {
        source,
        window: Window::new(&*source.file, end),
        end,
        last: source.header.first_seq.saturating_sub(1),
        durable: marked,
        highest: 0,
        sealed: false,
        blocked: false,
        interrupted: false,
        pieces: Vec::new(),
    };
    walk.run()
        .map_err(|error| refused("read", &source.path, error))?;
    if walk.interrupted {
        return Err(Error::Interrupted);
    }
    Ok(walk.judge(place))
}

pub(super) struct Walk<'a> {
    pub(super) source: &'a Source,
    pub(super) window: Window<'a>,
    pub(super) end: u64,
    /// The highest id so far.
    pub(super) last: u64,
    /// The highest id that any header says was synced.
    pub(super) durable: u64,
    /// The highest id that any header speaks of.
    pub(super) highest: u64,
    pub(super) sealed: bool,
    /// Whether an end block follows the seal.
    pub(super) blocked: bool,
    pub(super) interrupted: bool,
    pub(super) pieces: Vec<Piece>,
}

impl Walk<'_> {
    fn run(&mut self) -> std::io::Result<()> {
        let mut at = PREAMBLE;
        while at < self.end {
            if interrupt::check().is_err() {
                self.interrupted = true;
                return Ok(());
            }
            at = match self.header(at)? {
                Some(header) if header.kind == Kind::Seal.code() => self.seal(at, header)?,
                Some(header) => self.record(at, header)?,
                None => self.hole(at)?,
            };
        }
        Ok(())
    }

    /// A header that fits here. Ids grow, so one that does not is a stray.
    fn header(&mut self, at: u64) -> std::io::Result<Option<RecordHeader>> {
        let identity = &self.source.header.identity;
        let bytes = self.window.get(at, wide(HEADER))?;
        let header = bytes.and_then(|bytes| RecordHeader::decode(identity, at, bytes));
        let seal = Kind::Seal.code();
        Ok(header.filter(|header| {
            header.seq > self.last || (header.kind == seal && header.seq == self.last)
        }))
    }

    fn record(&mut self, offset: u64, header: RecordHeader) -> std::io::Result<u64> {
        let fault = match self.window.get(offset, header.len())? {
            Some(bytes) => header.body(bytes).err().map(|d| (DamageKind::Corrupt, d)),
            None => Some((DamageKind::Truncated, "the file ends inside of a record")),
        };
        let end = self.end.min(offset.saturating_add(header.len()));
        self.last = header.seq;
        self.highest = self.highest.max(header.batch_last());
        self.durable = self.durable.max(header.durable);
        self.pieces.push(Piece {
            offset,
            end,
            seqs: header.seq..=header.seq,
            header: Some(header),
            fault,
        });
        Ok(end)
    }

    /// A seal ends the segment. One that is damaged itself is the only thing that is.
    fn seal(&mut self, offset: u64, header: RecordHeader) -> std::io::Result<u64> {
        let identity = &self.source.header.identity;
        self.durable = self.durable.max(header.durable);
        self.lost_before(header.seq.saturating_add(1));
        let intact = match self.window.get(offset, header.len())? {
            Some(bytes) => header.body(bytes).is_ok(),
            None => false,
        };
        let end = offset.saturating_add(header.len());
        let block = self.window.get(end, END)?;
        let back = block.and_then(|bytes| end_block(identity, end, bytes));
        // Recovery seals a damaged segment without an end block.
        let whole =
            back.is_some_and(|back| back.seal == offset) && end.saturating_add(END) == self.end;
        self.sealed = intact && (whole || end == self.end);
        self.blocked = whole;
        if !self.sealed {
            self.push_hole(offset, self.end, "the seal differs");
        }
        Ok(self.end)
    }

    /// Bytes that are no record, up to the next header that is valid here.
    fn hole(&mut self, offset: u64) -> std::io::Result<u64> {
        let mut at = offset.saturating_add(8);
        while at < self.end {
            if let Some(header) = self.header(at)? {
                self.push_hole(offset, at, "no record begins here");
                if header.kind != Kind::Seal.code() {
                    self.lost_before(header.seq);
                }
                return Ok(at);
            }
            at = at.saturating_add(8);
        }
        self.push_hole(offset, self.end, "no record begins here");
        Ok(self.end)
    }

    fn push_hole(&mut self, offset: u64, end: u64, detail: &'static str) {
        let first = self.last.saturating_add(1);
        self.pieces.push(Piece {
            offset,
            end,
            // Where the ids end is known once something valid follows.
            seqs: first..=self.last,
            header: None,
            fault: Some((DamageKind::Corrupt, detail)),
        });
    }

    /// Something valid follows: a hole before it held the ids up to the one before that.
    pub(super) fn lost_before(&mut self, next: u64) {
        if let Some(hole) = self.pieces.last_mut().filter(|p| p.header.is_none()) {
            hole.seqs = *hole.seqs.start()..=next.saturating_sub(1);
        }
    }
}
