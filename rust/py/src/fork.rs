//! What the core needs around a fork; `warmset._support.forks` calls it.

use std::thread::sleep;
use std::time::Duration;

use pyo3::prelude::*;
use warmset_core::fork;

/// How soon to ask again whether other threads are done; most need a few instructions.
const PAUSE: Duration = Duration::from_micros(50);

/// Wait until no other thread holds a lock that the child of a fork would find held for ever.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    while !fork::before() {
        py.detach(|| sleep(PAUSE));
    }
}

/// End what `before_fork` began, in the parent and in the child.
#[pyfunction]
pub(crate) fn after_fork() {
    fork::after();
}
