//! Choosing under a budget, arrays in and out.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use warmset_core::pack::{Items, Members, rank};

use crate::convert::{integers, lying};
use crate::error::{invalid, raise};

pub(crate) type Indices<'py> = Bound<'py, PyArray1<i64>>;

/// Positions, groups, and what those are worth.
type Groups<'py> = (Indices<'py>, Indices<'py>, Bound<'py, PyArray1<f64>>);

/// Choose under a budget, greedily by value.
///
/// Args:
///     costs: Integers of at least 0, shape (n,).
///     values: Numbers, shape (n,); ties go to the lower index.
///     budget: What the chosen may cost.
///     groups: Integers, shape (n,): items of one group are chosen together; a group is worth its
/// best.     must: Indices that are chosen first, with their groups.
///
/// Returns:
///     The chosen indices, ascending. A misfit is skipped, and the walk goes on.
///
/// Raises:
///     BudgetTooSmall: What must be chosen does not fit.
///     InvalidInputError: Lengths differ, a cost is negative, a value is NaN.
#[pyfunction]
#[pyo3(signature = (costs, values, budget, *, groups=None, must=None))]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    costs: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    groups: Option<&Bound<'py, PyAny>>,
    must: Option<&Bound<'py, PyAny>>,
) -> PyResult<Indices<'py>> {
    let costs = integers::<u64>(costs, "costs")?;
    let values = floats(values, "values")?;
    let groups = groups.map(|g| integers::<i64>(g, "groups")).transpose()?;
    let must = must.map_or_else(|| Ok(Vec::new()), |m| integers::<usize>(m, "must"))?;
    let budget = one(budget, "budget")?;
    let chosen = py
        .detach(|| {
            let items = Items {
                costs: &costs,
                values: &values,
                groups: groups.as_deref(),
            };
            warmset_core::pack::pack(items, budget, &must)
        })
        .map_err(raise)?;
    Ok(indices(py, chosen))
}

/// Choose under a budget for many lists that lie end to end.
///
/// Args:
///     offsets: Integers, shape (m + 1,): list i is `offsets[i]` to `offsets[i + 1]`.
///     costs: Integers of all lists.
///     values: Numbers of all lists.
///     budgets: Integers, shape (m,).
///
/// Returns:
///     Chosen indices into the flat columns, list after list, and the offsets of each list's part.
///
/// Raises:
///     InvalidInputError: Shapes do not fit.
#[pyfunction]
pub(crate) fn pack_batch<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    budgets: &Bound<'py, PyAny>,
) -> PyResult<(Indices<'py>, Indices<'py>)> {
    let offsets = integers::<usize>(offsets, "offsets")?;
    let costs = integers::<u64>(costs, "costs")?;
    let values = floats(values, "values")?;
    let budgets = integers::<u64>(budgets, "budgets")?;
    let (chosen, ends) = py
        .detach(|| warmset_core::pack::pack_batch(&offsets, &costs, &values, &budgets))
        .map_err(raise)?;
    Ok((indices(py, chosen), indices(py, ends)))
}

/// Gather ranked members to their groups.
///
/// Args:
///     ids: The ranked, shape (n,).
///     values: What each is worth, shape (n,).
///     members: Ids of all members, ascending, shape (m,).
///     groups: The number of the group of each member, shape (m,).
///     raised: Whether a group is worth more than its best member, by its number.
///     more: How much more.
///
/// Returns:
///     The position of each of the ranked among the members, -1 for what is none; the numbers of their
///     groups, the best first, then by number; what each group is worth.
///
/// Raises:
///     InvalidInputError: Lengths differ, or an array is not contiguous.
#[pyfunction]
#[pyo3(signature = (ids, values, *, members, groups, raised, more))]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn rank_groups<'py>(
    py: Python<'py>,
    ids: PyReadonlyArray1<'py, i64>,
    values: PyReadonlyArray1<'py, f64>,
    members: PyReadonlyArray1<'py, i64>,
    groups: PyReadonlyArray1<'py, i64>,
    raised: PyReadonlyArray1<'py, bool>,
    more: f64,
) -> PyResult<Groups<'py>> {
    let members = Members {
        ids: column(&members)?,
        groups: column(&groups)?,
        raised: column(&raised)?,
    };
    let found = rank(members, column(&ids)?, column(&values)?, more).map_err(raise)?;
    Ok((
        found.places.into_pyarray(py),
        found.groups.into_pyarray(py),
        found.values.into_pyarray(py),
    ))
}

fn column<'a, T: numpy::Element>(values: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    let aligned = values.data().addr().is_multiple_of(align_of::<T>());
    values
        .as_slice()
        .ok()
        .filter(|_| aligned)
        .ok_or_else(|| invalid("an array is not contiguous and aligned"))
}

pub(crate) fn one(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    match integers::<u64>(value, name)?.as_slice() {
        [one] => Ok(*one),
        many => Err(invalid(&format!(
            "{name}: expected one integer, found {}",
            many.len()
        ))),
    }
}

pub(crate) fn floats(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    if let Some(values) = lying(value) {
        return Ok(values);
    }
    let wrong = || {
        invalid(&format!(
            "{name}: expected a column of numbers, found {value}"
        ))
    };
    let numpy = value.py().import("numpy")?;
    let array = numpy
        .call_method1("asarray", (value,))
        .map_err(|_| wrong())?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind == "O" {
        return array.call_method0("tolist")?.extract().map_err(|_| wrong());
    }
    if !matches!(kind.as_str(), "f" | "i" | "u") {
        return Err(wrong());
    }
    let array = numpy.call_method1("require", (array, "float64", ["C", "A"]))?;
    let column = array.cast::<PyArray1<f64>>().map_err(|_| wrong())?;
    column.to_vec().map_err(|_| wrong())
}

pub(crate) fn indices(py: Python<'_>, values: Vec<usize>) -> Indices<'_> {
    let values: Vec<i64> = values
        .into_iter()
        .map(|value| i64::try_from(value).unwrap_or(i64::MAX))
        .collect();
    values.into_pyarray(py)
}
