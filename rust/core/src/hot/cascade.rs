//! The best k of all rows, most of them never read in full.
//!
//! ```text
//! screen   every row's codes  ─▶ bounds; floor = the k-th best lower bound so far;
//!                                rows whose upper bound reaches the floor are kept
//! settle   kept rows, best upper bound first ─▶ canonical sums, until an upper bound is
//!                                below the k-th best sum
//! ```
//!
//! A row is left out only when k others are known to score more than it can, so ties are decided by
//! the ids of all that tie, and the answer is that of a full scan whatever the codes are worth.

use std::ops::Range;

use super::catalog::Slot;
use super::head::Int8;
use super::rows::Rows;
use super::sieve::{Best, Sieve, Steps};
use super::topk::TopK;
use crate::simd::codes::{BLOCK, Terms};
use crate::simd::{Lanes, Scanner};

/// Queries whose sums stay in registers while a block is read.
const PANEL: usize = 4;

/// Blocks that stay in the cache while one panel after the other is screened.
const TILE: usize = 4;

/// A block of which a filter admits no more rows than this is scored in full at once.
const FEW: u32 = 12;

/// Rows with codes, and how to score them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cascade<'a> {
    pub(super) rows: &'a Rows,
    pub(super) head: &'a Int8,
    pub(super) scanner: Scanner,
}

