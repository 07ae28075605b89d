//! The log: the newest version wins, conditions hold or nothing is written, what is removed stays away;
//! with one handle and with several, against a dictionary, through crashes and faults.
//!
//! With the feature `defects` a mistake is switched on for the whole process, so its tests are alone then.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]
#![cfg_attr(
    feature = "defects",
    expect(dead_code, reason = "the tests of the defects use a part of it")
)]

mod asked;
#[cfg(not(feature = "defects"))]
mod conditions;
#[cfg(not(feature = "defects"))]
mod crash;
mod crashed;
#[cfg(not(feature = "defects"))]
mod damage;
mod deeds;
#[cfg(feature = "defects")]
mod defects;
#[cfg(not(feature = "defects"))]
mod erasing;
#[cfg(not(feature = "defects"))]
mod every_fault;
#[cfg(not(feature = "defects"))]
mod faults;
#[cfg(not(feature = "defects"))]
mod flips;
#[cfg(not(feature = "defects"))]
mod following;
#[cfg(not(feature = "defects"))]
mod golden;
#[cfg(not(feature = "defects"))]
mod kills;
#[cfg(not(feature = "defects"))]
mod ledger;
#[cfg(not(feature = "defects"))]
mod lists;
#[cfg(not(feature = "defects"))]
mod model;
#[cfg(not(feature = "defects"))]
mod moments;
#[cfg(not(feature = "defects"))]
mod once;
#[cfg(not(feature = "defects"))]
mod replaced;
#[cfg(not(feature = "defects"))]
mod scans;
mod script;
#[cfg(not(feature = "defects"))]
mod spooled;
mod support;
#[cfg(not(feature = "defects"))]
mod threads;
#[cfg(not(feature = "defects"))]
mod turns;
mod world;

#[path = "../cold/support/faulty.rs"]
mod faulty;
#[cfg(not(feature = "defects"))]
#[path = "../cold/support/kept.rs"]
mod kept;

/// The name of a segment, written down here once more so that the tests share no code with it.
fn segment(number: u64) -> String {
    format!("{number:020}.seg")
}
