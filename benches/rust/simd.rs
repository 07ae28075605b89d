//! The kernels, one tier beside the other: 10,000 rows of 384 floats, in cache and out of it.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use warmset_core::simd::{LANES, Lanes, Scanner, Tier, canonical_dot};

const DIM: usize = 384;

/// Rows of a fixed pseudo-random sequence in -0.5 .. 0.5.
fn rows(count: usize, mut state: u64) -> Vec<Lanes> {
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let bits = u32::try_from(state >> 41).unwrap();
        f32::from_bits(0x3f80_0000 | bits) - 1.5
    };
    (0..count * DIM / LANES)
        .map(|_| Lanes(std::array::from_fn(|_| next())))
        .collect()
}

fn main() {
    divan::main();
}

/// One query against so many rows; the scores are checked against the naive sum first.
#[divan::bench(args = Tier::available(), consts = [256, 10_000, 100_000])]
fn dot_rows<const ROWS: usize>(bencher: Bencher<'_, '_>, tier: Tier) {
    let (query, rows) = (rows(1, 1), rows(ROWS, 2));
    let scanner = Scanner::of(tier).unwrap();
    let mut out = vec![0.0; ROWS];
    scanner.dot_rows(&query, &rows, &mut out);
    let flat = |blocks: &[Lanes]| blocks.iter().flat_map(|b| b.0).collect::<Vec<f32>>();
    for (row, score) in rows.chunks(DIM / LANES).zip(&out).step_by(97) {
        let expected = canonical_dot(&flat(&query), &flat(row));
        assert_eq!(score.to_bits(), expected.to_bits(), "{}", tier.name());
    }
    bencher
        .counter(BytesCount::of_slice(&rows))
        .bench_local(|| scanner.dot_rows(black_box(&query), black_box(&rows), &mut out));
}
