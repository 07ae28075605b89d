//! From a vector to small codes, and how well they fit.
//!
//! ```text
//! x ≈ s·c      codes c in −127..127 or −7..7, s the least-squares scale (x·c) / (c·c)
//! ```
//!
//! Eight-bit codes divide the largest value by 127. Four-bit codes clip at 2.9 root mean squares, which
//! misses least of what is close to normally distributed.

/// Values that are summed side by side.
const STRIDE: usize = 8;

/// Adding this to a small f64 rounds it to an integer, which is then in the lowest bits.
const SHIFT: f64 = 4_503_599_627_370_496.0;

/// How many codes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codebook {
    /// −127 to 127, written plus 128.
    Eight,
    /// −7 to 7, written plus 8.
    Four,
}

/// What codes make of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) scale: f32,
    /// The norm of what the codes miss, of what they say, and of the vector.
    pub(super) missed: f64,
    pub(super) said: f64,
    pub(super) norm: f64,
}

impl Codebook {
    fn offset(self) -> u8 {
        match self {
            Self::Eight => 128,
            Self::Four => 8,
        }
    }

    /// The largest code, and the codes that a value of one is worth.
    fn steps(self, largest: f64, mean: f64) -> (f64, f64) {
        let (most, clip, room) = match self {
            Self::Eight => (127.0, largest, 127.0),
            Self::Four => (7.0, largest.min(2.9 * mean), 7.5),
        };
        (most, if clip > 0.0 { room / clip } else { 0.0 })
    }

    /// Writes the codes of a vector and says how well they fit. Codes behind the vector's end are
    /// zeros.
    pub(super) fn fit(self, vector: &[f32], codes: &mut [u8]) -> Fit {
        let zero = self.offset();
        codes.fill(zero);
        let mut largest = [0.0_f32; STRIDE];
        let mut norm = [0.0_f64; STRIDE];
        each(vector, codes, zero, |values, _| {
            for ((most, norm), value) in largest.iter_mut().zip(&mut norm).zip(values) {
                *most = most.max(value.abs());
                *norm += f64::from(*value) * f64::from(*value);
            }
        });
        let norm = norm.iter().sum::<f64>().sqrt();
        let largest = largest.into_iter().fold(0.0, f32::max);
        let count = u32::try_from(vector.len()).map_or(1.0, f64::from).max(1.0);
        let (most, steps) = self.steps(f64::from(largest), norm / count.sqrt());
        let (mut along, mut square) = ([0.0_f64; STRIDE], [0.0_f64; STRIDE]);
        each(vector, codes, zero, |values, codes| {
            let sums = along.iter_mut().zip(&mut square);
            for (((along, square), value), code) in sums.zip(values).zip(codes) {
                let value = f64::from(*value);
                let step = (value * steps).clamp(-most, most);
                let shifted = (step + f64::from(zero)) + SHIFT;
                [*code, ..] = shifted.to_bits().to_le_bytes();
                let step = (shifted - SHIFT) - f64::from(zero);
                *along += value * step;
                *square += step * step;
            }
        });
        let (along, square): (f64, f64) = (along.iter().sum(), square.iter().sum());
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
        let mut missed = [0.0_f64; STRIDE];
        each(vector, codes, zero, |values, codes| {
            for ((missed, value), code) in missed.iter_mut().zip(values).zip(codes) {
                let said = f64::from(scale) * (f64::from(*code) - f64::from(zero));
                let miss = f64::from(*value) - said;
                *missed += miss * miss;
            }
        });
        Fit {
            scale,
            missed: missed.iter().sum::<f64>().sqrt(),
            said: f64::from(scale) * square.sqrt(),
            norm,
        }
    }
}

/// Visits values and their codes, so many at a time; at the end there may be zeros among them.
fn each(
    vector: &[f32],
    codes: &mut [u8],
    zero: u8,
    mut visit: impl FnMut(&[f32; STRIDE], &mut [u8; STRIDE]),
) {
    let (blocks, tail) = vector.as_chunks::<STRIDE>();
    for (values, codes) in blocks.iter().zip(codes.as_chunks_mut().0) {
        visit(values, codes);
    }
    if let Some(codes) = codes.get_mut(vector.len() - tail.len()..vector.len())
        && !tail.is_empty()
    {
        let (mut values, mut last) = ([0.0; STRIDE], [zero; STRIDE]);
        for ((value, last), (from, code)) in values
            .iter_mut()
            .zip(&mut last)
            .zip(tail.iter().zip(codes.iter()))
        {
            (*value, *last) = (*from, *code);
        }
        visit(&values, &mut last);
        for (code, last) in codes.iter_mut().zip(last) {
            *code = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fit_says_what_its_codes_miss(
            vector in prop::collection::vec(-1e3_f32..1e3, 0..70),
            four in any::<bool>(),
        ) {
            let (book, zero, most) =
                if four { (Codebook::Four, 8.0, 7.0) } else { (Codebook::Eight, 128.0, 127.0) };
            let mut codes = vec![0; vector.len() + 3];
            let fit = book.fit(&vector, &mut codes);
            let (mut missed, mut said, mut norm) = (0.0, 0.0, 0.0);
            for (at, code) in codes.iter().enumerate() {
                let value = vector.get(at).copied().map_or(0.0, f64::from);
                let step = f64::from(*code) - zero;
                prop_assert!(step.abs() <= most);
                missed += (value - f64::from(fit.scale) * step).powi(2);
                said += (f64::from(fit.scale) * step).powi(2);
                norm += value * value;
            }
            for (told, true_one) in [(fit.missed, missed), (fit.said, said), (fit.norm, norm)] {
                prop_assert!((told - true_one.sqrt()).abs() <= 1e-9 * norm.sqrt());
            }
            // The codes are worth their bits.
            let share = if four { 0.7 } else { 0.04 };
            prop_assert!(fit.missed <= fit.norm * share + 1e-30);
        }
    }
}
