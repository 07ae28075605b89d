//! Which of the rows that were estimated may still matter, and what they score.

use crate::hot::catalog::Slot;
use crate::hot::codes::fine::Fine;
use crate::hot::codes::segment_codes::Codes;
use crate::hot::scan::cascade::Field;
use crate::hot::scan::rescore::{RowBatch, TOGETHER};
use crate::hot::scan::row_sets::bits;
use crate::hot::scan::search_state::SearchState;
use crate::simd::codes::{BLOCK, Margins, Terms};

/// Rows of a segment whose codes were looked at.
pub(in crate::hot) struct Seen<'a> {
    pub(in crate::hot) codes: &'a Codes,
    /// The first row of the segment.
    pub(in crate::hot) base: usize,
    pub(in crate::hot) row_sets: &'a [(usize, u64)],
}

impl Seen<'_> {
    /// The row at a place of a block, counted from the segment's first.
    fn row(&self, at: usize, place: usize) -> usize {
        let (block, _) = self.row_sets.get(at).copied().unwrap_or_default();
        block * BLOCK + place
    }
}

/// What coarse codes say of blocks of rows to `M` queries.
pub(in crate::hot) struct Estimates<const M: usize> {
    rows: Vec<[[f32; BLOCK]; M]>,
    greatest: Vec<[f32; M]>,
}

impl<const M: usize> Estimates<M> {
    /// Room for so many blocks.
    pub(in crate::hot) fn of(blocks: usize) -> Self {
        Self {
            rows: vec![[[0.0; BLOCK]; M]; blocks],
            greatest: vec![[0.0; M]; blocks],
        }
    }

    /// Has room for so many blocks; what it says of them is yet to be written.
    pub(in crate::hot) fn resize(&mut self, blocks: usize) {
        self.rows.resize(blocks, [[0.0; BLOCK]; M]);
        self.greatest.resize(blocks, [0.0; M]);
    }

    /// Where a block's estimates are written, and the greatest for each query.
    pub(in crate::hot) fn blocks(
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
fn wanted(state: &SearchState) -> usize {
    state.top.k().saturating_add(state.top.k() / 2 + 4)
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
fn enough<const M: usize>(seen: &Estimates<M>, which: usize, state: &SearchState) -> f32 {
    let (wanted, floor) = (wanted(state), state.floor());
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
    /// Lets the rows wait that may matter to each query; one state a query.
    pub(in crate::hot) fn prune<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &mut Estimates<M>,
        states: &mut [SearchState],
    ) {
        for (which, state) in states.iter_mut().enumerate() {
            state.steps.screened += seen.row_sets.len() * BLOCK;
            self.seed(seen, estimates, which, state);
            self.sift(seen, estimates, which, state);
        }
    }

    /// Raises the floor by the rows with the best estimates.
    fn seed<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &mut Estimates<M>,
        which: usize,
        state: &mut SearchState,
    ) {
        let wanted = wanted(state);
        let enough = enough(estimates, which, state);
        let scanner = self.rows.scanner();
        let mut seeds: Vec<(f32, usize, usize)> = Vec::new();
        let found = seen.row_sets.iter().zip(estimates.of_query(which));
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
            let terms = *state.probe.terms(&seen.codes.model);
            for (estimate, at, place) in seeds {
                let row = seen.row(at, place);
                let lower = estimate - seen.codes.coarse.margin(row, &terms);
                self.raise(state, seen.base + row, lower);
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
        self.refine(fine, seen.base, &rows, state);
    }

    /// Lets the rows of a stretch wait that may reach the floor.
    fn sift<const M: usize>(
        &self,
        seen: &Seen<'_>,
        estimates: &Estimates<M>,
        which: usize,
        state: &mut SearchState,
    ) {
        let terms = *state.probe.terms(&seen.codes.model);
        let (coarse, floor) = (&seen.codes.coarse, state.floor());
        let mut rows: Vec<usize> = Vec::new();
        let found = seen.row_sets.iter().zip(estimates.of_query(which));
        for ((block, admitted), (estimates, greatest)) in found {
            if greatest + coarse.ceiling(*block, &terms) < floor {
                continue;
            }
            let mask = coarse.reaching(self.rows.scanner(), *block, estimates, &terms, floor);
            for at in bits(mask & admitted) {
                let estimate = estimates.get(at).copied().unwrap_or(f32::NEG_INFINITY);
                let row = block * BLOCK + at;
                if seen.codes.fine.is_none() {
                    state.steps.kept += 1;
                    state.keep(estimate + coarse.margin(row, &terms), seen.base + row);
                } else if estimate > f32::NEG_INFINITY {
                    // What was a seed is not refined again.
                    rows.push(row);
                }
            }
        }
        if let Some(fine) = &seen.codes.fine {
            self.refine(fine, seen.base, &rows, state);
        }
    }

    /// Bounds rows by their finer codes.
    fn refine(&self, fine: &Fine, base: usize, rows: &[usize], state: &mut SearchState) {
        state.steps.kept += rows.len();
        state.steps.refined += rows.len();
        let bounds = fine.bounds(self.rows.scanner(), &state.probe.coded(), rows);
        for (row, (lower, upper)) in rows.iter().zip(bounds) {
            self.raise(state, base + row, lower);
            state.keep(upper, base + row);
        }
    }

    /// Scores the rows in full that still wait, as far as they can matter.
    pub(in crate::hot) fn settle(&self, state: &mut SearchState) {
        let floor = state.floor();
        let mut kept = std::mem::take(&mut state.kept);
        kept.retain(|(upper, _)| *upper >= floor);
        kept.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // With codes asked for, a row that was dropped could not reach the floor of that moment.
        if state.steps.screened > 0 {
            state.bound = floor;
        }
        let mut batch = RowBatch::default();
        let mut ahead = kept.chunks(TOGETHER).skip(1);
        for some in kept.chunks(TOGETHER) {
            let next = ahead.next().unwrap_or_default();
            self.rows.expect(next.iter().map(|(_, row)| *row));
            let least = state.top.floor();
            let first = some.iter().take_while(|(upper, _)| *upper >= least);
            let rows = some.get(..first.count()).unwrap_or_default();
            let scores = rows.iter().map(|(_, row)| *row);
            let scores = self.rows.scores(scores, &state.probe.lanes, &mut batch);
            for ((_, row), score) in rows.iter().zip(scores) {
                let Some(score) = score else {
                    return;
                };
                state.steps.exact += 1;
                self.rank(state, *row, score);
            }
            if let Some((upper, _)) = some.get(rows.len()) {
                state.bound = state.bound.max(*upper);
                return;
            }
        }
    }

    /// Takes note that a row scores at least so much.
    pub(in crate::hot) fn raise(&self, state: &mut SearchState, row: usize, lower: f32) {
        if lower < state.floor() {
            return;
        }
        if !self.rows.shared() {
            state
                .lowest
                .push(lower, u64::try_from(row).unwrap_or(u64::MAX));
        } else if let Some(slot) = self.rows.owner(row) {
            state.lowest.push_best(lower, u64::from(slot));
        }
    }

    /// Brings a row's score into the ranking.
    pub(in crate::hot) fn rank(&self, state: &mut SearchState, row: usize, score: f32) {
        if score < state.top.floor() {
            return;
        }
        if let Some(id) = self.rows.owner(row).and_then(|slot| (self.id)(slot)) {
            if self.rows.shared() {
                state.top.push_best(score, id);
            } else {
                state.top.push(score, id);
            }
        }
    }
}
