//! The kernels: every tier of this machine gives what plain loops give.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test may panic")]

mod codes;
