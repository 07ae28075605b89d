//! Rows of vectors and their scan.
//!
//! One slot owns any number of rows that lie side by side: overlapping passages of one long text. Its
//! score is its best row. Rows whose slot was removed or given new rows stay behind as dead rows until
//! they are more than half; then the living ones move together. Codes of the rows, where they are
//! kept, follow every such change.

use std::ops::Range;

use super::cascade::Cascade;
use super::catalog::{Slot, position};
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
    dim: usize,
    /// Blocks in one row.
    width: usize,
    blocks: Vec<Lanes>,
    /// Row ─▶ slot.
    owner: Vec<Slot>,
    /// Slot ─▶ its rows; empty where there are none.
    span: Vec<Range<usize>>,
    dead: usize,
    head: Option<Int8>,
    /// Whether a slot has, or had, several rows.
    shared: bool,
}

impl Rows {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            dim,
            head: None,
            shared: false,
            width: dim.div_ceil(crate::simd::LANES),
            blocks: Vec::new(),
            owner: Vec::new(),
            span: Vec::new(),
            dead: 0,
        }
    }

    /// Rows with what a head wants beside them.
    pub(super) fn with_head(dim: usize, head: Head, scanner: Scanner) -> Self {
        Self {
            head: head.codes(dim, scanner).then(|| Int8::new(dim)),
            ..Self::new(dim)
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
        let head = self.head.as_ref().filter(|_| choice.pays(rows, k))?;
        Some(Cascade {
            rows: self,
            head,
            scanner,
        })
    }

    /// The slot of a row, unless it is dead.
    pub(super) fn owner(&self, row: usize) -> Option<Slot> {
        self.owner.get(row).copied().filter(|slot| *slot != NOBODY)
    }

    /// Scores as many rows as `out` is long; whether they are there.
    pub(super) fn score(
        &self,
        scanner: Scanner,
        query: &[Lanes],
        row: usize,
        out: &mut [f32],
    ) -> bool {
        let blocks = row * self.width..(row + out.len()) * self.width;
        let Some(blocks) = self.blocks.get(blocks) else {
            return false;
        };
        scanner.dot_rows(query, blocks, out);
        true
    }

    /// The number of rows that belong to somebody.
    pub(super) fn len(&self) -> usize {
        self.owner.len() - self.dead
    }

    /// Whether a slot has rows.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.span_of(slot).is_some_and(|span| !span.is_empty())
    }

    /// Makes room for so many rows more, at once.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.blocks.reserve(rows * self.width);
        self.owner.reserve(rows);
        if let Some(head) = &mut self.head {
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
        self.shared |= rows.len() > self.dim;
        let start = self.owner.len();
        for row in rows.chunks_exact(self.dim) {
            Lanes::extend(&mut self.blocks, row);
            self.owner.push(slot);
            if let Some(head) = &mut self.head {
                head.push(row);
            }
        }
        let at = position(slot);
        if self.span.len() <= at {
            self.span.resize(at + 1, 0..0);
        }
        if let Some(span) = self.span.get_mut(at) {
            *span = start..self.owner.len();
        }
        Ok(())
    }

    /// Takes a slot's rows away.
    pub(super) fn clear(&mut self, slot: Slot) {
        let Some(span) = self.span.get_mut(position(slot)) else {
            return;
        };
        let rows = std::mem::replace(span, 0..0);
        self.dead += rows.len();
        for owner in self.owner.get_mut(rows).into_iter().flatten() {
            *owner = NOBODY;
        }
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
            .filter_map(|slot| self.span_of(*slot).cloned())
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
                let (Some(blocks), Some(owners), Some(out)) = (
                    self.blocks.get(start * self.width..end * self.width),
                    self.owner.get(start..end),
                    scores.get_mut(..end - start),
                ) else {
                    return;
                };
                scanner.dot_rows(query, blocks, out);
                for (owner, score) in owners.iter().zip(out.iter()) {
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

    fn span_of(&self, slot: Slot) -> Option<&Range<usize>> {
        self.span.get(position(slot))
    }

    /// Moves the living rows together, in their order.
    fn compact(&mut self) {
        let mut blocks = Vec::with_capacity(self.len() * self.width);
        let mut owner = Vec::with_capacity(self.len());
        let mut spans = std::mem::take(&mut self.span);
        let mut order: Vec<&mut Range<usize>> = spans
            .iter_mut()
            .filter(|span| span.start < span.end)
            .collect();
        order.sort_unstable_by_key(|span| span.start);
        for span in order {
            let start = owner.len();
            if let (Some(rows), Some(owners)) = (
                self.blocks
                    .get(span.start * self.width..span.end * self.width),
                self.owner.get(span.clone()),
            ) {
                blocks.extend_from_slice(rows);
                owner.extend_from_slice(owners);
            }
            *span = start..owner.len();
        }
        if let Some(head) = &mut self.head {
            *head = Int8::new(self.dim);
            let mut flat = Vec::with_capacity(self.dim);
            for row in blocks.chunks_exact(self.width) {
                flat.clear();
                flat.extend(row.iter().flat_map(|block| block.0).take(self.dim));
                head.push(&flat);
            }
        }
        self.blocks = blocks;
        self.owner = owner;
        self.span = spans;
        self.dead = 0;
    }
}
