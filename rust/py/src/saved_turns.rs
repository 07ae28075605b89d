//! The turns of a store's conversations in a file.

use std::path::PathBuf;

use numpy::ndarray::Array2;
use numpy::{PyArray2, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warmset_core::cold::Read;
use warmset_core::turns::{
    Contents, Conversation, Loaded, Saved, Turns as Inner, VectorRecord, write,
};
use warmset_core::{Seq, file};

use crate::cold_options::Word;
use crate::cold_store::ColdStore;
use crate::error::{invalid, raise};
use crate::signals::run;
use crate::turns::Turns;

/// Bytes of a note before the caller's: whose turns they are.
const UUID: usize = 16;

/// Conversations of a store, each read when it is asked for, and where their vectors lie.
///
/// Every method raises IndexDamaged where the file is damaged.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct SavedTurns {
    inner: Saved,
}

#[pymethods]
impl SavedTurns {
    /// Open a file; None if it is of another store.
    ///
    /// Args:
    ///     path: The file.
    ///     store: The store.
    ///     read: How it is read, as of a store.
    ///
    /// Raises:
    ///     IndexDamaged: It is no such file, or its end is damaged.
    ///     StoreIOError: It could not be read.
    #[staticmethod]
    #[pyo3(signature = (path, store, *, read=Word(Read::Map)),
           text_signature = "(path, store, *, read='map')")]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        store: &Bound<'_, ColdStore>,
        read: Word<Read>,
    ) -> PyResult<Option<Self>> {
        let uuid = store.get().store.uuid();
        run(py, || {
            let bytes = file::bytes(&path, read.0)?;
            let end = (*bytes).as_ref().len();
            let inner = Saved::open(bytes, end)?;
            let ours = inner.note()?.get(..UUID) == Some(&uuid[..]);
            Ok(ours.then_some(Self { inner }))
        })
    }

    /// Return how many conversations there are.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Return what was written beside the conversations.
    fn note<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let note = self.inner.note().map_err(raise)?;
        Ok(PyBytes::new(py, note.get(UUID..).unwrap_or_default()))
    }

    /// Return the number of the conversation with a key; None if there is none.
    fn find(&self, key: &[u8]) -> PyResult<Option<usize>> {
        self.inner.find(key).map_err(raise)
    }

    /// Return the key of a conversation.
    fn key<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.inner.key(number).map_err(raise)?))
    }

    /// Return the number of messages of a conversation, on every branch.
    fn count(&self, number: usize) -> PyResult<u64> {
        self.inner.turns(number).map_err(raise)
    }

    /// Return the id of a conversation's first message; 0 without any.
    fn first(&self, number: usize) -> PyResult<u64> {
        Ok(self.inner.first(number).map_err(raise)?.0)
    }

    /// Return the fingerprint of a conversation; see `Turns.fingerprint`.
    fn fingerprint<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        let made = self.inner.fingerprint(number).map_err(raise)?;
        Ok(PyBytes::new(py, &made.to_le_bytes()))
    }

    /// Return the ids of a conversation's messages, ascending.
    fn ids(&self, number: usize) -> PyResult<Vec<u64>> {
        let ids = self.inner.messages(number).map_err(raise)?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    }

    /// Return what was written beside a conversation's messages.
    fn beside<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.inner.beside(number).map_err(raise)?))
    }

    /// Return the number of the conversation that has a message; None if none has.
    fn owner(&self, id: u64) -> PyResult<Option<usize>> {
        self.inner.owner(Seq(id)).map_err(raise)
    }

    /// Return the messages of a conversation, and what was written beside them.
    fn load<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Turns, Bound<'py, PyBytes>)> {
        let Loaded { turns, beside } = self.inner.load(number).map_err(raise)?;
        Ok((Turns::of(turns), PyBytes::new(py, &beside)))
    }

    /// Return the record of an entry's vectors in a view, by an embedder's generation, or None.
    fn vector(&self, of: u64, generation: u32, view: u32) -> PyResult<Option<u64>> {
        let found = self
            .inner
            .vector(Seq(of), generation, view)
            .map_err(raise)?;
        Ok(found.map(|record| record.0))
    }

    /// Return where all vectors lie: the entry, the generation, the view and the record of each,
    /// ascending, shape (n, 4).
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let all = self.inner.vectors().map_err(raise)?;
        let mut made = Vec::with_capacity(4 * all.len());
        for one in all {
            let (generation, view) = (u64::from(one.generation), u64::from(one.view));
            made.extend([one.of.0, generation, view, one.record.0]);
        }
        let rows = Array2::from_shape_vec((made.len() / 4, 4), made);
        let rows = rows.map_err(|error| invalid(&error.to_string()))?;
        Ok(rows.to_pyarray(py))
    }

    /// Check every byte.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || self.inner.verify())
    }
}

