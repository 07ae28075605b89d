//! Where each record lies. What is not in here is not visible, so publishing is what commits.

use std::sync::Arc;

use crate::entry::Seq;

use super::footer::Entry;
use super::report::Damage;
use super::source::Source;

/// A segment with its records in the order of their ids.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) source: Arc<Source>,
    pub(super) entries: Vec<Entry>,
    /// How far the file is acknowledged.
    pub(super) len: u64,
}

/// Every readable segment, in order: all ids of one are below all ids of the next.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) segments: Vec<Segment>,
    /// What is known to be damaged.
    pub(super) damages: Vec<Damage>,
    /// The id that the next record gets.
    pub(super) next_seq: u64,
}

impl Index {
    /// The place of a record.
    pub(super) fn find(&self, seq: u64) -> Option<(Arc<Source>, Entry)> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= seq);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let at = segment.entries.binary_search_by_key(&seq, |e| e.seq).ok()?;
        let entry = *segment.entries.get(at)?;
        Some((Arc::clone(&segment.source), entry))
    }

    /// The places of the records from `from` on: at least one if there is any, and no more than fit
    /// in `max_bytes` beyond it.
    pub(super) fn range(&self, from: u64, max_bytes: u64) -> Vec<(Arc<Source>, Entry)> {
        let after = self
            .segments
            .partition_point(|s| s.source.header.first_seq <= from);
        let mut found = Vec::new();
        let mut room = max_bytes;
        for segment in self.segments.iter().skip(after.saturating_sub(1)) {
            let start = segment.entries.partition_point(|e| e.seq < from);
            for entry in segment.entries.iter().skip(start) {
                match room.checked_sub(entry.len) {
                    Some(left) => room = left,
                    None if found.is_empty() => room = 0,
                    None => return found,
                }
                found.push((Arc::clone(&segment.source), *entry));
            }
        }
        found
    }

    /// Remembers damage that a read came upon, once.
    pub(super) fn note(&mut self, damage: Damage) {
        if !self.damages.contains(&damage) {
            self.damages.push(damage);
        }
    }

    /// The known damage that an id was lost by.
    pub(super) fn loss(&self, seq: Seq) -> Option<&Damage> {
        self.damages.iter().find(|damage| damage.covers(seq))
    }

    /// Makes records of the last segment visible.
    pub(super) fn publish(&mut self, entries: &[Entry], len: u64) {
        if let (Some(segment), Some(last)) = (self.segments.last_mut(), entries.last()) {
            segment.entries.extend_from_slice(entries);
            segment.len = len;
            self.next_seq = last.seq.saturating_add(1);
        }
    }
}
