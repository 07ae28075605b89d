//! The kernels over codes for every platform.

use super::codes::{BLOCK, Group, Line, Packing, Panel, finish, line_of};

/// The estimates of a block; see [`super::Scanner::estimate`].
pub(super) fn estimate<const M: usize>(
    packing: Packing,
    panel: &Panel<M>,
    (block, scales): (&[Group], &[f32; BLOCK]),
    admitted: u64,
    out: &mut [[f32; BLOCK]; M],
) -> [f32; M] {
    let mut sums = panel
        .sums
        .map(|sum| [sum.wrapping_mul(-i32::from(packing.offset())); BLOCK]);
    match packing {
        Packing::Eight => {
            for (words, group) in panel.words.iter().zip(block) {
                add(&mut sums, words, group, i32::from);
            }
        }
        Packing::Four => {
            let (pairs, _) = panel.words.as_chunks::<2>();
            for ([low, high], group) in pairs.iter().zip(block) {
                add(&mut sums, low, group, |code| i32::from(code & 15));
                add(&mut sums, high, group, |code| i32::from(code >> 4));
            }
        }
    }
    let mut most = [f32::NEG_INFINITY; M];
    let queries = sums.iter().zip(panel.scales).zip(out);
    for (most, ((sums, scale), out)) in most.iter_mut().zip(queries) {
        *most = finish(sums, scales, scale, admitted, out);
    }
    most
}

/// Adds the products of one word of each query with four codes of each row.
fn add<const M: usize>(
    sums: &mut [[i32; BLOCK]; M],
    words: &[i32; M],
    group: &Group,
    code: impl Fn(u8) -> i32,
) {
    let (codes, _) = group.0.as_chunks::<4>();
    for (sums, word) in sums.iter_mut().zip(words) {
        let [w0, w1, w2, w3] = word.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
        for (sum, [c0, c1, c2, c3]) in sums.iter_mut().zip(codes) {
            let products = code(*c0) * w0 + code(*c1) * w1 + code(*c2) * w2 + code(*c3) * w3;
            *sum = sum.wrapping_add(products);
        }
    }
}

/// The sums of rows; see [`super::Scanner::sum_lines`].
pub(super) fn sum_lines(query: &[Line], rows: &[Line], picked: &[usize], out: &mut [i32]) {
    for (out, row) in out.iter_mut().zip(picked) {
        *out = 0;
        for (query, codes) in query.iter().zip(line_of(rows, query.len(), *row)) {
            for (word, code) in query.0.iter().zip(&codes.0) {
                let product = i32::from(*code) * i32::from(word.cast_signed());
                *out = out.wrapping_add(product);
            }
        }
    }
}
