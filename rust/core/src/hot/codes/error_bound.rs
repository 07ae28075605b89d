//! How far a score may be from what small codes tell of it.
//!
//! ```text
//! x ≈ s·c      row:   codes and scale, r = x − s·c what they miss
//! y ≈ t·q      query: the same, u = y − t·q
//!
//! x·y  =  s·t·(c·q)  +  s·c·u  +  r·y                                       an identity
//! |s·c·u| ≤ ‖s·c‖·‖u‖       |r·y| ≤ ‖r‖·‖y‖                                 Cauchy-Schwarz
//! |canonical − x·y| ≤ γ·‖x‖·‖y‖ + d·2⁻¹⁴⁹,   γ = m·ε / (1 − m·ε),  ε = 2⁻²⁴
//!     m = blocks of sixteen + 5: one product, a lane's additions, four levels of the tree. What a
//!     product loses below the smallest normal number is at most 2⁻¹⁵⁰; additions lose nothing there.
//! |computed estimate − s·t·(c·q)| ≤ 4ε·‖s·c‖·(‖y‖ + ‖u‖) + 2⁻¹⁵⁰            three roundings
//!
//! row.error   ≥ ‖r‖ + (γ + 12ε)·max(‖x‖, ‖s·c‖)      row.norm   ≥ ‖s·c‖
//! query.reach ≥ ‖y‖·(1 + 16ε)                        query.miss ≥ ‖u‖·(1 + 16ε)
//! margin      = error·reach + (norm·miss + (tail·rest + grain)),    grain = (d + 8)·2⁻¹⁴⁹
//! ```
//!
//! Where codes are those of a projection, of `z ≈ B·x` and `w ≈ B·y` for a few directions B of length
//! one (see [`crate::hot::codes::basis`]), with x̂ = s·Bᵀ·c and r = x − x̂:
//!
//! ```text
//! x·y  =  s·t·(c·q)  +  s·c·(B·y − t·q)  +  (B·r)·w  +  r·(y − Bᵀ·w)        an identity for any B
//! δ ≥ ‖B·Bᵀ − 1‖      e(x) = γ·‖B‖·‖x‖ + lost ≥ ‖B·x − z‖                   what B and z are off by
//! ‖B·y − t·q‖ ≤ ‖w − t·q‖ + e(y)                         = miss
//! ‖B·r‖       ≤ ‖z − s·c‖ + e(x) + δ·‖s·c‖               in error
//! ‖r‖²        ≤ ‖x‖² − ‖z‖² + ‖z − s·c‖² + 2·‖s·c‖·e(x) + δ·‖s·c‖²          = tail²
//! ‖y − Bᵀw‖²  ≤ ‖y‖² − ‖w‖² + 2·‖w‖·e(y) + δ·‖w‖²                           = rest²
//! ```
//!
//! Of the twelve ε of the error, four pay for the estimate's roundings and one for that of
//! `estimate ± margin`, each with the norm of what the query's codes are of; with `‖u‖` they are paid
//! by the sixteen of the miss, which like those of the reach and the rest also pay for the margin's own
//! roundings. Norms are computed in f64 from the f32 values that are used, enlarged by 2⁻³⁰ (their own
//! roundings are below 2⁻³⁵ for 65,536 dimensions), and rounded up to f32.

use crate::simd::LANES;
use crate::simd::codes::Terms;
use crate::simd::quantise::Fit;

/// The unit roundoff of f32.
const EPSILON: f64 = 1.0 / 16_777_216.0;

/// What the sums in f64 may be off by, and more.
pub(in crate::hot) const LOOSE: f64 = 1.0 / 1_073_741_824.0;
const WIDE: f64 = 1.0 + LOOSE;

/// The smallest number above zero, and so the most that a product below the normal numbers loses.
pub(in crate::hot) const SMALLEST: f64 = 1.401_298_464_324_817e-45;

