//! The store: one handle for a directory, shared by threads.
//!
//! Appends queue for the writer. Reads never wait for a write or a sync: they look a place up under a
//! short lock and read the file without one.

use std::fmt;
use std::path::{Path, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::entry::Seq;
use crate::error::{Error, Result};

use super::bytes::wide;
use super::disk::Disk;
use super::footer::Entry;
use super::index::Index;
use super::lock::Lock;
use super::medium::{Medium, refused};
use super::options::Options;
use super::ram::Ram;
use super::record::{Draft, Record};
use super::recover::recover;
use super::report::{Cut, DamageKind, OpenReport, Stats, VerifyReport};
use super::source::Source;
use super::survey::survey;
use super::verify::{check, subjects, unreadable};
use super::writer::Writer;

/// A durable sequence of records: what [`append`](Self::append) returned for is never lost.
pub struct Store {
    medium: Arc<dyn Medium>,
    index: RwLock<Index>,
    cuts: Vec<Cut>,
    /// Dropped at closing; a closed store keeps no file open.
    writer: Mutex<Option<(Writer, Option<Lock>)>>,
    closed: AtomicBool,
    pid: u32,
}

impl Store {
    /// Opens the store in a directory, and makes a new one if there is none, or nothing in it.
    ///
    /// The handle owns the store until it is closed or dropped. Opening cuts a torn tail; see
    /// [`report`](Self::report).
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`], [`Error::NewerFormat`] and [`Error::ForeignSegment`], with the directory
    /// left as it was; [`Error::Locked`]; [`Error::Full`]; [`Error::Io`].
    pub fn open(dir: &Path, options: Options) -> Result<Self> {
        let not_a_store = |detail: &str| Error::NotAStore {
            path: dir.to_path_buf(),
            detail: detail.into(),
        };
        if dir.as_os_str().is_empty() {
            return Err(not_a_store("the path is empty"));
        }
        if dir.exists() && !dir.is_dir() {
            return Err(not_a_store("it is a file"));
        }
        // The handle must mean the same directory after the process moved to another one.
        let root = absolute(dir).map_err(|error| refused("resolve", dir, error))?;
        Disk::make_root(&root).map_err(|error| refused("create", &root, error))?;
        let medium: Arc<dyn Medium> = Arc::new(Disk::new(root.clone()));
        // What is refused is refused before the lock file is written.
        survey(&*medium)?;
        let lock = Lock::acquire(&root, options.lock_wait)?;
        Self::on(medium, options, Some(lock))
    }

    /// A new store in memory. It ends with the handle.
    ///
    /// # Errors
    ///
    /// None today; the type is that of [`with_medium`](Self::with_medium).
    pub fn in_memory(options: Options) -> Result<Self> {
        Self::with_medium(Box::new(Ram::new()), options)
    }

    /// Opens the store on a medium of the caller's; nothing keeps other handles off it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), without [`Error::Locked`].
    pub fn with_medium(medium: Box<dyn Medium>, options: Options) -> Result<Self> {
        Self::on(medium.into(), options, None)
    }

    fn on(medium: Arc<dyn Medium>, options: Options, lock: Option<Lock>) -> Result<Self> {
        let found = recover(&*medium, &options)?;
        let mut writer = Writer::new(Arc::clone(&medium), options, &found);
        let fresh = found.next_number == 1;
        let index = RwLock::new(found.index);
        if fresh {
            writer.begin(&index)?;
        }
        Ok(Self {
            medium,
            index,
            cuts: found.cuts,
            writer: Mutex::new(Some((writer, lock))),
            closed: AtomicBool::new(false),
            pid: std::process::id(),
        })
    }

    /// Appends a batch, all or nothing. When it returns, the batch is durable, and its ids are in the
    /// order of the drafts. An empty batch writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] and [`Error::Argument`] before anything is written; [`Error::Full`] and
    /// [`Error::Io`] when the write failed and was taken back, so that the next one may succeed;
    /// [`Error::Poisoned`] when the state of the disk is unknown; [`Error::Forked`]; [`Error::Closed`].
    pub fn append(&self, batch: &[Draft<'_>]) -> Result<Vec<Seq>> {
        // Before the lock: a thread of the parent may have held it when the process forked.
        if std::process::id() != self.pid {
            return Err(Error::Forked);
        }
        let mut writer = self.writer.lock().map_err(|_| Error::Poisoned {
            path: self.medium.path(""),
            detail: "a panic in an earlier append".into(),
        })?;
        let (writer, _) = writer.as_mut().ok_or(Error::Closed)?;
        writer.append(&self.index, batch)
    }

    /// The record of an id, verified.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Corrupt`] and [`Error::Truncated`] if it is damaged;
    /// [`Error::Io`]; [`Error::Closed`].
    pub fn get(&self, seq: Seq) -> Result<Record> {
        let (source, entry) = self.place(seq)?;
        source.record(entry)
    }

    /// The [`content_hash`](super::content_hash) of a record's payload, from its verified header.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn hash_of(&self, seq: Seq) -> Result<u128> {
        let (source, entry) = self.place(seq)?;
        source.hash(entry)
    }

    /// The next records from an id on, in order, verified: as many as fit in `max_bytes`, and one at
    /// least. Empty only at the end. Damaged records are left out and reported.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Closed`].
    pub fn page(&self, from: Seq, max_bytes: usize) -> Result<Vec<Record>> {
        let mut from = from.0;
        loop {
            let places = self.index()?.range(from, wide(max_bytes));
            let Some((_, last)) = places.last() else {
                return Ok(Vec::new());
            };
            from = last.seq.saturating_add(1);
            let mut records = Vec::with_capacity(places.len());
            for (source, entry) in places {
                match source.record(entry) {
                    Ok(record) => records.push(record),
                    Err(error) => self.skip(&source, entry, error)?,
                }
            }
            if !records.is_empty() {
                return Ok(records);
            }
        }
    }

    /// What opening cut, and what is known to be damaged by now.
    #[must_use]
    pub fn report(&self) -> OpenReport {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        OpenReport {
            cuts: self.cuts.clone(),
            damages: index.damages.clone(),
        }
    }

    /// Reads and checks every byte that is acknowledged.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Closed`]. Damage is in the report.
    pub fn verify(&self) -> Result<VerifyReport> {
        let (mut report, subjects) = {
            let index = self.index()?;
            (unreadable(&index), subjects(&index))
        };
        for subject in &subjects {
            check(subject, &mut report)?;
        }
        Ok(report)
    }

    /// Figures of the store as it is now.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`].
    pub fn stats(&self) -> Result<Stats> {
        let index = self.index()?;
        Ok(Stats {
            records: index.segments.iter().map(|s| wide(s.entries.len())).sum(),
            bytes: index.segments.iter().map(|s| s.len).sum(),
            segments: wide(index.segments.len()),
            next_seq: Seq(index.next_seq),
            path: self.medium.path(""),
        })
    }

    /// Gives the store up: waits for an append that is under way, closes the files and releases the
    /// lock. Closing twice is allowed; whatever else comes later gets [`Error::Closed`].
    ///
    /// # Errors
    ///
    /// None today: everything acknowledged is durable already.
    pub fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        if std::process::id() != self.pid {
            // The locks may have been held when the process forked; dropping the handle needs none.
            return Ok(());
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.segments.clear();
        *writer = None;
        Ok(())
    }

    fn index(&self) -> Result<RwLockReadGuard<'_, Index>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        // In this order: closing sets the flag before it empties the index.
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        Ok(index)
    }

    fn place(&self, seq: Seq) -> Result<(Arc<Source>, Entry)> {
        let index = self.index()?;
        index.find(seq.0).ok_or_else(|| match index.loss(seq) {
            Some(damage) => damage.to_error(),
            None => Error::NotFound { seq },
        })
    }

    /// Notes a damaged record; any other error is the caller's.
    fn skip(&self, source: &Source, entry: Entry, error: Error) -> Result<()> {
        let (kind, detail) = match error {
            Error::Corrupt { detail, .. } => (DamageKind::Corrupt, detail),
            Error::Truncated { .. } => (DamageKind::Truncated, "the file ends too early".into()),
            other => return Err(other),
        };
        let bytes = entry.offset..entry.offset.saturating_add(entry.len);
        let damage = source.damage(bytes, entry.seq..=entry.seq, kind, &detail);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.note(damage);
        Ok(())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.medium.path(""))
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Kind;

    #[test]
    fn a_handle_of_another_process_reads_and_does_not_write() {
        let mut store = Store::in_memory(Options::default()).unwrap();
        let draft = Draft {
            kind: Kind::Turn,
            key: &[],
            meta: &[],
            payload: b"x",
        };
        let seq = store.append(&[draft]).unwrap()[0];
        // What a child sees after a fork.
        store.pid = store.pid.wrapping_add(1);
        assert!(matches!(store.append(&[draft]), Err(Error::Forked)));
        assert_eq!(store.get(seq).unwrap().payload, b"x");
        store.close().unwrap();
    }
}
