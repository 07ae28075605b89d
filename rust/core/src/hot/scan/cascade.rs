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

use crate::hot::catalog::Slot;
use crate::hot::codes::segment_codes::Codes;
use crate::hot::scan::probe::Probe;
use crate::hot::scan::prune::{Estimates, Seen};
use crate::hot::scan::row_sets::{RowSets, runs};
use crate::hot::scan::search_state::SearchState;
use crate::hot::vectors::rows::Rows;
use crate::hot::vectors::segment::{SEGMENT, Segment};
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
pub(in crate::hot) struct Field<'a, I> {
    pub(in crate::hot) rows: &'a Rows,
    pub(in crate::hot) id: I,
}

impl<I: Fn(Slot) -> Option<u64>> Field<'_, I> {
    /// Pushes the best of the rows that row sets ask for into each state's ranking. Codes are read once
    /// for all states; with `codes` false not at all.
    pub(in crate::hot) fn search(
        &self,
        states: &mut [SearchState],
        row_sets: &[RowSets],
        codes: bool,
    ) {
        let segments = self.rows.segments().iter().zip(row_sets);
        let mut estimates: Vec<Estimates<PANEL>> = Vec::new(); // room for those of one segment after the other
        for (at, (segment, row_sets)) in segments.enumerate() {
            let base = at * SEGMENT;
            let Some(codes) = segment.codes().filter(|_| codes) else {
                self.read(segment, base, row_sets, states);
                continue;
            };
            let (dense, sparse) = parted(row_sets, segment, codes);
            self.read(segment, base, &sparse, states);
            for state in states.iter_mut() {
                state.probe.turn_to(&codes.model, self.rows.scanner());
            }
            match states {
                [state] => self.screen(codes, base, &dense, state),
                _ => {
                    for states in states.chunks_mut(QUERIES) {
                        self.screen_together(codes, base, &dense, states, &mut estimates);
                    }
                }
            }
        }
        for state in states {
            self.settle(state);
        }
    }

    /// Scores rows in full, neighbours together.
    fn read(
        &self,
        segment: &Segment,
        base: usize,
        row_sets: &[(usize, u64)],
        states: &mut [SearchState],
    ) {
        let mut scores = [0.0; BLOCK];
        for (block, mask) in row_sets {
            for (first, count) in runs(*mask) {
                let start = block * BLOCK + first;
                let Some(out) = scores.get_mut(..count) else {
                    continue;
                };
                for state in states.iter_mut() {
                    if segment.score(&state.probe.lanes, start, out) {
                        state.steps.exact += count;
                        for (row, score) in (base + start..).zip(out.iter()) {
                            self.raise(state, row, *score);
                            self.rank(state, row, *score);
                        }
                    }
                }
            }
        }
    }

    /// Estimates rows for one query, and lets those wait that may matter.
    fn screen(
        &self,
        codes: &Codes,
        base: usize,
        row_sets: &[(usize, u64)],
        state: &mut SearchState,
    ) {
        let scanner = self.rows.scanner();
        let panel = Probe::panel([&state.probe].into_iter(), &codes.model);
        let mut estimates = Estimates::<1>::of(row_sets.len());
        let places = row_sets.iter().zip(estimates.blocks());
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
            row_sets,
        };
        self.prune(&seen, &mut estimates, std::slice::from_mut(state));
    }

    /// [`Field::screen`] for several queries, which share the reading of the codes.
    fn screen_together(
        &self,
        codes: &Codes,
        base: usize,
        row_sets: &[(usize, u64)],
        states: &mut [SearchState],
        estimates: &mut Vec<Estimates<PANEL>>,
    ) {
        let scanner = self.rows.scanner();
        let panels: Vec<Panel<PANEL>> = states
            .chunks(PANEL)
            .map(|some| Probe::panel(some.iter().map(|state| &state.probe), &codes.model))
            .collect();
        let tile = TILE / (BLOCK * size_of::<[f32; PANEL]>() * panels.len());
        let near = NEAR / (codes.bytes() * BLOCK);
        estimates.resize_with(panels.len(), || Estimates::of(0));
        for row_sets in row_sets.chunks(tile.max(1)) {
            for estimates in estimates.iter_mut() {
                estimates.resize(row_sets.len());
            }
            for start in (0..row_sets.len()).step_by(near.max(1)) {
                for (panel, estimates) in panels.iter().zip(estimates.iter_mut()) {
                    let places = row_sets.iter().zip(estimates.blocks());
                    for (piece, (out, greatest)) in places.skip(start).take(near.max(1)) {
                        *greatest = codes.coarse.estimate(scanner, panel, *piece, out);
                    }
                }
            }
            let seen = Seen {
                codes,
                base,
                row_sets,
            };
            for (estimates, states) in estimates.iter_mut().zip(states.chunks_mut(PANEL)) {
                self.prune(&seen, estimates, states);
            }
        }
    }
}

/// Rows whose codes are read first, and those that are scored in full at once: a block of which few
/// rows are asked for costs less in full than its codes do, and the last rows have no codes yet.
fn parted(row_sets: &RowSets, segment: &Segment, codes: &Codes) -> (RowSets, RowSets) {
    let few = u32::try_from(codes.bytes() * BLOCK / (segment.bytes() + 1)).unwrap_or(u32::MAX);
    let (full, odd) = (segment.coded() / BLOCK, segment.coded() % BLOCK);
    let (mut dense, mut sparse) = (RowSets::with_capacity(row_sets.len()), RowSets::new());
    for (block, mask) in row_sets {
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
