//! Rows of vectors, and whose they are.
//!
//! One slot owns any number of rows that lie side by side: overlapping passages of one long text. Its
//! score is its best row. Rows whose slot was removed or given other rows stay behind as holes, which
//! later rows fill; when more than half are holes, the living rows move together.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::hot::catalog::{Selection, Slot, position};
use crate::hot::codes::head::{Head, Model};
use crate::hot::file::column::Column;
use crate::hot::scan::row_sets::{RowSets, bits, gather};
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::segment::{SEGMENT, Segment, flat};
use crate::simd::Scanner;
use crate::simd::codes::BLOCK;

/// The owner of a hole.
const NOBODY: Slot = Slot::MAX;

/// Where one row in so many is asked for, every row is asked for its slot.
const SPARSE: usize = 8;

/// So few holes never make rows move.
const FEW: usize = 256;

/// The rows of all slots.
#[derive(Debug)]
pub(in crate::hot) struct Rows {
    dim: usize,
    precision: Precision,
    head: Head,
    scanner: Scanner,
    /// How the first segment's rows are coded at the beginning.
    begins: Model,
    pub(in crate::hot) segments: Vec<Segment>,
    /// Row ─▶ slot.
    pub(in crate::hot) owner: Column<Slot>,
    /// Block ─▶ its living rows.
    pub(in crate::hot) living: Vec<u64>,
    /// Slot ─▶ its first row and how many it has.
    pub(in crate::hot) span: Column<[u32; 2]>,
    pub(in crate::hot) holes: Vec<usize>,
    /// Whether a slot has, or had, several rows.
    pub(in crate::hot) shared: bool,
    /// Whether every row has the number of its slot.
    pub(in crate::hot) plain: bool,
}

impl Rows {
    pub(in crate::hot) fn new(
        dim: usize,
        precision: Precision,
        head: Head,
        scanner: Scanner,
    ) -> Self {
        Self {
            dim,
            precision,
            head,
            scanner,
            begins: Model::Plain,
            segments: Vec::new(),
            owner: Column::default(),
            living: Vec::new(),
            span: Column::default(),
            holes: Vec::new(),
            shared: false,
            plain: true,
        }
    }

    pub(in crate::hot) fn dim(&self) -> usize {
        self.dim
    }

    pub(in crate::hot) fn scanner(&self) -> Scanner {
        self.scanner
    }

    pub(in crate::hot) fn head(&self) -> Head {
        self.head
    }

    /// Whether a slot may have several rows.
    pub(in crate::hot) fn shared(&self) -> bool {
        self.shared
    }

    /// The segments, in the order of their rows.
    pub(in crate::hot) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The slot of a row, unless it is a hole.
    pub(in crate::hot) fn owner(&self, row: usize) -> Option<Slot> {
        self.owner.get(row).filter(|slot| *slot != NOBODY)
    }

    /// The number of rows that belong to somebody.
    pub(in crate::hot) fn len(&self) -> usize {
        self.owner.len().saturating_sub(self.holes.len())
    }

    /// Whether a slot has rows.
    pub(in crate::hot) fn has(&self, slot: Slot) -> bool {
        !self.span_of(slot).is_empty()
    }

    /// Makes room for so many rows more, at once.
    pub(in crate::hot) fn reserve(&mut self, rows: usize) {
        self.owner.reserve(rows);
        if let Some(last) = self.segments.last_mut() {
            last.reserve(rows);
        }
    }

    /// Gives a slot its rows, `rows` being whole rows of floats, in place of those it had.
    pub(in crate::hot) fn put(&mut self, slot: Slot, rows: &[f32]) -> Result<()> {
        if self.dim == 0 || !rows.len().is_multiple_of(self.dim) {
            return Err(Error::Dimension {
                expected: self.dim,
                found: rows.len(),
            });
        }
        let count = rows.len() / self.dim;
        let known = self.span_of(slot);
        if known.len() == count {
            for (at, row) in known.zip(rows.chunks_exact(self.dim)) {
                self.replace(at, row);
            }
            return Ok(());
        }
        let most = u32::try_from(self.owner.len() + count);
        let (Ok(_), Ok(wide)) = (most, u32::try_from(count)) else {
            return Err(Error::Argument {
                name: "vectors",
                expected: "at most 2^32 rows in one index".into(),
                found: "one more".into(),
            });
        };
        self.clear(slot);
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
        let first = u32::try_from(start).unwrap_or(u32::MAX);
        self.shared |= count > 1;
        self.plain &= count == 1 && first == slot;
        self.own(start..start + count, slot);
        let at = position(slot);
        self.span.grow(at + 1, [0, 0]);
        self.span.set(at, [first, wide]);
        Ok(())
    }

    /// Takes a slot's rows away.
    pub(in crate::hot) fn clear(&mut self, slot: Slot) {
        let rows = self.span_of(slot);
        if rows.is_empty() {
            return;
        }
        self.span.set(position(slot), [0, 0]);
        self.own(rows.clone(), NOBODY);
        self.holes.extend(rows);
        if self.holes.len() * 2 > self.owner.len() && self.holes.len() > FEW {
            let slots: Vec<Slot> = (0..).take(self.span.len()).collect();
            let begins = self.segments.first().map_or(&self.begins, Segment::model);
            *self = self.gathered(&slots, begins);
        }
    }

