//! The judgement of a walk through a segment: what is a torn tail, what is damage, what is whole.

use std::ops::RangeInclusive;

use crate::cold::defect::{Defect, on};
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::RecordHeader;
use crate::cold::open::scan::{Piece, Place, Scan, Walk};
use crate::cold::report::{Damage, DamageKind};

impl Walk<'_> {
    /// What the walk came upon, as the segment's place has it.
    pub(super) fn judge(mut self, place: Place) -> Scan {
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
