//! Rows of vectors and their scan.
//!
//! One slot owns any number of rows that lie side by side: overlapping passages of one long text. Its
//! score is its best row. Rows whose slot was removed or given new rows stay behind as dead rows until
//! they are more than half; then the living ones move together. Codes of the rows, where they are
//! kept, follow every such change.

use std::ops::Range;
use std::sync::OnceLock;

use super::cascade::Cascade;
use super::catalog::{Selection, Slot, position};
use super::column::Column;
use super::head::{Head, Int8};
use crate::error::{Error, Result};
use crate::simd::{Lanes, Scanner};

/// The owner of a dead row.
const NOBODY: Slot = Slot::MAX;

/// Rows that are scored in one call of the kernel.
const CHUNK: usize = 256;

/// The rows of all slots.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) dim: usize,
    /// Blocks in one row.
    pub(super) width: usize,
    pub(super) blocks: Column<Lanes>,
    /// Row ─▶ slot.
    pub(super) owner: Column<Slot>,
    /// Slot ─▶ its first row and how many it has.
    pub(super) span: Column<[u32; 2]>,
    pub(super) dead: usize,
    /// Whether codes are kept; those of saved rows are made at the first search that wants them.
    pub(super) coded: bool,
    pub(super) head: OnceLock<Int8>,
    /// Whether a slot has, or had, several rows.
    pub(super) shared: bool,
    /// Whether every row has the number of its slot.
    pub(super) plain: bool,
}

impl Rows {
    /// No rows, with what a head wants beside them.
    pub(super) fn with_head(dim: usize, head: Head, scanner: Scanner) -> Self {
        Self {
            dim,
            width: dim.div_ceil(crate::simd::LANES),
            blocks: Column::default(),
            owner: Column::default(),
            span: Column::default(),
            dead: 0,
            coded: head.codes(dim, scanner),
            head: OnceLock::new(),
            shared: false,
            plain: true,
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Whether a slot may have several rows.
    pub(super) fn shared(&self) -> bool {
        self.shared
    }

    /// The cascade, where it pays to ask `rows` rows for the best `k` by their codes first.
    pub(super) fn cascade(
        &self,
        choice: Head,
        scanner: Scanner,
        rows: usize,
        k: usize,
    ) -> Option<Cascade<'_>> {
        let pays = self.coded && choice.pays(rows, k);
        pays.then(|| Cascade {
            rows: self,
            head: self.head.get_or_init(|| self.codes()),
            scanner,
        })
    }

    /// The slot of a row, unless it is dead.
    pub(super) fn owner(&self, row: usize) -> Option<Slot> {
        self.owner.get(row).filter(|slot| *slot != NOBODY)
    }

    /// Scores as many rows as `out` is long; whether they are there.
    pub(super) fn score(
        &self,
        scanner: Scanner,
        query: &[Lanes],
        row: usize,
        out: &mut [f32],
    ) -> bool {
        let saved = self.cut().saturating_sub(row).min(out.len());
        let (front, back) = out.split_at_mut(saved);
        let mut start = row;
        for part in [front, back] {
            let end = start + part.len();
            let Some(blocks) = self.blocks.slice(start * self.width..end * self.width) else {
                return false;
            };
            scanner.dot_rows(query, blocks, part);
            start = end;
        }
        true
    }

    /// The number of rows that lie in a saved index; they come first.
    fn cut(&self) -> usize {
        self.blocks.cut() / self.width.max(1)
    }

    /// All rows, dead ones too.
    pub(super) fn range(&self) -> Range<usize> {
        0..self.owner.len()
    }

    /// The number of rows that belong to somebody.
    pub(super) fn len(&self) -> usize {
        self.owner.len().saturating_sub(self.dead)
    }

    /// Whether a slot has rows.
    pub(super) fn has(&self, slot: Slot) -> bool {
        !self.span_of(slot).is_empty()
    }

    /// Makes room for so many rows more, at once.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.blocks.reserve(rows * self.width);
        self.owner.reserve(rows);
        if let Some(head) = self.head.get_mut() {
            head.reserve(rows);
        }
    }

