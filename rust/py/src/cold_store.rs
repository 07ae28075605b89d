//! The append-only store of records, as `warmset.ColdStore`.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyDict, PyTuple};
use warmset_core::cold::{Damage, Draft, Options, Read, Store};
use warmset_core::{Kind, Seq};

use crate::error::{invalid, raise};

/// One record, read and verified: seq, kind, key, meta, payload, hash.
#[pyclass(frozen, module = "warmset")]
pub(crate) struct Record {
    inner: warmset_core::cold::Record,
}

#[pymethods]
impl Record {
    #[getter]
    fn seq(&self) -> u64 {
        self.inner.seq.0
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind.name()
    }

    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.key.iter().map(|part| PyBytes::new(py, part)))
    }

    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.meta)
    }

    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.payload)
    }

    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.hash.to_le_bytes())
    }

    fn __repr__(&self) -> String {
        format!(
            "Record(seq={}, kind={:?}, {} bytes)",
            self.inner.seq.0,
            self.inner.kind.name(),
            self.inner.payload.len()
        )
    }
}

/// One record to append: kind, key, meta, payload.
type Row<'py> = (
    String,
    Vec<Bound<'py, PyBytes>>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// An append-only store of records.
///
/// What `append` returned for is durable. A payload comes back exactly, or not at all. Safe to use
/// from several threads; one process at a time owns a directory.
#[pyclass(frozen, module = "warmset")]
pub(crate) struct ColdStore {
    store: Store,
    path: Option<PathBuf>,
}

