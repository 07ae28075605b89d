//! What a vector must be before it becomes a row or a query.

use crate::error::{Error, Result};
use crate::simd::LANES;

/// How two vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The cosine: rows and queries are brought to unit length first.
    Cosine,
    /// The inner product of the vectors as they are.
    InnerProduct,
}

/// A vector whose norm is this close to one is a unit vector already and is taken as it is, so that
/// bringing a vector to unit length twice gives the bits of doing it once.
const UNIT_SLACK: f64 = 1e-6;

/// The largest norm that an inner product accepts: the product of two stays far from overflow.
const NORM_LIMIT: f64 = 1e18;

impl Metric {
    /// The metric of that name: `"cosine"` or `"ip"`.
    ///
    /// # Errors
    /// [`Error::Argument`] for any other name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "cosine" => Ok(Self::Cosine),
            "ip" => Ok(Self::InnerProduct),
            other => Err(Error::Argument {
                name: "metric",
                expected: "\"cosine\" or \"ip\"".into(),
                found: format!("{other:?}"),
            }),
        }
    }

    /// The name in the public API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::InnerProduct => "ip",
        }
    }

    /// What a vector is divided by to be as this metric compares it; none if it is taken as it is. `row`
    /// names it in errors.
    ///
    /// The norm is summed in f64 one after the other, so it neither overflows nor vanishes for any
    /// finite f32.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ZeroNorm`] (cosine) or [`Error::NormTooLarge`] (inner product).
    pub(in crate::hot) fn divisor(self, vector: &[f32], row: usize) -> Result<Option<f64>> {
        let largest = largest(vector).ok_or(Error::NotFinite { row })?;
        let count = u32::try_from(vector.len()).map_or(f64::MAX, f64::from);
        if self == Self::InnerProduct && f64::from(largest) * count.sqrt() <= NORM_LIMIT {
            return Ok(None);
        }
        let square: f64 = vector.iter().fold(0.0, |sum, value| {
            let value = f64::from(*value);
            sum + value * value
        });
        let norm = square.sqrt();
        match self {
            Self::Cosine if norm == 0.0 => Err(Error::ZeroNorm { row }),
            Self::Cosine => Ok(((norm - 1.0).abs() > UNIT_SLACK).then_some(norm)),
            Self::InnerProduct if norm > NORM_LIMIT => Err(Error::NormTooLarge {
                row,
                norm,
                limit: NORM_LIMIT,
            }),
            Self::InnerProduct => Ok(None),
        }
    }

    /// A vector as this metric compares it. `row` names it in errors.
    ///
    /// # Errors
    /// As [`Metric::divisor`].
    pub(in crate::hot) fn prepared(self, vector: &[f32], row: usize) -> Result<Vec<f32>> {
        let mut out = Vec::with_capacity(vector.len());
        match self.divisor(vector, row)? {
            Some(divisor) => _ = divided(vector, divisor, &mut out),
            None => out.extend_from_slice(vector),
        }
        Ok(out)
    }
}

/// A vector divided by a number, in f64, each value rounded once to f32.
pub(in crate::hot) fn divided<'a>(
    vector: &[f32],
    divisor: f64,
    out: &'a mut Vec<f32>,
) -> &'a [f32] {
    out.clear();
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the one rounding to f32 that the doc names"
    )]
    out.extend(
        vector
            .iter()
            .map(|value| (f64::from(*value) / divisor) as f32),
    );
    out
}

/// The largest size of a value; none if one is not finite.
fn largest(vector: &[f32]) -> Option<f32> {
    let (mut most, mut nothing) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    for values in vector.chunks(LANES) {
        for ((most, nothing), value) in most.iter_mut().zip(&mut nothing).zip(values) {
            let size = value.abs();
            *most = if size > *most { size } else { *most };
            // What is not finite makes a NaN of it, which stays.
            *nothing += value * 0.0;
        }
    }
    let finite = nothing.iter().all(|nothing| *nothing == 0.0);
    finite.then(|| most.into_iter().fold(0.0, f32::max))
}
