//! `warmset._core`: the core as Python sees it. One file a class or verb; each converts and
//! delegates.
//!
//! Every class is frozen with its lock inside, so the module is safe without a global interpreter
//! lock; whatever scans, hashes or touches a disk runs detached from the interpreter.
#![deny(unsafe_code)]
#![expect(
    clippy::doc_markdown,
    reason = "docstrings are read in Python, not by rustdoc"
)]

mod cold_arguments;
mod cold_options;
mod cold_record;
mod cold_report;
mod cold_store;
mod convert;
mod coverage;
mod cue;
mod error;
mod evict;
mod explanation;
mod facts;
mod file_lock;
mod fork;
mod guarded;
mod hot_arguments;
mod hot_index;
mod item_shelf;
mod known_words;
mod lexical_index;
mod list_copy;
mod log_arguments;
mod log_changes;
mod log_columns;
mod log_handle;
mod log_outcome;
mod log_results;
mod log_rows;
mod log_where;
mod message_keys;
mod names;
mod pack;
mod plain_json;
mod quoter;
mod retriever;
mod said;
mod saved_turns;
mod search_signals;
mod signals;
mod simd;
mod tokens;
mod turns;
mod units;
mod worth;

/// The compiled core of warmset.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::exceptions::PyRuntimeWarning;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::cold_record::{Record, content_hash};
    #[pymodule_export]
    use super::cold_store::ColdStore;
    #[pymodule_export]
    use super::coverage::{Coverage, Sayings};
    #[pymodule_export]
    use super::evict::{keep_newest, leave_lowest};
    #[pymodule_export]
    use super::explanation::SearchExplanation;
    #[pymodule_export]
    use super::file_lock::{FileLock, lock_file};
    #[pymodule_export]
    use super::fork::{after_fork, before_fork};
    #[pymodule_export]
    use super::hot_index::HotIndex;
    #[pymodule_export]
    use super::item_shelf::{Held, ItemShelf};
    #[pymodule_export]
    use super::known_words::KnownWords;
    #[pymodule_export]
    use super::lexical_index::LexicalIndex;
    #[pymodule_export]
    use super::list_copy::{ListCopy, ListDraft};
    #[pymodule_export]
    use super::log_arguments::space;
    #[pymodule_export]
    use super::log_changes::Change;
    #[pymodule_export]
    use super::log_handle::LogHandle;
    #[pymodule_export]
    use super::log_outcome::Outcome;
    #[pymodule_export]
    use super::log_results::{Cell, Entry, Listed};
    #[pymodule_export]
    use super::log_where::turns_where;
    #[pymodule_export]
    use super::message_keys::message_keys;
    #[pymodule_export]
    use super::names::NameFinder;
    #[pymodule_export]
    use super::pack::{pack, pack_batch, rank_groups};
    #[pymodule_export]
    use super::plain_json::{PlainHasher, plain_json};
    #[pymodule_export]
    use super::quoter::Quoter;
    #[pymodule_export]
    use super::retriever::Retriever;
    #[pymodule_export]
    use super::said::may_say;
    #[pymodule_export]
    use super::saved_turns::{SavedTurns, TurnsDraft};
    #[pymodule_export]
    use super::search_signals::SearchSignals;
    #[pymodule_export]
    use super::simd::{simd_tier, simd_tiers};
    #[pymodule_export]
    use super::tokens::{count_text, count_texts, terms};
    #[pymodule_export]
    use super::turns::Turns;
    #[pymodule_export]
    use super::units::Units;
    #[pymodule_export]
    use super::worth::{keep_worthy, worth};

    /// A debug build is many times slower: whoever measures one should know.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::signals::watch();
        if cfg!(debug_assertions) {
            let py = module.py();
            let text = c"warmset was compiled without optimisation: do not measure it";
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1)?;
        }
        Ok(())
    }
}
