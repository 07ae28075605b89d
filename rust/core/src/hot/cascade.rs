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
//! All but the last take one stretch of rows after the other; the floor only rises. A row is left out
//! only when k others score more than it can, so ties are decided by the ids of all that tie, and the
//! answer is that of a full scan whatever the codes are worth.

use super::catalog::Slot;
use super::fine::Fine;
use super::hunt::Hunt;
use super::pieces::{Pieces, bits, runs};
use super::probe::Probe;
use super::rows::Rows;
use super::segment::{Codes, SEGMENT, Segment};
use crate::simd::codes::BLOCK;

/// Queries whose sums stay in registers while a block is read.
const PANEL: usize = 4;

/// Blocks of codes that stay in the cache while one panel after the other is estimated, and blocks whose
/// estimates for one query do.
const STRETCH: usize = 128;
const ONE_STRETCH: usize = 1_024;

/// Rows, and what their slots are called.
#[derive(Clone, Copy)]
pub(super) struct Field<'a, I> {
    pub(super) rows: &'a Rows,
    pub(super) id: I,
}

/// What coarse codes say of one stretch to one query.
struct Seen<'a, const M: usize> {
    codes: &'a Codes,
    /// The first row of the segment.
    base: usize,
    pieces: &'a [(usize, u64)],
    estimates: &'a mut [[[f32; BLOCK]; M]],
    greatest: &'a [[f32; M]],
    /// The query's place in the panel.
    at: usize,
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
            // A block of which few rows are asked for costs less in full than its codes do.
            let few = codes.bytes() * BLOCK / (segment.bytes() + 1);
            let few = u32::try_from(few).unwrap_or(u32::MAX);
            let (sparse, dense): (Pieces, Pieces) = pieces
                .iter()
                .partition(|(_, mask)| mask.count_ones() <= few);
            self.read(segment, base, &sparse, hunts);
            for hunt in hunts.iter_mut() {
                hunt.probe.turn_to(&codes.model, self.rows.scanner());
            }
            match hunts {
                [_] => self.screen::<1>(codes, base, dense.chunks(ONE_STRETCH), hunts),
                _ => self.screen::<PANEL>(codes, base, dense.chunks(STRETCH), hunts),
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

    fn screen<'p, const M: usize>(
        &self,
        codes: &Codes,
        base: usize,
        stretches: impl Iterator<Item = &'p [(usize, u64)]>,
        hunts: &mut [Hunt],
    ) {
        let scanner = self.rows.scanner();
        let panels: Vec<_> = hunts
            .chunks(M)
            .map(|some| Probe::panel::<M>(some.iter().map(|hunt| &hunt.probe), &codes.model))
            .collect();
        let (mut estimates, mut greatest) = (Vec::new(), Vec::new());
        for pieces in stretches {
            estimates.resize(pieces.len(), [[0.0; BLOCK]; M]);
            greatest.resize(pieces.len(), [0.0; M]);
            for (panel, hunts) in panels.iter().zip(hunts.chunks_mut(M)) {
                let out = estimates.iter_mut().zip(&mut greatest);
                for (piece, (out, greatest)) in pieces.iter().zip(out) {
                    *greatest = codes.coarse.estimate(scanner, panel, *piece, out);
                }
                for (at, hunt) in hunts.iter_mut().enumerate() {
                    hunt.steps.screened += pieces.len() * BLOCK;
                    let mut seen = Seen {
                        codes,
                        base,
                        pieces,
                        estimates: &mut estimates,
                        greatest: &greatest,
                        at,
                    };
                    self.seed(&mut seen, hunt);
                    self.sift(&seen, hunt);
                }
            }
        }
    }

    /// Raises the floor by the rows with the best estimates.
    fn seed<const M: usize>(&self, seen: &mut Seen<'_, M>, hunt: &mut Hunt) {
        let wanted = hunt.top.k() + hunt.top.k() / 2 + 4;
        let floor = hunt.floor();
        let best = seen
            .greatest
            .iter()
            .filter_map(|one| one.get(seen.at).copied());
        let mut best: Vec<f32> = best.filter(|one| *one > floor).collect();
        let enough = if best.len() > wanted {
            let (_, least, _) = best.select_nth_unstable_by(wanted, |a, b| b.total_cmp(a));
            *least
        } else {
            floor
        };
        let mut seeds: Vec<(f32, usize, usize)> = Vec::new();
        for (at, (greatest, estimates)) in seen.greatest.iter().zip(&*seen.estimates).enumerate() {
            if greatest.get(seen.at).is_some_and(|one| *one > enough)
                && let Some(estimates) = estimates.get(seen.at)
            {
                let rows = (0..).zip(estimates).filter(|(_, one)| **one > enough);
                seeds.extend(rows.map(|(row, one)| (*one, at, row)));
            }
        }
        if seeds.len() > wanted {
            seeds.select_nth_unstable_by(wanted, |a, b| b.0.total_cmp(&a.0));
            seeds.truncate(wanted);
        }
        let row = |at: usize, place: usize| {
            let (block, _) = seen.pieces.get(at).copied().unwrap_or_default();
            block * BLOCK + place
        };
        let Some(fine) = &seen.codes.fine else {
            let terms = *hunt.probe.terms(&seen.codes.model);
            for (estimate, at, place) in seeds {
                let row = row(at, place);
                let lower = estimate - seen.codes.coarse.margin(row, &terms);
                self.raise(hunt, seen.base + row, lower);
            }
            return;
        };
        let rows: Vec<usize> = seeds
            .iter()
            .map(|(_, at, place)| row(*at, *place))
            .collect();
        for (_, at, place) in seeds {
            let estimates = seen
                .estimates
                .get_mut(at)
                .and_then(|one| one.get_mut(seen.at));
            if let Some(estimate) = estimates.and_then(|one| one.get_mut(place)) {
                *estimate = f32::NEG_INFINITY;
            }
        }
        self.refine(fine, seen.base, &rows, hunt);
    }

    /// Lets the rows of a stretch wait that may reach the floor.
    fn sift<const M: usize>(&self, seen: &Seen<'_, M>, hunt: &mut Hunt) {
        let terms = *hunt.probe.terms(&seen.codes.model);
        let (coarse, floor) = (&seen.codes.coarse, hunt.floor());
        let mut rows: Vec<usize> = Vec::new();
        let found = seen.greatest.iter().zip(&*seen.estimates);
        for ((block, admitted), (greatest, estimates)) in seen.pieces.iter().zip(found) {
            let (Some(greatest), Some(estimates)) = (greatest.get(seen.at), estimates.get(seen.at))
            else {
                continue;
            };
            if greatest + coarse.ceiling(*block, &terms) < floor {
                continue;
            }
            let mask = coarse.reaching(self.rows.scanner(), *block, estimates, &terms, floor);
            for at in bits(mask & admitted) {
                let estimate = estimates.get(at).copied().unwrap_or(f32::NEG_INFINITY);
                let row = block * BLOCK + at;
                if seen.codes.fine.is_none() {
                    hunt.steps.kept += 1;
                    hunt.keep(estimate + coarse.margin(row, &terms), seen.base + row);
                } else if estimate > f32::NEG_INFINITY {
                    // What was a seed is not refined again.
                    rows.push(row);
                }
            }
        }
        if let Some(fine) = &seen.codes.fine {
            self.refine(fine, seen.base, &rows, hunt);
        }
    }

    /// Bounds rows by their finer codes.
    fn refine(&self, fine: &Fine, base: usize, rows: &[usize], hunt: &mut Hunt) {
        hunt.steps.kept += rows.len();
        hunt.steps.refined += rows.len();
        let bounds = fine.bounds(self.rows.scanner(), &hunt.probe.coded(), rows);
        for (row, (lower, upper)) in rows.iter().zip(bounds) {
            self.raise(hunt, base + row, lower);
            hunt.keep(upper, base + row);
        }
    }

    /// Scores the rows in full that still wait, as far as they can matter.
    fn settle(&self, hunt: &mut Hunt) {
        let floor = hunt.floor();
        let mut kept = std::mem::take(&mut hunt.kept);
        kept.retain(|(upper, _)| *upper >= floor);
        kept.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // With codes asked for, a row that was dropped could not reach the floor of that moment.
        if hunt.steps.screened > 0 {
            hunt.bound = floor;
        }
        for (upper, row) in kept {
            if upper < hunt.top.floor() {
                hunt.bound = hunt.bound.max(upper);
                break;
            }
            let mut score = [0.0];
            let (segment, at) = (row / SEGMENT, row % SEGMENT);
            let segment = self.rows.segments().get(segment);
            if segment.is_some_and(|one| one.score(&hunt.probe.lanes, at, &mut score)) {
                hunt.steps.exact += 1;
                let [score] = score;
                self.rank(hunt, row, score);
            }
        }
    }

    /// Takes note that a row scores at least so much.
    fn raise(&self, hunt: &mut Hunt, row: usize, lower: f32) {
        if lower < hunt.floor() {
            return;
        }
        if !self.rows.shared() {
            hunt.lowest
                .push(lower, u64::try_from(row).unwrap_or(u64::MAX));
        } else if let Some(slot) = self.rows.owner(row) {
            hunt.lowest.push_best(lower, u64::from(slot));
        }
    }

    /// Brings a row's score into the ranking.
    fn rank(&self, hunt: &mut Hunt, row: usize, score: f32) {
        if score < hunt.top.floor() {
            return;
        }
        if let Some(id) = self.rows.owner(row).and_then(|slot| (self.id)(slot)) {
            if self.rows.shared() {
                hunt.top.push_best(score, id);
            } else {
                hunt.top.push(score, id);
            }
        }
    }
}
