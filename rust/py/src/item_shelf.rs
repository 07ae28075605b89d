//! The items of one tenant, as `warmset._core.ItemShelf`; `warmset.items.shelf` calls it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use warmset_core::hot::terms;
use warmset_core::items::{self, Age, Ask, Item, Label, Question, Wanted};
use warmset_core::log::now;

use crate::convert::{matrix, text};
use crate::error::{invalid, raise};
use crate::guarded::Guarded;
use crate::log_arguments::{key, slices};
use crate::log_handle::LogHandle;
use crate::signals::run;

/// What is asked for: names by label and whether one of them is wanted or none; first time and end in
/// milliseconds; whether archived and superseded ones count; the least similarity; the most.
type AskRow = (
    Vec<(String, Vec<String>, bool)>,
    Option<i64>,
    Option<i64>,
    bool,
    bool,
    Option<f32>,
    usize,
);

/// How many match; id, score, similarity and relevance of each that was found; what is
/// superseded; how many lack a label.
type AnswerRow = (
    u64,
    Vec<(u64, f32, f32, f64)>,
    Vec<u64>,
    Vec<(&'static str, u64)>,
);

/// Ids of new versions, ids of versions that are gone, faults.
type RefreshedRow = (Vec<u64>, Vec<u64>, Vec<String>);

/// What is known of an item without reading it.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Held(Arc<Item>);

#[pymethods]
impl Held {
    /// The id of its newest version.
    #[getter]
    fn id(&self) -> u64 {
        self.0.id
    }

    /// The last part of its key.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.name)
    }

    /// Its name.
    #[getter]
    fn memory_id(&self) -> &str {
        &self.0.memory_id
    }

    /// The digest of what was put.
    #[getter]
    fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Whose words these are.
    #[getter]
    fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Its time, in microseconds since 1970 UTC.
    #[getter]
    fn at(&self) -> i64 {
        self.0.at
    }

    /// The tokens of its text.
    #[getter]
    fn tokens(&self) -> u64 {
        self.0.tokens
    }

    /// What is left of its relevance after one hour or turn, over 0 to 1.
    #[getter]
    fn decay(&self) -> f64 {
        self.0.decay
    }

    /// What came of it; None if that was not said.
    #[getter]
    fn reward(&self) -> Option<f64> {
        self.0.reward
    }

    /// How sure its maker was, 0 to 1.
    #[getter]
    fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// Whether it is kept without being shown.
    #[getter]
    fn archived(&self) -> bool {
        self.0.archived
    }

    /// Names of items that it replaces.
    #[getter]
    fn supersedes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.supersedes)
    }

    /// Names of items that it was made from.
    #[getter]
    fn derived_from<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.derived_from)
    }

    /// Names of items that it cannot be understood without.
    #[getter]
    fn dependencies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.dependencies)
    }

    /// Its names in a column that items are found by.
    fn names<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.names(label(&text(column))?))
    }
}

/// The items of one tenant.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct ItemShelf(Guarded<items::Shelf>);

#[pymethods]
impl ItemShelf {
    #[new]
    fn new(prefix: &Bound<'_, PyAny>) -> PyResult<Self> {
        let parts = key("prefix", prefix)?;
        let prefix = slices(&parts).into_iter().map(<[u8]>::to_vec).collect();
        let inner = items::Shelf::new(prefix).map_err(raise)?;
        Ok(Self(Guarded::new(inner)))
    }

    /// Take up what happened since the last time: ids of new versions, ids of versions that are gone, faults.
    /// None, and nothing is done, if a copy of the store took its place just now. One thread at a time.
    fn refresh(
        &self,
        py: Python<'_>,
        log: &Bound<'_, LogHandle>,
    ) -> PyResult<Option<RefreshedRow>> {
        let log = &log.get().log;
        let Some(news) = run(py, || self.0.read_detached().news(log, now()))? else {
            return Ok(None);
        };
        let taken = py
            .detach(|| self.0.write_detached().take(news))
            .map_err(raise)?;
        Ok(Some((taken.fresh, taken.gone, taken.faults)))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.0.read(py).len()
    }

