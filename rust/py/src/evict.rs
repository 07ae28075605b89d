//! Evicting under a budget: what stays, what leaves, and the accounts of a growing list.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use warmset_core::evict::{Hold, Unit};

use crate::convert::integers;
use crate::error::{invalid, raise};
use crate::guarded::Guarded;
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

/// What a growing list costs, unit by unit: a cut takes the logarithm of its length.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Roll {
    inner: Guarded<warmset_core::evict::Roll>,
}

#[pymethods]
impl Roll {
    #[new]
    fn new() -> Self {
        Self {
            inner: Guarded::default(),
        }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.inner.read(py).len()
    }

    /// Append a message that begins a unit, and return the unit's position.
    fn push(&self, py: Python<'_>, cost: u64) -> usize {
        self.inner.write(py).push(cost)
    }

    /// Append a message that joins an earlier unit.
    ///
    /// Raises:
    ///     InvalidInputError: There is no such unit.
    fn join(&self, py: Python<'_>, unit: usize, cost: u64) -> PyResult<()> {
        let joined = self.inner.write(py).join(unit, cost);
        joined.map_err(raise)
    }

    /// Return what the units from a position on cost.
    fn since(&self, py: Python<'_>, start: usize) -> u64 {
        self.inner.read(py).since(start)
    }

    /// Find the longest suffix that fits beside the protected units.
    ///
    /// Args:
    ///     protected: Positions of units that stay, ascending.
    ///     budget: What everything that stays may cost.
    ///
    /// Returns:
    ///     The first position that stays although it is not protected, and what stays costs.
    ///
    /// Raises:
    ///     BudgetTooSmall: What is protected does not fit.
    ///     InvalidInputError: The positions do not ascend, or one is no unit.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a list from Python arrives as a Vec"
    )]
    fn cut(&self, py: Python<'_>, protected: Vec<usize>, budget: u64) -> PyResult<(usize, u64)> {
        let cut = self.inner.read(py).cut(&protected, budget);
        let cut = cut.map_err(raise)?;
        Ok((cut.start, cut.tokens))
    }

    /// Return the messages of a cut.
    ///
    /// Args:
    ///     protected: Positions of units that stay, ascending.
    ///     start: The first unit that stays although it is not protected.
    ///
    /// Returns:
    ///     Positions of messages, ascending.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a list from Python arrives as a Vec"
    )]
    fn kept<'py>(&self, py: Python<'py>, protected: Vec<usize>, start: usize) -> Indices<'py> {
        let kept = self.inner.read(py).kept(&protected, start);
        indices(py, kept)
    }

    /// Compare two cuts.
    ///
    /// Args:
    ///     before: What `kept` returned.
    ///     after: What it returned later.
    ///
    /// Returns:
    ///     How many messages at the front are the same, what those cost, and what those cost that
    ///     only the first has.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an array from Python arrives so"
    )]
    fn change(
        &self,
        py: Python<'_>,
        before: PyReadonlyArray1<'_, i64>,
        after: PyReadonlyArray1<'_, i64>,
    ) -> (usize, u64, u64) {
        let (before, after) = (places(&before), places(&after));
        let change = self.inner.read(py).change(&before, &after);
        (change.same, change.front, change.freed)
    }
}

/// Positions of messages; one that is none costs nothing.
fn places(array: &PyReadonlyArray1<'_, i64>) -> Vec<usize> {
    let place = |at: &i64| usize::try_from(*at).unwrap_or(usize::MAX);
    array.as_array().iter().map(place).collect()
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
