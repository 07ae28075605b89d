//! Which of the rows that were estimated may still matter, and what they score.

use super::cascade::Field;
use super::catalog::Slot;
use super::codes::Codes;
use super::desk::{Desk, TOGETHER};
use super::fine::Fine;
use super::hunt::Hunt;
use super::pieces::bits;
use crate::simd::codes::{BLOCK, Margins, Terms};

/// Rows of a segment whose codes were looked at.
pub(super) struct Seen<'a> {
    pub(super) codes: &'a Codes,
    /// The first row of the segment.
    pub(super) base: usize,
    pub(super) pieces: &'a [(usize, u64)],
}

impl Seen<'_> {
    /// The row at a place of a block, counted from the segment's first.
    fn row(&self, at: usize, place: usize) -> usize {
        let (block, _) = self.pieces.get(at).copied().unwrap_or_default();
        block * BLOCK + place
    }
}

/// What coarse codes say of blocks of rows to `M` queries.
pub(super) struct Estimates<const M: usize> {
    rows: Vec<[[f32; BLOCK]; M]>,
    greatest: Vec<[f32; M]>,
}

impl<const M: usize> Estimates<M> {
    /// Room for so many blocks.
    pub(super) fn of(blocks: usize) -> Self {
        Self {
            rows: vec![[[0.0; BLOCK]; M]; blocks],
            greatest: vec![[0.0; M]; blocks],
        }
    }

    /// Keeps room for fewer blocks.
    pub(super) fn truncate(&mut self, blocks: usize) {
        self.rows.truncate(blocks);
        self.greatest.truncate(blocks);
    }

