//! The lock inside of every frozen class.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A value that many read or one writes.
///
/// A guard is dropped before anything of Python runs, be it to make an error or an array: whoever
/// waits for the lock may hold the interpreter. A panic of a writer does not shut others out: what
/// the core promises after an error holds.
#[derive(Default)]
pub(crate) struct Guarded<T>(RwLock<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
