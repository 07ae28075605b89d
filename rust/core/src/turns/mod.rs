//! The turns of one conversation: what is known of each without reading it, which follow which, which
//! belong together, and what they cost.
//!
//! Promises: every turn is in one unit, and the units of a list are the same however it grew; a path is
//! found again by the content of its messages; a cut of a growing list is the one that trying every
//! start would find, and takes the logarithm of its length.

mod bonds;
mod exchange;
mod fact;
mod groups;
mod roll;
mod rows;
mod saved;
mod talk;
mod tree;
mod units;

pub use fact::{Bond, Fact, Id, Role};
pub use groups::{Group, groups};
pub use roll::{Change, Cut, Roll};
pub use rows::{Flags, Links, Name, Names, Row, Rows};
pub use saved::{Contents, Conversation, Loaded, Saved, VectorRecord, write};
pub use talk::{Told, Turns};
pub use tree::{Digest, ROOT, Tree};
pub use units::{Kind, Unit, Units};