    /// Where a block's estimates are written, and the greatest for each query.
    pub(super) fn blocks(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (&mut [[f32; BLOCK]; M], &mut [f32; M])> + ExactSizeIterator
    {
        self.rows.iter_mut().zip(&mut self.greatest)
    }

    /// What they say to one query: of the rows of each block, and the greatest.
    fn of_query(&self, which: usize) -> impl Iterator<Item = (&[f32; BLOCK], f32)> {
        let rows = self.rows.iter().filter_map(move |rows| rows.get(which));
        let greatest = self.greatest.iter().filter_map(move |all| all.get(which));
        rows.zip(greatest.copied())
    }

    /// Forgets what they say of a row to a query.
    fn forget(&mut self, which: usize, at: usize, place: usize) {
        let rows = self.rows.get_mut(at).and_then(|rows| rows.get_mut(which));
        if let Some(estimate) = rows.and_then(|rows| rows.get_mut(place)) {
            *estimate = f32::NEG_INFINITY;
        }
    }
}

/// How many rows are seeds.
fn wanted(hunt: &Hunt) -> usize {
    hunt.top.k().saturating_add(hunt.top.k() / 2 + 4)
}

/// So few blocks have fewer greatest estimates than there may be seeds; their columns have more.
const COLUMNS_TO: usize = BLOCK;

/// The greatest estimates of every four rows of a block.
fn quarters(rows: &[f32; BLOCK]) -> [f32; BLOCK / 4] {
    let mut quarters = [f32::NEG_INFINITY; BLOCK / 4];
    for part in rows.as_chunks::<{ BLOCK / 4 }>().0 {
        for (most, one) in quarters.iter_mut().zip(part) {
            *most = if *one > *most { *one } else { *most };
        }
    }
    quarters
}

/// What an estimate must reach to be among the best of about so many as there are seeds; at least the
/// floor. It is the greatest estimate of a block, of four rows of one where there are fewer blocks than
/// seeds, or of the rows at one place of all blocks.
fn enough<const M: usize>(seen: &Estimates<M>, which: usize, hunt: &Hunt) -> f32 {
    let (wanted, floor) = (wanted(hunt), hunt.floor());
    let mut best: Vec<f32> = Vec::new();
    if seen.rows.len() < COLUMNS_TO {
        let mut columns = [f32::NEG_INFINITY; BLOCK];
        for (rows, _) in seen.of_query(which) {
            for (most, one) in columns.iter_mut().zip(rows) {
                *most = if *one > *most { *one } else { *most };
            }
        }
        best.extend(columns.iter().filter(|one| **one > floor));
    } else {
        let greatest = seen.of_query(which).map(|(_, greatest)| greatest);
        best.extend(greatest.filter(|one| *one > floor));
        if best.len() <= wanted {
            best.clear();
            for (rows, _) in seen.of_query(which) {
                best.extend(quarters(rows).into_iter().filter(|one| *one > floor));
            }
        }
    }
    if best.len() <= wanted {
        return floor;
    }
    let (_, least, _) = best.select_nth_unstable_by(wanted, |a, b| b.total_cmp(a));
    *least
}

impl<I: Fn(Slot) -> Option<u64>> Field<'_, I> {
    /// Lets the rows wait that may matter to each query; one hunt a query.
    pub(super) fn sieve<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &mut Estimates<M>,
        hunts: &mut [Hunt],
    ) {
        for (which, hunt) in hunts.iter_mut().enumerate() {
            hunt.steps.screened += seen.pieces.len() * BLOCK;
            self.seed(seen, estimates, which, hunt);
            self.sift(seen, estimates, which, hunt);
        }
    }

    /// Raises the floor by the rows with the best estimates.
    fn seed<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &mut Estimates<M>,
        which: usize,
        hunt: &mut Hunt,
    ) {
        let wanted = wanted(hunt);
        let enough = enough(estimates, which, hunt);
        let scanner = self.rows.scanner();
        let mut seeds: Vec<(f32, usize, usize)> = Vec::new();
        let found = seen.pieces.iter().zip(estimates.of_query(which));
        for (at, ((_, admitted), (rows, greatest))) in found.enumerate() {
            if greatest >= enough {
                let mask = scanner.reaching(rows, &Margins::ZERO, &Terms::default(), enough);
                let places = bits(mask & admitted);
                seeds.extend(places.filter_map(|place| Some((*rows.get(place)?, at, place))));
            }
        }
        if seeds.len() > wanted {
            seeds.select_nth_unstable_by(wanted, |a, b| b.0.total_cmp(&a.0));
            seeds.truncate(wanted);
        }
        let Some(fine) = &seen.codes.fine else {
            let terms = *hunt.probe.terms(&seen.codes.model);
            for (estimate, at, place) in seeds {
                let row = seen.row(at, place);
                let lower = estimate - seen.codes.coarse.margin(row, &terms);
                self.raise(hunt, seen.base + row, lower);
            }
            return;
        };
        let rows: Vec<usize> = seeds
            .iter()
            .map(|(_, at, place)| seen.row(*at, *place))
            .collect();
        for (_, at, place) in seeds {
            estimates.forget(which, at, place);
        }
        self.refine(fine, seen.base, &rows, hunt);
    }

    /// Lets the rows of a stretch wait that may reach the floor.
    fn sift<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &Estimates<M>,
        which: usize,
        hunt: &mut Hunt,
    ) {
        let terms = *hunt.probe.terms(&seen.codes.model);
        let (coarse, floor) = (&seen.codes.coarse, hunt.floor());
        let mut rows: Vec<usize> = Vec::new();
        let found = seen.pieces.iter().zip(estimates.of_query(which));
        for ((block, admitted), (estimates, greatest)) in found {
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
        let mut desk = Desk::default();
        for some in kept.chunks(TOGETHER) {
            let least = hunt.top.floor();
            let first = some.iter().take_while(|(upper, _)| *upper >= least);
            let rows = some.get(..first.count()).unwrap_or_default();
            let scores = rows.iter().map(|(_, row)| *row);
            let scores = self.rows.scores(scores, &hunt.probe.lanes, &mut desk);
            for ((_, row), score) in rows.iter().zip(scores) {
                let Some(score) = score else {
                    return;
                };
                hunt.steps.exact += 1;
                self.rank(hunt, *row, score);
            }
            if let Some((upper, _)) = some.get(rows.len()) {
                hunt.bound = hunt.bound.max(*upper);
                return;
            }
        }
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
