//! Conditions on columns, from plain data.
//!
//! ```text
//! where      { column: condition, … }              all of them are true
//! condition  a value: it is equal │ { operator: operand, … }: all of them are true
//!            operators: eq ne lt lte gt gte in nin exists contains
//! and, or    in place of a column, with a list of such mappings
//! not        in place of a column, with one
//! ```
//!
//! An operator may have a `$` before its name, as MongoDB writes it.

use std::fmt::{Debug, Write as _};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyFrozenSet, PyList, PySet, PyString, PyTuple};
use warmset_core::log::{Filter, MAX_FILTER_DEPTH, Value, turn_columns};

use crate::cold_arguments::wrong;
use crate::error::{invalid, raise};
use crate::log_arguments::flag;
use crate::log_columns::{pairs, single, value};

const OPERATORS: &str = "eq, ne, lt, lte, gt, gte, in, nin, exists, contains";

/// The condition that the argument `where` says; none for `None`.
///
/// # Errors
/// `InvalidInputError` that names the place in it and what is wrong there.
pub(crate) fn filter(given: &Bound<'_, PyAny>) -> PyResult<Option<Filter>> {
    if given.is_none() {
        return Ok(None);
    }
    let mut reader = Reader {
        path: "where".to_owned(),
        left: MAX_FILTER_DEPTH,
    };
    reader.mapping(given).map(Some)
}

/// Tell of each turn whether a condition is true of the caller's fields beside it.
///
/// Args:
///     where: The condition, as `Log.scan` takes it.
///     metas: What lies beside each turn, a JSON object whose `meta` has these fields.
#[pyfunction]
#[pyo3(text_signature = "(where, metas)")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a list from Python arrives as a Vec"
)]
pub(crate) fn turns_where(
    r#where: &Bound<'_, PyAny>,
    metas: Vec<Bound<'_, PyBytes>>,
) -> PyResult<Vec<bool>> {
    let filter = filter(r#where)?;
    if let Some(filter) = &filter {
        filter.check().map_err(raise)?;
    }
    let passes = |meta: &Bound<'_, PyBytes>| match &filter {
        Some(filter) => filter.passes(&turn_columns(meta.as_bytes())),
        None => true,
    };
    Ok(metas.iter().map(passes).collect())
}

/// Where in the data it is.
struct Reader {
    path: String,
    /// How many mappings may still lie in each other, so that one that holds itself comes to an end.
    left: usize,
}

impl Reader {
    fn mapping(&mut self, given: &Bound<'_, PyAny>) -> PyResult<Filter> {
        let Some(left) = self.left.checked_sub(1) else {
            let most = MAX_FILTER_DEPTH;
            return Err(invalid(&format!(
                "where: expected at most {most} conditions in each other, found more"
            )));
        };
        let pairs = pairs(given)?;
        let pairs =
            pairs.ok_or_else(|| self.wrong("a mapping from columns to conditions", given))?;
        self.left = left;
        let mut all = Vec::with_capacity(pairs.len());
        for (name, given) in &pairs {
            let name = self.name(name)?;
            all.push(self.inside(&name, |own| {
                Ok(match name.strip_prefix('$').unwrap_or(&name) {
                    "and" => Filter::And(own.several(given)?),
                    "or" => Filter::Or(own.several(given)?),
                    "not" => Filter::Not(Box::new(own.mapping(given)?)),
                    _ if name.starts_with('$') => {
                        return Err(own.unknown("a column, or one of and, or, not"));
                    }
                    _ => own.column(&name, given)?,
                })
            })?);
        }
        self.left = left.saturating_add(1);
        Ok(joined(all))
    }

    fn several(&mut self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Filter>> {
        let all = self.items(given, "a list of conditions, each a mapping")?;
        let read = |(at, one): (usize, &Bound<'_, PyAny>)| self.inside(at, |own| own.mapping(one));
        all.iter().enumerate().map(read).collect()
    }

    fn column(&mut self, column: &str, given: &Bound<'_, PyAny>) -> PyResult<Filter> {
        let Some(pairs) = pairs(given)? else {
            return Ok(Filter::Eq(column.to_owned(), value(&self.path, given)?));
        };
        if pairs.is_empty() {
            return Err(self.wrong(&format!("one of {OPERATORS}"), given));
        }
        let mut all = Vec::with_capacity(pairs.len());
        for (operator, given) in &pairs {
            let operator = self.name(operator)?;
            all.push(self.inside(&operator, |own| own.operator(column, &operator, given))?);
        }
        Ok(joined(all))
    }

    fn operator(&self, column: &str, operator: &str, given: &Bound<'_, PyAny>) -> PyResult<Filter> {
        let name = column.to_owned();
        let one = || value(&self.path, given);
        Ok(match operator.strip_prefix('$').unwrap_or(operator) {
            "eq" => Filter::Eq(name, one()?),
            "ne" => Filter::Ne(name, one()?),
            "lt" => Filter::Lt(name, one()?),
            "lte" => Filter::Lte(name, one()?),
            "gt" => Filter::Gt(name, one()?),
            "gte" => Filter::Gte(name, one()?),
            "in" => Filter::In(name, self.values(given)?),
            "nin" => Filter::NotIn(name, self.values(given)?),
            "exists" if flag(&self.path, given)? => Filter::Exists(name),
            "exists" => Filter::Not(Box::new(Filter::Exists(name))),
            "contains" => {
                let one = single(&self.path, given)?;
                Filter::Contains(name, one.ok_or_else(|| self.wrong("one value", given))?)
            }
            _ => return Err(self.unknown(&format!("one of {OPERATORS}"))),
        })
    }

    fn values(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
        let all = self.items(given, "a list of values")?;
        let read = |(at, one)| value(format_args!("{}[{at}]", self.path), one);
        all.iter().enumerate().map(read).collect()
    }

    fn items<'py>(
        &self,
        given: &Bound<'py, PyAny>,
        what: &str,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let fits = given.is_instance_of::<PyList>()
            || given.is_instance_of::<PyTuple>()
            || given.is_instance_of::<PySet>()
            || given.is_instance_of::<PyFrozenSet>();
        if fits {
            given.try_iter()?.collect()
        } else {
            Err(self.wrong(what, given))
        }
    }

    fn name(&self, given: &Bound<'_, PyAny>) -> PyResult<String> {
        let text = given
            .cast::<PyString>()
            .ok()
            .and_then(|text| text.to_str().ok());
        text.map(str::to_owned)
            .ok_or_else(|| self.wrong("a name in UTF-8", given))
    }

    /// Reads what lies at a name or a number.
    fn inside<T>(
        &mut self,
        at: impl Debug,
        read: impl FnOnce(&mut Self) -> PyResult<T>,
    ) -> PyResult<T> {
        let end = self.path.len();
        // A text takes all that is written to it.
        let _ = write!(self.path, "[{at:?}]");
        let found = read(self);
        self.path.truncate(end);
        found
    }

    fn wrong(&self, what: &str, given: &Bound<'_, PyAny>) -> PyErr {
        wrong(&self.path, what, given)
    }

    /// The error of an operator that there is not; the path ends with its name.
    fn unknown(&self, known: &str) -> PyErr {
        invalid(&format!("{}: expected {known}", self.path))
    }
}

/// One condition for several that must all be true.
fn joined(mut all: Vec<Filter>) -> Filter {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => one,
        (last, _) => {
            all.extend(last);
            Filter::And(all)
        }
    }
}
