//! Which of the rows that were estimated may still matter, and what they score.

use super::cascade::Field;
use super::catalog::Slot;
use super::codes::Codes;
use super::fine::Fine;
use super::hunt::Hunt;
use super::pieces::bits;
use super::segment::SEGMENT;
use crate::simd::Lanes;
use crate::simd::codes::{BLOCK, Margins, Terms};

/// What coarse codes say of some rows to one query.
pub(super) struct Seen<'a> {
    pub(super) codes: &'a Codes,
    /// The first row of the segment.
    pub(super) base: usize,
    pub(super) pieces: &'a [(usize, u64)],
    pub(super) estimates: Vec<[f32; BLOCK]>,
    pub(super) greatest: Vec<f32>,
}

/// Rows that are read in full before the first of them is ranked: to wait for one of them is to wait for
/// all.
const AHEAD: usize = 8;

/// How many rows are seeds.
fn wanted(hunt: &Hunt) -> usize {
    hunt.top.k().saturating_add(hunt.top.k() / 2 + 4)
}

/// So few blocks have fewer greatest estimates than there may be seeds; their columns have more.
const COLUMNS_TO: usize = BLOCK;

/// What an estimate must reach to be among the best of about so many as there are seeds; at least the
/// floor. It is the greatest estimate of a block, or of the rows at one place of all blocks.
fn enough(seen: &Seen<'_>, hunt: &Hunt) -> f32 {
    let (wanted, floor) = (wanted(hunt), hunt.floor());
    let mut columns = [f32::NEG_INFINITY; BLOCK];
    let greatest = if seen.greatest.len() < COLUMNS_TO {
        for estimates in &seen.estimates {
            for (most, one) in columns.iter_mut().zip(estimates) {
                *most = if *one > *most { *one } else { *most };
            }
        }
        &columns
    } else {
        &seen.greatest[..]
    };
    let mut best: Vec<f32> = greatest
        .iter()
        .copied()
        .filter(|one| *one > floor)
        .collect();
    if best.len() <= wanted {
        return floor;
    }
    let (_, least, _) = best.select_nth_unstable_by(wanted, |a, b| b.total_cmp(a));
    *least
}

impl<I: Fn(Slot) -> Option<u64>> Field<'_, I> {
    /// Raises the floor by the rows with the best estimates.
    pub(super) fn seed(&self, seen: &mut Seen<'_>, hunt: &mut Hunt) {
        let wanted = wanted(hunt);
        let enough = enough(seen, hunt);
        let mut seeds: Vec<(f32, usize, usize)> = Vec::new();
        let found = seen.greatest.iter().zip(&seen.estimates);
        for (at, ((_, admitted), (greatest, estimates))) in
            seen.pieces.iter().zip(found).enumerate()
        {
            if *greatest >= enough {
                let scanner = self.rows.scanner();
                let mask = scanner.reaching(estimates, &Margins::ZERO, &Terms::default(), enough);
                let rows = bits(mask & admitted);
                seeds.extend(rows.filter_map(|row| Some((*estimates.get(row)?, at, row))));
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
            let estimates = seen.estimates.get_mut(at);
            if let Some(estimate) = estimates.and_then(|one| one.get_mut(place)) {
                *estimate = f32::NEG_INFINITY;
            }
        }
        self.refine(fine, seen.base, &rows, hunt);
    }

    /// Lets the rows of a stretch wait that may reach the floor.
    pub(super) fn sift(&self, seen: &Seen<'_>, hunt: &mut Hunt) {
        let terms = *hunt.probe.terms(&seen.codes.model);
        let (coarse, floor) = (&seen.codes.coarse, hunt.floor());
        let mut rows: Vec<usize> = Vec::new();
        let found = seen.greatest.iter().zip(&seen.estimates);
        for ((block, admitted), (greatest, estimates)) in seen.pieces.iter().zip(found) {
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
    pub(super) fn settle(&self, hunt: &mut Hunt) {
        let floor = hunt.floor();
        let mut kept = std::mem::take(&mut hunt.kept);
        kept.retain(|(upper, _)| *upper >= floor);
        kept.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // With codes asked for, a row that was dropped could not reach the floor of that moment.
        if hunt.steps.screened > 0 {
            hunt.bound = floor;
        }
        for some in kept.chunks(AHEAD) {
            let mut scores = [None; AHEAD];
            for ((upper, row), score) in some.iter().zip(&mut scores) {
                if *upper < hunt.top.floor() {
                    hunt.bound = hunt.bound.max(*upper);
                    break;
                }
                *score = self.score(*row, &hunt.probe.lanes);
            }
            for ((_, row), score) in some.iter().zip(scores) {
                let Some(score) = score else {
                    return;
                };
                hunt.steps.exact += 1;
                self.rank(hunt, *row, score);
            }
        }
    }

    /// What a row scores in full.
    fn score(&self, row: usize, query: &[Lanes]) -> Option<f32> {
        let mut score = [0.0];
        let segment = self.rows.segments().get(row / SEGMENT)?;
        let there = segment.score(query, row % SEGMENT, &mut score);
        let [score] = score;
        there.then_some(score)
    }

    /// Takes note that a row scores at least so much.
    pub(super) fn raise(&self, hunt: &mut Hunt, row: usize, lower: f32) {
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
    pub(super) fn rank(&self, hunt: &mut Hunt, row: usize, score: f32) {
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