    /// All living rows.
    pub(in crate::hot) fn all(&self) -> Vec<RowSets> {
        let words = self.living.iter().copied().enumerate();
        gather(words.filter(|(_, mask)| *mask != 0))
    }

    /// The rows of slots that pass a filter.
    pub(in crate::hot) fn selected(&self, selection: &Selection) -> Vec<RowSets> {
        match selection {
            // Where rows have the numbers of their slots, the bits of slots are those of rows.
            Selection::Words(words) if self.plain => {
                let words = words
                    .iter()
                    .zip(&self.living)
                    .map(|(word, living)| word & living);
                gather(words.enumerate().filter(|(_, mask)| *mask != 0))
            }
            Selection::Words(words) if self.are_many(words) => self.of_owners(selection),
            _ => self.of_slots(&selection.slots()),
        }
    }

    /// Whether it is cheaper to ask every row for its slot than to put the rows of slots in order.
    fn are_many(&self, words: &[u64]) -> bool {
        let slots: u32 = words.iter().map(|word| word.count_ones()).sum();
        position(slots) >= self.owner.len() / SPARSE
    }

    /// The rows of slots, found by asking every living row.
    fn of_owners(&self, selection: &Selection) -> Vec<RowSets> {
        let asked = |row: &usize| {
            self.owner(*row)
                .is_some_and(|slot| selection.contains(slot))
        };
        let of_block = |(block, living): (usize, &u64)| {
            let rows = bits(*living).map(|at| block * BLOCK + at).filter(asked);
            (block, rows.fold(0, |mask, row| mask | 1 << (row % BLOCK)))
        };
        let blocks = self.living.iter().enumerate().map(of_block);
        gather(blocks.filter(|(_, mask)| *mask != 0))
    }

    /// The rows of slots.
    pub(in crate::hot) fn of_slots(&self, slots: &[Slot]) -> Vec<RowSets> {
        let mut spans: Vec<Range<usize>> = slots
            .iter()
            .map(|slot| self.span_of(*slot))
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

    /// The rows of a slot; empty where there are none.
    pub(in crate::hot) fn span_of(&self, slot: Slot) -> Range<usize> {
        let [start, count] = self.span.get(position(slot)).unwrap_or_default();
        // Whatever a saved span says, there are no more rows than these.
        let rows = self.owner.len();
        position(start).min(rows)..(position(start) + position(count)).min(rows)
    }

    fn push(&mut self, row: &[f32]) {
        let at = self.owner.len();
        if at.is_multiple_of(SEGMENT) {
            let model = self
                .segments
                .last()
                .map_or(&self.begins, Segment::model)
                .clone();
            self.segments.push(Segment::new(
                self.dim,
                self.precision,
                self.head,
                self.scanner,
                model,
            ));
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
            self.owner.set(row, slot);
            if let Some(living) = self.living.get_mut(row / BLOCK) {
                let bit = 1 << (row % BLOCK);
                *living = if slot == NOBODY {
                    *living & !bit
                } else {
                    *living | bit
                };
            }
        }
    }

    /// The rows of slots without holes, each slot's number being its place in the list.
    /// The first segment begins as told.
    pub(in crate::hot) fn gathered(&self, slots: &[Slot], begins: &Model) -> Self {
        let mut new = Self::new(self.dim, self.precision, self.head, self.scanner);
        new.begins = begins.clone();
        let (mut rows, mut row) = (Vec::new(), Vec::new());
        for (number, slot) in (0..).zip(slots) {
            rows.clear();
            for at in self.span_of(*slot) {
                row.clear();
                if let Some(segment) = self.segments.get(at / SEGMENT) {
                    segment.copy_row(at % SEGMENT, &mut row);
                }
                rows.extend(flat(&row, self.dim));
            }
            // There were no more rows before, so there is room for them.
            let _ = new.put(number, &rows);
        }
        new.shared = self.shared;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn owners_are_asked_for_the_rows_that_slots_have(
            order in Just((0_u32..300).collect::<Vec<_>>()).prop_shuffle(),
            several in prop::collection::btree_map(0_u32..300, 2_usize..4, 0..9),
            gone in prop::collection::btree_set(0_u32..300, 0..40),
            asked in prop::collection::btree_set(0_u32..320, 0..300),
        ) {
            let scanner = Scanner::from_environment().unwrap();
            let mut rows = Rows::new(1, Precision::Full, Head::Auto, scanner);
            for slot in &order {
                let count = several.get(slot).copied().unwrap_or(1);
                rows.put(*slot, &vec![1.0; count]).unwrap();
            }
            for slot in &gone {
                rows.clear(*slot);
            }
            let listed: Vec<Slot> = asked.into_iter().collect();
            let mut words = vec![0; 5];
            for slot in &listed {
                words[position(*slot) / 64] |= 1_u64 << (slot % 64);
            }
            let selection = Selection::Words(words);
            prop_assert_eq!(rows.of_owners(&selection), rows.of_slots(&listed));
            prop_assert_eq!(rows.selected(&selection), rows.of_slots(&listed));
        }
    }
}