    /// Gives a slot its rows, `rows` being whole rows of floats; rows it had before die.
    pub(super) fn put(&mut self, slot: Slot, rows: &[f32]) -> Result<()> {
        if self.dim == 0 || !rows.len().is_multiple_of(self.dim) {
            return Err(Error::Dimension {
                expected: self.dim,
                found: rows.len(),
            });
        }
        self.clear(slot);
        let start = self.owner.len();
        let count = rows.len() / self.dim;
        let (Ok(first), Ok(more)) = (u32::try_from(start), u32::try_from(count)) else {
            return Err(Error::Argument {
                name: "vectors",
                expected: "at most 2^32 rows in one index".into(),
                found: "one more".into(),
            });
        };
        self.shared |= count > 1;
        self.plain &= count == 1 && first == slot;
        if self.coded && start == 0 {
            self.head.get_or_init(|| Int8::new(self.dim));
        }
        for row in rows.chunks_exact(self.dim) {
            Lanes::extend(self.blocks.grown(), row);
            self.owner.push(slot);
            if let Some(head) = self.head.get_mut() {
                head.push(row);
            }
        }
        let at = position(slot);
        while self.span.len() <= at {
            self.span.push([0, 0]);
        }
        self.span.set(at, [first, more]);
        Ok(())
    }

    /// Takes a slot's rows away.
    pub(super) fn clear(&mut self, slot: Slot) {
        let rows = self.span_of(slot);
        if rows.is_empty() {
            return;
        }
        self.span.set(position(slot), [0, 0]);
        self.dead += rows.len();
        rows.for_each(|row| self.owner.set(row, NOBODY));
        if self.dead * 2 > self.owner.len() && self.dead > CHUNK {
            self.compact();
        }
    }

    /// Scores the slots that are named, ascending, and have rows; neighbours are scored together.
    pub(super) fn scan_slots(
        &self,
        scanner: Scanner,
        query: &[Lanes],
        slots: &[Slot],
        visit: impl FnMut(Slot, f32),
    ) {
        self.scan(scanner, query, Some(self.spans(slots)), visit);
    }

    /// The rows of slots, neighbours together, ascending.
    pub(super) fn spans(&self, slots: &[Slot]) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = slots
            .iter()
            .map(|slot| self.span_of(*slot))
            .filter(|span| !span.is_empty())
            .collect();
        spans.sort_unstable_by_key(|span| span.start);
        spans.dedup_by(|next, last| {
            let touches = next.start == last.end;
            if touches {
                last.end = next.end;
            }
            touches
        });
        spans
    }

    /// The rows of slots that pass a filter, neighbours together, ascending.
    pub(super) fn selected(&self, selection: &Selection) -> Vec<Range<usize>> {
        if !self.plain {
            return self.spans(&selection.slots());
        }
        let (runs, rows) = (selection.runs().into_iter(), self.owner.len());
        runs.map(|run| position(run.start)..position(run.end).min(rows))
            .filter(|span| !span.is_empty())
            .collect()
    }

    /// Scores whole spans of slots, or everything, in chunks; a slot's rows may cross chunks, never
    /// spans.
    pub(super) fn scan(
        &self,
        scanner: Scanner,
        query: &[Lanes],
        spans: Option<Vec<Range<usize>>>,
        mut visit: impl FnMut(Slot, f32),
    ) {
        let mut scores = [0.0_f32; CHUNK];
        let everything = 0..self.owner.len();
        let spans = spans.unwrap_or_else(|| Vec::from([everything]));
        for span in spans {
            let mut best: Option<(Slot, f32)> = None;
            let mut start = span.start;
            while start < span.end {
                let end = span.end.min(start + CHUNK);
                let Some(out) = scores.get_mut(..end - start) else {
                    return;
                };
                if !self.score(scanner, query, start, out) {
                    return;
                }
                let owners = self.owner.pieces(start..end).into_iter().flatten();
                for (owner, score) in owners.zip(out.iter()) {
                    best = match best {
                        Some((slot, top)) if slot == *owner => Some((slot, top.max(*score))),
                        other => {
                            if let Some((slot, top)) = other {
                                visit(slot, top);
                            }
                            (*owner != NOBODY).then_some((*owner, *score))
                        }
                    };
                }
                start = end;
            }
            if let Some((slot, top)) = best {
                visit(slot, top);
            }
        }
    }

    /// The rows of a slot; empty where there are none.
    pub(super) fn span_of(&self, slot: Slot) -> Range<usize> {
        let [start, count] = self.span.get(position(slot)).unwrap_or_default();
        // Whatever a saved span says, there are no more rows than these.
        let rows = self.owner.len();
        position(start).min(rows)..(position(start) + position(count)).min(rows)
    }
}
