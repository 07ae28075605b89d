//! What a text says by its letters alone, and how it is quoted.
//!
//! Promises: what is found and written is what the patterns of the Python side find and write, and where
//! they might do something else nothing is said, so that Python looks itself.

mod names;
mod needs;
mod parts;
mod plain;
mod quotes;

pub use names::Names;
pub use needs::{Needs, runs};
pub use parts::may_have;
pub use plain::plain_text;
pub use quotes::{Quotes, Rules};
