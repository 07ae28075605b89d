//! What the tests of the log share with those of the store: a medium that writes down what is asked of it, and
//! what a disk may hold after a crash.

#[path = "../cold/support/disk_model.rs"]
pub(crate) mod disk_model;
#[expect(dead_code, reason = "the tests of the log use a part of it")]
#[path = "../cold/support/faults.rs"]
pub(crate) mod faults;
#[path = "../cold/support/ops.rs"]
pub(crate) mod ops;
#[path = "../cold/support/random.rs"]
pub(crate) mod random;
#[expect(dead_code, reason = "the tests of the log use a part of it")]
#[path = "../cold/support/sim.rs"]
pub(crate) mod sim;
#[path = "../cold/support/walk.rs"]
pub(crate) mod walk;

/// The name of a segment, written down here once more so that the tests share no code with it.
pub(crate) fn segment(number: u64) -> String {
    format!("{number:020}.seg")
}
