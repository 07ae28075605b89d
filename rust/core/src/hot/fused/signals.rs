//! The signals of fused search: what a query gives, what counts, what came of it.

use crate::hot::fused::traits::Days;

/// How much each signal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    /// Of the inner product with the entry's best row.
    pub dense: f32,
    /// Of the normalised BM25.
    pub lexical: f32,
    /// Of the query naming the entry's speaker.
    pub speaker: f32,
    /// Of a day that both speak of.
    pub date: f32,
    /// Of telling a time where the query asks for one.
    pub when: f32,
    /// Of having a number where the query asks for one.
    pub number: f32,
    /// Against the part of an entry that is a question itself.
    pub asking: f32,
    /// Of the base score of the question that the entry answers.
    pub reply: f32,
    /// Of the best base score close by.
    pub near: f32,
    /// Of the best base score in the entry's session.
    pub session: f32,
}

/// What the caller read out of the query, beside its vector.
#[derive(Clone, Debug, Default)]
pub struct Cue {
    /// The query's terms.
    pub terms: Vec<String>,
    /// Who the query names; empty where it names nobody, or everybody.
    pub speakers: Vec<u32>,
    /// The roles that stand for whom the query names, where entries have no speaker.
    pub roles: Vec<u16>,
    /// The days that the query speaks of.
    pub days: Vec<Days>,
    /// Whether it asks for a time.
    pub when: bool,
    /// Whether it asks for a number.
    pub number: bool,
}

/// One result with what each signal gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scored {
    /// The entry.
    pub id: u64,
    /// The sum of all terms.
    pub score: f32,
    /// Inner product with its best row; 0 without vectors.
    pub dense: f32,
    /// Normalised BM25.
    pub lexical: f32,
    /// 1 if the query names its speaker.
    pub speaker: f32,
    /// 1 if it was said on, or speaks of, a day that the query speaks of.
    pub date: f32,
    /// 1 if the query asks for a time and it tells one.
    pub when: f32,
    /// 1 if the query asks for a number and it has one.
    pub number: f32,
    /// Minus the part of it that is a question.
    pub asking: f32,
    /// The base score of the question that it answers, at least 0.
    pub reply: f32,
    /// The best base score close by, its own included.
    pub near: f32,
    /// The best base score in its session.
    pub session: f32,
}
