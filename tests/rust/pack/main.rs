//! The pack stage: what is chosen never costs more than the budget, and is what the oracle chooses.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test may panic")]

mod choice;
