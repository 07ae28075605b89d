//! The lock inside of every frozen class.

use std::sync::{
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
};

use pyo3::Python;

/// A value that many read or one writes.
///
/// Nobody waits for the lock and holds the interpreter meanwhile: who has the lock may need the
/// interpreter, be it to ask for signals in a long call, and both would wait for ever. A panic of a
/// writer does not shut others out: what the core promises after an error holds.
#[derive(Default)]
pub(crate) struct Guarded<T>(RwLock<T>);

impl<T: Send + Sync> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    /// Reads; where somebody writes, the interpreter is let go until that has ended.
    pub(crate) fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, T> {
        loop {
            if let Some(guard) = free(self.0.try_read()) {
                return guard;
            }
            py.detach(|| drop(self.read_detached()));
        }
    }

    /// Writes; where somebody reads or writes, the interpreter is let go until that has ended.
    pub(crate) fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, T> {
        loop {
            if let Some(guard) = free(self.0.try_write()) {
                return guard;
            }
            py.detach(|| drop(self.write_detached()));
        }
    }

    /// Reads, for who has let the interpreter go.
    pub(crate) fn read_detached(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes, for who has let the interpreter go.
    pub(crate) fn write_detached(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was locked; None where that would have to be waited for.
fn free<G>(tried: TryLockResult<G>) -> Option<G> {
    match tried {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