    /// All ids, ascending.
    fn ids(&self, py: Python<'_>) -> Vec<u64> {
        self.0.read(py).ids()
    }

    /// The item with an id; None if there is none.
    fn get(&self, py: Python<'_>, id: u64) -> Option<Held> {
        self.0.read(py).get(id).map(Held)
    }

    /// The item with a name; None if there is none.
    fn named(&self, py: Python<'_>, memory_id: &Bound<'_, PyString>) -> Option<Held> {
        let name = memory_id.to_str().ok()?;
        self.0.read(py).named(name).map(Held)
    }

    /// For each name that an item is shown in the place of, the newest such item.
    fn heirs(&self, py: Python<'_>) -> Vec<(String, u64)> {
        self.0.read(py).heirs()
    }

    fn put_vectors(&self, py: Python<'_>, id: u64, vectors: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = matrix(vectors, "vectors")?;
        py.detach(|| {
            self.0
                .write_detached()
                .put_vectors(id, &rows.values, rows.columns)
        })
        .map_err(raise)
    }

    fn clear_vectors(&self, py: Python<'_>) {
        self.0.write(py).clear_vectors();
    }

    /// What is found for each ask, see `AskRow` and `AnswerRow`. Ages are counted in hours until `now`, in
    /// microseconds, or in `turns`, the ascending times of messages; not at all without either.
    #[pyo3(signature = (asks, *, query, words, weights, now, turns))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one value a part of the question"
    )]
    fn find(
        &self,
        py: Python<'_>,
        asks: Vec<AskRow>,
        query: Option<&Bound<'_, PyAny>>,
        words: Option<&Bound<'_, PyString>>,
        weights: &Bound<'_, PyAny>,
        now: Option<i64>,
        turns: Option<Vec<i64>>,
    ) -> PyResult<Vec<AnswerRow>> {
        let vector = query
            .map(|query| matrix(query, "query_vector")?.one("query_vector"))
            .transpose()?;
        let asks: Vec<Ask> = asks.into_iter().map(ask).collect::<PyResult<_>>()?;
        let (weights, words) = (crate::cue::weights(weights)?, words.map(text));
        let age = match (turns, now) {
            (Some(times), _) => Age::Turns(times),
            (None, Some(now)) => Age::Hours(now),
            (None, None) => Age::None,
        };
        let found = py
            .detach(|| {
                let terms = words.as_deref().map(terms);
                let question = terms.as_ref().map(|terms| Question {
                    vector: vector.as_deref(),
                    terms,
                    weights,
                });
                self.0.read_detached().find(&asks, question.as_ref(), &age)
            })
            .map_err(raise)?;
        Ok(found.into_iter().map(row).collect())
    }
}

fn ask(row: AskRow) -> PyResult<Ask> {
    let (wanted, since, before, archived, superseded, floor, k) = row;
    let wanted = wanted.into_iter().map(|(column, names, among)| {
        Ok(Wanted {
            label: label(&column)?,
            names,
            among,
        })
    });
    Ok(Ask {
        wanted: wanted.collect::<PyResult<_>>()?,
        since,
        before,
        archived,
        superseded,
        floor,
        k,
    })
}

fn row(answer: items::Answer) -> AnswerRow {
    let found = answer.found.iter();
    let lacking = answer.lacking.into_iter();
    (
        answer.matched,
        found
            .map(|one| (one.id, one.score, one.similarity, one.relevance))
            .collect(),
        answer.superseded,
        lacking
            .map(|(label, count)| (label.column(), count))
            .collect(),
    )
}

fn label(column: &str) -> PyResult<Label> {
    let found = Label::ALL.into_iter().find(|one| one.column() == column);
    found.ok_or_else(|| {
        invalid(&format!(
            "column: items are not found by {column:?}; see warmset.items.Ask"
        ))
    })
}
