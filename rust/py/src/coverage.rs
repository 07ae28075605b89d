//! How far turns are known elsewhere, as `warmset._core.Sayings` and `Coverage`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use warmset_core::evict::{Listed, Near, Twin};

use crate::convert::{integers, lying};
use crate::error::{invalid, raise};
use crate::guarded::Guarded;
use crate::pack::{Indices, indices};

/// What texts state, and which of them say the same.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Sayings {
    inner: Guarded<warmset_core::evict::Sayings>,
}

#[pymethods]
impl Sayings {
    #[new]
    fn new() -> Self {
        Self {
            inner: Guarded::default(),
        }
    }

    /// Take note of what a text states: numbers that are equal for equal facts.
    fn state(&self, py: Python<'_>, text: u64, facts: Vec<i64>) {
        self.inner.write(py).state(text, facts);
    }

    /// Take note of the texts that say the same as one, nearest first, in place of those before.
    ///
    /// Args:
    ///     text: The text.
    ///     twins: Cosines and texts.
    fn relate(&self, py: Python<'_>, text: u64, twins: Vec<(f64, u64)>) {
        self.inner.write(py).relate(text, pairs(twins));
    }

    /// Forget texts.
    fn forget(&self, py: Python<'_>, texts: Vec<u64>) {
        let mut inner = self.inner.write(py);
        for text in texts {
            inner.forget(text);
        }
    }

    /// Return the places of texts of which it is not known what they state.
    ///
    /// Args:
    ///     texts: Integers, shape (n,); a negative one is no text.
    ///
    /// Raises:
    ///     InvalidInputError: It is no column of integers.
    fn lacking<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Indices<'py>> {
        let texts = numbers(texts)?;
        let places = py.detach(|| self.inner.read_detached().lacking(&texts));
        Ok(indices(py, places))
    }
}

/// What covers the turns of a list: memories, and later turns as long as they stay.
///
/// Args:
///     texts: The text of each turn, oldest first, shape (n,); a negative one is no text.
///     sayings: What is known of the texts.
///     same: The least cosine at which two texts say the same.
///     check: Whether a turn is covered only if all that it states is in what covers it.
///     crowded: Texts with their twins in the list, cosines and texts, nearest first: of those that
///         have too many for `sayings`.
///     near: What memories state, the ids of the three nearest of each turn, their cosines, and how
///         many of them count; None without memories.
///
/// Raises:
///     InvalidInputError: Lengths differ, or an array is not what it should be.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Coverage {
    inner: Guarded<warmset_core::evict::Coverage>,
}

/// Memories near the turns of a list.
type Memories<'py> = (
    Bound<'py, Sayings>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

#[pymethods]
impl Coverage {
    #[new]
    #[pyo3(signature = (texts, sayings, *, same, check, crowded, near=None))]
    fn new(
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        sayings: &Bound<'_, Sayings>,
        same: f64,
        check: bool,
        crowded: Vec<(u64, Vec<(f64, u64)>)>,
        near: Option<Memories<'_>>,
    ) -> PyResult<Self> {
        let texts = numbers(texts)?;
        let crowded: Vec<(u64, Vec<Twin>)> = crowded
            .into_iter()
            .map(|(text, twins)| (text, pairs(twins)))
            .collect();
        let near = match near {
            Some((sayings, ids, cosines, counts)) => Some((
                sayings,
                memories(&ids)?,
                lying::<f32>(&cosines).ok_or_else(|| invalid("near: cosines are not float32"))?,
                integers::<usize>(&counts, "near")?,
            )),
            None => None,
        };
        let own = sayings.get();
        let other = near.as_ref().map(|(sayings, ids, cosines, counts)| {
            (
                sayings.get(),
                ids.as_slice(),
                cosines.as_slice(),
                counts.as_slice(),
            )
        });
        let made = py.detach(|| {
            let sayings = own.inner.read_detached();
            let others = other.map(|(there, ids, cosines, counts)| {
                (there.inner.read_detached(), ids, cosines, counts)
            });
            let near = others.as_ref().map(|(sayings, ids, cosines, counts)| Near {
                sayings,
                ids,
                cosines,
                counts,
            });
            let listed = Listed {
                texts: &texts,
                sayings: &sayings,
                crowded: &crowded,
                same,
                check,
            };
            warmset_core::evict::Coverage::new(listed, near)
        });
        Ok(Self {
            inner: Guarded::new(made.map_err(raise)?),
        })
    }

    /// Return the coverage of each turn by what counts at present, shape (n,).
    fn now<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let coverage = py.detach(|| self.inner.read_detached().now());
        coverage.into_pyarray(py)
    }

    /// Strike out the turns that did not stay: they count no more.
    ///
    /// Args:
    ///     stays: Whether each turn stayed, shape (n,).
    ///
    /// Raises:
    ///     InvalidInputError: It is another number of turns.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an array from Python arrives so"
    )]
    fn strike(&self, py: Python<'_>, stays: PyReadonlyArray1<'_, bool>) -> PyResult<()> {
        let stays = stays.as_array().to_vec();
        let struck = py.detach(|| self.inner.write_detached().strike(&stays));
        struck.map_err(raise)
    }
}

fn pairs(twins: Vec<(f64, u64)>) -> Vec<Twin> {
    let twins = twins.into_iter();
    twins.map(|(cosine, text)| Twin { cosine, text }).collect()
}

/// Numbers of texts; a negative one is none.
fn numbers(texts: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u64>>> {
    let texts = integers::<i64>(texts, "texts")?.into_iter();
    Ok(texts.map(|text| u64::try_from(text).ok()).collect())
}

/// Ids of memories; a negative one is that of none.
fn memories(ids: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let ids = integers::<i64>(ids, "near")?.into_iter();
    Ok(ids
        .map(|id| u64::try_from(id).unwrap_or(u64::MAX))
        .collect())
}
