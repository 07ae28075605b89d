//! Eight-bit codes of rows: a quarter of the bytes, and a bound that no score exceeds.
//!
//! ```text
//! x ≈ s·c      row:   codes c in −127..127, s the least-squares scale, r = x − s·c what they miss
//! y ≈ t·q      query: the same, u = y − t·q
//!
//! x·y  =  s·t·(c·q)  +  s·c·u  +  r·y                                       an identity
//! |s·c·u| ≤ ‖s·c‖·‖u‖       |r·y| ≤ ‖r‖·‖y‖                                 Cauchy-Schwarz
//! |canonical − x·y| ≤ γ·‖x‖·‖y‖ + d·2⁻¹⁴⁹,   γ = m·ε / (1 − m·ε),  ε = 2⁻²⁴
//!     m = blocks of sixteen + 5: one product, a lane's additions, four levels of the tree. What a
//!     product loses below the smallest normal number is at most 2⁻¹⁵⁰; additions lose nothing there.
//! |computed estimate − s·t·(c·q)| ≤ 4ε·‖s·c‖·(‖y‖ + ‖u‖) + 2⁻¹⁵⁰            three roundings
//!
//! row.error   ≥ ‖r‖ + (γ + 8ε)·max(‖x‖, ‖s·c‖)       row.norm   ≥ ‖s·c‖
//! query.reach ≥ ‖y‖·(1 + 16ε)                        query.miss ≥ ‖u‖·(1 + 16ε)
//! margin      = error·reach + (norm·miss + grain),    grain = (d + 8)·2⁻¹⁴⁹
//! ```
//!
//! Of the eight ε of the error, four pay for the estimate's roundings and one for that of
//! `estimate ± margin`, each with `‖y‖`; with `‖u‖` they are paid by the sixteen of the miss, which like
//! those of the reach also pay for the margin's own three roundings. Norms are computed in f64 from
//! the f32 values that are used, enlarged by 2⁻³⁰ (their own roundings are below 2⁻³⁵ for 65,536
//! dimensions), and rounded up to f32.

use crate::simd::codes::{BLOCK, Group, Margins, Panel, Terms, estimate};
use crate::simd::{LANES, Lanes, Scanner};

/// The unit roundoff of f32.
const EPSILON: f64 = 1.0 / 16_777_216.0;

/// What the sums in f64 may be off by, and more.
const WIDE: f64 = 1.0 + 1.0 / 1_073_741_824.0;

/// The codes of all rows, in their order.
#[derive(Debug)]
pub(super) struct Int8 {
    dim: usize,
    /// Groups of four dimensions in a row.
    groups: usize,
    codes: Vec<Group>,
    margins: Vec<Margins>,
    rows: usize,
}

/// What codes make of a vector.
struct Fit {
    scale: f32,
    /// The norm of what the codes miss, of what they say, and of the vector.
    missed: f64,
    said: f64,
    norm: f64,
}

