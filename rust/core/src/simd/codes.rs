//! What the kernels over eight-bit codes share: the layout of codes, and the estimate with its margin.
//!
//! Sixty-four rows are a block. A [`Group`] holds four dimensions of a block, row after row, so a
//! register of codes has one row a lane, and the sums of products need no reduction at the end. The
//! integers are exact on every tier: nothing saturates, and a sum stays below 2^31 for 65,536
//! dimensions.
//!
//! ```text
//! sum      = Σ (code − 128) · word                     exact, in i32
//! estimate = (sum · row.scale) · query.scale           three roundings to f32
//! margin   = row.error · query.reach + (row.norm · query.miss + query.grain)
//! ```
//!
//! Whoever fills [`Margins`] and [`Terms`] promises that the canonical sum lies within
//! `estimate ± margin` as computed here, roundings included.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Scanner, Tier};

/// The number of rows whose codes lie together.
pub const BLOCK: usize = 64;

/// The codes of four dimensions of a block: four bytes a row, each the code plus 128.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Group(pub [u8; 4 * BLOCK]);

impl Group {
    /// The codes of rows of zeros.
    pub const ZERO: Self = Self([128; 4 * BLOCK]);
}

/// One value a row of a block, for each factor that the row brings into estimate and margin.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Margins {
    /// What a code of the row stands for.
    pub scale: [f32; BLOCK],
    /// What is multiplied by the query's reach.
    pub error: [f32; BLOCK],
    /// What is multiplied by the query's miss.
    pub norm: [f32; BLOCK],
}

impl Margins {
    /// The margins of rows of zeros.
    pub const ZERO: Self = Self {
        scale: [0.0; BLOCK],
        error: [0.0; BLOCK],
        norm: [0.0; BLOCK],
    };
}

/// The factors that a query brings into estimate and margin.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// What takes the 128 out of the codes again: −128 times the sum of the query's codes.
    pub bias: i32,
    /// What a code of the query stands for.
    pub scale: f32,
    /// At least the query's norm.
    pub reach: f32,
    /// At least the norm of what the query's codes miss.
    pub miss: f32,
    /// What every score may be off by, whatever the norms.
    pub grain: f32,
}

/// The codes of `M` queries side by side: one word of four codes a query and group.
#[derive(Clone, Debug)]
pub struct Panel<const M: usize> {
    /// One array a group.
    pub words: Vec<[i32; M]>,
    /// One a query.
    pub terms: [Terms; M],
}

/// The estimate of one row, and how far the canonical sum may be from it.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
#[must_use]
pub fn estimate(sum: i32, [scale, error, norm]: [f32; 3], terms: &Terms) -> (f32, f32) {
    #[expect(
        clippy::as_conversions,
        clippy::cast_precision_loss,
        reason = "one of the three roundings that the margin covers"
    )]
    let sum = sum as f32;
    let margin = error * terms.reach + (norm * terms.miss + terms.grain);
    ((sum * scale) * terms.scale, margin)
}

/// Possession proves that the machine has the instructions; a tier without a kernel of its own for
/// codes has the portable one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Vnni(x86::Vnni),
}

impl Proof {
    pub(super) fn of(tier: Tier) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let vnni = (tier == Tier::Avx512).then(x86::Vnni::detect).flatten();
            let avx2 = matches!(tier, Tier::Avx512 | Tier::Avx2)
                .then(x86::Avx2::detect)
                .flatten();
            if let Some(proof) = vnni.map(Self::Vnni).or(avx2.map(Self::Avx2)) {
                return proof;
            }
        }
        let _ = tier;
        Self::Scalar
    }
}

impl Scanner {
    /// Whether codes are scored by a kernel of their own, not by the portable one.
    #[must_use]
    pub fn has_codes(self) -> bool {
        !matches!(self.codes, Proof::Scalar)
    }

    /// Writes the sums of a block's codes with the queries of a panel into `sums`, and says which
    /// rows' upper bounds reach each query's floor, the first row in the lowest bit.
    pub fn screen<const M: usize>(
        self,
        panel: &Panel<M>,
        block: &[Group],
        margins: &Margins,
        floors: &[f32; M],
        sums: &mut [[i32; BLOCK]; M],
    ) -> [u64; M] {
        match self.codes {
            Proof::Scalar => screen(panel, block, margins, floors, sums),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.screen(panel, block, margins, floors, sums),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.screen(panel, block, margins, floors, sums),
        }
    }
}

