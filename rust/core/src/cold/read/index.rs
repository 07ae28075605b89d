//! Where each record lies. What is not in here is not visible, so publishing is what commits.

use std::io;
use std::sync::Arc;

use crate::entry::Seq;
use crate::error::{Error, Result};

use crate::cold::erase::erasures::Erasures;
use crate::cold::format::footer::{Entry, Why};
use crate::cold::format::words::Words;
use crate::cold::mark::{Mark, MarkFile};
use crate::cold::read::segment::Segment;
use crate::cold::read::source::Source;
use crate::cold::removal::Removals;
use crate::cold::report::{Damage, DamageKind};

/// Every readable segment, in order: all ids of one are below all ids of the next.
#[derive(Debug, Default)]
pub(in crate::cold) struct Index {
    pub(in crate::cold) segments: Vec<Segment>,
    /// What opening and reads found damaged.
    pub(in crate::cold) damages: Vec<Damage>,
    /// What was erased.
    pub(in crate::cold) erasures: Arc<Erasures>,
    /// What was removed.
    pub(in crate::cold) removals: Arc<Removals>,
    /// How far the store is acknowledged, as this handle knows it.
    pub(in crate::cold) mark: Mark,
    /// Whether the last segment may be written on.
    pub(in crate::cold) tail: bool,
    /// Whether the last segment is one that the mark does not know: whoever began it may have come no
    /// further, so it is taken up by a repair.
    pub(in crate::cold) beyond: bool,
    /// Where the mark is kept; `None` until a writer made it.
    pub(in crate::cold) file: Option<MarkFile>,
    /// How often records that were read once were found to be gone: they were never durable, and the
    /// power was lost, or somebody put an older copy back.
    pub(in crate::cold) rewound: u64,
}

impl Index {
    /// The id that the next record gets.
    pub(in crate::cold) fn next_seq(&self) -> u64 {
        self.mark.next_seq
    }

    /// The highest id that a record is known to have or to have had; 0 for none.
    ///
    /// Whoever reads while another handle begins a segment cannot know whether one was lost there, and
    /// leaves out ids: the next one may be less than [`next_seq`](Self::next_seq) then.
    pub(in crate::cold) fn last(&self) -> u64 {
        self.segments.last().map_or(0, Segment::last)
    }

    /// Whether records after an id went that had made others dead: who knows only what came before that id
    /// does not learn it any more.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn dropped_after(&self, seq: u64) -> Result<bool> {
        for segment in &self.segments {
            if segment.last() > seq && segment.source.header.words != Words::default() {
                let mut gaps = segment.listing()?.contents.gaps.iter();
                if gaps.any(|gap| gap.why == Why::Dropped && *gap.seqs.end() > seq) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether no other handle has changed anything since.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn is_current(&self) -> io::Result<bool> {
        match &self.file {
            Some(file) => Ok(file.count()? == self.mark.count),
            None => Ok(true),
        }
    }

    /// Tells other handles how far this one has come; `false` if that failed. Then they learn it later:
    /// nothing depends on it but when, unless the caller says otherwise.
    pub(in crate::cold) fn tell(&mut self) -> bool {
        let mark = Mark {
            count: self.mark.count.saturating_add(1),
            ..self.mark
        };
        if let Some(file) = &self.file
            && file.write(&mark).is_ok()
        {
            self.mark = mark;
            return true;
        }
        false
    }

    /// The place of a record.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Erased`]; [`Error::Corrupt`] and [`Error::Truncated`] if it is
    /// known to be lost; what the operating system answers.
    pub(in crate::cold) fn find(&self, seq: u64) -> Result<(Arc<Source>, Entry)> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= seq);
        if let Some(segment) = after.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let contents = &segment.listing()?.contents;
            if let Some(entry) = contents.entries.find(seq) {
                return Ok((Arc::clone(&segment.source), entry));
            }
            match contents.gap(seq) {
                Some(Why::Erased) => return Err(Error::Erased { seq: Seq(seq) }),
                Some(Why::Damaged) => return Err(lost_before(&segment.source, seq)),
                Some(Why::Dropped) | None => {}
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
    pub(in crate::cold) fn range(
        &self,
        from: u64,
        max_bytes: u64,
    ) -> Result<Vec<(Arc<Source>, Entry)>> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= from);
        let mut found = Vec::new();
        let mut room = max_bytes;
        for segment in self.segments.iter().skip(after.saturating_sub(1)) {
            let entries = &segment.listing()?.contents.entries;
            for entry in entries.from(entries.position(from)) {
                match room.checked_sub(entry.len) {
                    Some(left) => room = left,
                    None if found.is_empty() => room = 0,
                    None => return Ok(found),
                }
                found.push((Arc::clone(&segment.source), entry));
            }
        }
        Ok(found)
    }

    /// Remembers damage that a read came upon, once.
    pub(in crate::cold) fn note(&mut self, damage: Damage) {
        if !self.all_damages().any(|known| *known == damage) {
            self.damages.push(damage);
        }
    }

    /// Takes over what an earlier index of the same handle knew, and no file says: damage outside of the
    /// segments, and whether there was more to read.
    pub(in crate::cold) fn succeed(&mut self, before: &Self) {
        self.keep_strays(before);
        let number = |segment: &Segment| segment.source.header.number;
        let behind = before.segments.last().is_some_and(|last| {
            let mut same = self.segments.iter().filter(|s| number(s) == number(last));
            same.next().is_none_or(|same| same.last() < last.last())
        });
        self.rewound = before.rewound.saturating_add(u64::from(behind));
    }

    fn keep_strays(&mut self, before: &Self) {
        for damage in before.damages.iter().filter(|d| d.segment == 0) {
            if !self.damages.iter().any(|known| known.path == damage.path) {
                self.damages.push(damage.clone());
            }
        }
    }

    /// All damage that is known.
    pub(in crate::cold) fn all_damages(&self) -> impl Iterator<Item = &Damage> {
        let inside = self.segments.iter().flat_map(Segment::damages);
        self.damages.iter().chain(inside)
    }

    /// The known damage that an id was lost by.
    pub(in crate::cold) fn loss(&self, seq: Seq) -> Option<&Damage> {
        self.all_damages().find(|damage| damage.covers(seq))
    }

    /// Makes records of the last segment visible.
    pub(in crate::cold) fn publish(&mut self, entries: &[Entry], len: u64) {
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
