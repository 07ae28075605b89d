//! The writer: the one owner of the end of the last segment.
//!
//! ```text
//! append   encode the whole batch ─▶ one write at the end ─▶ one sync ─▶ publish
//! rotate   seal, sync ─▶ create the next, exclusively ─▶ its header, sync ─▶ sync the directory
//! ```
//!
//! A failed write is taken back by truncating, and the writer goes on. If that fails too, or if a sync
//! fails, the state of the disk is unknown: the writer stops for good, and reads go on over what was
//! acknowledged. A failed sync is never tried again, because the second one may succeed without
//! having written what the first one lost.

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::bytes::wide;
use super::footer::{Entry, seal};
use super::format::{MAX_BATCH, PREAMBLE, segment_name};
use super::frame::{Stamp, encode, encoded_len};
use super::header::Header;
use super::index::{Index, Segment};
use super::medium::{Medium, refused, write_full};
use super::options::Options;
use super::record::Draft;
use super::recover::Recovered;
use super::source::Source;

/// How much of the encoding buffer is kept from one batch to the next.
const BUFFER: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Writer {
    medium: Arc<dyn Medium>,
    options: Options,
    uuid: [u8; 16],
    next_number: u64,
    /// The segment that is written on, and where its acknowledged bytes end.
    active: Option<(Arc<Source>, u64)>,
    /// Why the writer stopped.
    stopped: Option<String>,
    buffer: Vec<u8>,
}

impl Writer {
    pub(super) fn new(medium: Arc<dyn Medium>, options: Options, found: &Recovered) -> Self {
        let last = found.index.segments.last().filter(|_| found.tail);
        Self {
            medium,
            options,
            uuid: found.uuid,
            next_number: found.next_number,
            active: last.map(|segment| (Arc::clone(&segment.source), segment.len)),
            stopped: None,
            buffer: Vec::new(),
        }
    }

    /// Makes a batch durable and then visible, all of it or nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] and [`Error::TooLarge`] before anything is written; [`Error::Full`] and
    /// [`Error::Io`] after it was taken back; [`Error::Poisoned`] when that could not be done, or the
    /// sync failed, and from then on.
    pub(super) fn append(
        &mut self,
        index: &RwLock<Index>,
        batch: &[Draft<'_>],
    ) -> Result<Vec<Seq>> {
        let (size, count) = self.measure(batch)?;
        if let Some(detail) = &self.stopped {
            return Err(self.poisoned(detail));
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let (source, start) = self.room_for(index, size)?;
        let first = next_seq(index);
        let entries = self.encode(&source, start, first, count, batch)?;
        let end = start.saturating_add(size);
        let bytes = std::mem::take(&mut self.buffer);
        let written = self.write(&source, start, &bytes);
        self.buffer = bytes;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER);
        written?;

        self.active = Some((source, end));
        let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
        index.publish(&entries, end);
        Ok(entries.iter().map(|entry| Seq(entry.seq)).collect())
    }

    /// Begins the first segment of a new store, so that the directory is one from now on.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub(super) fn begin(&mut self, index: &RwLock<Index>) -> Result<()> {
        self.create(index).map(drop)
    }

