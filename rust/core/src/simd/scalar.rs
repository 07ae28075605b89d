//! The kernel for every platform; compilers turn its inner loop into whatever vectors there are.

use super::{LANES, Lanes};

/// Writes the canonical sum of `query` with each row into `out`.
pub(super) fn dot_rows(query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
    if query.is_empty() {
        out.fill(0.0);
        return;
    }
    for (row, score) in rows.chunks_exact(query.len()).zip(out) {
        let mut acc = [0.0_f32; LANES];
        for (q, x) in query.iter().zip(row) {
            for ((lane, a), b) in acc.iter_mut().zip(&q.0).zip(&x.0) {
                *lane += a * b;
            }
        }
        *score = reduce(acc);
    }
}

/// The fixed tree that ends the canonical sum.
fn reduce(acc: [f32; LANES]) -> f32 {
    let [
        a0,
        a1,
        a2,
        a3,
        a4,
        a5,
        a6,
        a7,
        b0,
        b1,
        b2,
        b3,
        b4,
        b5,
        b6,
        b7,
    ] = acc;
    let e = [
        a0 + b0,
        a1 + b1,
        a2 + b2,
        a3 + b3,
        a4 + b4,
        a5 + b5,
        a6 + b6,
        a7 + b7,
    ];
    let [e0, e1, e2, e3, e4, e5, e6, e7] = e;
    let (f0, f1, f2, f3) = (e0 + e4, e1 + e5, e2 + e6, e3 + e7);
    (f0 + f2) + (f1 + f3)
}