impl Cascade<'_> {
    /// Pushes the best rows into `top`: of all rows, or of those in `spans`, which ascend and do not
    /// overlap.
    pub(super) fn nearest(
        self,
        query: &[Lanes],
        spans: Option<&[Range<usize>]>,
        top: &mut TopK,
        id: impl Fn(Slot) -> Option<u64>,
    ) -> Steps {
        let panel = self.head.panel([query]);
        let [terms] = &panel.terms;
        let mut sieve = Sieve::new(top.k(), self.rows.len());
        let mut sums = [[0; BLOCK]];
        let mut best = self.best(top, id);
        let mut screen = |block: usize, admitted: u64, sieve: &mut Sieve| {
            let floor = [sieve.floor()];
            let [mask] = self
                .head
                .screen(self.scanner, &panel, block, &floor, &mut sums);
            sieve.steps.screened += BLOCK;
            let [sums] = &sums;
            self.sift(sieve, block, mask & admitted, sums, terms);
        };
        match spans {
            None => {
                for block in 0..self.head.blocks() {
                    screen(block, u64::MAX, &mut sieve);
                }
            }
            Some(spans) => {
                for (block, admitted) in pieces(spans) {
                    if admitted.count_ones() > FEW {
                        screen(block, admitted, &mut sieve);
                    } else {
                        self.score(query, block, admitted, &mut sieve, &mut best);
                    }
                }
            }
        }
        self.settle(query, sieve, best)
    }

    /// [`Cascade::nearest`] of all rows for several queries; codes are read once for all of them.
    pub(super) fn nearest_of_each(
        self,
        queries: &[Vec<Lanes>],
        k: usize,
        id: impl Fn(Slot) -> Option<u64>,
    ) -> Vec<TopK> {
        let rows = self.rows.len();
        let mut panels: Vec<_> = queries
            .chunks(PANEL)
            .map(|queries| {
                let views =
                    std::array::from_fn(|at| queries.get(at).map_or(&[][..], Vec::as_slice));
                let sieves: [Sieve; PANEL] = std::array::from_fn(|at| {
                    Sieve::new(if at < queries.len() { k } else { 0 }, rows)
                });
                (self.head.panel(views), sieves)
            })
            .collect();
        let mut sums = [[0; BLOCK]; PANEL];
        for first in (0..self.head.blocks()).step_by(TILE) {
            for (panel, sieves) in &mut panels {
                for block in first..self.head.blocks().min(first + TILE) {
                    let floors = sieves.each_ref().map(Sieve::floor);
                    let masks = self
                        .head
                        .screen(self.scanner, panel, block, &floors, &mut sums);
                    let found = masks.into_iter().zip(&sums).zip(&panel.terms);
                    for (sieve, ((mask, sums), terms)) in sieves.iter_mut().zip(found) {
                        self.sift(sieve, block, mask, sums, terms);
                    }
                }
            }
        }
        let sieves = panels.into_iter().flat_map(|(_, sieves)| sieves);
        queries
            .iter()
            .zip(sieves)
            .map(|(query, sieve)| {
                let mut top = TopK::new(k, rows);
                self.settle(query, sieve, self.best(&mut top, &id));
                top
            })
            .collect()
    }

    fn best<I: Fn(Slot) -> Option<u64>>(self, top: &mut TopK, id: I) -> Best<'_, I> {
        let waiting = self.rows.shared().then(Vec::new);
        Best { top, id, waiting }
    }

    /// Keeps the rows of a block whose bits are set, unless they are dead.
    #[inline]
    fn sift(
        self,
        sieve: &mut Sieve,
        block: usize,
        mut mask: u64,
        sums: &[i32; BLOCK],
        terms: &Terms,
    ) {
        while mask != 0 {
            let (row, sum) = (block * BLOCK + bit(mask), sums.get(bit(mask)));
            mask &= mask - 1;
            if let (Some(slot), Some(sum)) = (self.rows.owner(row), sum) {
                sieve.offer(row, slot, self.head.bounds(terms, row, *sum));
            }
        }
    }

    /// Scores the rows of a block whose bits are set in full; neighbours together. The scores are
    /// bounds like others for the floor.
    fn score(
        self,
        query: &[Lanes],
        block: usize,
        mut mask: u64,
        sieve: &mut Sieve,
        best: &mut Best<'_, impl Fn(Slot) -> Option<u64>>,
    ) {
        let mut scores = [0.0; BLOCK];
        while mask != 0 {
            let first = bit(mask);
            let count = bit(!(mask >> first)).min(BLOCK - first);
            let start = block * BLOCK + first;
            mask &= u64::MAX
                .checked_shl(u32::try_from(first + count).unwrap_or(64))
                .unwrap_or(0);
            if let Some(out) = scores.get_mut(..count)
                && self.rows.score(self.scanner, query, start, out)
            {
                for (row, score) in (start..).zip(out.iter()) {
                    if let Some(slot) = self.rows.owner(row) {
                        sieve.raise(slot, *score);
                        best.see(slot, *score);
                    }
                }
                sieve.steps.exact += count;
            }
        }
    }

    /// Scores what was kept, as far as it can still matter.
    fn settle(
        self,
        query: &[Lanes],
        sieve: Sieve,
        mut best: Best<'_, impl Fn(Slot) -> Option<u64>>,
    ) -> Steps {
        let (kept, mut steps) = sieve.finish();
        for (upper, row) in kept {
            if upper < best.floor() {
                continue;
            }
            let mut score = [0.0];
            if let Some(slot) = self.rows.owner(row)
                && self.rows.score(self.scanner, query, row, &mut score)
            {
                steps.exact += 1;
                let [score] = score;
                best.see(slot, score);
            }
        }
        best.finish();
        steps
    }
}

/// The place of the lowest bit that is set; 64 where there is none.
fn bit(mask: u64) -> usize {
    usize::try_from(mask.trailing_zeros()).unwrap_or(BLOCK)
}

/// The blocks that spans touch, each with a bit for every row within.
fn pieces(spans: &[Range<usize>]) -> Vec<(usize, u64)> {
    let mut pieces: Vec<(usize, u64)> = Vec::new();
    for span in spans {
        let mut start = span.start;
        while start < span.end {
            let block = start / BLOCK;
            let end = span.end.min((block + 1) * BLOCK);
            let count = u32::try_from(end - start).unwrap_or(64);
            let ones = u64::MAX >> (u64::BITS - count.clamp(1, 64));
            let mask = ones << (start % BLOCK);
            match pieces.last_mut() {
                Some((last, bits)) if *last == block => *bits |= mask,
                _ => pieces.push((block, mask)),
            }
            start = end;
        }
    }
    pieces
}
