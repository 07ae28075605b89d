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

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
        static STOPS: Cell<bool> = const { Cell::new(false) };
    }

    fn question() -> bool {
        ASKED.set(ASKED.get() + 1);
        STOPS.get()
    }

    #[test]
    fn a_long_call_is_asked_now_and_then_whether_it_should_stop() {
        watch(question);
        watch(|| true); // only the first one counts
        assert!(check().is_ok());
        assert_eq!(ASKED.get(), 1);
        STOPS.set(true);
        LAST.set(Some(Instant::now() + EVERY * 50)); // as if it had just been asked
        assert!(check().is_ok());
        assert_eq!(ASKED.get(), 1);
        LAST.set(Instant::now().checked_sub(EVERY));
        let asked = LAST.get();
        assert!(matches!(check(), Err(Error::Interrupted)));
        assert_eq!(ASKED.get(), 2);
        assert!(LAST.get() > asked, "and it is noted when");
    }
}
