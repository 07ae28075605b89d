//! What turns are worth, arrays in and out.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use warmset_core::evict::{Signals, Weights, Worthy};

use crate::convert::{integers, lying};
use crate::error::raise;
use crate::pack::{Indices, floats, indices, one};

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// Tell what turns are worth.
///
/// Args:
///     roles: The number of each turn's role, oldest first, shape (n,).
///     similarity: Cosines with what is asked, -1 to 1.
///     coverage: How far each is known elsewhere, 0 to 1.
///     factors: What each role is worth, by its number.
///     weights: How much recency, similarity, and what is not covered count.
///
/// Returns:
///     What each is worth, and its recency.
///
/// Raises:
///     InvalidInputError: Lengths differ, or a number is out of its range.
#[pyfunction]
#[pyo3(signature = (roles, similarity, coverage, *, factors, weights))]
pub(crate) fn worth<'py>(
    py: Python<'py>,
    roles: &Bound<'py, PyAny>,
    similarity: &Bound<'py, PyAny>,
    coverage: &Bound<'py, PyAny>,
    factors: &Bound<'py, PyAny>,
    weights: (f64, f64, f64),
) -> PyResult<(Column<'py>, Column<'py>)> {
    let roles = integers::<usize>(roles, "roles")?;
    let similarity = floats(similarity, "similarity")?;
    let coverage = floats(coverage, "coverage")?;
    let factors = floats(factors, "factors")?;
    let weights = Weights {
        recency: weights.0,
        similarity: weights.1,
        coverage: weights.2,
    };
    let (values, recency) = py
        .detach(|| {
            let signals = Signals {
                roles: &roles,
                factors: &factors,
                similarity: &similarity,
                coverage: &coverage,
            };
            warmset_core::evict::worth(signals, weights)
        })
        .map_err(raise)?;
    Ok((values.into_pyarray(py), recency.into_pyarray(py)))
}

/// Keep what must stay, and of the other units the worthiest that fit.
///
/// Args:
///     values: What each turn is worth, shape (n,); a unit is worth its best member.
///     costs: Integers of at least 0.
///     units: The number of the unit that each turn is in, below n.
///     must: Whether each must stay, and with it its unit.
///     budget: What everything that stays may cost.
///
/// Returns:
///     Positions of the turns that stay, ascending, and the units that stay and need not, best
///     first. A misfit is passed over, and the walk goes on.
///
/// Raises:
///     InvalidInputError: Lengths differ, a value is not finite, a unit is out of range.
#[pyfunction]
pub(crate) fn keep_worthy<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    units: &Bound<'py, PyAny>,
    must: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
) -> PyResult<(Indices<'py>, Indices<'py>)> {
    let values = floats(values, "values")?;
    let costs = integers::<u64>(costs, "costs")?;
    let units = integers::<usize>(units, "units")?;
    let must: Vec<bool> = lying(must).map_or_else(|| must.extract(), Ok)?;
    let budget = one(budget, "budget")?;
    let stays = py
        .detach(|| {
            let turns = Worthy {
                values: &values,
                costs: &costs,
                units: &units,
                must: &must,
            };
            warmset_core::evict::keep_worthy(turns, budget)
        })
        .map_err(raise)?;
    Ok((indices(py, stays.kept), indices(py, stays.taken)))
}
