//! Classic mistakes of a log, each switched on and caught. A mistake is one of the whole process, so
//! these tests are a binary of their own, which there is with the feature `defects` only.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]
#![expect(
    dead_code,
    reason = "the tests of the defects use a part of the others'"
)]

mod asked;
mod crashed;
mod deeds;
mod defects;
mod script;
mod support;
mod world;

#[path = "../cold/catching.rs"]
mod catching;
#[path = "../cold/support/faulty.rs"]
mod faulty;

use support::segment;
