//! What items are asked for, and what comes of it.

use crate::hot::Weights;

use super::item::Label;

/// Names of which an item must have one, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Names of what; the empty name stands for having none.
    pub label: Label,
    /// The names.
    pub names: Vec<String>,
    /// Whether the item must have one of them; otherwise it must have none of them.
    pub among: bool,
}

/// Every condition that items must meet, and how many are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Names that they must have.
    pub wanted: Vec<Wanted>,
    /// Their first time, in milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// The time that they are before, in milliseconds since 1970 UTC.
    pub before: Option<i64>,
    /// Whether archived ones count.
    pub archived: bool,
    /// Whether those count that newer items replace.
    pub superseded: bool,
    /// The least similarity with the question, and more than 0; without it all count, and the newest are
    /// taken.
    pub floor: Option<f32>,
    /// The most items.
    pub k: usize,
}

/// What ages are counted in.
#[derive(Clone, Debug, PartialEq)]
pub enum Age {
    /// Items do not age.
    None,
    /// Hours until this time, in microseconds since 1970 UTC.
    Hours(i64),
    /// How many of these times came later, in microseconds since 1970 UTC, ascending.
    Turns(Vec<i64>),
}

impl Age {
    /// What is left of the relevance of something.
    pub(super) fn share(&self, decay: f64, at: i64) -> f64 {
        if decay >= 1.0 {
            return 1.0;
        }
        let age = match self {
            Self::None => return 1.0,
            Self::Hours(now) => hours(now.saturating_sub(at)),
            Self::Turns(times) => {
                let later = times.len() - times.partition_point(|time| *time <= at);
                f64::from(u32::try_from(later).unwrap_or(u32::MAX))
            }
        };
        decay.powf(age)
    }
}

/// Microseconds as hours; 0 for what lies in the future.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "an age needs no more than 53 bits"
)]
fn hours(micros: i64) -> f64 {
    micros.max(0) as f64 / 3.6e9
}

/// The question that items are compared with.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Its vector, if there is one.
    pub vector: Option<&'a [f32]>,
    /// Its terms.
    pub terms: &'a [String],
    /// The weight of vectors and of words; the others are not used.
    pub weights: Weights,
}

/// One item that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Its id.
    pub id: u64,
    /// The weighted sum of what vectors and words say.
    pub score: f32,
    /// The weighted mean of the same, 0 to 1; what words say, if the question has no vector.
    pub similarity: f32,
    /// The similarity, 1 without a question, times what its age leaves of it.
    pub relevance: f64,
}

/// What came of an ask.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// How many items meet all conditions but the similarity.
    pub matched: u64,
    /// What was taken, the most relevant first, ties by id.
    pub found: Vec<Found>,
    /// Of those that would meet the conditions but for what newer items replace: the newest, at most as many
    /// as are taken.
    pub superseded: Vec<u64>,
    /// How many items would meet the conditions if they had any name of a label.
    pub lacking: Vec<(Label, u64)>,
}
