//! From Python objects to the core's words: arrays, ids, filters, texts.

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};
use std::borrow::Cow;
use warmset_core::Kind;
use warmset_core::hot::{Branches, Filter};

use crate::error::invalid;

/// A matrix of floats, copied, with its number of columns.
pub(crate) struct Matrix {
    pub(crate) values: Vec<f32>,
    pub(crate) columns: usize,
}

impl Matrix {
    /// The values of the only row.
    ///
    /// # Errors
    /// `InvalidInputError` for several rows.
    pub(crate) fn one(self, name: &str) -> PyResult<Vec<f32>> {
        if self.values.len() == self.columns {
            return Ok(self.values);
        }
        Err(invalid(&format!(
            "{name}: expected one vector, found {} numbers in rows of {}",
            self.values.len(),
            self.columns
        )))
    }
}

/// A vector or a matrix of real numbers as `f32`, copied out of the interpreter's reach: once where it
/// lies row after row in `f32`, in half precision or as bfloat16, otherwise after numpy converted it.
///
/// # Errors
/// `InvalidInputError` for anything that is not a one- or two-dimensional array of real numbers.
pub(crate) fn matrix(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Matrix> {
    if let Ok(array) = value.cast::<PyArrayDyn<f32>>()
        && array.is_c_contiguous()
        && array.data().addr().is_multiple_of(align_of::<f32>())
    {
        return copied(array, name);
    }
    let py = value.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy
        .call_method1(intern!(py, "asarray"), (value,))
        .map_err(|error| invalid(&format!("{name}: not an array of numbers ({error})")))?;
    let kind: String = array
        .getattr(intern!(py, "dtype"))?
        .getattr("kind")?
        .extract()?;
    let dtype = array.getattr(intern!(py, "dtype"))?.str()?.to_string();
    if !matches!(kind.as_str(), "f" | "i" | "u") && dtype != "bfloat16" {
        return Err(invalid(&format!(
            "{name}: expected real numbers (float32 is taken as it is), found dtype {dtype}"
        )));
    }
    if matches!(dtype.as_str(), "float16" | "bfloat16") {
        let array = numpy.call_method1("require", (array, py.None(), ["C", "A"]))?;
        let bits = array.call_method1(intern!(py, "view"), ("uint16",))?;
        let bits = bits.cast::<PyArrayDyn<u16>>();
        let bits = bits.map_err(|_| invalid(&format!("{name}: cannot be read as {dtype}")))?;
        return widened(bits, dtype == "bfloat16", name);
    }
    // A number that f32 cannot hold becomes an infinity, which is refused with its row.
    let quiet = PyDict::new(py);
    quiet.set_item("over", "ignore")?;
    let state = numpy.call_method("errstate", (), Some(&quiet))?;
    state.call_method0("__enter__")?;
    let array = numpy.call_method1("require", (array, "float32", ["C", "A"]));
    state.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    let array = array.map_err(|error| invalid(&format!("{name}: {error}")))?;
    let array = array
        .cast::<PyArrayDyn<f32>>()
        .map_err(|_| invalid(&format!("{name}: cannot be read as float32")))?;
    copied(array, name)
}

/// The numbers of a contiguous, aligned array of 16 bits each; every one is a number of `f32`.
fn widened(array: &Bound<'_, PyArrayDyn<u16>>, brain: bool, name: &str) -> PyResult<Matrix> {
    let columns = columns(array.shape(), name)?;
    let bits = array.try_readonly().map_err(|e| invalid(&e.to_string()))?;
    let bits = bits.as_slice().map_err(|e| invalid(&e.to_string()))?;
    let values = if brain {
        bits.reinterpret_cast::<bf16>().to_f32_vec()
    } else {
        bits.reinterpret_cast::<f16>().to_f32_vec()
    };
    Ok(Matrix { values, columns })
}

/// The number of columns of a vector or a matrix.
fn columns(shape: &[usize], name: &str) -> PyResult<usize> {
    match shape {
        [] => Ok(1),
        [columns] | [_, columns] => Ok(*columns),
        shape => Err(invalid(&format!(
            "{name}: expected a vector or a matrix, found shape {shape:?}"
        ))),
    }
}

/// The values of a contiguous, aligned array.
fn copied(array: &Bound<'_, PyArrayDyn<f32>>, name: &str) -> PyResult<Matrix> {
    let columns = columns(array.shape(), name)?;
    let values = array.try_readonly().map_err(|e| invalid(&e.to_string()))?;
    let values = values.as_slice().map_err(|e| invalid(&e.to_string()))?;
    Ok(Matrix {
        values: values.to_vec(),
        columns,
    })
}

/// A column of integers, copied: any sequence or array of integers, or one integer.
///
/// # Errors
/// `InvalidInputError` for fractions, texts, negative numbers, or numbers that are too large.
pub(crate) fn integers<T>(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<T>>
where
    T: TryFrom<i128>,
{
    let py = value.py();
    let no_column = |why: &str| invalid(&format!("{name}: not a column of integers ({why})"));
    if value.hasattr(intern!(py, "dtype"))? {
        return from_array(value, name);
    }
    let is_text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
    if is_text {
        return Err(no_column("a text"));
    }
    let Ok(items) = value.try_iter() else {
        let one = whole(value).ok_or_else(|| no_column(&value.get_type().to_string()))?;
        return Ok(vec![fitting(one, name)?]);
    };
    // Item by item: numpy would make floats of a list that mixes small and large integers.
    items
        .map(|item| {
            let item = whole(&item?).ok_or_else(|| no_column("one is no integer"))?;
            fitting(item, name)
        })
        .collect()
}

/// An integer as the type of its column.
fn fitting<T: TryFrom<i128>>(value: i128, name: &str) -> PyResult<T> {
    T::try_from(value).map_err(|_| invalid(&format!("{name}: {value} is out of range")))
}

/// One integer that is no truth value.
fn whole(value: &Bound<'_, PyAny>) -> Option<i128> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    value.extract::<i128>().ok()
}

/// The values of a column that lies contiguous and aligned, copied; none where it has to be converted.
pub(crate) fn lying<T: Element + Copy>(value: &Bound<'_, PyAny>) -> Option<Vec<T>> {
    let column = value.cast::<PyArray1<T>>().ok()?;
    let aligned = column.data().addr().is_multiple_of(align_of::<T>());
    aligned.then(|| column.to_vec().ok())?
}

/// The integers of an array of at most one dimension, whatever its strides.
fn from_array<T: TryFrom<i128>>(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<T>> {
    if let Some(values) = lying::<i64>(array) {
        let values = values.into_iter();
        return values.map(|value| fitting(value.into(), name)).collect();
    }
    let py = array.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = numpy.call_method1(intern!(py, "atleast_1d"), (array,))?;
    let kind: String = array
        .getattr(intern!(py, "dtype"))?
        .getattr("kind")?
        .extract()?;
    if array.getattr(intern!(py, "size"))?.extract::<usize>()? == 0 {
        return Ok(Vec::new());
    }
    let wrong = || {
        invalid(&format!(
            "{name}: expected a column of integers, found {array}"
        ))
    };
    let wide = match kind.as_str() {
        "i" => "int64",
        "u" => "uint64",
        "O" => {
            let items: Vec<Bound<'_, PyAny>> = array
                .call_method0("tolist")?
                .extract()
                .map_err(|_| wrong())?;
            return items
                .iter()
                .map(|item| fitting(whole(item).ok_or_else(wrong)?, name))
                .collect();
        }
        _ => return Err(wrong()),
    };
    let array = numpy.call_method1("require", (&array, wide, ["C", "A"]))?;
    if let Ok(column) = array.cast::<PyArray1<i64>>() {
        let values = column.try_readonly().map_err(|_| wrong())?;
        let values = values.as_slice().map_err(|_| wrong())?.iter();
        return values.map(|value| fitting((*value).into(), name)).collect();
    }
    let column = array.cast::<PyArray1<u64>>().map_err(|_| wrong())?;
    let values = column.try_readonly().map_err(|_| wrong())?;
    let values = values.as_slice().map_err(|_| wrong())?.iter();
    values.map(|value| fitting((*value).into(), name)).collect()
}

/// The text of a `str`; lone surrogates, which no encoding has a place for, become U+FFFD.
pub(crate) fn text<'a>(value: &'a Bound<'_, PyString>) -> Cow<'a, str> {
    value
        .to_str()
        .map_or_else(|_| value.to_string_lossy(), Cow::Borrowed)
}

/// A filter, read from the attributes of a `warmset.Filter` whose names were made numbers.
///
/// # Errors
/// `InvalidInputError` for a name where a number is needed, or an unknown kind.
pub(crate) fn filter(value: &Bound<'_, PyAny>) -> PyResult<Filter> {
    let field = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let field = value
            .getattr(name)
            .map_err(|_| invalid(&format!("where: expected a Filter, found {value}")))?;
        Ok((!field.is_none()).then_some(field))
    };
    let number = |name: &str| -> PyResult<Option<u32>> {
        field(name)?
            .map(|field| {
                field.extract().map_err(|_| {
                    invalid(&format!(
                        "where.{name}: expected a small integer, found {field}"
                    ))
                })
            })
            .transpose()
    };
    let time = |name: &str| -> PyResult<Option<i64>> {
        field(name)?
            .map(|field| {
                field.extract().map_err(|_| {
                    invalid(&format!(
                        "where.{name}: expected milliseconds, found {field}"
                    ))
                })
            })
            .transpose()
    };
    let ids = |name: &str| -> PyResult<Option<Vec<u64>>> {
        let mut ids: Option<Vec<u64>> = field(name)?
            .map(|field| integers(&field, name))
            .transpose()?;
        if let Some(ids) = &mut ids {
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(ids)
    };
    let kinds = field("kind")?.map(|kind| kind_code(&kind)).transpose()?;
    let roles = field("role")?
        .map(|role| {
            role.extract::<u16>().map_err(|_| {
                invalid(&format!(
                    "where.role: expected a small integer, found {role}"
                ))
            })
        })
        .transpose()?;
    Ok(Filter {
        tenant: number("tenant")?,
        conversation: number("conversation")?,
        kinds: kinds.map(|kind| vec![kind]),
        roles: roles.map(|role| vec![role]),
        since: time("since")?,
        before: time("before")?,
        ids: ids("ids")?,
        except: ids("exclude")?.unwrap_or_default(),
        branches: if value.getattr("branches")?.is_truthy()? {
            Branches::All
        } else {
            Branches::Live
        },
    })
}

/// The number of a kind that is given by name or by number.
///
/// # Errors
/// `InvalidInputError` for an unknown name.
pub(crate) fn kind_code(value: &Bound<'_, PyAny>) -> PyResult<u16> {
    if let Ok(code) = value.extract::<u16>() {
        return Ok(code);
    }
    let name: String = value
        .extract()
        .map_err(|_| invalid(&format!("kind: expected a name, found {value}")))?;
    Kind::from_name(&name)
        .map(Kind::code)
        .ok_or_else(|| invalid(&format!("kind: no record kind is called {name:?}")))
}
