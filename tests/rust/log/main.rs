//! The log: the newest version wins, conditions hold or nothing is written, what is removed stays away;
//! with one handle and with several, against a dictionary, through crashes and faults.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]

mod asked;
mod conditions;
mod crash;
mod crashed;
mod damage;
mod deeds;
mod erasing;
mod every_fault;
mod faults;
mod flips;
mod following;
mod golden;
mod kills;
mod ledger;
mod lists;
mod model;
mod moments;
mod once;
mod replaced;
mod scans;
mod script;
mod spooled;
mod support;
mod threads;
mod turns;
mod world;

#[path = "../cold/support/faulty.rs"]
mod faulty;
#[path = "../cold/support/kept.rs"]
mod kept;

use support::segment;
