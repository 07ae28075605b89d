//! The cold stage: what was acknowledged is durable, no payload is wrong, damage is named, and what is
//! erased is gone; through crashes, faults, cuts and flips, with one handle and with several.
//!
//! With the feature `defects` a mistake is switched on for the whole process, so its tests are alone then.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]

mod support;

#[cfg(feature = "defects")]
mod defects;

#[cfg(not(feature = "defects"))]
mod crash;
#[cfg(not(feature = "defects"))]
mod edges;
#[cfg(not(feature = "defects"))]
mod erase;
#[cfg(not(feature = "defects"))]
mod every_fault;
#[cfg(not(feature = "defects"))]
mod faults;
#[cfg(not(feature = "defects"))]
mod flips;
#[cfg(not(feature = "defects"))]
mod golden;
#[cfg(not(feature = "defects"))]
mod keys;
#[cfg(not(feature = "defects"))]
mod model;
#[cfg(not(feature = "defects"))]
mod model_shared;
#[cfg(not(feature = "defects"))]
mod recovery;
#[cfg(not(feature = "defects"))]
mod refusal;
#[cfg(not(feature = "defects"))]
mod round_trip;
#[cfg(not(feature = "defects"))]
mod segments;
#[cfg(not(feature = "defects"))]
mod shared;
#[cfg(not(feature = "defects"))]
mod spool;
