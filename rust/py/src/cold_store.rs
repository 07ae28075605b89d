//! The append-only store of records, as `warmset.native.ColdStore`.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use warmset_core::Seq;
use warmset_core::cold::{Ack, Appended, Mode, OnBusy, Options, Read, Scope, Store};

use crate::cold_arguments::{AtOnce, Id, Place, Progress, ids, numbers};
use crate::cold_options::{self as options_of, Level, Wait, Word, agree, keywords, portable, size};
use crate::cold_record::{Record, byte_strings, drafts, keys, rows, slices};
use crate::cold_report as report;
use crate::error::invalid;
use crate::signals::{run, tell};

/// An append-only store of records.
///
/// What `append` returned for is kept as the durability says; a payload comes back exactly, or not
/// at all. Safe to use from several threads and processes.
#[pyclass(frozen, module = "warmset.native")]
pub(crate) struct ColdStore {
    pub(crate) store: Arc<Store>,
    path: Option<PathBuf>,
    options: Options,
}

impl Drop for ColdStore {
    /// Closing may wait for a sync or for another writer: other threads need not.
    fn drop(&mut self) {
        // Whoever wants to know closes.
        let _ = Python::try_attach(|py| py.detach(|| self.store.close()));
    }
}

#[pymethods]
impl ColdStore {
    /// Open the store in a directory, or make a new one.
    ///
    /// Args:
    ///     path: The directory; None keeps everything in memory.
    ///     mode: "shared" takes the lock for each write, so that others write too; "exclusive" keeps
    ///         it; "read" writes nothing at all, not even a recovery.
    ///     durability: What an acknowledgement means. "fsync": it survives a loss of power. "os":
    ///         it survives a kill. "interval": likewise, and a sync follows in the background.
    ///     sync_interval: Seconds until that sync; 0.05 if not given.
    ///     on_busy: What `append_or_spool` does where the lock stays busy: "error" or "spool".
    ///     read: "map" or "pread" for sealed segments. A map cannot survive somebody else
    ///         truncating a sealed file (SIGBUS); "pread" raises an error there.
    ///     encryption: None, "keys" for keys that lie in the directory, or a master key of 32 bytes
    ///         that encrypts those keys.
    ///     segment_bytes: Length at which a segment is sealed; 64 MiB if not given.
    ///     max_record: The longest payload in bytes; 64 MiB if not given.
    ///     lock_wait: Seconds to wait for a store that is in use.
    ///
    /// Raises:
    ///     Locked: Somebody else owns it; the error names the owner.
    ///     InvalidInputError: An option is none of the above; the error names it.
    ///     StoreError: It could not be opened.
    #[staticmethod]
    #[pyo3(
        signature = (
            path, *, mode=Word(Mode::Shared), durability=Word(Level::Fsync), sync_interval=None,
            on_busy=Word(OnBusy::Fail), read=Word(Read::Map), encryption=None, segment_bytes=None,
            max_record=None, lock_wait=Wait(Options::default().lock_wait)
        ),
        text_signature = "(path, *, mode='shared', durability='fsync', sync_interval=None, \
            on_busy='error', read='map', encryption=None, segment_bytes=None, max_record=None, \
            lock_wait=2.0)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords, each an option")]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn open(
        py: Python<'_>,
        path: Place,
        mode: Word<Mode>,
        durability: Word<Level>,
        sync_interval: Option<Bound<'_, PyAny>>,
        on_busy: Word<OnBusy>,
        read: Word<Read>,
        encryption: Option<Bound<'_, PyAny>>,
        segment_bytes: Option<Bound<'_, PyAny>>,
        max_record: Option<Bound<'_, PyAny>>,
        lock_wait: Wait,
    ) -> PyResult<Self> {
        let usual = Options::default();
        let options = Options {
            read: read.0,
            mode: mode.0,
            durability: options_of::durability(durability.0, sync_interval.as_ref())?,
            on_busy: on_busy.0,
            encryption: options_of::encryption(encryption.as_ref())?,
            segment_bytes: size("segment_bytes", segment_bytes.as_ref(), usual.segment_bytes)?,
            max_record: size("max_record", max_record.as_ref(), usual.max_record)?,
            lock_wait: lock_wait.0,
        };
        let Place(path) = path;
        agree(&options, path.is_none())?;
        let store = run(py, || match &path {
            Some(path) => Store::open(path, options),
            None => Store::in_memory(options),
        })?;
        Ok(Self {
            store: Arc::new(store),
            path,
            options,
        })
    }

    /// The directory; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// Append records, all or none; they are kept as the durability says when this returns.
    ///
    /// Args:
    ///     records: Tuples of kind, key (a sequence of byte strings), meta and payload; a fifth
    ///         part names the ids that the record was made from, and goes with them when erased.
    ///     sync: False for records that may be lost with the power, though not with the process:
    ///         they are kept as under durability="os". The next append that is synced, `sync` and
    ///         `close` make them durable.
    ///
    /// Returns:
    ///     One id a record, ascending.
    ///
    /// Raises:
    ///     Locked: Another writer kept the lock for too long; nothing was appended.
    ///     TooLarge, StoreFull: There is no room for it; nothing was appended.
    ///     Poisoned: A sync failed; nothing more is acknowledged until the store is opened again.
    #[pyo3(signature = (records, *, sync=true), text_signature = "($self, records, *, sync=True)")]
    fn append(&self, py: Python<'_>, records: &Bound<'_, PyAny>, sync: bool) -> PyResult<Vec<u64>> {
        let rows = rows(records)?;
        let keys = keys(&rows);
        let drafts = drafts(&rows, &keys);
        let seqs = run(py, || self.store.append_with(&drafts, ack(sync)))?;
        Ok(numbers(seqs))
    }

    /// Append records as `append` does, or leave them, durably, for the next writer.
    ///
    /// Args:
    ///     records: As for `append`.
    ///     sync: As for `append`.
    ///
    /// Returns:
    ///     Their ids; a `Spooled` if the lock stayed busy and the store has on_busy="spool".
    #[pyo3(signature = (records, *, sync=true), text_signature = "($self, records, *, sync=True)")]
    fn append_or_spool<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyAny>,
        sync: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows(records)?;
        let keys = keys(&rows);
        let drafts = drafts(&rows, &keys);
        match run(py, || self.store.append_or_spool_with(&drafts, ack(sync)))? {
            Appended::Stored(seqs) => numbers(seqs).into_pyobject(py),
            Appended::Spooled(token) => report::spooled(py, token),
        }
    }

    /// Read one record.
    ///
    /// Raises:
    ///     NotFound, Erased, NoKey: There is none with that id, or it cannot be read any more.
    ///     Corrupt, Truncated: Its bytes are not what was written.
    fn get(&self, py: Python<'_>, seq: Id) -> PyResult<Record> {
        run(py, || self.store.get(Seq(seq.0))).map(Record::from)
    }

    /// Read several records in one go; see `get`.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn get_many(&self, py: Python<'_>, seqs: Vec<Id>) -> PyResult<Vec<Record>> {
        let read = || seqs.iter().map(|id| self.store.get(Seq(id.0))).collect();
        let found: Vec<_> = run(py, read)?;
        Ok(found.into_iter().map(Record::from).collect())
    }

    /// Read the hash of one record's payload; see `content_hash`.
    fn hash_of<'py>(&self, py: Python<'py>, seq: Id) -> PyResult<Bound<'py, PyBytes>> {
        let hash = run(py, || self.store.hash_of(Seq(seq.0)))?;
        Ok(PyBytes::new(py, &hash.to_le_bytes()))
    }

    /// Return which of some records with one key were erased or removed, in the order given.
    ///
    /// Args:
    ///     key: The parts of their key.
    ///     seqs: Their ids; one that was never given is not gone.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn gone(&self, py: Python<'_>, key: Vec<Vec<u8>>, seqs: Vec<u64>) -> PyResult<Vec<u64>> {
        let seqs: Vec<Seq> = seqs.into_iter().map(Seq).collect();
        let gone = run(py, || self.store.gone(&key, &seqs))?;
        Ok(gone.into_iter().map(|seq| seq.0).collect())
    }

    /// Read records in order, from an id on.
    ///
    /// Args:
    ///     start: The first id.
    ///     max_bytes: About how much to read; at least one record comes back, none only at the end.
    ///
    /// Returns:
    ///     Records, the store's own among them, without damaged ones and erased ones.
    #[pyo3(
        signature = (start=Id(1), *, max_bytes=AtOnce(8_388_608)),
        text_signature = "($self, start=1, *, max_bytes=8388608)"
    )]
    fn page(&self, py: Python<'_>, start: Id, max_bytes: AtOnce) -> PyResult<Vec<Record>> {
        let records = run(py, || self.store.page(Seq(start.0), max_bytes.0))?;
        Ok(records.into_iter().map(Record::from).collect())
    }

    /// Make everything durable that was appended, and return the last id.
    fn sync(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.store.sync()).map(|seq| seq.0)
    }

    /// Return the id up to which everything is known to survive a loss of power.
    fn durable_seq(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.store.durable_seq()).map(|seq| seq.0)
    }

    /// Erase records, and what was made from them: reads say so at once, in every process.
    ///
    /// The bytes go with `compact`.
    ///
    /// Args:
    ///     prefix: Parts that the keys begin with, for instance tenant and conversation.
    ///     records: Ids, instead of a prefix.
    #[pyo3(signature = (*, prefix=None, records=None))]
    fn erase<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<Bound<'py, PyAny>>,
        records: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let erased = match (prefix, records) {
            (Some(prefix), None) => {
                let parts = byte_strings("prefix", &prefix)?;
                let parts = slices(&parts);
                run(py, || self.store.erase(Scope::Prefix(&parts)))?
            }
            (None, Some(records)) => {
                let seqs = ids("records", &records)?;
                run(py, || self.store.erase(Scope::Records(&seqs)))?
            }
            _ => return Err(invalid("erase: expected either prefix or records")),
        };
        report::removed(py, erased)
    }

    /// Write the segments anew that hold erased records, so that no byte of them is left.
    fn compact<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report::compacted(py, run(py, || self.store.compact())?)
    }

    /// What was erased, and how many records still wait for `compact`.
    fn erasure_report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report::erasures(py, &run(py, || self.store.erasure_report())?)
    }

    /// The batches that wait in the spool, as file names.
    fn spooled(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        run(py, || self.store.spooled())
    }

    /// Figures: records, bytes, segments, `next_seq`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report::stats(py, &run(py, || self.store.stats())?)
    }

    /// What opening cut off, and what damage was met since.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        report::opening(py, &run(py, || Ok(self.store.report()))?)
    }

    /// What was noticed since the store was opened: waits for the lock, microseconds of them, locks
    /// that stayed busy, repairs of what another writer left, batches taken up out of the spool,
    /// damage. Each number only grows; asking costs next to nothing, after `close` too.
    #[getter]
    fn notices(&self) -> (u64, u64, u64, u64, u64, u64) {
        let found = self.store.notices();
        (
            found.waits,
            found.waited,
            found.refused,
            found.repairs,
            found.taken_up,
            found.damages,
        )
    }

    /// Read and check everything: records, bytes, damages.
    ///
    /// Args:
    ///     progress: Called now and then with the bytes read so far and the total number of bytes;
    ///         an exception that it raises ends the check.
    #[pyo3(signature = (progress=Progress(None)), text_signature = "($self, progress=None)")]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn verify<'py>(&self, py: Python<'py>, progress: Progress) -> PyResult<Bound<'py, PyDict>> {
        let progress = |done: u64, all: u64| {
            progress
                .0
                .as_ref()
                .map_or(Ok(()), |one| tell(one, done, all))
        };
        report::verified(py, &run(py, || self.store.verify_telling(&progress))?)
    }

    /// Close the store; doing it twice does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || self.store.close())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&self, py: Python<'_>, _exc: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        portable(&self.options, self.path.is_none())?;
        let path = run(py, || self.store.stats())?.path;
        let open = PyType::new::<Self>(py).getattr("open")?;
        let partial = py.import("functools")?.getattr("partial")?;
        let open = partial.call((open,), Some(&keywords(py, &self.options)?))?;
        Ok((open, (path,)))
    }

    fn __repr__(&self) -> String {
        self.path.as_ref().map_or_else(
            || "ColdStore(None)".to_owned(),
            |path| format!("ColdStore({:?})", path.display().to_string()),
        )
    }
}

/// What an append waits for.
fn ack(sync: bool) -> Ack {
    if sync { Ack::Durable } else { Ack::Written }
}