    /// Checks a batch against the limits, and gives its encoded length and its number of records.
    fn measure(&self, batch: &[Draft<'_>]) -> Result<(u64, u32)> {
        let limit = self.options.max_record;
        let mut total = 0_u64;
        for draft in batch {
            if draft.kind.code() == Kind::Seal.code() {
                return Err(Error::Argument {
                    name: "kind",
                    expected: "a kind that callers may write".into(),
                    found: "seal".into(),
                });
            }
            let key = draft.key.iter().map(|part| wide(part.len())).sum();
            let sizes = [wide(draft.payload.len()), wide(draft.meta.len()), key];
            if let Some(size) = sizes.into_iter().find(|size| *size > limit) {
                return Err(Error::TooLarge { size, limit });
            }
            total = total.saturating_add(encoded_len(draft).unwrap_or(u64::MAX));
        }
        let too_large = Error::TooLarge {
            size: total,
            limit: MAX_BATCH,
        };
        match u32::try_from(batch.len()) {
            Ok(count) if total <= MAX_BATCH => Ok((total, count)),
            _ => Err(too_large),
        }
    }

    /// The segment and the offset for a batch of this length.
    fn room_for(&mut self, index: &RwLock<Index>, size: u64) -> Result<(Arc<Source>, u64)> {
        match &self.active {
            Some((source, end))
                if *end == PREAMBLE || end.saturating_add(size) <= self.options.segment_bytes =>
            {
                Ok((Arc::clone(source), *end))
            }
            Some((source, end)) => {
                let (source, end) = (Arc::clone(source), *end);
                self.seal(index, &source, end)?;
                self.create(index)
            }
            None => self.create(index),
        }
    }

    fn encode(
        &mut self,
        source: &Source,
        start: u64,
        first: u64,
        count: u32,
        batch: &[Draft<'_>],
    ) -> Result<Vec<Entry>> {
        self.buffer.clear();
        let mut entries = Vec::with_capacity(batch.len());
        let mut offset = start;
        for (seq, draft) in (first..).zip(batch) {
            let stamp = Stamp {
                seq,
                durable: first.saturating_sub(1),
                batch_first: first,
                batch_count: count,
            };
            let identity = &source.header.identity;
            let len = encode(&mut self.buffer, identity, offset, stamp, draft);
            // `measure` passed it, so every part fits its field.
            let len = len.ok_or(Error::TooLarge {
                size: wide(draft.payload.len()),
                limit: self.options.max_record,
            })?;
            entries.push(Entry { seq, offset, len });
            offset = offset.saturating_add(len);
        }
        Ok(entries)
    }

    /// Writes and syncs, or leaves the file as it was, or stops.
    fn write(&mut self, source: &Source, end: u64, bytes: &[u8]) -> Result<()> {
        if let Err(error) = write_full(&*source.file, bytes, end) {
            return match source.file.set_len(end) {
                Ok(()) => Err(refused("write", &source.path, error)),
                Err(_) => Err(self.stop("write", &source.path, &error)),
            };
        }
        self.sync(source, end)
    }

    fn sync(&mut self, source: &Source, end: u64) -> Result<()> {
        source.file.sync_data().map_err(|error| {
            // What was not acknowledged should not come back at the next open. If it cannot be cut
            // off, it is a torn tail or an unacknowledged batch then: both are allowed.
            let _ = source.file.set_len(end);
            self.stop("sync", &source.path, &error)
        })
    }

    fn seal(&mut self, index: &RwLock<Index>, source: &Source, end: u64) -> Result<()> {
        let first_seq = source.header.first_seq;
        let bytes = {
            let index = index.read().unwrap_or_else(PoisonError::into_inner);
            let list = index.segments.last().map(|s| s.entries.as_slice());
            seal(
                &source.header.identity,
                end,
                first_seq,
                list.unwrap_or_default(),
            )
        };
        // A segment whose footer would exceed the format stays as it is: it is scanned at open.
        if let Some(bytes) = bytes {
            self.write(source, end, &bytes)?;
            let len = end.saturating_add(wide(bytes.len()));
            let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
            // Under the index's lock: whoever sees the seal sees the length that includes it.
            source.seal(len);
            if let Some(segment) = index.segments.last_mut() {
                segment.len = len;
            }
        }
        self.active = None;
        Ok(())
    }

    fn create(&mut self, index: &RwLock<Index>) -> Result<(Arc<Source>, u64)> {
        let name = segment_name(self.next_number);
        let path = self.medium.path(&name);
        let file = self
            .medium
            .create(&name)
            .map_err(|error| refused("create", &path, error))?;
        let header = Header::new(self.uuid, self.next_number, next_seq(index));
        if let Err(error) = write_full(&*file, &header.encode(), 0) {
            return match self.medium.remove(&name) {
                Ok(()) => Err(refused("write", &path, error)),
                Err(_) => Err(self.stop("write", &path, &error)),
            };
        }
        file.sync_data()
            .and_then(|()| self.medium.sync_dir(""))
            .map_err(|error| self.stop("sync", &path, &error))?;
        let source = Arc::new(Source::new(header, path, file, self.options.read));
        self.next_number = self.next_number.saturating_add(1);
        self.active = Some((Arc::clone(&source), PREAMBLE));
        let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
        index.segments.push(Segment {
            source: Arc::clone(&source),
            entries: Vec::new(),
            len: PREAMBLE,
        });
        Ok((source, PREAMBLE))
    }

    fn stop(&mut self, op: &str, path: &Path, error: &io::Error) -> Error {
        let detail = format!("{op} {}: {error}", path.display());
        self.active = None;
        let answer = self.poisoned(&detail);
        self.stopped = Some(detail);
        answer
    }

    fn poisoned(&self, detail: &str) -> Error {
        Error::Poisoned {
            path: self.medium.path(""),
            detail: detail.to_owned(),
        }
    }
}

fn next_seq(index: &RwLock<Index>) -> u64 {
    let index = index.read().unwrap_or_else(PoisonError::into_inner);
    index.next_seq
}