/// What so many roundings may be off by, in units of what is summed.
pub(in crate::hot) fn gamma(steps: usize) -> f64 {
    let part = u32::try_from(steps).map_or(f64::INFINITY, f64::from) * EPSILON;
    part / (1.0 - part)
}

/// What margins of vectors of one dimension are made of.
#[derive(Clone, Copy, Debug)]
pub(in crate::hot) struct Slack {
    /// The share of what a row's codes miss, and of what a query's codes miss: all of it.
    row: f64,
    query: f64,
    /// How far the canonical sum may be from the true one, in units of both norms.
    gamma: f64,
    /// What products may lose below the smallest normal number, in units of 2⁻¹⁴⁹.
    grain: u32,
}

/// How far a projection is from what its name says.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::hot) struct Skew {
    /// At least `‖B·Bᵀ − 1‖`.
    pub(in crate::hot) delta: f64,
    /// At least `‖B·x − z‖` in units of `‖x‖`, and what comes on top of it.
    pub(in crate::hot) stray: f64,
    pub(in crate::hot) lost: f64,
    /// The share of the part that B does not see: all of it.
    pub(in crate::hot) tail: f64,
}

impl Skew {
    fn off(&self, norm: f64) -> f64 {
        self.stray * norm + self.lost
    }

    /// The norm of what is left of a vector of that norm; `seen` is the norm of its projection.
    fn left(&self, norm: f64, seen: f64, said: f64, missed: f64) -> f64 {
        let square = norm * norm - seen * seen
            + missed * missed
            + 2.0 * said * self.off(norm)
            + self.delta * said * said
            + LOOSE * norm * norm;
        self.tail * square.max(0.0).sqrt()
    }
}

impl Slack {
    pub(in crate::hot) fn of(dim: usize) -> Self {
        Self {
            row: 1.0,
            query: 1.0,
            gamma: gamma(dim.div_ceil(LANES) + 5),
            grain: u32::try_from(dim + 8).unwrap_or(u32::MAX),
        }
    }

    /// Error, norm and tail of a row.
    pub(in crate::hot) fn row(&self, fit: &Fit) -> [f32; 3] {
        [self.error(fit.missed, fit, fit.norm), up(fit.said), 0.0]
    }

    /// A query's part of the margin.
    pub(in crate::hot) fn query(&self, fit: &Fit) -> Terms {
        self.terms(fit.norm, fit.missed, 0.0)
    }

    /// [`Slack::row`] of a row of that norm, from the codes of its projection.
    pub(in crate::hot) fn projected_row(&self, skew: &Skew, fit: &Fit, norm: f64) -> [f32; 3] {
        let missed = fit.missed + skew.off(norm) + skew.delta * fit.said;
        let missed = missed * (1.0 + skew.delta + skew.stray);
        [
            self.error(missed, fit, norm),
            up(fit.said),
            up(skew.left(norm, fit.norm, fit.said, fit.missed)),
        ]
    }

    /// [`Slack::query`] of a query of that norm, from the codes of its projection.
    pub(in crate::hot) fn projected_query(&self, skew: &Skew, fit: &Fit, norm: f64) -> Terms {
        let rest = skew.left(norm, fit.norm, fit.norm, 0.0);
        self.terms(norm.max(fit.norm), fit.missed + skew.off(norm), rest)
    }

    fn error(&self, missed: f64, fit: &Fit, norm: f64) -> f32 {
        let rounding = (self.gamma + 12.0 * EPSILON) * norm.max(fit.said);
        up(self.row * missed + rounding)
    }

    fn terms(&self, norm: f64, missed: f64, rest: f64) -> Terms {
        let roomy = 1.0 + 16.0 * EPSILON;
        Terms {
            reach: up(norm * roomy),
            miss: up(self.query * missed * roomy),
            rest: up(rest * roomy),
            grain: f32::from_bits(self.grain),
        }
    }
}

/// The least f32 that is not below a sum in f64, whatever that lost.
fn up(value: f64) -> f32 {
    let value = value * WIDE;
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

#[cfg(test)]
#[path = "error_bound_tests.rs"]
mod tests;
