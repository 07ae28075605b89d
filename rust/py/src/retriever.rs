//! Fused search, as `memory` uses it; results leave as columns.

use std::path::PathBuf;
use std::sync::RwLockWriteGuard;
use std::sync::atomic::{AtomicU64, Ordering};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use warmset_core::cold::Read;
use warmset_core::file;
use warmset_core::hot::{Coverage, Days, Labels, Precision, Traits, terms};

use crate::cold_options::Word;
use crate::cold_store::ColdStore;
use crate::convert::{filter, matrix, text};
use crate::error::raise;
use crate::guarded::Guarded;
use crate::hot_arguments::positive;
use crate::search_signals::SearchSignals;
use crate::signals::run;

/// How exactly the rows of a memory are kept.
const KEPT: Precision = Precision::Half;

/// The labels of one entry: tenant, conversation, session, speaker, kind, role, milliseconds, live.
type LabelRow = (u32, u32, u32, u32, u16, u16, i64, bool);

/// The days that an entry speaks of, the first and the last of each range, since 1970.
type DayRows = Vec<Days>;

/// Ids, scores, and what each signal gave.
type Columns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    SearchSignals,
);

/// What a file covers, whose vectors it has, and the caller's note.
type Loaded<'py> = (u64, String, Bound<'py, PyBytes>);

/// Entries with labels, terms and vectors.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Retriever {
    inner: Guarded<warmset_core::hot::Retriever>,
    changes: AtomicU64,
}

impl Retriever {
    fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, warmset_core::hot::Retriever> {
        let inner = self.inner.write(py);
        self.changes.fetch_add(1, Ordering::Relaxed);
        inner
    }

    /// The same for who has let the interpreter go.
    fn write_detached(&self) -> RwLockWriteGuard<'_, warmset_core::hot::Retriever> {
        let inner = self.inner.write_detached();
        self.changes.fetch_add(1, Ordering::Relaxed);
        inner
    }
}

#[pymethods]
impl Retriever {
    #[new]
    fn new() -> PyResult<Self> {
        let inner = warmset_core::hot::Retriever::new(KEPT).map_err(raise)?;
        Ok(Self {
            inner: Guarded::new(inner),
            changes: AtomicU64::new(0),
        })
    }

    /// Forget everything.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let empty = warmset_core::hot::Retriever::new(KEPT).map_err(raise)?;
        *self.write(py) = empty;
        Ok(())
    }

    /// How often it was changed since it was made, loaded or cleared.
    #[getter]
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Save all entries, in place of the file that has that name; false, and nothing is done, if it was
    /// changed since. Searches go on meanwhile, changes wait until all is written, but not for the sync.
    #[pyo3(signature = (path, store, *, covers, fingerprint, note, changes))]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    #[expect(clippy::too_many_arguments, reason = "one value a section")]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        store: &Bound<'_, ColdStore>,
        covers: u64,
        fingerprint: String,
        note: Vec<u8>,
        changes: u64,
    ) -> PyResult<bool> {
        let coverage = Coverage {
            store: store.get().store.uuid(),
            covers,
            fingerprint,
            note,
        };
        run(py, || {
            let mut same = false;
            let saved = file::replace(&path, |out| {
                let inner = self.inner.read_detached();
                same = self.changes() == changes;
                if !same {
                    // Ends the file that is being made; the old one stays.
                    return Err(warmset_core::Error::Interrupted);
                }
                inner.save(out, &path, &coverage)
            });
            saved.map(|()| true).or_else(|error| match error {
                warmset_core::Error::Interrupted if !same => Ok(false),
                error => Err(error),
            })
        })
    }

    /// Take up what a file has, in place of everything else, if every byte of it is right and it is of
    /// that store; None, and nothing is done, if it is of another.
    #[pyo3(signature = (path, store, *, read=Word(Read::Map)),
           text_signature = "($self, path, store, *, read='map')")]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn load<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        store: &Bound<'_, ColdStore>,
        read: Word<Read>,
    ) -> PyResult<Option<Loaded<'py>>> {
        let store = store.get().store.uuid();
        let found = run(py, || {
            let bytes = file::bytes(&path, read.0)?;
            let (opened, coverage) = warmset_core::hot::Retriever::open(&bytes, &path, KEPT)?;
            if coverage.store != store {
                return Ok(None);
            }
            opened.verify()?;
            *self.write_detached() = opened;
            self.changes.store(0, Ordering::Relaxed);
            Ok(Some(coverage))
        })?;
        Ok(found.map(|coverage| {
            let note = PyBytes::new(py, &coverage.note);
            (coverage.covers, coverage.fingerprint, note)
        }))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.inner.read(py).len()
    }

    #[getter]
    fn rows(&self, py: Python<'_>) -> usize {
        self.inner.read(py).rows()
    }

    #[getter]
    fn tier(&self, py: Python<'_>) -> &'static str {
        self.inner.read(py).tier().name()
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
            self.write_detached().add(id, labels, &terms)
        })
        .map_err(raise)
    }

    #[pyo3(signature = (id, *, asking, ends_asking, tells_time, tells_number, days))]
    #[expect(clippy::too_many_arguments, reason = "one value a trait")]
    fn describe(
        &self,
        py: Python<'_>,
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
        let described = self.write(py).describe(id, traits);
        described.map_err(raise)
    }

    fn put_vectors(&self, py: Python<'_>, id: u64, vectors: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = matrix(vectors, "vectors")?;
        py.detach(|| {
            self.write_detached()
                .put_vectors(id, &rows.values, rows.columns)
        })
        .map_err(raise)
    }

    fn clear_vectors(&self, py: Python<'_>) {
        self.write(py).clear_vectors();
    }

    fn has_vectors(&self, py: Python<'_>, id: u64) -> bool {
        self.inner.read(py).has_vectors(id)
    }

    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn set_live(&self, py: Python<'_>, ids: Vec<u64>, live: bool) -> PyResult<()> {
        let set = self.write(py).set_live(&ids, live);
        set.map_err(raise)
    }

    fn remove(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        let removed = self.write(py).remove(id);
        removed.map_err(raise)
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
                self.inner
                    .read_detached()
                    .search(query, &cue, &filter, k, weights)
            })
            .map_err(raise)?;
        let ids = found
            .iter()
            .map(|hit| i64::try_from(hit.id).unwrap_or(i64::MAX));
        Ok((
            PyArray1::from_iter(py, ids),
            PyArray1::from_iter(py, found.iter().map(|hit| f64::from(hit.score))),
            SearchSignals::of(&found),
        ))
    }
}
