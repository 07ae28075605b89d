//! The text stage: what is found in a text is what the patterns of the Python side find in it.
//!
//! `tests/python/text/test_names.py` compares both on many texts; these are cases at the edges.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod names;
mod quotes;
