//! Rows of vectors, and whose they are.
//!
//! One slot owns any number of rows that lie side by side: overlapping passages of one long text. Its
//! score is its best row. Rows whose slot was removed or given other rows stay behind as holes, which
//! later rows fill; when more than half are holes, the living rows move together.

use std::ops::Range;

use super::catalog::{Slot, position};
use super::head::{Head, Model};
use super::segment::{Codes, SEGMENT, Segment};
use crate::error::{Error, Result};
use crate::simd::Scanner;
use crate::simd::codes::BLOCK;

/// The owner of a hole.
const NOBODY: Slot = Slot::MAX;

/// So few holes never make rows move.
const FEW: usize = 256;

/// Blocks of one segment, each with a bit for every row that is asked for.
pub(super) type Pieces = Vec<(usize, u64)>;

/// The rows of all slots.
#[derive(Debug)]
pub(super) struct Rows {
    dim: usize,
    head: Head,
    scanner: Scanner,
    /// How the first segment's rows are coded at the beginning.
    begins: Model,
    segments: Vec<Segment>,
    /// Row ─▶ slot.
    owner: Vec<Slot>,
    /// Block ─▶ its living rows.
    living: Vec<u64>,
    /// Slot ─▶ its rows; empty where there are none.
    span: Vec<Range<usize>>,
    holes: Vec<usize>,
    /// Whether a slot has, or had, several rows.
    shared: bool,
}

