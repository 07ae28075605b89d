//! Where each record lies. What is not in here is not visible, so publishing is what commits.

use std::io;
use std::sync::Arc;

use crate::entry::Seq;
use crate::error::{Error, Result};

use super::erasures::Erasures;
use super::footer::{Entry, Why};
use super::mark::{Mark, MarkFile};
use super::report::{Damage, DamageKind};
use super::segment::Segment;
use super::source::Source;

/// Every readable segment, in order: all ids of one are below all ids of the next.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) segments: Vec<Segment>,
    /// What opening and reads found damaged.
    pub(super) damages: Vec<Damage>,
    /// What was erased.
    pub(super) erasures: Arc<Erasures>,
    /// How far the store is acknowledged, as this handle knows it.
    pub(super) mark: Mark,
    /// Whether the last segment may be written on.
    pub(super) tail: bool,
    /// Whether the last segment is one that the mark does not know: whoever began it may have come no
    /// further, so it is taken up by a repair.
    pub(super) beyond: bool,
    /// Where the mark is kept; `None` until a writer made it.
    pub(super) file: Option<MarkFile>,
}

impl Index {
    /// The id that the next record gets.
    pub(super) fn next_seq(&self) -> u64 {
        self.mark.next_seq
    }

    /// Whether no other handle has changed anything since.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn is_current(&self) -> io::Result<bool> {
        match &self.file {
            Some(file) => Ok(file.count()? == self.mark.count),
            None => Ok(true),
        }
    }

    /// Tells other handles how far this one has come. If that fails, they learn it later: nothing
    /// depends on it but when.
    pub(super) fn tell(&mut self) {
        let mark = Mark {
            count: self.mark.count.saturating_add(1),
            ..self.mark
        };
        if let Some(file) = &self.file
            && file.write(&mark).is_ok()
        {
            self.mark = mark;
        }
    }

    /// The place of a record.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Erased`]; [`Error::Corrupt`] and [`Error::Truncated`] if it is
    /// known to be lost; what the operating system answers.
    pub(super) fn find(&self, seq: u64) -> Result<(Arc<Source>, Entry)> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= seq);
        if let Some(segment) = after.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let contents = &segment.listing()?.contents;
            if let Ok(at) = contents.entries.binary_search_by_key(&seq, |e| e.seq)
                && let Some(entry) = contents.entries.get(at)
            {
                return Ok((Arc::clone(&segment.source), *entry));
            }
            match contents.gap(seq) {
                Some(Why::Erased) => return Err(Error::Erased { seq: Seq(seq) }),
                Some(Why::Damaged) => return Err(lost_before(&segment.source, seq)),
                None => {}
            }
        }
        Err(match self.loss(Seq(seq)) {
            Some(damage) => damage.to_error(),
            None => Error::NotFound { seq: Seq(seq) },
        })
    }

    /// The places of the records from `from` on: at least one if there is any, and no more than fit
    /// in `max_bytes` beyond it.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn range(&self, from: u64, max_bytes: u64) -> Result<Vec<(Arc<Source>, Entry)>> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= from);
        let mut found = Vec::new();
        let mut room = max_bytes;
        for segment in self.segments.iter().skip(after.saturating_sub(1)) {
            let entries = &segment.listing()?.contents.entries;
            let start = entries.partition_point(|e| e.seq < from);
            for entry in entries.iter().skip(start) {
                match room.checked_sub(entry.len) {
                    Some(left) => room = left,
                    None if found.is_empty() => room = 0,
                    None => return Ok(found),
                }
                found.push((Arc::clone(&segment.source), *entry));
            }
        }
        Ok(found)
    }

    /// Remembers damage that a read came upon, once.
    pub(super) fn note(&mut self, damage: Damage) {
        if !self.all_damages().any(|known| *known == damage) {
            self.damages.push(damage);
        }
    }

    /// All damage that is known.
    pub(super) fn all_damages(&self) -> impl Iterator<Item = &Damage> {
        let inside = self.segments.iter().flat_map(Segment::damages);
        self.damages.iter().chain(inside)
    }

    /// The known damage that an id was lost by.
    pub(super) fn loss(&self, seq: Seq) -> Option<&Damage> {
        self.all_damages().find(|damage| damage.covers(seq))
    }

    /// Makes records of the last segment visible.
    pub(super) fn publish(&mut self, entries: &[Entry], len: u64) {
        if let (Some(segment), Some(last)) = (self.segments.last_mut(), entries.last()) {
            segment.extend(entries, len);
            self.mark.next_seq = last.seq.saturating_add(1);
            self.mark.end = len;
        }
    }
}

/// The error of an id that was damaged already when its segment was rewritten.
fn lost_before(source: &Source, seq: u64) -> Error {
    let detail = "it was damaged when the segment was rewritten";
    source
        .damage(0..0, seq..=seq, DamageKind::Corrupt, detail)
        .to_error()
}
