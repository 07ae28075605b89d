//! Kernels that score rows, one set per instruction set, behind proof types.
//!
//! Promises: every tier returns the *canonical sum*, bit for bit, so a tier changes the time of an
//! answer and never the answer. Lengths are checked once, at [`Scanner::dot_rows`]. The tier is
//! chosen once per [`Scanner`], can be forced by the environment variable `WARMSET_SIMD` and is
//! reported by [`Tier::name`].
//!
//! The canonical sum of two vectors, padded with zeros to whole [`Lanes`]:
//!
//! ```text
//! acc[0..16] = 0
//! for each block of 16:  acc[l] = acc[l] + x[l] * y[l]      rounded after each operation, no FMA
//! for w in 8, 4, 2, 1:   acc[l] = acc[l] + acc[l + w]       for l in 0..w
//! result = acc[0]
//! ```

mod coded;
pub mod codes;
mod naive;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "aarch64")]
mod neon_codes;
pub mod quantise;
mod scalar;
mod scalar_codes;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_codes;
#[cfg(target_arch = "x86_64")]
mod x86_floats;
#[cfg(target_arch = "x86_64")]
mod x86_quantise;

use half::f16;

use crate::error::{Error, Result};

pub use naive::dot as canonical_dot;

/// The number of lanes of the canonical sum.
pub const LANES: usize = 16;

/// One block of sixteen floats on a cache line of its own; rows and queries are made of these.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Lanes(pub [f32; LANES]);

impl Lanes {
    /// Sixteen zeros.
    pub const ZERO: Self = Self([0.0; LANES]);

    /// Appends `row` to `out`, padded with zeros to whole blocks.
    pub fn extend(out: &mut Vec<Self>, row: &[f32]) {
        let (blocks, tail) = row.as_chunks::<LANES>();
        out.extend(blocks.iter().copied().map(Self));
        if !tail.is_empty() {
            let mut last = Self::ZERO;
            for (lane, value) in last.0.iter_mut().zip(tail) {
                *lane = *value;
            }
            out.push(last);
        }
    }
}

/// Sixteen values in half precision: half a cache line.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(32))]
pub struct Halves(pub [u16; LANES]);

impl Halves {
    /// The nearest values in half precision, ties to even.
    #[must_use]
    pub fn of(block: &Lanes) -> Self {
        Self(block.0.map(|value| f16::from_f32(value).to_bits()))
    }

    /// The same values in 32 bits.
    fn widened(&self) -> Lanes {
        Lanes(self.0.map(|bits| f16::from_bits(bits).to_f32()))
    }
}

/// An instruction set that warmset has kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// Portable Rust, every platform.
    Scalar,
    /// 256-bit registers of x86-64.
    Avx2,
    /// 512-bit registers of x86-64.
    Avx512,
    /// 128-bit registers of `AArch64`.
    Neon,
}

impl Tier {
    /// Every tier, slowest first.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];

    /// The name that `WARMSET_SIMD` takes and that reports show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// The tiers that this machine can run, slowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|tier| Proof::of(*tier).is_some())
            .collect()
    }
}

/// Possession proves that the machine has the instructions.
#[derive(Clone, Copy, Debug)]
enum Proof {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
}

impl Proof {
    fn of(tier: Tier) -> Option<Self> {
        match tier {
            Tier::Scalar => Some(Self::Scalar),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => x86::Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => x86::Avx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "aarch64")]
            Tier::Neon => neon::Neon::detect().map(Self::Neon),
            _ => None,
        }
    }
}

/// Scores blocks of rows with one tier.
#[derive(Clone, Copy, Debug)]
pub struct Scanner {
    tier: Tier,
    proof: Proof,
    codes: coded::Proof,
}