impl Int8 {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            dim,
            groups: dim.div_ceil(4),
            codes: Vec::new(),
            margins: Vec::new(),
            rows: 0,
        }
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.margins.len()
    }

    /// Adds the codes of one more row.
    pub(super) fn push(&mut self, row: &[f32]) {
        let at = self.rows % BLOCK;
        if at == 0 {
            self.codes
                .resize(self.codes.len() + self.groups, Group::ZERO);
            self.margins.push(Margins::ZERO);
        }
        self.rows += 1;
        let mut codes = vec![[0_u8; 4]; self.groups];
        let fit = fit(row, codes.as_flattened_mut());
        let start = self.codes.len() - self.groups;
        for (group, code) in self.codes.iter_mut().skip(start).zip(codes) {
            if let Some(place) = group.0.as_chunks_mut::<4>().0.get_mut(at) {
                *place = code;
            }
        }
        let error = fit.missed + (self.gamma() + 8.0 * EPSILON) * fit.norm.max(fit.said);
        if let Some(margins) = self.margins.last_mut()
            && let (Some(scale), Some(most), Some(norm)) = (
                margins.scale.get_mut(at),
                margins.error.get_mut(at),
                margins.norm.get_mut(at),
            )
        {
            *scale = fit.scale;
            *most = up(error * WIDE);
            *norm = up(fit.said * WIDE);
        }
    }

    /// The codes of several queries. Where there are fewer than `M`, the rest are zeros.
    pub(super) fn panel<const M: usize>(&self, queries: [&[Lanes]; M]) -> Panel<M> {
        let mut words = vec![[0_i32; M]; self.groups];
        let mut codes = vec![[0_u8; 4]; self.groups];
        let mut at = 0..;
        let terms = queries.map(|query| {
            let place = at.next().unwrap_or(0);
            let values: Vec<f32> = query
                .iter()
                .flat_map(|block| block.0)
                .take(self.dim)
                .collect();
            codes.fill([128; 4]);
            let fit = fit(&values, codes.as_flattened_mut());
            let mut sum = 0_i32;
            for (word, code) in words.iter_mut().zip(&codes) {
                let signed = code.map(|byte| byte.wrapping_sub(128));
                sum += signed
                    .map(|byte| i32::from(byte.cast_signed()))
                    .iter()
                    .sum::<i32>();
                if let Some(word) = word.get_mut(place) {
                    *word = i32::from_le_bytes(signed);
                }
            }
            let roomy = WIDE * (1.0 + 16.0 * EPSILON);
            Terms {
                bias: sum.wrapping_mul(-128),
                scale: fit.scale,
                reach: up(fit.norm * roomy),
                miss: up(fit.missed * roomy),
                grain: f32::from_bits(u32::try_from(self.dim + 8).unwrap_or(u32::MAX)),
            }
        });
        Panel { words, terms }
    }

    /// Which rows of a block may score at least the floor, for each query; their sums in `sums`.
    pub(super) fn screen<const M: usize>(
        &self,
        scanner: Scanner,
        panel: &Panel<M>,
        block: usize,
        floors: &[f32; M],
        sums: &mut [[i32; BLOCK]; M],
    ) -> [u64; M] {
        let codes = block * self.groups..(block + 1) * self.groups;
        match (self.codes.get(codes), self.margins.get(block)) {
            (Some(codes), Some(margins)) => scanner.screen(panel, codes, margins, floors, sums),
            _ => [0; M],
        }
    }

    /// The bounds of one row's score, the lower one first.
    pub(super) fn bounds(&self, terms: &Terms, row: usize, sum: i32) -> (f32, f32) {
        let at = row % BLOCK;
        let factors = self.margins.get(row / BLOCK).and_then(|margins| {
            Some([
                *margins.scale.get(at)?,
                *margins.error.get(at)?,
                *margins.norm.get(at)?,
            ])
        });
        let (score, margin) = estimate(sum, factors.unwrap_or([0.0; 3]), terms);
        (score - margin, score + margin)
    }

    /// How far the canonical sum may be from the true one, in units of both norms.
    fn gamma(&self) -> f64 {
        let steps = u32::try_from(self.dim.div_ceil(LANES) + 5).unwrap_or(u32::MAX);
        let part = f64::from(steps) * EPSILON;
        part / (1.0 - part)
    }
}

/// Writes the codes of a vector, plus 128, and says how well they fit. Codes behind the vector's end
/// are zeros.
fn fit(vector: &[f32], codes: &mut [u8]) -> Fit {
    codes.fill(128);
    let largest = vector
        .iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    let steps = if largest > 0.0 {
        127.0 / f64::from(largest)
    } else {
        0.0
    };
    let (mut along, mut square) = (0.0_f64, 0.0_f64);
    for (code, value) in codes.iter_mut().zip(vector) {
        let value = f64::from(*value);
        // Between 1.5 and 255.5, so cutting off the fraction rounds to the nearest code.
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "in range, as said; anything else would only widen the margin"
        )]
        let nearest = (value * steps + 128.5) as u8;
        *code = nearest;
        let step = f64::from(nearest) - 128.0;
        along += value * step;
        square += step * step;
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the scale that is used from here on is the rounded one"
    )]
    let scale = if square > 0.0 {
        (along / square) as f32
    } else {
        0.0
    };
    let (mut missed, mut norm) = (0.0_f64, 0.0_f64);
    for (code, value) in codes.iter().zip(vector) {
        let value = f64::from(*value);
        let miss = value - f64::from(scale) * (f64::from(*code) - 128.0);
        missed += miss * miss;
        norm += value * value;
    }
    Fit {
        scale,
        missed: missed.sqrt(),
        said: f64::from(scale) * square.sqrt(),
        norm: norm.sqrt(),
    }
}

/// The least f32 that is not below a value.
fn up(value: f64) -> f32 {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the next line rounds up where this rounded down"
    )]
    let near = value as f32;
    if f64::from(near) < value {
        near.next_up()
    } else {
        near
    }
}
