//! Choosing under a budget, arrays in and out.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use warmset_core::pack::Items;

use crate::convert::integers;
use crate::error::{invalid, raise};

pub(crate) type Indices<'py> = Bound<'py, PyArray1<i64>>;

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