impl Scanner {
    /// Asks for bytes that are read soon, so that they need not be waited for; nothing where there is no
    /// such instruction.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    pub fn prefetch(self, bytes: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        x86::prefetch(bytes);
    }

    /// The fastest tier of this machine, or the one that `WARMSET_SIMD` names.
    ///
    /// # Errors
    /// [`Error::Argument`] if the variable names no tier, or one that this machine lacks.
    pub fn from_environment() -> Result<Self> {
        match std::env::var("WARMSET_SIMD") {
            Ok(name) if !name.is_empty() => Self::named(&name),
            _ => Ok(Self::best()),
        }
    }

    /// The fastest tier of this machine.
    #[must_use]
    pub fn best() -> Self {
        Tier::ALL
            .into_iter()
            .rev()
            .find_map(Self::of)
            .unwrap_or(Self {
                tier: Tier::Scalar,
                proof: Proof::Scalar,
                codes: coded::Proof::Scalar,
            })
    }

    /// That tier, if the machine has it.
    #[must_use]
    pub fn of(tier: Tier) -> Option<Self> {
        Proof::of(tier).map(|proof| Self {
            tier,
            proof,
            codes: coded::Proof::of(tier),
        })
    }

    /// The tier of that name.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such tier, or this machine lacks it.
    pub fn named(name: &str) -> Result<Self> {
        Tier::ALL
            .into_iter()
            .find(|tier| tier.name() == name)
            .and_then(Self::of)
            .ok_or_else(|| Error::Argument {
                name: "WARMSET_SIMD",
                expected: format!(
                    "one of {}",
                    Tier::available()
                        .iter()
                        .map(|tier| tier.name())
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                found: name.to_owned(),
            })
    }

    /// The tier in use.
    #[must_use]
    pub fn tier(self) -> Tier {
        self.tier
    }

    /// Appends blocks in half precision, as the same values in 32 bits.
    pub fn widen(self, blocks: &[Halves], out: &mut Vec<Lanes>) {
        match self.proof {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.widen(blocks, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(kernel) => kernel.widen(blocks, out),
            _ => out.extend(blocks.iter().map(Halves::widened)),
        }
    }

    /// Writes the canonical sum of `query` with each row of `rows` into `out`, in order.
    ///
    /// # Panics
    /// If `rows` is not `out.len()` rows of the query's length: every caller builds both from one
    /// dimension, so a mismatch is a defect of this crate.
    pub fn dot_rows(self, query: &[Lanes], rows: &[Lanes], out: &mut [f32]) {
        assert_eq!(rows.len(), query.len() * out.len(), "rows do not fit");
        match self.proof {
            Proof::Scalar => scalar::dot_rows(query, rows, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.dot_rows(query, rows, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx512(kernel) => kernel.dot_rows(query, rows, out),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.dot_rows(query, rows, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lanes(row: &[f32]) -> Vec<Lanes> {
        let mut out = Vec::new();
        Lanes::extend(&mut out, row);
        out
    }

    proptest! {
        #[test]
        fn every_tier_gives_the_bits_of_the_naive_sum(
            dim in prop::sample::select(vec![1_usize, 3, 15, 16, 17, 31, 64, 384]),
            count in 0_usize..11,
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let bits = u32::try_from(state >> 40).unwrap();
                f32::from_bits(0x3f80_0000 | (bits >> 1)) - 1.5
            };
            let query: Vec<f32> = (0..dim).map(|_| next()).collect();
            let rows: Vec<Vec<f32>> = (0..count).map(|_| (0..dim).map(|_| next()).collect()).collect();
            let mut blocks = Vec::new();
            for row in &rows {
                Lanes::extend(&mut blocks, row);
            }
            for tier in Tier::available() {
                let mut out = vec![f32::NAN; count];
                Scanner::of(tier).unwrap().dot_rows(&lanes(&query), &blocks, &mut out);
                for (row, score) in rows.iter().zip(&out) {
                    prop_assert_eq!(score.to_bits(), canonical_dot(&query, row).to_bits(), "{}", tier.name());
                }
            }
        }
    }

    #[test]
    fn every_tier_widens_every_value_exactly() {
        let all: Vec<u16> = (0..=u16::MAX)
            .filter(|bits| !f16::from_bits(*bits).is_nan())
            .collect();
        let (blocks, rest) = all.as_chunks::<LANES>();
        let blocks: Vec<Halves> = blocks.iter().copied().map(Halves).collect();
        assert!(rest.len() < LANES && blocks.len() > 3_900);
        for tier in Tier::available() {
            let mut out = vec![Lanes([7.0; LANES])];
            Scanner::of(tier).unwrap().widen(&blocks, &mut out);
            assert_eq!(out.len(), blocks.len() + 1);
            assert_eq!(out[0], Lanes([7.0; LANES]), "what is there stays");
            for (wide, narrow) in out[1..].iter().flat_map(|block| block.0).zip(&all) {
                let value = f16::from_bits(*narrow).to_f32();
                assert_eq!(
                    wide.to_bits(),
                    value.to_bits(),
                    "{} {narrow:x}",
                    tier.name()
                );
            }
            Scanner::of(tier).unwrap().widen(&[], &mut out);
            assert_eq!(out.len(), blocks.len() + 1);
            let back: Vec<Halves> = out[1..].iter().map(Halves::of).collect();
            assert_eq!(back, blocks);
        }
    }

    #[test]
    fn the_best_tier_is_the_fastest_and_each_is_known_by_its_name_alone() {
        let tiers = Tier::available();
        assert_eq!(Some(&Scanner::best().tier()), tiers.last());
        for tier in tiers {
            assert_eq!(Scanner::named(tier.name()).unwrap().tier(), tier);
        }
        for other in ["", "best", "AVX2", "scalar "] {
            assert!(Scanner::named(other).is_err(), "{other}");
        }
    }

    #[test]
    fn an_unknown_tier_is_refused_with_the_list() {
        let error = Scanner::named("mmx").unwrap_err().to_string();
        assert!(error.contains("scalar") && error.contains("mmx"), "{error}");
    }
}