#[pymethods]
impl ColdStore {
    /// Open the store in a directory, or make a new one.
    ///
    /// Args:
    ///     path: The directory; None keeps everything in memory.
    ///     read: "map" or "pread" for sealed segments. A map cannot survive somebody else
    /// truncating a         sealed file (SIGBUS); "pread" raises an error there.
    ///     segment_bytes: Length at which a segment is sealed; 64 MiB if not given.
    ///     max_record: The longest payload in bytes; 64 MiB if not given.
    ///     lock_wait: Seconds to wait for a store that is in use.
    ///
    /// Raises:
    ///     Locked: Somebody else owns it; the error names the owner.
    ///     NotAStore: The path is empty, a file, or a directory with other things in it.
    ///     NewerFormat: A newer version wrote it; it is left as it was.
    ///     StoreError: It could not be opened.
    #[staticmethod]
    #[pyo3(signature = (path, *, read="map", segment_bytes=None, max_record=None, lock_wait=2.0))]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        read: &str,
        segment_bytes: Option<u64>,
        max_record: Option<u64>,
        lock_wait: f64,
    ) -> PyResult<Self> {
        let read = match read {
            "map" => Read::Map,
            "pread" => Read::Positional,
            other => {
                return Err(invalid(&format!(
                    "read: expected \"map\" or \"pread\", found {other:?}"
                )));
            }
        };
        let lock_wait = std::time::Duration::try_from_secs_f64(lock_wait)
            .map_err(|error| invalid(&format!("lock_wait: {error}")))?;
        let standard = Options::default();
        let options = Options {
            read,
            segment_bytes: segment_bytes.unwrap_or(standard.segment_bytes),
            max_record: max_record.unwrap_or(standard.max_record),
            lock_wait,
        };
        let store = py
            .detach(|| {
                path.as_ref().map_or_else(
                    || Store::in_memory(options),
                    |path| Store::open(path, options),
                )
            })
            .map_err(raise)?;
        Ok(Self { store, path })
    }

    /// The directory; None in memory.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// Append records, all or none; they are durable when this returns.
    ///
    /// Args:
    ///     records: Tuples of kind, key (a list of byte strings), meta and payload.
    ///
    /// Returns:
    ///     One id a record, ascending.
    ///
    /// Raises:
    ///     TooLarge: A payload is over the limit.
    ///     StoreFull: The medium has no room; nothing was appended.
    ///     Poisoned: A sync failed; nothing more is acknowledged until the store is opened again.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn append(&self, py: Python<'_>, records: Vec<Row<'_>>) -> PyResult<Vec<u64>> {
        let keys: Vec<Vec<&[u8]>> = records
            .iter()
            .map(|(_, key, _, _)| key.iter().map(PyBytesMethods::as_bytes).collect())
            .collect();
        let mut drafts = Vec::with_capacity(records.len());
        for ((kind, _, meta, payload), key) in records.iter().zip(&keys) {
            drafts.push(Draft {
                kind: writable(kind)?,
                key,
                meta: meta.as_bytes(),
                payload: payload.as_bytes(),
            });
        }
        let seqs = py.detach(|| self.store.append(&drafts)).map_err(raise)?;
        Ok(seqs.into_iter().map(|seq| seq.0).collect())
    }

    /// Read one record.
    ///
    /// Raises:
    ///     NotFound: There is none with that id.
    ///     Corrupt: Its bytes are not what was written.
    fn get(&self, py: Python<'_>, seq: u64) -> PyResult<Record> {
        let inner = py.detach(|| self.store.get(Seq(seq))).map_err(raise)?;
        Ok(Record { inner })
    }

    /// Read records in order, from an id on.
    ///
    /// Args:
    ///     start: The first id.
    ///     max_bytes: About how much to read; at least one record comes back, none only at the end.
    ///
    /// Returns:
    ///     Records; damaged ones are left out and reported.
    #[pyo3(signature = (start=1, *, max_bytes=8_388_608))]
    fn page(&self, py: Python<'_>, start: u64, max_bytes: usize) -> PyResult<Vec<Record>> {
        let records = py
            .detach(|| self.store.page(Seq(start), max_bytes))
            .map_err(raise)?;
        Ok(records.into_iter().map(|inner| Record { inner }).collect())
    }

    /// Figures: records, bytes, segments, `next_seq`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.store.stats()).map_err(raise)?;
        let out = PyDict::new(py);
        out.set_item("records", stats.records)?;
        out.set_item("bytes", stats.bytes)?;
        out.set_item("segments", stats.segments)?;
        out.set_item("next_seq", stats.next_seq.0)?;
        Ok(out)
    }

    /// What opening cut off, and what damage was met since.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.store.report());
        let cuts: Vec<Bound<'py, PyDict>> = report
            .cuts
            .iter()
            .map(|cut| {
                let row = PyDict::new(py);
                row.set_item("segment", cut.segment)?;
                row.set_item("offset", cut.offset)?;
                row.set_item("bytes", cut.bytes)?;
                row.set_item("aside", &cut.aside)?;
                Ok(row)
            })
            .collect::<PyResult<_>>()?;
        let out = PyDict::new(py);
        out.set_item("cuts", cuts)?;
        out.set_item("damages", damages(py, &report.damages)?)?;
        Ok(out)
    }

    /// Read and check everything: records, bytes, damages.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.store.verify()).map_err(raise)?;
        let out = PyDict::new(py);
        out.set_item("records", report.records)?;
        out.set_item("bytes", report.bytes)?;
        out.set_item("damages", damages(py, &report.damages)?)?;
        Ok(out)
    }

    /// Close the store; doing it twice does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.store.close()).map_err(raise)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exc))]
    fn __exit__(&self, py: Python<'_>, _exc: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        self.path.as_ref().map_or_else(
            || "ColdStore(None)".to_owned(),
            |path| format!("ColdStore({:?})", path.display().to_string()),
        )
    }
}

/// The 128-bit content hash of a payload, as the store keeps it (XXH3, little-endian).
#[pyfunction]
pub(crate) fn content_hash<'py>(
    py: Python<'py>,
    payload: &Bound<'py, PyBytes>,
) -> Bound<'py, PyBytes> {
    let hash = warmset_core::cold::content_hash(payload.as_bytes());
    PyBytes::new(py, &hash.to_le_bytes())
}

/// A kind that callers may write: the store's own bookkeeping is its own.
fn writable(name: &str) -> PyResult<Kind> {
    match Kind::from_name(name) {
        Some(Kind::Seal | Kind::BatchMember | Kind::BatchCommit) | None => Err(invalid(&format!(
            "kind: expected one of turn, summary, embedding, episode, distilled, prepared, item, \
             tombstone, checkpoint; found {name:?}"
        ))),
        Some(kind) => Ok(kind),
    }
}

fn damages<'py>(py: Python<'py>, damages: &[Damage]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    damages
        .iter()
        .map(|damage| {
            let row = PyDict::new(py);
            let seqs = damage.seqs.as_ref().map(|s| (s.start().0, s.end().0));
            row.set_item("segment", damage.segment)?;
            row.set_item("path", &damage.path)?;
            row.set_item("bytes", (damage.bytes.start, damage.bytes.end))?;
            row.set_item("seqs", seqs)?;
            row.set_item("detail", &damage.detail)?;
            Ok(row)
        })
        .collect()
}