/// Conversations as they are now, to be written later.
///
/// Args:
///     conversations: The key of each, its messages, and what is written beside them.
///     before: Has further ones.
///     kept: The numbers of these.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct TurnsDraft {
    made: Vec<(Vec<u8>, Inner, Vec<u8>)>,
    before: Option<Py<SavedTurns>>,
    kept: Vec<usize>,
}

#[pymethods]
impl TurnsDraft {
    #[new]
    #[pyo3(signature = (conversations, before=None, kept=Vec::new()))]
    fn new(
        py: Python<'_>,
        conversations: Vec<(Vec<u8>, Py<Turns>, Vec<u8>)>,
        before: Option<Py<SavedTurns>>,
        kept: Vec<usize>,
    ) -> Self {
        let made = conversations
            .into_iter()
            .map(|(key, turns, beside)| (key, turns.get().copied(py), beside));
        Self {
            made: made.collect(),
            before,
            kept,
        }
    }

    /// Write a file in the place of the one that is there.
    ///
    /// Args:
    ///     path: The file.
    ///     store: The store whose conversations they are.
    ///     vectors: Where vectors lie, as `SavedTurns.vectors` returns it, in any order.
    ///     note: What is written beside the conversations.
    ///
    /// Raises:
    ///     IndexDamaged: What was read from the file before is damaged; nothing was written.
    ///     InvalidInputError: A key or a vector is there twice, or has another shape.
    ///     StoreIOError: It could not be written.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        store: &Bound<'_, ColdStore>,
        vectors: PyReadonlyArray2<'_, u64>,
        note: &[u8],
    ) -> PyResult<()> {
        let rows: Option<Vec<VectorRecord>> = vectors
            .as_array()
            .rows()
            .into_iter()
            .map(|row| {
                let [of, generation, view, record] = *row.to_slice()?.first_chunk::<4>()?;
                Some(VectorRecord {
                    of: Seq(of),
                    generation: u32::try_from(generation).ok()?,
                    view: u32::try_from(view).ok()?,
                    record: Seq(record),
                })
            })
            .collect();
        let rows = rows
            .ok_or_else(|| invalid("vectors: expected rows of 4 numbers, one behind the other"))?;
        let note = [&store.get().store.uuid()[..], note].concat();
        run(py, || {
            let mut kept = Vec::with_capacity(self.kept.len());
            if let Some(before) = &self.before {
                let before = &before.get().inner;
                for number in &self.kept {
                    kept.push((before.key(*number)?, before.load(*number)?));
                }
            }
            let made =
                self.made
                    .iter()
                    .map(|(key, turns, beside)| Conversation { key, turns, beside });
            let kept = kept.iter().map(|(key, one)| Conversation {
                key,
                turns: &one.turns,
                beside: &one.beside,
            });
            let conversations: Vec<Conversation<'_>> = made.chain(kept).collect();
            let contents = Contents {
                conversations: &conversations,
                vectors: &rows,
                note: &note,
            };
            file::replace(&path, |out| write(out, &contents).map(drop))
        })
    }
}
