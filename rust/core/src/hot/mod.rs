//! The hot index: which of the things that are kept are nearest to a query.
//!
//! Promises: search order is total (score descending, then id ascending); ids and scores are those
//! of a brute-force scan with the canonical sum (see [`crate::simd`]); a filter decides before a row
//! is scored; what was removed is never returned.
//!
//! ```text
//! catalog   id ─▶ slot, labels (tenant, conversation, kind, role, time …)
//! rows      slot ─▶ rows of f32                       dense score of a slot = its best row
//! head      row ─▶ eight-bit codes                    bounds of a row's score, a quarter of the bytes
//! cascade   rows + head                               the rows that may be among the best, then the best
//! lexicon   term ─▶ postings, one part a conversation  lexical score = normalised BM25
//! index     catalog + rows                             exact top-k for vectors alone
//! traits    slot ─▶ questions, times, numbers          read out of the text by the caller
//! fusion    a pool of candidates                       all signals in one score
//! retriever catalog + rows + lexicon + traits          fused top-k with its terms
//! ```

mod cascade;
mod catalog;
mod filter;
mod fusion;
mod head;
mod index;
mod lexicon;
mod margin;
mod retriever;
mod rows;
mod sieve;
mod signals;
mod stopwords;
mod terms;
mod topk;
mod traits;
mod vectors;

pub use filter::{Branches, Filter, Labels};
pub use head::Head;
pub use index::{Batch, Index, Neighbours};
pub use lexicon::{Bm25, LexicalHit};
pub use retriever::Retriever;
pub use sieve::Steps;
pub use signals::{Cue, Scored, Weights};
pub use terms::terms;
pub use traits::{Days, Traits};
pub use vectors::Metric;
