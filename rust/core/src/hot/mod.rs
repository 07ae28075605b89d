//! The hot index: which of the things that are kept are nearest to a query.
//!
//! Promises: search order is total (score descending, then id ascending); ids and scores are those
//! of a brute-force scan with the canonical sum (see [`crate::simd`]); a filter decides before a row
//! is scored; what was removed is never returned.
//!
//! ```text
//! catalog   id ─▶ slot, labels (tenant, conversation, kind, role, time …); filter ─▶ slots
//! vectors   slot ─▶ rows of f32 or f16, in segments; dense score of a slot = its best row; index: vectors alone
//! codes     rows ─▶ coarse and fine codes             bounds of a row's score, a tenth of the bytes
//! scan      query + rows                              estimates ─▶ the rows that may be among the best
//!                                                     ─▶ their scores in full ─▶ the best k
//! terms     text ─▶ terms                             words, names and their parts
//! lexicon   term ─▶ postings, one part a conversation lexical score = normalised BM25; index: terms alone
//! fused     a pool of candidates                      all signals in one score; traits read out of a text
//! file      what is known ─▶ sections ─▶ columns      values that are read where they lie, checked a block
//!                                                     at a time, copied when they change
//! ```
//!
//! This stage opens no file: whoever saves or opens an index brings the bytes (see [`mod@crate::file`]).

mod catalog;
mod codes;
mod file;
mod filter;
mod fused;
mod lexicon;
mod scan;
mod terms;
mod vectors;

pub use crate::packed::SharedBytes;
pub use codes::head::Head;
pub use file::persist::Opening;
pub use file::retriever::Coverage;
pub use filter::{Branches, Filter, Labels};
pub use fused::retriever::Retriever;
pub use fused::signals::{Cue, Scored, Weights};
pub use fused::traits::{Days, Traits};
pub use lexicon::Bm25;
pub use lexicon::index::LexicalIndex;
pub use scan::explain::{Explanation, Steps};
pub use terms::terms;
pub use vectors::floats::Precision;
pub use vectors::index::{Batch, Index, Neighbours};
pub use vectors::metric::Metric;
