//! The kernels over codes: every tier gives what plain loops over plain integers give.

use proptest::prelude::*;
use warmset_core::simd::codes::{
    BLOCK, Group, Line, Margins, Packing, Panel, Terms, estimate, margin,
};
use warmset_core::simd::{Scanner, Tier};

struct Noise {
    state: u64,
    extreme: bool,
}

impl Noise {
    /// Any byte; of the extreme ones nothing but those with the largest products.
    fn byte(&mut self, least: u8, most: u8) -> u8 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let byte = u8::try_from(self.state >> 56).unwrap();
        if self.extreme {
            [least, most][usize::from(byte & 1)]
        } else {
            byte.clamp(least, most)
        }
    }

    /// Four codes of a query, −127 to 127.
    fn word(&mut self) -> i32 {
        i32::from_le_bytes(std::array::from_fn(|_| self.byte(1, 255).wrapping_sub(128)))
    }
}

/// The code of one row and dimension in a block, without what is added to it.
fn code(packing: Packing, block: &[Group], row: usize, dimension: usize) -> i64 {
    match packing {
        Packing::Eight => i64::from(block[dimension / 4].0[4 * row + dimension % 4]) - 128,
        Packing::Four => {
            let byte = block[dimension / 8].0[4 * row + dimension % 4];
            let half = if dimension % 8 < 4 {
                byte & 15
            } else {
                byte >> 4
            };
            i64::from(half) - 8
        }
    }
}

#[test]
fn each_part_of_a_margin_widens_it() {
    let terms = Terms {
        reach: 2.0,
        miss: 4.0,
        rest: 8.0,
        grain: 0.125,
    };
    let margins = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ];
    let found = margins.map(|factors| margin(factors, &terms).to_bits());
    assert_eq!(found, [0.125_f32, 2.125, 4.125, 8.125].map(f32::to_bits));
    assert_eq!(estimate(-6, 0.5, 0.25).to_bits(), (-0.75_f32).to_bits());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_tier_estimates_as_plain_loops_do(
        groups in prop::sample::select(vec![0_usize, 1, 7, 96, 8_192]),
        four in any::<bool>(),
        state in any::<u64>(),
        extreme in any::<bool>(),
        admitted in prop::sample::select(vec![u64::MAX, 0, 1, 0x8000_0000_0000_0001, 0xf0f0_5555]),
    ) {
        let packing = if four { Packing::Four } else { Packing::Eight };
        let mut noise = Noise { state, extreme };
        let least = if four { 0x11 } else { 1 };
        let block: Vec<Group> =
            (0..groups).map(|_| Group(std::array::from_fn(|_| noise.byte(least, 255)))).collect();
        let words: Vec<[i32; 2]> = (0..groups * packing.dimensions() / 4)
            .map(|_| [noise.word(), noise.word()])
            .collect();
        let signed = |query: usize| words.iter().flat_map(move |w| w[query].to_le_bytes());
        let panel = Panel {
            sums: [0, 1].map(|query| signed(query).map(|b| i32::from(b.cast_signed())).sum()),
            scales: [0.5, 0.25],
            words: words.clone(),
        };
        let scales: [f32; BLOCK] = std::array::from_fn(|_| f32::from(noise.byte(0, 255)) / 255.0);
        let mut expected = [[f32::NEG_INFINITY; BLOCK]; 2];
        for (query, expected) in expected.iter_mut().enumerate() {
            let codes: Vec<i64> = signed(query).map(|b| i64::from(b.cast_signed())).collect();
            for row in (0..BLOCK).filter(|row| admitted >> row & 1 == 1) {
                let products = codes.iter().enumerate();
                let sum: i64 = products.map(|(at, q)| q * code(packing, &block, row, at)).sum();
                let sum = i32::try_from(sum).unwrap();
                expected[row] = estimate(sum, scales[row], panel.scales[query]);
            }
        }
        let greatest = expected.map(|row| row.into_iter().fold(f32::NEG_INFINITY, f32::max));
        for tier in Tier::available() {
            let mut out = [[7.0; BLOCK]; 2];
            let scanner = Scanner::of(tier).unwrap();
            let most = scanner.estimate(packing, &panel, (&block, &scales), admitted, &mut out);
            prop_assert_eq!((out, most), (expected, greatest), "{}", tier.name());
        }
    }

    #[test]
    fn every_tier_finds_the_rows_that_reach_the_floor(state in any::<u64>(), floor in -3_i8..3) {
        let mut noise = Noise { state, extreme: false };
        let mut value = || f32::from(noise.byte(0, 255)) / 128.0 - 1.0;
        let estimates: [f32; BLOCK] = std::array::from_fn(|_| value());
        let mut margins = Margins::ZERO;
        for row in 0..BLOCK {
            margins.error[row] = value();
            margins.norm[row] = value();
            margins.tail[row] = value();
        }
        let terms = Terms { reach: 0.5, miss: 0.25, rest: 0.75, grain: 0.125 };
        let floor = f32::from(floor) / 2.0;
        let mut expected = 0_u64;
        for (row, estimate) in estimates.iter().enumerate() {
            let factors = [margins.error[row], margins.norm[row], margins.tail[row]];
            let reaches = estimate + margin(factors, &terms) >= floor;
            expected |= u64::from(reaches) << row;
        }
        for tier in Tier::available() {
            let mask = Scanner::of(tier).unwrap().reaching(&estimates, &margins, &terms, floor);
            prop_assert_eq!(mask, expected, "{}", tier.name());
        }
    }

    #[test]
    fn every_tier_sums_picked_rows(
        width in prop::sample::select(vec![1_usize, 2, 6, 1_024]),
        state in any::<u64>(),
        extreme in any::<bool>(),
        picked in prop::collection::vec(0_usize..9, 0..12),
    ) {
        let mut noise = Noise { state, extreme };
        let mut lines = |count: usize| -> Vec<Line> {
            (0..count).map(|_| Line(std::array::from_fn(|_| noise.byte(1, 255)))).collect()
        };
        // Codes of a query are signed; rows 7 and 8 are not there.
        let query: Vec<Line> =
            lines(width).iter().map(|line| Line(line.0.map(|b| b.wrapping_sub(128)))).collect();
        let rows = lines(7 * width);
        let expected: Vec<i32> = picked
            .iter()
            .map(|row| {
                let codes = rows.iter().skip(row * width).take(width).flat_map(|line| line.0);
                let query = query.iter().flat_map(|line| line.0);
                codes.zip(query).map(|(c, q)| i32::from(c) * i32::from(q.cast_signed())).sum()
            })
            .collect();
        for tier in Tier::available() {
            let mut out = vec![7; picked.len()];
            Scanner::of(tier).unwrap().sum_lines(&query, &rows, &picked, &mut out);
            prop_assert_eq!(&out, &expected, "{}", tier.name());
        }
    }
}
