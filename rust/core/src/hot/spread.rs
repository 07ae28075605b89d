//! What each kind of codes would cost on rows like those of a sample, in bytes a row.
//!
//! ```text
//! cost = bytes of a coarse code + share of rows that get past it · bytes read for one of those
//! ```
//!
//! A row gets past codes when its score is within their margin of the k-th best. The share is that of
//! pairs of the sample; the best of a sample are worse than the best of many rows, so codes that are finer
//! are preferred where it is close. Only the time of a search depends on it.

use super::basis::Basis;
use super::head::{DIRECTIONS, Head, Model};
use super::linear::{dots, matrix, unit};
use crate::simd::Scanner;

/// Rows of the sample that are taken for queries.
const QUERIES: usize = 16;

/// What four-bit codes miss of a unit vector, about.
const FOUR_MISSES: f64 = 0.12;

/// Bytes of the factors of a row.
const FACTORS: f64 = 16.0;

/// Reading a row here and there costs as much as so many in order.
const SCATTERED: f64 = 6.0;

/// The k of the k-th best of all rows.
const K: usize = 12;

/// The model that costs least for so many rows, of which some are the sample.
pub(super) fn cheapest(scanner: Scanner, dim: usize, sample: &[Vec<f32>], rows: usize) -> Model {
    let float = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
    let wide = float(dim);
    let past = SCATTERED * wide;
    let tops = scores(scanner, sample);
    let place = (K * sample.len() / rows.max(1)).max(1);
    let cost = |bytes: f64, margin: f64| FACTORS + bytes + past * near(&tops, place, margin);
    let mut best = (Model::Int8, FACTORS + wide);
    let four = cost(wide / 2.0, FOUR_MISSES);
    if four < best.1 {
        best = (Model::Int4, four);
    }
    if Head::projects(dim) {
        let basis = Basis::fit(scanner, dim, sample, DIRECTIONS);
        let projected = cost(float(DIRECTIONS), basis.unseen());
        if projected < best.1 {
            best = (Model::projected(basis), projected);
        }
    }
    best.0
}

/// The scores of some of the sample's rows with all others, each list descending.
fn scores(scanner: Scanner, sample: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let rows: Vec<Vec<f64>> = sample.iter().filter_map(|row| unit(row)).collect();
    let all = matrix(&rows);
    let step = rows.len().div_ceil(QUERIES).max(1);
    let queries = rows.iter().enumerate().step_by(step);
    queries
        .map(|(own, query)| {
            let scores = dots(scanner, query, &all, rows.len());
            let others = scores.into_iter().enumerate().filter(|(at, _)| *at != own);
            let mut others: Vec<f64> = others.map(|(_, score)| score).collect();
            others.sort_unstable_by(|a, b| b.total_cmp(a));
            others
        })
        .collect()
}

/// The share of scores within a margin of the one at a place of their list.
fn near(tops: &[Vec<f64>], place: usize, margin: f64) -> f64 {
    let (mut within, mut count) = (0_u32, 0_u32);
    for scores in tops {
        let best = scores.get(place - 1).or(scores.last());
        let least = best.map_or(0.0, |best| best - margin);
        let past = scores.partition_point(|score| *score >= least);
        within += u32::try_from(past).unwrap_or(u32::MAX);
        count += u32::try_from(scores.len()).unwrap_or(0);
    }
    f64::from(within) / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows around so many centres that differ in so many directions mostly.
    fn rows(count: usize, directions: usize, spread: f32) -> Vec<Vec<f32>> {
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
                centres[at % count]
                    .iter()
                    .map(|centre| centre + spread * next())
                    .collect()
            })
            .collect()
    }

    #[test]
    fn the_codes_follow_how_the_energy_is_spread() {
        let scanner = Scanner::best();
        let name = |count, directions, spread| {
            let sample = rows(count, directions, spread);
            cheapest(scanner, 384, &sample, sample.len()).name()
        };
        assert_eq!(name(40, 48, 0.05), "projected");
        assert_eq!(name(40, 384, 8.0), "int8", "noise");
        assert_eq!(name(200, 384, 0.8), "int4", "clusters in all directions");
        // A sample that tells nothing is no reason to fail.
        cheapest(scanner, 384, &[], 0);
        cheapest(scanner, 64, &[vec![1.0; 64]], 1);
    }
}
