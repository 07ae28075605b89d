//! Which instruction set searches use.

use pyo3::prelude::*;
use warmset_core::simd::{Scanner, Tier};

use crate::error::raise;

/// The instruction set that searches use on this machine.
#[pyfunction]
pub(crate) fn simd_tier() -> PyResult<&'static str> {
    Ok(Scanner::from_environment().map_err(raise)?.tier().name())
}

/// The instruction sets that this machine can run, slowest first.
#[pyfunction]
pub(crate) fn simd_tiers() -> Vec<&'static str> {
    Tier::available().into_iter().map(Tier::name).collect()
}
