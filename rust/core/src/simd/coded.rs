//! Which kernels over codes a tier has, and what they do.

use super::codes::{BLOCK, Group, Line, Margins, Packing, Panel, Terms, reaching};
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::quantise::{self, Fit, Quad, TOGETHER};
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Lanes, Scanner, Tier, scalar_codes};

/// Possession proves that the machine has the instructions; a tier without kernels of its own for
/// codes has the portable ones.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Vnni(x86::Vnni),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
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
        #[cfg(target_arch = "aarch64")]
        {
            let neon = (tier == Tier::Neon).then(neon::Neon::detect).flatten();
            if let Some(proof) = neon {
                return Self::Neon(proof);
            }
        }
        let _ = tier;
        Self::Scalar
    }
}

impl Scanner {
    /// Whether codes are scored by kernels of their own, not by the portable ones.
    #[must_use]
    pub fn has_codes(self) -> bool {
        !matches!(self.codes, Proof::Scalar)
    }

    /// Writes the estimates of a block for each query of a panel, −∞ for rows whose bit in `admitted`
    /// is not set, and returns the greatest of each query.
    pub fn estimate<const M: usize>(
        self,
        packing: Packing,
        panel: &Panel<M>,
        block: (&[Group], &[f32; BLOCK]),
        admitted: u64,
        out: &mut [[f32; BLOCK]; M],
    ) -> [f32; M] {
        match self.codes {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.estimate(packing, panel, block, admitted, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.estimate(packing, panel, block, admitted, out),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.estimate(packing, panel, block, admitted, out),
            Proof::Scalar => scalar_codes::estimate(packing, panel, block, admitted, out),
        }
    }

    /// Which rows of a block may score at least the floor, the first row in the lowest bit.
    #[must_use]
    pub fn reaching(
        self,
        estimates: &[f32; BLOCK],
        margins: &Margins,
        terms: &Terms,
        floor: f32,
    ) -> u64 {
        match self.codes {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.reaching(estimates, margins, terms, floor),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.reaching(estimates, margins, terms, floor),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.reaching(estimates, margins, terms, floor),
            Proof::Scalar => reaching(estimates, margins, terms, floor),
        }
    }

    /// Writes `Σ (code + 128) · query's code` of the rows that are picked; `query` is as long as a row.
    /// A row that is not there has the sum 0.
    pub fn sum_lines(self, query: &[Line], rows: &[Line], picked: &[usize], out: &mut [i32]) {
        match self.codes {
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.sum_lines(query, rows, picked, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.sum_lines(query, rows, picked, out),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.sum_lines(query, rows, picked, out),
            Proof::Scalar => scalar_codes::sum_lines(query, rows, picked, out),
        }
    }

    /// Writes the codes of a vector of `dim` values and says how well they fit; what pads it gets the
    /// codes of zeros. There is a code for every value of the blocks.
    #[must_use]
    pub fn fit(self, packing: Packing, dim: usize, blocks: &[Lanes], codes: &mut [u8]) -> Fit {
        match self.codes {
            Proof::Scalar => quantise::fit(packing, dim, blocks, codes),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.fit(packing, dim, blocks, codes),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.fit(packing, dim, blocks, codes),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.fit(packing, dim, blocks, codes),
        }
    }

    /// Writes `Σ weight · row` for four lists of weights. Rows are as long as `out`, of which each element
    /// holds sixty-four values of each sum. Between a sum and the true one are at most
    /// [`quantise::mix_steps`] roundings.
    pub fn mix(self, weights: [&[f32]; TOGETHER], rows: &[Quad], out: &mut [[Quad; TOGETHER]]) {
        match self.codes {
            Proof::Scalar => quantise::mix(weights, rows, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Avx2(kernel) => kernel.mix(weights, rows, out),
            #[cfg(target_arch = "x86_64")]
            Proof::Vnni(kernel) => kernel.mix(weights, rows, out),
            #[cfg(target_arch = "aarch64")]
            Proof::Neon(kernel) => kernel.mix(weights, rows, out),
        }
    }
}
