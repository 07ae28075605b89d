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

use super::bytes::wide;
use super::defect::{Defect, on};
use super::footer::{END, Entry, end_block};
use super::format::PREAMBLE;
use super::frame::{HEADER, RecordHeader};
use super::medium::refused;
use super::report::{Damage, DamageKind};
use super::source::Source;
use super::window::Window;

/// What may be expected of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The last segment at open: its end may be torn, but no id up to this one.
    Tail(u64),
    /// The last segment while it is written: everything up to its end is acknowledged.
    Live,
    /// Any other: everything is acknowledged, a seal is expected, and ids up to this one.
    Inner(u64),
}

/// What a segment holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The intact records, without those behind a cut.
    pub(super) entries: Vec<Entry>,
    /// What is damaged.
    pub(super) damages: Vec<Damage>,
    /// Where the torn tail begins.
    pub(super) cut: Option<u64>,
    /// Whether the segment ends with a seal, with or without an end block.
    pub(super) sealed: bool,
    /// The highest id that any valid header speaks of, behind a cut as well.
    pub(super) highest: u64,
    /// The highest id that is known to have been synced.
    pub(super) durable: u64,
}

/// A stretch of the segment.
struct Piece {
    offset: u64,
    end: u64,
    /// The ids that lie in it, or may have done so.
    seqs: RangeInclusive<u64>,
    header: Option<RecordHeader>,
    fault: Option<(DamageKind, &'static str)>,
}

/// Reads the first `end` bytes of a segment.
///
/// # Errors
///
/// Only what the operating system answers: no content is an error.
pub(super) fn scan(source: &Source, end: u64, place: Place) -> Result<Scan> {
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

struct Walk<'a> {
    source: &'a Source,
    window: Window<'a>,
    end: u64,
    /// The highest id so far.
    last: u64,
    /// The highest id that any header says was synced.
    durable: u64,
    /// The highest id that any header speaks of.
    highest: u64,
    sealed: bool,
    /// Whether an end block follows the seal.
    blocked: bool,
    interrupted: bool,
    pieces: Vec<Piece>,
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
    fn lost_before(&mut self, next: u64) {
        if let Some(hole) = self.pieces.last_mut().filter(|p| p.header.is_none()) {
            hole.seqs = *hole.seqs.start()..=next.saturating_sub(1);
        }
    }

    fn judge(mut self, place: Place) -> Scan {
        let cut = match place {
            Place::Tail(_) => {
                self.lost_before(self.durable.saturating_add(1));
                self.torn()
            }
            Place::Live => None,
            Place::Inner(next) => {
                self.close(next);
                None
            }
        };
        let mut scan = Scan {
            cut,
            sealed: self.sealed && cut.is_none(),
            highest: self.highest,
            durable: self.durable,
            ..Scan::default()
        };
        for piece in &self.pieces {
            if cut.is_some_and(|cut| piece.offset >= cut) {
                break;
            }
            let bytes = piece.offset..piece.end;
            match piece.fault {
                Some((kind, detail)) => {
                    scan.damages
                        .push(self.source.damage(bytes, piece.seqs.clone(), kind, detail));
                }
                None => scan.entries.push(Entry {
                    seq: *piece.seqs.start(),
                    offset: piece.offset,
                    len: piece.end.saturating_sub(piece.offset),
                    kind: piece.header.map_or(0, |header| header.kind),
                }),
            }
        }
        if let Place::Tail(_) = place {
            scan.damages.extend(self.shortfall(&scan, cut));
        }
        scan
    }

    /// The ids that were synced, and of which nothing is left.
    fn shortfall(&self, scan: &Scan, cut: Option<u64>) -> Option<Damage> {
        let kept = scan.entries.last().map_or(0, |entry| entry.seq);
        let named = scan.damages.iter().filter_map(|d| d.seqs.as_ref());
        let reached = named.map(|seqs| seqs.end().0).fold(kept, u64::max);
        let first = reached.max(self.source.header.first_seq.saturating_sub(1)) + 1;
        let end = cut.unwrap_or(self.end);
        let detail = "the file ends before what was acknowledged";
        (first <= self.durable && !self.sealed).then(|| {
            let kind = DamageKind::Truncated;
            self.source
                .damage(end..end, first..=self.durable, kind, detail)
        })
    }

    /// Where the torn tail begins, if there is one.
    fn torn(&self) -> Option<u64> {
        let bad = |piece: &&Piece| piece.fault.is_some() && *piece.seqs.start() > self.durable;
        let cut = self.pieces.iter().find(bad).map(|piece| piece.offset);
        let kept = self
            .pieces
            .iter()
            .take_while(|piece| cut.is_none_or(|cut| piece.offset < cut));
        let last = kept.clone().filter_map(|piece| piece.header).last();
        let torn = |h: &RecordHeader| h.seq < h.batch_last() && h.seq > self.durable;
        let Some(last) = last.filter(|h| torn(h) && !on(Defect::HalfBatch)) else {
            return cut;
        };
        kept.filter(|piece| {
            piece
                .header
                .is_some_and(|h| h.batch_first == last.batch_first)
        })
        .map(|piece| piece.offset)
        .next()
    }

    /// What is missing at the end of a segment that others follow.
    fn close(&mut self, next: u64) {
        let blemished = self.pieces.iter().any(|piece| piece.fault.is_some());
        if self.sealed {
            if !self.blocked && !blemished {
                self.push_end(
                    RangeInclusive::new(1, 0),
                    "the segment ends without its end block",
                );
            }
            return;
        }
        self.lost_before(next);
        let lost = self.last.saturating_add(1)..=next.saturating_sub(1);
        let open_end = self.pieces.last().is_none_or(|p| p.header.is_some());
        if open_end && !(lost.is_empty() && blemished) {
            self.push_end(lost, "the segment ends without its seal");
        }
    }

    fn push_end(&mut self, seqs: RangeInclusive<u64>, detail: &'static str) {
        self.pieces.push(Piece {
            offset: self.end,
            end: self.end,
            seqs,
            header: None,
            fault: Some((DamageKind::Truncated, detail)),
        });
    }
}
