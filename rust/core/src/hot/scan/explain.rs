//! What a search did.

use crate::hot::codes::head::Model;
use crate::hot::codes::segment_codes::Codes;
use crate::hot::vectors::rows::Rows;

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

impl Rows {
    /// The names of the codes that rows have, with the number of rows, and the bytes of codes that a
    /// search reads of a row first.
    pub(in crate::hot) fn heads(&self, codes: bool) -> (Vec<(&'static str, usize)>, usize) {
        let mut heads: Vec<(&'static str, usize)> = Vec::new();
        let mut bytes = 0;
        for segment in self.segments() {
            let name = if codes {
                segment.model().name()
            } else {
                Model::Plain.name()
            };
            bytes = bytes.max(segment.codes().filter(|_| codes).map_or(0, Codes::bytes));
            match heads.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => *rows += segment.len(),
                None => heads.push((name, segment.len())),
            }
        }
        (heads, bytes)
    }
}
