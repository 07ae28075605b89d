//! The signals of fused search: what a query gives, what counts, what came of it.

/// How much each signal counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of the inner product with the entry's best row.
    pub dense: f32,
    /// Of the normalised BM25.
    pub lexical: f32,
    /// Of the query naming the entry's speaker.
    pub speaker: f32,
    /// Of the best base score in the entry's session.
    pub session: f32,
}

/// What the caller read out of the query, beside its words and its vector.
#[derive(Clone, Debug, Default)]
pub struct Cue {
    /// The query's terms.
    pub terms: Vec<String>,
    /// Who the query names; empty where it names nobody, or everybody.
    pub speakers: Vec<u32>,
}

/// One result with what each signal gave.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// The best base score in its session.
    pub session: f32,
}
