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
use super::topk::TopK;
use crate::simd::codes::{BLOCK, Terms};
use crate::simd::{Lanes, Scanner};

/// Queries that are screened together, with every block read once for all.
pub(super) const PANEL: usize = 4;

/// A block of which a filter admits no more rows than this is scored in full at once.
const FEW: u32 = 12;

/// More kept rows than this are settled in their order: to sort them would cost more than it saves.
const MANY: usize = 8_192;

/// Fewer dimensions than this get no codes by themselves.
const DIM_FROM: usize = 32;

/// Fewer rows than this are scanned in full, and so are fewer than so many times k.
const ROWS_FROM: usize = 256;
const ROWS_FROM_TIMES_K: usize = 8;

/// What is kept beside the rows so that fewer bytes are read. It changes the time of an answer and
/// never the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// Codes where they have been seen to pay: by dimension, instruction set, number of rows and k.
    #[default]
    Auto,
    /// The rows alone: every search reads them in full.
    Plain,
    /// Eight-bit codes, and every search begins with them.
    Int8,
}

impl Head {
    /// Whether codes are kept.
    pub(super) fn codes(self, dim: usize, scanner: Scanner) -> bool {
        match self {
            Self::Auto => dim >= DIM_FROM && scanner.has_codes(),
            Self::Plain => false,
            Self::Int8 => true,
        }
    }

    /// Whether to ask `rows` rows for the best `k` by their codes first.
    pub(super) fn pays(self, rows: usize, k: usize) -> bool {
        self == Self::Int8 || rows >= ROWS_FROM.max(k.saturating_mul(ROWS_FROM_TIMES_K))
    }
}

/// How many rows were scored, by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Rows whose codes were scored.
    pub screened: usize,
    /// Rows whose upper bound reached the final floor of the screening.
    pub kept: usize,
    /// Rows whose canonical sum was computed.
    pub exact: usize,
}

/// Rows with codes, and how to score them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cascade<'a> {
    pub(super) rows: &'a Rows,
    pub(super) head: &'a Int8,
    pub(super) scanner: Scanner,
}

/// What the screening of one query has found so far.
struct Sieve {
    lowest: TopK,
    kept: Vec<(f32, usize)>,
    room: usize,
    steps: Steps,
}

impl Sieve {
    fn new(k: usize, rows: usize) -> Self {
        Self {
            lowest: TopK::new(k, rows),
            kept: Vec::new(),
            room: MANY,
            steps: Steps::default(),
        }
    }

    fn offer(&mut self, row: usize, (lower, upper): (f32, f32)) {
        self.lowest
            .push(lower, u64::try_from(row).unwrap_or(u64::MAX));
        self.kept.push((upper, row));
        if self.kept.len() >= self.room {
            self.shed();
            self.room = MANY.max(2 * self.kept.len());
        }
    }

    /// Forgets rows that the floor has risen above.
    fn shed(&mut self) {
        let floor = self.lowest.floor();
        self.kept.retain(|(upper, _)| *upper >= floor);
    }
}

impl Cascade<'_> {
    /// Pushes the best rows into `top`: of all rows, or of those in `spans`, which ascend and do not
    /// overlap. No slot may own more than one row.
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
        let mut screen = |block: usize, admitted: u64, sieve: &mut Sieve| {
            let floor = [sieve.lowest.floor()];
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
                        self.score(query, block, admitted, &mut sieve);
                    }
                }
            }
        }
        self.settle(query, sieve, top, id)
    }

    /// [`Cascade::nearest`] of all rows for several queries; a block's codes are read once for all.
    pub(super) fn nearest_of_each(
        self,
        queries: [&[Lanes]; PANEL],
        tops: &mut [TopK; PANEL],
        id: impl Fn(Slot) -> Option<u64>,
    ) {
        let panel = self.head.panel(queries);
        let mut sieves = tops
            .each_ref()
            .map(|top| Sieve::new(top.k(), self.rows.len()));
        let mut sums = [[0; BLOCK]; PANEL];
        for block in 0..self.head.blocks() {
            let floors = sieves.each_ref().map(|sieve| sieve.lowest.floor());
            let masks = self
                .head
                .screen(self.scanner, &panel, block, &floors, &mut sums);
            let found = masks.into_iter().zip(&sums).zip(&panel.terms);
            for (sieve, ((mask, sums), terms)) in sieves.iter_mut().zip(found) {
                self.sift(sieve, block, mask, sums, terms);
            }
        }
        for ((query, sieve), top) in queries.into_iter().zip(sieves).zip(tops) {
            self.settle(query, sieve, top, &id);
        }
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
            if let (Some(_), Some(sum)) = (self.rows.owner(row), sum) {
                sieve.offer(row, self.head.bounds(terms, row, *sum));
            }
        }
    }

    /// Scores the rows of a block whose bits are set in full; neighbours together.
    fn score(self, query: &[Lanes], block: usize, mut mask: u64, sieve: &mut Sieve) {
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
                    sieve.offer(row, (*score, *score));
                }
            }
        }
    }

    /// Scores what was kept, as far as it can still matter.
    fn settle(
        self,
        query: &[Lanes],
        mut sieve: Sieve,
        top: &mut TopK,
        id: impl Fn(Slot) -> Option<u64>,
    ) -> Steps {
        sieve.shed();
        if sieve.kept.len() <= MANY {
            sieve
                .kept
                .sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let mut steps = sieve.steps;
        steps.kept = sieve.kept.len();
        for (upper, row) in sieve.kept {
            if upper < top.floor() {
                continue;
            }
            let mut score = [0.0];
            if let Some(id) = self.rows.owner(row).and_then(&id)
                && self.rows.score(self.scanner, query, row, &mut score)
            {
                steps.exact += 1;
                let [score] = score;
                top.push(score, id);
            }
        }
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
