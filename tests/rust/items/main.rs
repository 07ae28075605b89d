//! The items of a tenant against a list of all that the log shows: after whatever was put, changed, removed
//! and erased, every ask finds what looking at each item finds.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod ages;
mod columns;
mod model;
mod world;
