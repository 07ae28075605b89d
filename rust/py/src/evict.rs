//! Evicting under a budget: what stays, and what leaves.

use pyo3::prelude::*;
use warmset_core::evict::{Hold, Unit};

use crate::convert::integers;
use crate::error::{invalid, raise};
use crate::pack::{Indices, floats, indices, one};

/// Keep what is protected, and the newest of the rest that fit.
///
/// Args:
///     costs: Integers of at least 0, oldest first.
///     protected: Whether each never leaves.
///     budget: What everything that stays may cost.
///
/// Returns:
///     The positions that stay, ascending.
///
/// Raises:
///     BudgetTooSmall: What is protected does not fit.
#[pyfunction]
pub(crate) fn keep_newest<'py>(
    py: Python<'py>,
    costs: &Bound<'py, PyAny>,
    protected: Vec<bool>,
    budget: &Bound<'py, PyAny>,
) -> PyResult<Indices<'py>> {
    let units = units(costs, protected)?;
    let budget = one(budget, "budget")?;
    let kept = py
        .detach(|| warmset_core::evict::keep_newest(&units, budget))
        .map_err(raise)?;
    Ok(indices(py, kept))
}

/// Let what is least worth leave, until the rest fits.
///
/// Args:
///     costs: Integers of at least 0.
///     protected: Whether each never leaves.
///     scores: What each is worth; of equal ones the first leaves first.
///     budget: What everything that stays may cost.
///
/// Returns:
///     The positions that leave, in the order in which they leave.
///
/// Raises:
///     BudgetTooSmall: What is protected does not fit.
///     InvalidInputError: Lengths differ, a cost is negative, a score is NaN.
#[pyfunction]
pub(crate) fn leave_lowest<'py>(
    py: Python<'py>,
    costs: &Bound<'py, PyAny>,
    protected: Vec<bool>,
    scores: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
) -> PyResult<Indices<'py>> {
    let units = units(costs, protected)?;
    let scores = floats(scores, "scores")?;
    let budget = one(budget, "budget")?;
    let leaving = py
        .detach(|| warmset_core::evict::leave_lowest(&units, &scores, budget))
        .map_err(raise)?;
    Ok(indices(py, leaving))
}

fn units(costs: &Bound<'_, PyAny>, protected: Vec<bool>) -> PyResult<Vec<Unit>> {
    let costs = integers::<u64>(costs, "costs")?;
    if costs.len() != protected.len() {
        return Err(invalid(&format!(
            "protected: expected {} values, found {}",
            costs.len(),
            protected.len()
        )));
    }
    Ok(costs
        .into_iter()
        .zip(protected)
        .map(|(cost, protected)| Unit {
            cost,
            hold: if protected {
                Hold::Protected
            } else {
                Hold::Evictable
            },
        })
        .collect())
}
