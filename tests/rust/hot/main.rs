//! The hot stage: every answer is that of a scan of everything, bit for bit, whatever was added, removed,
//! filtered, saved or shared out to threads; and terms are what they are said to be.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test may panic")]

mod codes;
mod exact;
mod fusion;
mod holes;
mod index;
mod lexical;
mod retriever_saved;
mod saved;
mod terms;
mod threads;
