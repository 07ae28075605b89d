//! The evict stage: which units leave, and which turns are covered, against oracles.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod cover;
mod plan;
