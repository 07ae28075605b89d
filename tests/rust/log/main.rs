//! The log: the newest version wins, conditions hold or nothing is written, what is removed stays away;
//! with one handle and with several, against a dictionary.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod conditions;
mod damage;
mod erasing;
mod faults;
mod following;
mod golden;
mod lists;
mod model;
mod moments;
mod once;
mod scans;
mod threads;
mod turns;
mod world;

#[path = "../cold/support/faulty.rs"]
mod faulty;
#[path = "../cold/support/kept.rs"]
mod kept;

/// The name of a segment, written down here once more so that the tests share no code with it.
fn segment(number: u64) -> String {
    format!("{number:020}.seg")
}
