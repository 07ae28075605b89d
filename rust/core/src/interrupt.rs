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
/// How many calls of [`check`] pass before the clock is looked at.
const CALLS: u32 = 16;

static QUESTION: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static LAST: Cell<(u32, Option<Instant>)> = const { Cell::new((0, None)) };
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
    LAST.with(|last| {
        let (calls, asked) = last.get();
        if calls < CALLS {
            last.set((calls.saturating_add(1), asked));
            return Ok(());
        }
        let now = Instant::now();
        if asked.is_some_and(|asked| now.duration_since(asked) < EVERY) {
            last.set((0, asked));
            return Ok(());
        }
        last.set((0, Some(now)));
        if question() {
            return Err(Error::Interrupted);
        }
        Ok(())
    })
}
