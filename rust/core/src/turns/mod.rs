//! The turns of one conversation: which belong together, and what they cost.
//!
//! Promises: every turn is in one unit, and the units of a list are the same however it grew; a cut
//! of a growing list is the one that trying every start would find, and takes the logarithm of its
//! length.

mod bonds;
mod exchange;
mod fact;
mod groups;
mod roll;
mod units;

pub use fact::{Bond, Fact, Id, Role};
pub use groups::{Group, groups};
pub use roll::{Change, Cut, Roll};
pub use units::{Kind, Unit, Units};
