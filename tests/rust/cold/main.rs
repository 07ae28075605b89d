//! The cold stage: what was acknowledged is durable, no payload is wrong, damage is named, and what is
//! erased is gone; through crashes, faults, cuts and flips, with one handle and with several.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]

mod support;

mod crash;
mod edges;
mod erase;
mod every_fault;
mod faults;
mod flips;
mod golden;
mod keys;
mod model;
mod model_shared;
mod recovery;
mod refusal;
mod round_trip;
mod segments;
mod shared;
mod spool;
