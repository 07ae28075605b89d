//! Fused search, as `memory` uses it; results leave as columns.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;
use warmset_core::hot::{Days, Labels, Scored, Traits, terms};

use crate::convert::{filter, matrix, text};
use crate::error::raise;
use crate::hot_arguments::positive;

/// The labels of one entry: tenant, conversation, session, speaker, kind, role, milliseconds, live.
type LabelRow = (u32, u32, u32, u32, u16, u16, i64, bool);

/// The days that an entry speaks of, the first and the last of each range, since 1970.
type DayRows = Vec<Days>;

/// Ids, scores, and one column a signal.
type Columns<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f32>>,
    Vec<Bound<'py, PyArray1<f32>>>,
);

/// The signals in the order of their columns, as `warmset.hits.SIGNALS` names them.
const SIGNALS: [fn(&Scored) -> f32; 10] = [
    |hit| hit.dense,
    |hit| hit.lexical,
    |hit| hit.speaker,
    |hit| hit.date,
    |hit| hit.when,
    |hit| hit.number,
    |hit| hit.asking,
    |hit| hit.reply,
    |hit| hit.near,
    |hit| hit.session,
];

/// Entries with labels, terms and vectors.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Retriever {
    inner: RwLock<warmset_core::hot::Retriever>,
}

impl Retriever {
    fn read(&self) -> RwLockReadGuard<'_, warmset_core::hot::Retriever> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, warmset_core::hot::Retriever> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Retriever {
    #[new]
    fn new() -> PyResult<Self> {
        let inner = warmset_core::hot::Retriever::new().map_err(raise)?;
        Ok(Self {
            inner: RwLock::new(inner),
        })
    }

    fn __len__(&self) -> usize {
        self.read().len()
    }

    #[getter]
    fn rows(&self) -> usize {
        self.read().rows()
    }

    #[getter]
    fn tier(&self) -> &'static str {
        self.read().tier().name()
    }

    #[pyo3(signature = (id, labels, text))]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn add(
        &self,
        py: Python<'_>,
        id: u64,
        labels: LabelRow,
        text: Bound<'_, PyString>,
    ) -> PyResult<()> {
        let (tenant, conversation, session, speaker, kind, role, at, live) = labels;
        let labels = Labels {
            tenant,
            conversation,
            session,
            speaker,
            kind,
            role,
            at,
            live,
        };
        let text = crate::convert::text(&text);
        py.detach(|| {
            let terms = terms(&text);
            self.write().add(id, labels, &terms)
        })
        .map_err(raise)
    }

    #[pyo3(signature = (id, *, asking, ends_asking, tells_time, tells_number, days))]
    fn describe(
        &self,
        id: u64,
        asking: f32,
        ends_asking: bool,
        tells_time: bool,
        tells_number: bool,
        days: DayRows,
    ) -> PyResult<()> {
        let traits = Traits {
            asking,
            ends_asking,
            tells_time,
            tells_number,
            days,
        };
        self.write().describe(id, traits).map_err(raise)
    }

    fn put_vectors(&self, py: Python<'_>, id: u64, vectors: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = matrix(vectors, "vectors")?;
        py.detach(|| self.write().put_vectors(id, &rows.values, rows.columns))
            .map_err(raise)
    }

    fn clear_vectors(&self) {
        self.write().clear_vectors();
    }

    fn has_vectors(&self, id: u64) -> bool {
        self.read().has_vectors(id)
    }

    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn set_live(&self, ids: Vec<u64>, live: bool) -> PyResult<()> {
        self.write().set_live(&ids, live).map_err(raise)
    }

    fn remove(&self, id: u64) -> PyResult<()> {
        self.write().remove(id).map_err(raise)
    }

    #[pyo3(signature = (query, words, k, *, r#where, weights, cue))]
    #[expect(clippy::too_many_arguments, reason = "one value a part of the query")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: Option<&Bound<'py, PyAny>>,
        words: &Bound<'py, PyString>,
        k: &Bound<'py, PyAny>,
        r#where: &Bound<'py, PyAny>,
        weights: &Bound<'py, PyAny>,
        cue: &Bound<'py, PyAny>,
    ) -> PyResult<Columns<'py>> {
        let query = query
            .map(|query| matrix(query, "query_vector")?.one("query_vector"))
            .transpose()?;
        let k = positive(k, "k")?.get();
        let filter = filter(r#where)?;
        let words = text(words);
        let weights = crate::cue::weights(weights)?;
        let mut cue = crate::cue::cue(cue)?;
        let found = py
            .detach(|| {
                cue.terms = terms(&words);
                let query = query.as_deref();
                self.read().search(query, &cue, &filter, k, weights)
            })
            .map_err(raise)?;
        let column = |of: fn(&Scored) -> f32| -> Bound<'py, PyArray1<f32>> {
            found.iter().map(of).collect::<Vec<f32>>().into_pyarray(py)
        };
        let ids: Vec<u64> = found.iter().map(|hit| hit.id).collect();
        Ok((
            ids.into_pyarray(py),
            column(|hit| hit.score),
            SIGNALS.into_iter().map(column).collect(),
        ))
    }
}
