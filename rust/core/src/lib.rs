//! The core of warmset: what must be fast and right, without a word of Python.
//!
//! It knows ids, counts, bytes, terms and vectors; it never sees a role, a prompt or a model.
//!
//! | stage | promise |
//! |---|---|
//! | [`cold`] | what was acknowledged is never lost; bytes before the tail never change |
//! | [`log`] | the newest version of a key wins; a condition holds when its batch is written, or nothing of it is |
//! | [`hot`] | exact nearest neighbours and BM25 in a total order |
//! | [`tokens`] | byte-pair counts that equal the reference's; an honest estimate otherwise |
//! | [`pack`] | the chosen never exceed the budget |
//! | [`evict`] | units leave whole, protected units never |
//! | [`text`] | what the patterns of the Python side find, or nothing |
//! | [`turns`] | every turn is in one unit, however its list grew |
//!
//! [`mod@file`] joins stages that open no files of their own with the file system, [`fork`] is what a
//! process owes to its children.

pub mod cold;
pub mod entry;
pub mod error;
pub mod evict;
pub mod file;
pub mod fork;
pub mod hot;
pub mod interrupt;
pub mod items;
pub mod log;
pub mod pack;
mod packed;
pub mod simd;
pub mod text;
pub mod tokens;
pub mod turns;

pub use entry::{Kind, Seq};
pub use error::{Error, Result};
