//! Classic mistakes of a store, each switched on and caught. A mistake is one of the whole process, so
//! these tests are a binary of their own, which there is with the feature `defects` only.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]

mod catching;
mod defects;
#[expect(dead_code, reason = "the tests of the defects use a part of it")]
mod support;
