//! What a vector must be before it becomes a row or a query.

use crate::error::{Error, Result};

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

    /// Writes a vector as this metric compares it. `row` names it in errors.
    ///
    /// The norm is summed in f64 one after the other, so it neither overflows nor vanishes for any
    /// finite f32; a unit vector is each value divided by it in f64, rounded once to f32.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ZeroNorm`] (cosine) or [`Error::NormTooLarge`] (inner product).
    pub(super) fn prepare(self, vector: &[f32], row: usize, out: &mut Vec<f32>) -> Result<()> {
        out.clear();
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite { row });
        }
        let square: f64 = vector.iter().fold(0.0, |sum, value| {
            let value = f64::from(*value);
            sum + value * value
        });
        let norm = square.sqrt();
        match self {
            Self::Cosine if norm == 0.0 => Err(Error::ZeroNorm { row }),
            Self::Cosine if (norm - 1.0).abs() <= UNIT_SLACK => {
                out.extend_from_slice(vector);
                Ok(())
            }
            Self::Cosine => {
                #[expect(
                    clippy::as_conversions,
                    clippy::cast_possible_truncation,
                    reason = "the one rounding to f32 that the doc names"
                )]
                out.extend(vector.iter().map(|value| (f64::from(*value) / norm) as f32));
                Ok(())
            }
            Self::InnerProduct if norm > NORM_LIMIT => Err(Error::NormTooLarge {
                row,
                norm,
                limit: NORM_LIMIT,
            }),
            Self::InnerProduct => {
                out.extend_from_slice(vector);
                Ok(())
            }
        }
    }
}
