//! The kernels over codes for x86-64: safe functions that [`super::x86`] calls with a proof in hand.
//!
//! AVX2 widens eight-bit codes to 16 bits, where products of bytes would saturate; products with four
//! bits do not. VNNI adds four products to 32 bits at once.

use std::arch::x86_64::{
    __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi16,
    _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi16, _mm256_srai_epi16,
    _mm256_srli_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_dpbusd_epi32,
    _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_srai_epi32,
};

use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms, finish, line_of, reaching};
use super::x86::{load_256, load_512, store_256, store_512};

/// A block's codes and its rows' scales.
type Block<'a> = (&'a [Group], &'a [f32; BLOCK]);

#[target_feature(enable = "avx2")]
pub(super) fn reaching_avx2(
    estimates: &[f32; BLOCK],
    margins: &Margins,
    terms: &Terms,
    floor: f32,
) -> u64 {
    reaching(estimates, margins, terms, floor)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn reaching_vnni(
    estimates: &[f32; BLOCK],
    margins: &Margins,
    terms: &Terms,
    floor: f32,
) -> u64 {
    reaching(estimates, margins, terms, floor)
}

#[target_feature(enable = "avx2")]
pub(super) fn estimate_avx2<const M: usize>(
    packing: Packing,
    panel: &Panel<M>,
    (block, scales): Block<'_>,
    admitted: u64,
    out: &mut [[f32; BLOCK]; M],
) -> [f32; M] {
    let bias = panel
        .sums
        .map(|sum| sum.wrapping_mul(-i32::from(packing.offset())));
    let mut sums = [[0; BLOCK]; M];
    if M == 1 {
        // The sums of all rows stay in registers, and the codes are read in a row.
        let mut acc: [[__m256i; 8]; M] = bias.map(|bias| [_mm256_set1_epi32(bias); 8]);
        match packing {
            Packing::Eight => eight_rows_avx2(&mut acc, panel, block),
            Packing::Four => four_rows_avx2(&mut acc, panel, block),
        }
        for (sums, acc) in sums.iter_mut().zip(acc) {
            for (out, acc) in sums.as_chunks_mut::<8>().0.iter_mut().zip(acc) {
                store_256(out, acc);
            }
        }
    } else {
        // Sixteen rows at a time: the sums of four queries stay in registers.
        for part in 0..BLOCK / 16 {
            let mut acc: [[__m256i; 2]; M] = bias.map(|bias| [_mm256_set1_epi32(bias); 2]);
            match packing {
                Packing::Eight => eight_avx2(&mut acc, panel, block, part),
                Packing::Four => four_avx2(&mut acc, panel, block, part),
            }
            for (sums, acc) in sums.iter_mut().zip(acc) {
                let sums = sums.as_chunks_mut::<8>().0.iter_mut().skip(2 * part);
                for (out, acc) in sums.zip(acc) {
                    store_256(out, acc);
                }
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

/// The sums of all rows of a block, one query after the other.
#[inline]
#[target_feature(enable = "avx2")]
fn eight_rows_avx2<const M: usize>(acc: &mut [[__m256i; 8]; M], panel: &Panel<M>, block: &[Group]) {
    let low_bytes = _mm256_set1_epi16(0xff);
    for (words, group) in panel.words.iter().zip(block) {
        for (acc, word) in acc.iter_mut().zip(words) {
            let word = _mm256_set1_epi32(*word);
            let word_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(word));
            let word_odd = _mm256_srai_epi16::<8>(word);
            for (acc, codes) in acc.iter_mut().zip(group.0.as_chunks::<32>().0) {
                let codes = load_256(codes);
                let even = _mm256_madd_epi16(_mm256_and_si256(codes, low_bytes), word_even);
                let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(codes), word_odd);
                *acc = _mm256_add_epi32(*acc, _mm256_add_epi32(even, odd));
            }
        }
    }
}

/// [`eight_rows_avx2`] for codes of four bits.
#[inline]
#[target_feature(enable = "avx2")]
fn four_rows_avx2<const M: usize>(acc: &mut [[__m256i; 8]; M], panel: &Panel<M>, block: &[Group]) {
    let (low_halves, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    let (pairs, _) = panel.words.as_chunks::<2>();
    for ([low_words, high_words], group) in pairs.iter().zip(block) {
        for (acc, (low_word, high_word)) in acc.iter_mut().zip(low_words.iter().zip(high_words)) {
            let (low_word, high_word) =
                (_mm256_set1_epi32(*low_word), _mm256_set1_epi32(*high_word));
            for (acc, codes) in acc.iter_mut().zip(group.0.as_chunks::<32>().0) {
                let codes = load_256(codes);
                let low = _mm256_and_si256(codes, low_halves);
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(codes), low_halves);
                // Eight bits by four: two sums of two products are far from what 16 bits hold.
                let both = _mm256_add_epi16(
                    _mm256_maddubs_epi16(low, low_word),
                    _mm256_maddubs_epi16(high, high_word),
                );
                *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(both, ones));
            }
        }
    }
}

/// The two halves of the codes of sixteen rows.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(group: &Group, part: usize) -> [__m256i; 2] {
    let mut halves = [_mm256_setzero_si256(); 2];
    let codes = group.0.as_chunks::<32>().0.iter().skip(2 * part);
    for (half, codes) in halves.iter_mut().zip(codes) {
        *half = load_256(codes);
    }
    halves
}

#[inline]
#[target_feature(enable = "avx2")]
fn eight_avx2<const M: usize>(
    acc: &mut [[__m256i; 2]; M],
    panel: &Panel<M>,
    block: &[Group],
    part: usize,
) {
    let low_bytes = _mm256_set1_epi16(0xff);
    for (words, group) in panel.words.iter().zip(block) {
        let codes = halves(group, part);
        let even = codes.map(|codes| _mm256_and_si256(codes, low_bytes));
        let odd = codes.map(|codes| _mm256_srli_epi16::<8>(codes));
        for (acc, word) in acc.iter_mut().zip(words) {
            let word = _mm256_set1_epi32(*word);
            let word_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(word));
            let word_odd = _mm256_srai_epi16::<8>(word);
            for ((acc, even), odd) in acc.iter_mut().zip(even).zip(odd) {
                let even = _mm256_madd_epi16(even, word_even);
                let odd = _mm256_madd_epi16(odd, word_odd);
                *acc = _mm256_add_epi32(*acc, _mm256_add_epi32(even, odd));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn four_avx2<const M: usize>(
    acc: &mut [[__m256i; 2]; M],
    panel: &Panel<M>,
    block: &[Group],
    part: usize,
) {
    let (low_halves, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    let (pairs, _) = panel.words.as_chunks::<2>();
    for ([low_words, high_words], group) in pairs.iter().zip(block) {
        let codes = halves(group, part);
        let low = codes.map(|codes| _mm256_and_si256(codes, low_halves));
        let high = codes.map(|codes| _mm256_and_si256(_mm256_srli_epi16::<4>(codes), low_halves));
        let words = low_words.iter().zip(high_words);
        for (acc, (low_word, high_word)) in acc.iter_mut().zip(words) {
            let low_word = _mm256_set1_epi32(*low_word);
            let high_word = _mm256_set1_epi32(*high_word);
            for ((acc, low), high) in acc.iter_mut().zip(low).zip(high) {
                let both = _mm256_add_epi16(
                    _mm256_maddubs_epi16(low, low_word),
                    _mm256_maddubs_epi16(high, high_word),
                );
                *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(both, ones));
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn sum_lines_avx2(query: &[Line], rows: &[Line], picked: &[usize], out: &mut [i32]) {
    let low_bytes = _mm256_set1_epi16(0xff);
    for (out, row) in out.iter_mut().zip(picked) {
        let mut acc = _mm256_setzero_si256();
        for (query, codes) in query.iter().zip(line_of(rows, query.len(), *row)) {
            let halves = query.0.as_chunks::<32>().0.iter();
            for (query, codes) in halves.zip(codes.0.as_chunks::<32>().0) {
                let (query, codes) = (load_256(query), load_256(codes));
                let even = _mm256_madd_epi16(
                    _mm256_and_si256(codes, low_bytes),
                    _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(query)),
                );
                let odd =
                    _mm256_madd_epi16(_mm256_srli_epi16::<8>(codes), _mm256_srai_epi16::<8>(query));
                acc = _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
            }
        }
        let four = _mm_add_epi32(
            _mm256_castsi256_si128(acc),
            _mm256_extracti128_si256::<1>(acc),
        );
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
        let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
        *out = _mm_cvtsi128_si32(one);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn estimate_vnni<const M: usize>(
    packing: Packing,
    panel: &Panel<M>,
    (block, scales): Block<'_>,
    admitted: u64,
    out: &mut [[f32; BLOCK]; M],
) -> [f32; M] {
    let bias = panel
        .sums
        .map(|sum| _mm512_set1_epi32(sum.wrapping_mul(-i32::from(packing.offset()))));
    let mut acc: [[__m512i; 4]; M] = bias.map(|bias| [bias; 4]);
    match packing {
        Packing::Eight => eight_vnni(&mut acc, panel, block),
        Packing::Four => four_vnni(&mut acc, panel, block),
    }
    let mut most = [f32::NEG_INFINITY; M];
    let queries = acc.iter().zip(panel.scales).zip(out);
    for (most, ((acc, scale), out)) in most.iter_mut().zip(queries) {
        let mut sums = [0; BLOCK];
        for (sums, acc) in sums.as_chunks_mut::<16>().0.iter_mut().zip(acc) {
            store_512(sums, *acc);
        }
        *most = finish(&sums, scales, scale, admitted, out);
    }
    most
}

/// The four quarters of a group: sixteen rows each.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(group: &Group) -> [__m512i; 4] {
    let mut quarters = [_mm512_setzero_si512(); 4];
    for (quarter, codes) in quarters.iter_mut().zip(group.0.as_chunks::<64>().0) {
        *quarter = load_512(codes);
    }
    quarters
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn eight_vnni<const M: usize>(acc: &mut [[__m512i; 4]; M], panel: &Panel<M>, block: &[Group]) {
    for (words, group) in panel.words.iter().zip(block) {
        let codes = quarters(group);
        for (acc, word) in acc.iter_mut().zip(words) {
            let word = _mm512_set1_epi32(*word);
            for (acc, codes) in acc.iter_mut().zip(codes) {
                *acc = _mm512_dpbusd_epi32(*acc, codes, word);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn four_vnni<const M: usize>(acc: &mut [[__m512i; 4]; M], panel: &Panel<M>, block: &[Group]) {
    // The high halves stay where they are: their sums are sixteen times too large until the end.
    let (low_halves, high_halves) = (_mm512_set1_epi8(15), _mm512_set1_epi8(-16));
    let mut sixteen = [[_mm512_setzero_si512(); 4]; M];
    let (pairs, _) = panel.words.as_chunks::<2>();
    for ([low_words, high_words], group) in pairs.iter().zip(block) {
        let codes = quarters(group);
        let low = codes.map(|codes| _mm512_and_si512(codes, low_halves));
        let high = codes.map(|codes| _mm512_and_si512(codes, high_halves));
        for (acc, word) in acc.iter_mut().zip(low_words) {
            let word = _mm512_set1_epi32(*word);
            for (acc, codes) in acc.iter_mut().zip(low) {
                *acc = _mm512_dpbusd_epi32(*acc, codes, word);
            }
        }
        for (acc, word) in sixteen.iter_mut().zip(high_words) {
            let word = _mm512_set1_epi32(*word);
            for (acc, codes) in acc.iter_mut().zip(high) {
                *acc = _mm512_dpbusd_epi32(*acc, codes, word);
            }
        }
    }
    for (acc, sixteen) in acc.iter_mut().zip(sixteen) {
        for (acc, sixteen) in acc.iter_mut().zip(sixteen) {
            *acc = _mm512_add_epi32(*acc, _mm512_srai_epi32::<4>(sixteen));
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn sum_lines_vnni(query: &[Line], rows: &[Line], picked: &[usize], out: &mut [i32]) {
    for (out, row) in out.iter_mut().zip(picked) {
        let mut acc = _mm512_setzero_si512();
        for (query, codes) in query.iter().zip(line_of(rows, query.len(), *row)) {
            acc = _mm512_dpbusd_epi32(acc, load_512(&codes.0), load_512(&query.0));
        }
        *out = _mm512_reduce_add_epi32(acc);
    }
}
