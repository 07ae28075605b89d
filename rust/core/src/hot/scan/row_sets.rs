//! Which rows a search is asked for: bits of blocks, segment by segment.

use crate::hot::vectors::segment::SEGMENT;
use crate::simd::codes::BLOCK;

/// Blocks of one segment, each with a bit for every row that is asked for.
pub(in crate::hot) type RowSets = Vec<(usize, u64)>;

/// Sorts blocks, which ascend, by their segments.
pub(in crate::hot) fn gather(words: impl Iterator<Item = (usize, u64)>) -> Vec<RowSets> {
    const BLOCKS: usize = SEGMENT / BLOCK;
    let mut out: Vec<RowSets> = Vec::new();
    for (block, mask) in words {
        let segment = block / BLOCKS;
        if out.len() <= segment {
            out.resize(segment + 1, Vec::new());
        }
        if let Some(row_sets) = out.get_mut(segment) {
            row_sets.push((block % BLOCKS, mask));
        }
    }
    out
}

/// The rows that row sets ask for.
pub(in crate::hot) fn count(row_sets: &[RowSets]) -> usize {
    let ones = row_sets.iter().flatten().map(|(_, mask)| mask.count_ones());
    ones.map(|ones| usize::try_from(ones).unwrap_or(0)).sum()
}

/// The runs of rows within a block: where each begins, and how long it is.
pub(in crate::hot) fn runs(mut mask: u64) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let first = mask.trailing_zeros();
            let count = (!(mask >> first)).trailing_zeros().min(u64::BITS - first);
            mask &= u64::MAX.checked_shl(first + count).unwrap_or(0);
            let wide = |n: u32| usize::try_from(n).unwrap_or(0);
            (wide(first), wide(count))
        })
    })
}

/// The places of the bits that are set.
pub(in crate::hot) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let at = mask.trailing_zeros();
            mask &= mask - 1;
            usize::try_from(at).unwrap_or(0)
        })
    })
}

/// Row sets in parts of about so many rows, each part with all segments.
pub(in crate::hot) fn split(row_sets: &[RowSets], rows: usize) -> Vec<Vec<RowSets>> {
    let mut parts: Vec<Vec<RowSets>> = Vec::new();
    let mut room = 0;
    for (segment, row_sets) in row_sets.iter().enumerate() {
        for (block, mask) in row_sets {
            let ones = usize::try_from(mask.count_ones()).unwrap_or(0);
            if room < ones {
                parts.push(Vec::new());
                room = rows.max(ones);
            }
            room -= ones;
            if let Some(part) = parts.last_mut() {
                part.resize(segment + 1, Vec::new());
                if let Some(last) = part.last_mut() {
                    last.push((*block, *mask));
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_the_pieces(
            words in prop::collection::btree_map(0_usize..3_000, 1_u64.., 0..60),
            rows in 1_usize..500,
        ) {
            let row_sets = gather(words.clone().into_iter());
            let parts = split(&row_sets, rows);
            prop_assert!(parts.iter().all(|part| count(part) <= rows.max(64)));
            let mut all: Vec<(usize, u64)> = Vec::new();
            for part in &parts {
                for (segment, row_sets) in part.iter().enumerate() {
                    let first = segment * (SEGMENT / BLOCK);
                    all.extend(row_sets.iter().map(|(block, mask)| (first + block, *mask)));
                }
            }
            prop_assert_eq!(all, words.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(parts.iter().map(|part| count(part)).sum::<usize>(), count(&row_sets));
        }

        #[test]
        fn runs_and_bits_are_the_ones(mask in any::<u64>()) {
            let ones: Vec<usize> = (0..64).filter(|at| mask >> at & 1 == 1).collect();
            prop_assert_eq!(bits(mask).collect::<Vec<_>>(), ones.clone());
            let listed: Vec<usize> = runs(mask).flat_map(|(at, n)| at..at + n).collect();
            prop_assert_eq!(listed, ones);
            let runs: Vec<_> = runs(mask).collect();
            prop_assert!(runs.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0));
        }
    }
}
