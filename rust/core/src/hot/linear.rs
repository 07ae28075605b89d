//! What little linear algebra a projection takes: rows in f64, products by the kernels of f32.

use crate::simd::quantise::Quad;
use crate::simd::{Lanes, Scanner};

/// Of a direction that has less than this left, beside those before it, only noise is left.
const LEAST: f64 = 1e-4;

/// A row of length one; none if it has no direction.
pub(super) fn unit(row: &[f32]) -> Option<Vec<f64>> {
    let row: Vec<f64> = row.iter().copied().map(f64::from).collect();
    let norm = dot(&row, &row).sqrt();
    (norm > 0.0).then(|| row.into_iter().map(|value| value / norm).collect())
}

/// Makes rows orthonormal, one after the other (modified Gram-Schmidt, twice for each); what depends on
/// those before it becomes zeros.
pub(super) fn orthonormal(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
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

/// The transposed directions, padded to whole quads.
pub(super) fn columns(span: &[Vec<f64>], dim: usize) -> Vec<Quad> {
    let mut rows = transposed(span, dim);
    for row in &mut rows {
        row.resize(span.len().next_multiple_of(64), 0.0);
    }
    matrix(&rows).as_chunks().0.to_vec()
}

pub(super) fn transposed(rows: &[Vec<f64>], dim: usize) -> Vec<Vec<f64>> {
    (0..dim)
        .map(|at| rows.iter().filter_map(|row| row.get(at).copied()).collect())
        .collect()
}

pub(super) fn matrix(rows: &[Vec<f64>]) -> Vec<Lanes> {
    rows.iter().flat_map(|row| lanes(row)).collect()
}

fn lanes(row: &[f64]) -> Vec<Lanes> {
    let row: Vec<f32> = row.iter().copied().map(narrow).collect();
    let mut out = Vec::new();
    Lanes::extend(&mut out, &row);
    out
}

pub(super) fn dots(scanner: Scanner, vector: &[f64], rows: &[Lanes], count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    scanner.dot_rows(&lanes(vector), rows, &mut out);
    out.into_iter().map(f64::from).collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
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
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}
