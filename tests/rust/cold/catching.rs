//! A mistake is switched on, and a check must fail; without it the same check passes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use warmset_core::cold::{Defect, seed};

pub(crate) type Checked = Result<(), String>;

/// The defect is one of the whole process, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a check with a defect, which it must catch, and without.
#[expect(clippy::expect_used, reason = "a test may panic")]
pub(crate) fn catches(defect: Defect, check: impl Fn() -> Checked) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let run = || {
        let outcome = catch_unwind(AssertUnwindSafe(&check));
        outcome.unwrap_or_else(|panic| Err(said(&*panic)))
    };
    seed(Some(defect));
    let with = run();
    seed(None);
    let without = run();
    let caught = with.expect_err("the defect was not caught");
    println!(
        "{defect:?}: {}",
        caught.chars().take(300).collect::<String>()
    );
    assert_eq!(without, Ok(()), "the check fails without the defect");
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let literal = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or(literal).unwrap_or_else(|| "a panic".to_owned())
}
