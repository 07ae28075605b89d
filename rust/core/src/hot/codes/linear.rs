//! What little linear algebra a projection takes: rows in f64, products by the kernels of f32.

use crate::hot::vectors::segment::flat;
use crate::simd::quantise::{Quad, TOGETHER};
use crate::simd::{Lanes, Scanner};

/// Of a direction that has less than this left, beside those before it, only noise is left.
const LEAST: f64 = 1e-4;

/// A row of length one; none if it has no direction.
pub(in crate::hot) fn unit(row: &[Lanes], dim: usize) -> Option<Vec<f64>> {
    let row: Vec<f64> = flat(row, dim).map(f64::from).collect();
    let norm = dot(&row, &row).sqrt();
    (norm > 0.0).then(|| row.into_iter().map(|value| value / norm).collect())
}

/// Makes rows orthonormal, one after the other (modified Gram-Schmidt, twice for each); what depends on
/// those before it becomes zeros.
pub(in crate::hot) fn orthonormal(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for at in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(at);
        let Some(row) = rest.first_mut() else {
            break;
        };
        let before = dot(row, row).sqrt();
        if before == 0.0 {
            continue;
        }
        for _ in 0..2 {
            for other in done.iter() {
                let along = dot(row, other);
                for (value, other) in row.iter_mut().zip(other) {
                    *value -= along * other;
                }
            }
        }
        let norm = dot(row, row).sqrt();
        let scale = if norm > LEAST * before {
            norm.recip()
        } else {
            0.0
        };
        for value in row {
            *value *= scale;
        }
    }
    rows
}

/// Rows as whole quads, padded with zeros.
pub(in crate::hot) fn quads(rows: &[Vec<f64>]) -> Vec<Quad> {
    let mut out: Vec<f32> = Vec::new();
    for row in rows {
        out.extend(row.iter().copied().map(narrow));
        out.resize(out.len().next_multiple_of(64), 0.0);
    }
    let mut lanes = Vec::new();
    Lanes::extend(&mut lanes, &out);
    lanes.as_chunks().0.to_vec()
}

/// The products of rows with a matrix that has a row of quads for each of their values, `count` long.
pub(in crate::hot) fn products(
    scanner: Scanner,
    rows: &[Vec<f64>],
    matrix: &[Quad],
    count: usize,
) -> Vec<Vec<f64>> {
    let mut products = Vec::with_capacity(rows.len());
    let mut out = vec![[[Lanes::ZERO; 4]; TOGETHER]; count.div_ceil(64)];
    for rows in rows.chunks(TOGETHER) {
        let weights: [Vec<f32>; TOGETHER] = std::array::from_fn(|at| {
            let row = rows.get(at).or(rows.first());
            row.map_or_else(Vec::new, |row| row.iter().copied().map(narrow).collect())
        });
        scanner.mix(weights.each_ref().map(Vec::as_slice), matrix, &mut out);
        products.extend((0..rows.len()).map(|which| {
            let quads = out.iter().filter_map(|quads| quads.get(which));
            let values = quads.flatten().flat_map(|lanes| lanes.0);
            values.take(count).map(f64::from).collect()
        }));
    }
    products
}

pub(in crate::hot) fn transposed(rows: &[Vec<f64>], dim: usize) -> Vec<Vec<f64>> {
    (0..dim)
        .map(|at| rows.iter().filter_map(|row| row.get(at).copied()).collect())
        .collect()
}

pub(in crate::hot) fn matrix(rows: &[Vec<f64>]) -> Vec<Lanes> {
    rows.iter().flat_map(|row| lanes(row)).collect()
}

fn lanes(row: &[f64]) -> Vec<Lanes> {
    let row: Vec<f32> = row.iter().copied().map(narrow).collect();
    let mut out = Vec::new();
    Lanes::extend(&mut out, &row);
    out
}

pub(in crate::hot) fn dots(
    scanner: Scanner,
    vector: &[f64],
    rows: &[Lanes],
    count: usize,
) -> Vec<f64> {
    let mut out = vec![0.0; count];
    scanner.dot_rows(&lanes(vector), rows, &mut out);
    out.into_iter().map(f64::from).collect()
}

pub(in crate::hot) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (heads, tail) = a.as_chunks::<8>();
    let (others, other_tail) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in heads.iter().zip(others) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = tail.iter().zip(other_tail).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "directions are f32; what the rounding does to them is measured"
)]
pub(in crate::hot) fn narrow(value: f64) -> f32 {
    value as f32
}