impl Rows {
    pub(super) fn new(dim: usize, head: Head, scanner: Scanner) -> Self {
        Self {
            dim,
            head,
            scanner,
            begins: Model::Plain,
            segments: Vec::new(),
            owner: Vec::new(),
            living: Vec::new(),
            span: Vec::new(),
            holes: Vec::new(),
            shared: false,
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn scanner(&self) -> Scanner {
        self.scanner
    }

    pub(super) fn head(&self) -> Head {
        self.head
    }

    /// Whether a slot may have several rows.
    pub(super) fn shared(&self) -> bool {
        self.shared
    }

    /// The segments, in the order of their rows.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The names of the codes that rows have, with the number of rows, and the bytes of codes that a
    /// search reads of a row first.
    pub(super) fn heads(&self, codes: bool) -> (Vec<(&'static str, usize)>, usize) {
        let mut heads: Vec<(&'static str, usize)> = Vec::new();
        let mut bytes = 0;
        for segment in &self.segments {
            let name = if codes {
                segment.model().name()
            } else {
                Model::Plain.name()
            };
            bytes = bytes.max(segment.codes().filter(|_| codes).map_or(0, Codes::bytes));
            match heads.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => *rows += segment.len(),
                None => heads.push((name, segment.len())),
            }
        }
        (heads, bytes)
    }

    /// The slot of a row, unless it is a hole.
    pub(super) fn owner(&self, row: usize) -> Option<Slot> {
        self.owner.get(row).copied().filter(|slot| *slot != NOBODY)
    }

    /// The number of rows that belong to somebody.
    pub(super) fn len(&self) -> usize {
        self.owner.len() - self.holes.len()
    }

    /// Whether a slot has rows.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.span_of(slot).is_some_and(|span| !span.is_empty())
    }

    /// Makes room for so many rows more, at once.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.owner.reserve(rows);
        if let Some(last) = self.segments.last_mut() {
            last.reserve(rows);
        }
    }

    /// Gives a slot its rows, `rows` being whole rows of floats, in place of those it had.
    pub(super) fn put(&mut self, slot: Slot, rows: &[f32]) -> Result<()> {
        if self.dim == 0 || !rows.len().is_multiple_of(self.dim) {
            return Err(Error::Dimension {
                expected: self.dim,
                found: rows.len(),
            });
        }
        let count = rows.len() / self.dim;
        let known = self.span_of(slot).cloned().unwrap_or(0..0);
        if known.len() == count {
            for (at, row) in known.zip(rows.chunks_exact(self.dim)) {
                self.replace(at, row);
            }
            return Ok(());
        }
        self.clear(slot);
        self.shared |= count > 1;
        let start = match (count, self.holes.pop()) {
            (1, Some(hole)) => {
                self.replace(hole, rows);
                hole
            }
            (_, hole) => {
                self.holes.extend(hole);
                let start = self.owner.len();
                for row in rows.chunks_exact(self.dim) {
                    self.push(row);
                }
                start
            }
        };
        let at = position(slot);
        if self.span.len() <= at {
            self.span.resize(at + 1, 0..0);
        }
        self.own(start..start + count, slot);
        if let Some(span) = self.span.get_mut(at) {
            *span = start..start + count;
        }
        Ok(())
    }

    /// Takes a slot's rows away.
    pub(super) fn clear(&mut self, slot: Slot) {
        let Some(span) = self.span.get_mut(position(slot)) else {
            return;
        };
        let rows = std::mem::replace(span, 0..0);
        self.own(rows.clone(), NOBODY);
        self.holes.extend(rows);
        if self.holes.len() * 2 > self.owner.len() && self.holes.len() > FEW {
            self.compact();
        }
    }

    /// All living rows.
    pub(super) fn all(&self) -> Vec<Pieces> {
        let words = self.living.iter().copied().enumerate();
        gather(words.filter(|(_, mask)| *mask != 0))
    }

    /// The rows of slots.
    pub(super) fn of_slots(&self, slots: &[Slot]) -> Vec<Pieces> {
        let mut spans: Vec<Range<usize>> = slots
            .iter()
            .filter_map(|slot| self.span_of(*slot).cloned())
            .filter(|span| !span.is_empty())
            .collect();
        if !spans.is_sorted_by_key(|span| span.start) {
            spans.sort_unstable_by_key(|span| span.start);
        }
        let mut words: Vec<(usize, u64)> = Vec::new();
        for span in spans {
            let mut start = span.start;
            while start < span.end {
                let block = start / BLOCK;
                let end = span.end.min((block + 1) * BLOCK);
                let count = u32::try_from(end - start).unwrap_or(u64::BITS);
                let ones = u64::MAX >> (u64::BITS - count.clamp(1, u64::BITS));
                let mask = ones << (start % BLOCK);
                match words.last_mut() {
                    Some((last, bits)) if *last == block => *bits |= mask,
                    _ => words.push((block, mask)),
                }
                start = end;
            }
        }
        gather(words.into_iter())
    }

    fn span_of(&self, slot: Slot) -> Option<&Range<usize>> {
        self.span.get(position(slot))
    }

    fn push(&mut self, row: &[f32]) {
        let at = self.owner.len();
        if at.is_multiple_of(SEGMENT) {
            let model = self
                .segments
                .last()
                .map_or(&self.begins, Segment::model)
                .clone();
            self.segments
                .push(Segment::new(self.dim, self.head, self.scanner, model));
        }
        if let Some(last) = self.segments.last_mut() {
            last.push(row);
        }
        self.owner.push(NOBODY);
        if at.is_multiple_of(BLOCK) {
            self.living.push(0);
        }
    }

    fn replace(&mut self, at: usize, row: &[f32]) {
        if let Some(segment) = self.segments.get_mut(at / SEGMENT) {
            segment.replace(at % SEGMENT, row);
        }
    }

    fn own(&mut self, rows: Range<usize>, slot: Slot) {
        for row in rows {
            if let (Some(owner), Some(living)) =
                (self.owner.get_mut(row), self.living.get_mut(row / BLOCK))
            {
                *owner = slot;
                let bit = 1 << (row % BLOCK);
                *living = if slot == NOBODY {
                    *living & !bit
                } else {
                    *living | bit
                };
            }
        }
    }

    /// Moves the living rows together, in their order.
    fn compact(&mut self) {
        let mut new = Self::new(self.dim, self.head, self.scanner);
        new.shared = self.shared;
        if let Some(first) = self.segments.first() {
            new.begins = first.model().clone();
        }
        let mut spans = std::mem::take(&mut self.span);
        let mut order: Vec<(usize, &mut Range<usize>)> = spans
            .iter_mut()
            .enumerate()
            .filter(|(_, span)| span.start < span.end)
            .collect();
        order.sort_unstable_by_key(|(_, span)| span.start);
        let mut flat = Vec::with_capacity(self.dim);
        for (slot, span) in order {
            let start = new.owner.len();
            for row in span.clone() {
                let (segment, at) = (row / SEGMENT, row % SEGMENT);
                let blocks = self.segments.get(segment).and_then(|one| one.blocks(at, 1));
                flat.clear();
                flat.extend(
                    blocks
                        .into_iter()
                        .flatten()
                        .flat_map(|b| b.0)
                        .take(self.dim),
                );
                new.push(&flat);
            }
            *span = start..new.owner.len();
            new.own(span.clone(), Slot::try_from(slot).unwrap_or(NOBODY));
        }
        new.span = spans;
        *self = new;
    }
}

/// Sorts blocks, which ascend, by their segments.
fn gather(words: impl Iterator<Item = (usize, u64)>) -> Vec<Pieces> {
    const BLOCKS: usize = SEGMENT / BLOCK;
    let mut out: Vec<Pieces> = Vec::new();
    for (block, mask) in words {
        let segment = block / BLOCKS;
        if out.len() <= segment {
            out.resize(segment + 1, Vec::new());
        }
        if let Some(pieces) = out.get_mut(segment) {
            pieces.push((block % BLOCKS, mask));
        }
    }
    out
}

/// The rows that pieces ask for.
pub(super) fn count(pieces: &[Pieces]) -> usize {
    let ones = pieces.iter().flatten().map(|(_, mask)| mask.count_ones());
    ones.map(|ones| usize::try_from(ones).unwrap_or(0)).sum()
}

/// The runs of rows within a block: where each begins, and how long it is.
pub(super) fn runs(mut mask: u64) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let first = mask.trailing_zeros();
            let count = (!(mask >> first)).trailing_zeros().min(u64::BITS - first);
            mask &= u64::MAX.checked_shl(first + count).unwrap_or(0);
            let wide = |n: u32| usize::try_from(n).unwrap_or(0);
            (wide(first), wide(count))
        })
    })
}

/// The places of the bits that are set.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let at = mask.trailing_zeros();
            mask &= mask - 1;
            usize::try_from(at).unwrap_or(0)
        })
    })
}
