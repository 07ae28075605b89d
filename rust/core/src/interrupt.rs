//! How a long call learns that its caller has lost patience.
//!
//! Loops that may take long call [`check`] as they go. Whoever embeds the core says once, with
//! [`watch`], how to find out whether to stop; it is asked every few milliseconds at most. Stopping
//! is an error like any other: what was begun is taken back or left whole.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often the question is asked.
const EVERY: Duration = Duration::from_millis(20);

static QUESTION: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Sets how to find out whether the calling thread should stop; only the first call counts.
pub fn watch(question: fn() -> bool) {
    let _ = QUESTION.set(question);
}

/// Lets a long loop go on.
///
/// # Errors
///
/// [`Error::Interrupted`] if it should stop.
pub fn check() -> Result<()> {
    let Some(question) = QUESTION.get() else {
        return Ok(());
    };
    // One step may read a record of many megabytes or sleep: the clock is looked at in each.
    let now = Instant::now();
    let asked = LAST.get();
    if asked.is_some_and(|asked| now.duration_since(asked) < EVERY) {
        return Ok(());
    }
    LAST.set(Some(now));
    if question() {
        return Err(Error::Interrupted);
    }
    Ok(())
}
