//! All signals in one score: vectors, words, labels, and what the caller read out of a text.
//!
//! ```text
//! query ─▶ candidates by vectors, candidates by words ─▶ fusion ─▶ top-k with the terms of each score
//! ```

pub(in crate::hot) mod fusion;
pub(in crate::hot) mod retriever;
pub(in crate::hot) mod signals;
pub(in crate::hot) mod traits;
pub(in crate::hot) mod vectors;
