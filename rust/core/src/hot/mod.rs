//! The hot index: which of the things that are kept are nearest to a query.
//!
//! Promises: search order is total (score descending, then id ascending); ids and scores are those
//! of a brute-force scan with the canonical sum (see [`crate::simd`]); a filter decides before a row
//! is scored; what was removed is never returned.
//!
//! ```text
//! catalog   id ─▶ slot, labels (tenant, conversation, kind, role, time …)
//! rows      slot ─▶ rows of f32, in segments           dense score of a slot = its best row
//! segment   rows ─▶ coarse and fine codes              bounds of a row's score, a tenth of the bytes
//!           head: which codes, quantise, basis: how they are made, margin: what they are worth
//! cascade   query + rows                              the rows that may be among the best, then the best
//! lexicon   term ─▶ postings, one part a conversation  lexical score = normalised BM25
//! index     catalog + rows                             exact top-k for vectors alone
//! retriever catalog + rows + lexicon                   fused top-k with its terms
//! ```

mod basis;
mod cascade;
mod catalog;
mod coarse;
mod column;
mod explain;
mod filter;
mod fine;
mod head;
mod hunt;
mod index;
mod lexicon;
mod margin;
mod persist;
mod pieces;
mod probe;
mod quantise;
mod retriever;
mod rows;
mod rows_saved;
mod saved;
mod section;
mod segment;
mod segment_saved;
mod signals;
mod stopwords;
mod terms;
mod threads;
mod topk;
mod vectors;

pub use explain::{Explanation, Steps};
pub use filter::{Branches, Filter, Labels};
pub use head::Head;
pub use index::{Batch, Index, Neighbours};
pub use lexicon::{Bm25, LexicalHit};
pub use persist::Opening;
pub use retriever::Retriever;
pub use section::SharedBytes;
pub use signals::{Cue, Scored, Weights};
pub use terms::terms;
pub use vectors::Metric;
