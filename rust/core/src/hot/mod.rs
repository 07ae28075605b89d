//! The hot index: which of the things that are kept are nearest to a query.
//!
//! Promises: search order is total (score descending, then id ascending); ids and scores are those
//! of a brute-force scan with the canonical sum (see [`crate::simd`]); a filter decides before a row
//! is scored; what was removed is never returned.
//!
//! ```text
//! catalog   id ─▶ slot, labels (tenant, conversation, kind, role, time …); filter ─▶ slots
//! rows      slot ─▶ rows of f32, in segments           dense score of a slot = its best row
//! segment   rows ─▶ coarse and fine codes              bounds of a row's score, a tenth of the bytes
//!           head, spread: which codes, basis: of what, margin: what they are worth
//! desk      rows from here and there                   scored in full side by side
//! cascade   query + rows                              estimates; sieve: the rows that may be among the
//!                                                     best, then the best
//! terms     text ─▶ terms                              words, names and their parts
//! lexicon   term ─▶ postings, one part a conversation  lexical score = normalised BM25
//! index     catalog + rows                             exact top-k for vectors alone; threads share it
//! lexical   lexicon + ids                              exact top-k for terms alone
//! traits    slot ─▶ questions, times, numbers          read out of the text by the caller
//! fusion    a pool of candidates                       all signals in one score
//! retriever catalog + rows + lexicon + traits          fused top-k with its terms
//!
//! persist   index, retriever ─▶ saved ─▶ section ─▶ column
//!                                                      a file's values, read where they lie, checked
//!                                                      a block at a time, copied when they change
//! ```
//!
//! This stage opens no file: whoever saves or opens an index brings the bytes (see [`mod@crate::file`]).

mod basis;
mod buffer;
mod cascade;
mod catalog;
mod coarse;
mod codes;
mod column;
mod desk;
mod explain;
mod filter;
mod fine;
mod fusion;
mod head;
mod hunt;
mod index;
mod lexical;
mod lexicon;
mod linear;
mod margin;
mod persist;
mod pieces;
mod probe;
mod retriever;
mod retriever_saved;
mod retriever_vectors;
mod rows;
mod rows_saved;
mod saved;
mod section;
mod segment;
mod segment_saved;
mod sieve;
mod signals;
mod spread;
mod terms;
mod threads;
mod topk;
mod traits;
mod vectors;

pub use crate::packed::SharedBytes;
pub use explain::{Explanation, Steps};
pub use filter::{Branches, Filter, Labels};
pub use head::Head;
pub use index::{Batch, Index, Neighbours};
pub use lexical::LexicalIndex;
pub use lexicon::Bm25;
pub use persist::Opening;
pub use retriever::Retriever;
pub use retriever_saved::Coverage;
pub use signals::{Cue, Scored, Weights};
pub use terms::terms;
pub use traits::{Days, Traits};
pub use vectors::Metric;
