//! What a search did.

/// How many rows were scored, by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Rows whose coarse codes were scored.
    pub screened: usize,
    /// Rows of those that could not be left out.
    pub kept: usize,
    /// Rows of those whose finer codes, where there are any, were scored.
    pub refined: usize,
    /// Rows whose canonical sum was computed.
    pub exact: usize,
}

/// What a search did, and why its answer is that of a full scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The codes that were read first, each with the number of rows that have them: `int8`, `int4`,
    /// `projected`, or `plain` where every row is scored in full.
    pub heads: Vec<(&'static str, usize)>,
    /// How many rows each step scored.
    pub steps: Steps,
    /// Bytes of codes that a search of everything reads of a row first; 0 without codes.
    pub bytes: usize,
    /// No row that was not scored in full has a score above this; −∞ if all were. It is at most the
    /// last of the scores that were found, if there are k.
    pub bound: f32,
}
