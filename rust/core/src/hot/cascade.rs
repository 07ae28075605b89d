//! The best k of all rows, most of them never read in full.
//!
//! ```text
//! estimate  every row's coarse codes ─▶ estimates, and the greatest of each block
//! seed      the rows with the best estimates ─▶ lower bounds by the finest codes there are;
//!           floor = the k-th best lower bound so far
//! sift      rows whose estimate + margin reaches the floor; of those, where there are finer codes, the
//!           ones whose finer estimate + margin does
//! settle    what is left at the end, best upper bound first ─▶ canonical sums, until an upper bound is
//!           below the k-th best sum
//! ```
//!
//! All but the last take one segment after the other, several queries in tiles that stay in the cache; the
//! floor only rises. A row is left out only when k others score more than it can, so ties are decided by
//! the ids of all that tie, and the answer is that of a full scan whatever the codes are worth.

use std::cmp::Ordering;

use super::catalog::Slot;
use super::codes::Codes;
use super::hunt::Hunt;
use super::pieces::{Pieces, runs};
use super::probe::Probe;
use super::rows::Rows;
use super::segment::{SEGMENT, Segment};
use super::sieve::{Estimates, Seen};
use crate::simd::codes::{BLOCK, Panel};

/// Queries whose sums stay in registers while a block is read.
const PANEL: usize = 4;

/// Bytes of codes that stay in the nearest cache while one panel after the other is estimated.
const NEAR: usize = 24 << 10;

/// Bytes of estimates that stay in the cache until they are looked at.
const TILE: usize = 1 << 20;

/// Queries that share the reading of the codes.
const QUERIES: usize = 64;

/// Rows, and what their slots are called.
#[derive(Clone, Copy)]
pub(super) struct Field<'a, I> {
    pub(super) rows: &'a Rows,
    pub(super) id: I,
}

impl<I: Fn(Slot) -> Option<u64>> Field<'_, I> {
    /// Pushes the best of the rows that pieces ask for into each hunt's ranking. Codes are read once
    /// for all hunts; with `codes` false not at all.
    pub(super) fn search(&self, hunts: &mut [Hunt], pieces: &[Pieces], codes: bool) {
        let segments = self.rows.segments().iter().zip(pieces);
        for (at, (segment, pieces)) in segments.enumerate() {
            let base = at * SEGMENT;
            let Some(codes) = segment.codes().filter(|_| codes) else {
                self.read(segment, base, pieces, hunts);
                continue;
            };
            let (dense, sparse) = parted(pieces, segment, codes);
            self.read(segment, base, &sparse, hunts);
            for hunt in hunts.iter_mut() {
                hunt.probe.turn_to(&codes.model, self.rows.scanner());
            }
            match hunts {
                [hunt] => self.screen(codes, base, &dense, hunt),
                _ => {
                    for hunts in hunts.chunks_mut(QUERIES) {
                        self.screen_together(codes, base, &dense, hunts);
                    }
                }
            }
        }
        for hunt in hunts {
            self.settle(hunt);
        }
    }

    /// Scores rows in full, neighbours together.
    fn read(&self, segment: &Segment, base: usize, pieces: &[(usize, u64)], hunts: &mut [Hunt]) {
        let mut scores = [0.0; BLOCK];
        for (block, mask) in pieces {
            for (first, count) in runs(*mask) {
                let start = block * BLOCK + first;
                let Some(out) = scores.get_mut(..count) else {
                    continue;
                };
                for hunt in hunts.iter_mut() {
                    if segment.score(&hunt.probe.lanes, start, out) {
                        hunt.steps.exact += count;
                        for (row, score) in (base + start..).zip(out.iter()) {
                            self.raise(hunt, row, *score);
                            self.rank(hunt, row, *score);
                        }
                    }
                }
            }
        }
    }

    /// Estimates rows for one query, and lets those wait that may matter.
    fn screen(&self, codes: &Codes, base: usize, pieces: &[(usize, u64)], hunt: &mut Hunt) {
        let scanner = self.rows.scanner();
        let panel = Probe::panel([&hunt.probe].into_iter(), &codes.model);
        let mut estimates = Estimates::<1>::of(pieces.len());
        let places = pieces.iter().zip(estimates.blocks());
        let estimate = |(piece, (out, greatest)): (&(usize, u64), (&mut _, &mut _))| {
            *greatest = codes.coarse.estimate(scanner, &panel, *piece, out);
        };
        if codes.turned() {
            places.rev().for_each(estimate);
        } else {
            places.for_each(estimate);
        }
        let seen = Seen {
            codes,
            base,
            pieces,
        };
        self.sieve(&seen, &mut estimates, std::slice::from_mut(hunt));
    }

    /// [`Field::screen`] for several queries, which share the reading of the codes.
    fn screen_together(
        &self,
        codes: &Codes,
        base: usize,
        pieces: &[(usize, u64)],
        hunts: &mut [Hunt],
    ) {
        let scanner = self.rows.scanner();
        let panels: Vec<Panel<PANEL>> = hunts
            .chunks(PANEL)
            .map(|some| Probe::panel(some.iter().map(|hunt| &hunt.probe), &codes.model))
            .collect();
        let tile = TILE / (BLOCK * size_of::<[f32; PANEL]>() * panels.len());
        let near = NEAR / (codes.bytes() * BLOCK);
        let mut estimates: Vec<Estimates<PANEL>> = Vec::new();
        for pieces in pieces.chunks(tile.max(1)) {
            estimates.resize_with(panels.len(), || Estimates::of(pieces.len()));
            for estimates in &mut estimates {
                estimates.truncate(pieces.len());
            }
            for start in (0..pieces.len()).step_by(near.max(1)) {
                for (panel, estimates) in panels.iter().zip(&mut estimates) {
                    let places = pieces.iter().zip(estimates.blocks());
                    for (piece, (out, greatest)) in places.skip(start).take(near.max(1)) {
                        *greatest = codes.coarse.estimate(scanner, panel, *piece, out);
                    }
                }
            }
            let seen = Seen {
                codes,
                base,
                pieces,
            };
            for (estimates, hunts) in estimates.iter_mut().zip(hunts.chunks_mut(PANEL)) {
                self.sieve(&seen, estimates, hunts);
            }
        }
    }
}

/// Pieces whose codes are read first, and those that are scored in full at once: a block of which few
/// rows are asked for costs less in full than its codes do, and the last rows have no codes yet.
fn parted(pieces: &Pieces, segment: &Segment, codes: &Codes) -> (Pieces, Pieces) {
    let few = u32::try_from(codes.bytes() * BLOCK / (segment.bytes() + 1)).unwrap_or(u32::MAX);
    let (full, odd) = (segment.coded() / BLOCK, segment.coded() % BLOCK);
    let (mut dense, mut sparse) = (Pieces::with_capacity(pieces.len()), Pieces::new());
    for (block, mask) in pieces {
        let with_codes = match block.cmp(&full) {
            Ordering::Less => u64::MAX,
            Ordering::Equal => (1 << odd) - 1,
            Ordering::Greater => 0,
        };
        let known = mask & with_codes;
        let first = if known.count_ones() > few { known } else { 0 };
        if first != 0 {
            dense.push((*block, first));
        }
        if mask & !first != 0 {
            sparse.push((*block, mask & !first));
        }
    }
    (dense, sparse)
}
