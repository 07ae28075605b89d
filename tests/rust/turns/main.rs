//! The turns stage: units of a growing list and what they cost, against oracles.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod roll;
mod saved;
mod tree;
mod units;
