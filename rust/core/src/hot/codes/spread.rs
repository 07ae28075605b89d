//! What each kind of codes would cost on rows like those of a sample, in bytes a row.
//!
//! ```text
//! cost = bytes of a coarse code + share of rows that get past it · bytes read for one of those
//! ```
//!
//! A row gets past codes when its score is within their margin of the k-th best. The share is that of
//! pairs of the sample; the best of a sample are worse than the best of many rows, so codes that are finer
//! are preferred where it is close. Only the time of a search depends on it.

use crate::hot::codes::basis::Basis;
use crate::hot::codes::head::{DIRECTIONS, Head, Model};
use crate::simd::{Lanes, Scanner};

/// Rows of the sample that are taken for queries.
const QUERIES: usize = 16;

/// What four-bit codes miss of a unit vector, about.
const FOUR_MISSES: f64 = 0.12;

/// Bytes of the factors of a row.
const FACTORS: f64 = 16.0;

/// Reading a row here and there costs as much as so many in order.
const SCATTERED: f64 = 6.0;

/// A projection is worth a closer look if a rough one costs at most so many times what the best does.
const CLOSE: f64 = 2.0;

/// The model that costs least for so many rows, of which some are the sample, and the best k of them.
pub(in crate::hot) fn cheapest(
    scanner: Scanner,
    dim: usize,
    sample: &[&[Lanes]],
    (rows, k): (usize, usize),
) -> Model {
    let float = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
    let wide = float(dim);
    let past = SCATTERED * wide;
    let mut scores = scores(scanner, sample);
    let place = (k * sample.len() / rows.max(1)).max(1);
    let mut cost =
        |bytes: f64, margin: f64| FACTORS + bytes + past * near(&mut scores, place, margin);
    let mut best = (Model::Int8, FACTORS + wide);
    let four = cost(wide / 2.0, FOUR_MISSES);
    if four < best.1 {
        best = (Model::Int4, four);
    }
    if Head::projects(dim) {
        let unseen = Basis::glimpse(scanner, dim, sample, DIRECTIONS);
        if cost(float(DIRECTIONS), unseen) < CLOSE * best.1 {
            let basis = Basis::fit(scanner, dim, sample, DIRECTIONS);
            let projected = cost(float(DIRECTIONS), basis.unseen());
            if projected < best.1 {
                best = (Model::projected(basis), projected);
            }
        }
    }
    best.0
}

/// The cosines of some of the sample's rows with all others.
fn scores(scanner: Scanner, sample: &[&[Lanes]]) -> Vec<Vec<f32>> {
    let dot = |a: &[Lanes], b: &[Lanes]| {
        let mut score = [0.0];
        scanner.dot_rows(a, b, &mut score);
        let [score] = score;
        score
    };
    let norms: Vec<f32> = sample.iter().map(|row| dot(row, row).sqrt()).collect();
    let rows = || sample.iter().zip(&norms).filter(|(_, norm)| **norm > 0.0);
    let step = sample.len().div_ceil(QUERIES).max(1);
    let queries = rows().enumerate().step_by(step);
    queries
        .map(|(own, (query, length))| {
            let others = rows().enumerate().filter(|(at, _)| *at != own);
            others
                .map(|(_, (row, norm))| dot(query, row) / (length * norm))
                .collect()
        })
        .collect()
}

/// The share of scores within a margin of the one at a place of their order.
fn near(queries: &mut [Vec<f32>], place: usize, margin: f64) -> f64 {
    let (mut within, mut count) = (0_u32, 0_u32);
    for scores in queries {
        let Some(last) = scores.len().checked_sub(1) else {
            continue;
        };
        let place = (place - 1).min(last);
        let (_, best, _) = scores.select_nth_unstable_by(place, |a, b| b.total_cmp(a));
        let low = f64::from(*best) - margin;
        let past = scores.iter().filter(|score| f64::from(**score) >= low);
        within += u32::try_from(past.count()).unwrap_or(u32::MAX);
        count += u32::try_from(scores.len()).unwrap_or(0);
    }
    f64::from(within) / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows around so many centres that differ in so many directions mostly.
    fn rows(count: usize, directions: usize, spread: f32) -> Vec<Vec<Lanes>> {
        let mut state = 3_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f32::from(u16::try_from(state >> 48).unwrap()) / 65_536.0 - 0.5
        };
        let centres: Vec<Vec<f32>> = (0..count)
            .map(|_| {
                let size = |at: usize| if at < directions { 1.0 } else { 0.05 };
                (0..384).map(|at| next() * size(at)).collect()
            })
            .collect();
        (0..4_000)
            .map(|at| {
                let mut out = Vec::new();
                let centre = centres[at % count].iter();
                let row: Vec<f32> = centre.map(|centre| centre + spread * next()).collect();
                Lanes::extend(&mut out, &row);
                out
            })
            .collect()
    }

    #[test]
    fn the_codes_follow_how_the_energy_is_spread() {
        let scanner = Scanner::best();
        let name = |k, (count, directions, spread)| {
            let rows = rows(count, directions, spread);
            let sample: Vec<&[Lanes]> = rows.iter().map(Vec::as_slice).collect();
            cheapest(scanner, 384, &sample, (sample.len(), k)).name()
        };
        assert_eq!(name(12, (40, 48, 0.05)), "projected");
        // Each centre has a hundred rows: whoever asks for more of them gets past any margin.
        assert_eq!(name(90, (40, 48, 0.05)), "projected");
        assert_eq!(name(256, (40, 48, 0.05)), "int8");
        assert_eq!(name(12, (40, 384, 8.0)), "int8", "noise");
        assert_eq!(
            name(12, (200, 384, 0.8)),
            "int4",
            "clusters in all directions"
        );
        let rows = rows(40, 48, 0.05);
        let sample: Vec<&[Lanes]> = rows.iter().map(Vec::as_slice).collect();
        let many = (10 * sample.len(), 256);
        let name = cheapest(scanner, 384, &sample, many).name();
        assert_eq!(name, "projected", "a tenth of the rows, and of the best");
        let settled = |head: Head| head.settled(&Model::Plain, 384, scanner, (&sample, 4_000));
        assert_eq!(settled(Head::Auto).unwrap().name(), "projected");
        assert_eq!(settled(Head::Pool).unwrap().name(), "int8");
        // A sample that tells nothing is no reason to fail.
        cheapest(scanner, 384, &[], (0, 12));
        cheapest(scanner, 64, &[&[Lanes([1.0; 16]); 4]], (1, 12));
        cheapest(scanner, 64, &[&[Lanes::ZERO; 4][..]; 3], (1, 12));
    }
}
