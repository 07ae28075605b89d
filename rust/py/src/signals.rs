//! Long calls let Ctrl-C through: the handler runs while they last, and what it raises ends them.
//!
//! Only the main thread runs handlers, so only its calls are watched. The handler runs in the middle
//! of a call, which may hold the store's locks: a store cannot be used from there.

use std::cell::{Cell, RefCell};

use pyo3::prelude::*;
use warmset_core::{Error, interrupt};

use crate::error::{raise, store_error};

thread_local! {
    /// Whether this thread is in a call, which a signal may end if the thread is the main one.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    /// Whether a handler is running inside such a call.
    static HANDLING: Cell<bool> = const { Cell::new(false) };
    /// What the handler raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether this is the main thread, as it was found in that process.
    static MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Makes the core ask; the first call counts.
pub(crate) fn watch() {
    interrupt::watch(asked);
}

/// Calls the caller's progress callback during a long call; [`run`] raises what it raises.
///
/// # Errors
///
/// [`Error::Interrupted`] if it raised.
pub(crate) fn tell(progress: &Py<PyAny>, done: u64, all: u64) -> warmset_core::Result<()> {
    let raised = Python::attach(|py| progress.call1(py, (done, all)).err());
    raised.map_or(Ok(()), |error| {
        keep(error);
        Err(Error::Interrupted)
    })
}

/// Runs a call of the core without the interpreter.
///
/// # Errors
///
/// What the core answers, and what a signal's handler or a callback raised meanwhile.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    call: impl Fn() -> warmset_core::Result<T> + Send,
) -> PyResult<T> {
    if HANDLING.get() {
        return Err(store_error(
            "a signal's handler came in the middle of a call and cannot use a store; \
             use it after the handler returned",
        ));
    }
    let before = WATCHED.replace(true);
    let result = py.detach(move || {
        loop {
            match call() {
                // Meant for the thread that wrote for this one too: nothing was written.
                Err(Error::Interrupted) if !is_ended() => {}
                other => return other,
            }
        }
    });
    WATCHED.set(before);
    RAISED.take().map_or_else(|| result.map_err(raise), Err)
}

/// Whether there is something to raise.
fn is_ended() -> bool {
    RAISED.with_borrow(Option::is_some)
}

fn asked() -> bool {
    if !WATCHED.get() || HANDLING.get() || known_main() == Some(false) {
        return false;
    }
    HANDLING.set(true);
    let raised = Python::try_attach(|py| match is_main(py) {
        Ok(true) => py.check_signals().err(),
        Ok(false) => None,
        Err(error) => Some(error),
    });
    HANDLING.set(false);
    raised.flatten().map(keep).is_some()
}

fn keep(error: PyErr) {
    RAISED.set(Some(error));
}

/// Whether this is the main thread, if that was found out already.
fn known_main() -> Option<bool> {
    let (process, main) = MAIN.get()?;
    (process == std::process::id()).then_some(main)
}

/// Only asked of a call that takes long: most end before.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    if let Some(main) = known_main() {
        return Ok(main);
    }
    let threading = py.import("threading")?;
    let me = threading.call_method0("get_ident")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    let main = me.eq(main)?;
    MAIN.set(Some((std::process::id(), main)));
    Ok(main)
}