/// The kernel for every platform: the sums of a block, and which rows' upper bounds reach the floor.
pub(super) fn screen<const M: usize>(
    panel: &Panel<M>,
    block: &[Group],
    margins: &Margins,
    floors: &[f32; M],
    sums: &mut [[i32; BLOCK]; M],
) -> [u64; M] {
    for (sums, terms) in sums.iter_mut().zip(&panel.terms) {
        sums.fill(terms.bias);
    }
    for (words, group) in panel.words.iter().zip(block) {
        let (codes, _) = group.0.as_chunks::<4>();
        for (sums, word) in sums.iter_mut().zip(words) {
            let [w0, w1, w2, w3] = word.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
            for (sum, code) in sums.iter_mut().zip(codes) {
                let [c0, c1, c2, c3] = code.map(i32::from);
                *sum = sum.wrapping_add(c0 * w0 + c1 * w1 + c2 * w2 + c3 * w3);
            }
        }
    }
    reach(sums, panel, margins, floors)
}

/// Which rows' upper bounds reach the floor: bit by bit, the first row in the lowest.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
pub(super) fn reach<const M: usize>(
    sums: &[[i32; BLOCK]; M],
    panel: &Panel<M>,
    margins: &Margins,
    floors: &[f32; M],
) -> [u64; M] {
    let mut masks = [0; M];
    for (((mask, sums), terms), floor) in masks.iter_mut().zip(sums).zip(&panel.terms).zip(floors) {
        let mut reaches = [0_u8; BLOCK];
        let rows = margins.scale.iter().zip(&margins.error).zip(&margins.norm);
        for ((out, sum), ((scale, error), norm)) in reaches.iter_mut().zip(sums).zip(rows) {
            let (score, margin) = estimate(*sum, [*scale, *error, *norm], terms);
            *out = u8::from(score + margin >= *floor);
        }
        for (at, bit) in (0..).zip(reaches) {
            *mask |= u64::from(bit) << at;
        }
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One row's sum and bits, said plainly.
    fn expected(panel: &Panel<2>, block: &[Group], margins: &Margins, floors: [f32; 2]) -> Seen {
        let mut seen = ([0; 2], [[0; BLOCK]; 2]);
        for query in 0..2 {
            let terms = &panel.terms[query];
            for row in 0..BLOCK {
                let mut sum = i64::from(terms.bias);
                for (word, group) in panel.words.iter().zip(block) {
                    for (at, byte) in word[query].to_le_bytes().into_iter().enumerate() {
                        sum += i64::from(group.0[4 * row + at]) * i64::from(byte.cast_signed());
                    }
                }
                let sum = i32::try_from(sum).unwrap();
                let factors = [margins.scale[row], margins.error[row], margins.norm[row]];
                let (score, margin) = estimate(sum, factors, terms);
                seen.0[query] |= u64::from(score + margin >= floors[query]) << row;
                seen.1[query][row] = sum;
            }
        }
        seen
    }

    type Seen = ([u64; 2], [[i32; BLOCK]; 2]);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_tier_gives_the_sums_and_bits_of_the_plain_one(
            groups in prop::sample::select(vec![0_usize, 1, 7, 96, 16_384]),
            seed in any::<u64>(),
            extreme in any::<bool>(),
        ) {
            let mut state = seed;
            let mut byte = |low: u8| -> u8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let byte = u8::try_from(state >> 56).unwrap();
                // Nothing but the largest products, so that what saturates is seen.
                if extreme { [low, 255][usize::from(byte & 1)] } else { byte.max(low) }
            };
            let block: Vec<Group> =
                (0..groups).map(|_| Group(std::array::from_fn(|_| byte(1)))).collect();
            let mut word = || i32::from_le_bytes(std::array::from_fn(|_| byte(1).wrapping_add(128)));
            let words: Vec<[i32; 2]> = (0..groups).map(|_| [word(), word()]).collect();
            let mut margins = Margins::ZERO;
            for row in 0..BLOCK {
                margins.scale[row] = f32::from(byte(0)) / 255.0;
                margins.error[row] = f32::from(byte(0));
                margins.norm[row] = f32::from(byte(0));
            }
            let signed = |query: usize| words.iter().flat_map(move |w| w[query].to_le_bytes());
            let terms = [0, 1].map(|query| Terms {
                bias: signed(query).map(|b| -128 * i32::from(b.cast_signed())).sum(),
                scale: 0.5,
                reach: 3.0,
                miss: 0.25,
                grain: 1.0,
            });
            let panel = Panel { words, terms };
            let floors = [0.0, f32::from(byte(0)) * 100.0];
            let wanted = expected(&panel, &block, &margins, floors);
            for tier in Tier::available() {
                let mut sums = [[7; BLOCK]; 2];
                let scanner = Scanner::of(tier).unwrap();
                let masks = scanner.screen(&panel, &block, &margins, &floors, &mut sums);
                prop_assert_eq!((masks, sums), wanted, "{}", tier.name());
            }
        }
    }
}
