//! What a text says by its letters alone.
//!
//! Promises: what is found is what the patterns of the Python side find, and where they might find
//! something else nothing is said, so that Python looks itself.

mod names;

pub use names::Names;
