//! The hot index: which of the things that are kept are nearest to a query.
//!
//! Promises: search order is total (score descending, then id ascending); ids and scores are those
//! of a brute-force scan with the canonical sum (see [`crate::simd`]); a filter decides before a row
//! is scored; what was removed is never returned.
//!
//! ```text
//! catalog   id ─▶ slot, labels (tenant, conversation, kind, role, time …); filter ─▶ slots
//! rows      slot ─▶ rows of f32                       dense score of a slot = its best row
//! head      row ─▶ eight-bit codes                    bounds of a row's score, a quarter of the bytes
//! cascade   rows + head                               the rows that may be among the best, then the best
//! lexicon   term ─▶ postings, one part a conversation  lexical score = normalised BM25
//! index     catalog + rows                             exact top-k for vectors alone; threads share it
//! retriever catalog + rows + lexicon                   fused top-k with its terms
//!
//! persist   index ─▶ saved ─▶ section ─▶ column        a file's values, read where they lie, checked
//!                                                      a block at a time, copied when they change
//! ```
//!
//! This stage opens no file: whoever saves or opens an index brings the bytes (see [`mod@crate::file`]).

mod cascade;
mod catalog;
mod column;
mod filter;
mod head;
mod index;
mod lexicon;
mod margin;
mod persist;
mod retriever;
mod rows;
mod rows_compact;
mod rows_saved;
mod saved;
mod section;
mod sieve;
mod signals;
mod stopwords;
mod terms;
mod threads;
mod topk;
mod vectors;

pub use filter::{Branches, Filter, Labels};
pub use head::Head;
pub use index::{Batch, Index, Neighbours};
pub use lexicon::{Bm25, LexicalHit};
pub use persist::Opening;
pub use retriever::Retriever;
pub use section::SharedBytes;
pub use sieve::Steps;
pub use signals::{Cue, Scored, Weights};
pub use terms::terms;
pub use vectors::Metric;
