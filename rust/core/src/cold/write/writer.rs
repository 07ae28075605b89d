//! The writer: while it holds the lock, the one owner of the end of the last segment.
//!
//! ```text
//! commit   lock ─▶ catch up ─▶ one write at the end ─▶ one sync ─▶ publish ─▶ mark ─▶ unlock
//! rotate   seal, sync ─▶ create the next, exclusively ─▶ its header, sync ─▶ sync the directory
//! ```
//!
//! A failed write is taken back by truncating, and the writer goes on. If that fails too, or if a sync
//! fails, the state of the disk is unknown: the writer stops for good, reads go on over what was
//! acknowledged, and nobody writes on that segment again. A failed sync is never tried again, because
//! the second one may succeed without having written what the first one lost.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};

use crate::cold::defect::{Defect, on};
use crate::cold::format::words::Words;
use crate::cold::format::{LOCK, PREAMBLE, segment_name};
use crate::cold::medium::{Access, Hold, lock, refused};
use crate::cold::options::{Durability, Mode};
use crate::cold::read::source::Source;
use crate::cold::shelf::Shelf;
use crate::cold::write::spool;

/// How many batches that are not synced may pass before the names of open files are looked at again.
const LOOK: u64 = 32;

#[derive(Debug, Default)]
pub(in crate::cold) struct Writer {
    /// The lock of an exclusive handle.
    hold: Option<Box<dyn Hold>>,
    /// Why the writer stopped.
    pub(super) stopped: Option<String>,
    pub(super) buffer: Vec<u8>,
    /// Rings when somebody spooled.
    pub(super) bell: Option<spool::Bell>,
    /// How often the lock's file had been replaced when the directory was last read.
    replaced: u64,
    /// How often this handle has brought itself up to date.
    rounds: u64,
    /// Whether this handle has appended anything.
    pub(in crate::cold) used: bool,
    /// Whether nobody who calls keeps the store: then a log must not be kept, which may end with the call and
    /// the store with it.
    pub(super) alone: bool,
}

/// Makes what this handle wrote durable, without the lock and without saying so in the mark. Where
/// another handle began a segment since, it synced the one before.
fn persist(common: &Shelf) -> Result<()> {
    let unsynced = {
        let index = common.peek();
        let last = index.segments.last();
        last.filter(|last| last.last() > index.mark.durable)
            .map(|last| Arc::clone(&last.source))
    };
    match unsynced {
        Some(source) => {
            let trouble = |error| refused("sync", &source.path, error);
            source.file.sync_data().map_err(trouble)
        }
        None => Ok(()),
    }
}

/// The lock, after as long a wait for it as the options allow.
fn lock_of(common: &Shelf) -> Result<Box<dyn Hold>> {
    let wait = common.options.lock_wait;
    lock::acquire(&*common.medium, wait, &common.counters)
}

/// Whether a segment of that number can be made.
fn is_free(common: &Shelf, number: u64) -> Result<bool> {
    let name = segment_name(number);
    match common.medium.open(&name, Access::Read) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(refused("open", &common.medium.path(&name), error)),
    }
}

/// How many bytes after which a closing handle seals the segment: an eighth of its limit.
fn worth_sealing(common: &Shelf, len: u64) -> bool {
    len.saturating_sub(PREAMBLE) >= common.options.segment_bytes / 8
}

impl Writer {
    /// A writer that keeps the lock it is given, if any.
    pub(in crate::cold) fn new(hold: Option<Box<dyn Hold>>) -> Self {
        Self {
            hold,
            ..Self::default()
        }
    }

    /// Takes the lock for as long as the answer lives, and brings the handle up to date.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`]; [`Error::ReadOnly`]; [`Error::Locked`]; as opening.
    pub(in crate::cold) fn begin(&mut self, common: &Shelf) -> Result<Option<Box<dyn Hold>>> {
        if let Some(detail) = &self.stopped {
            return Err(poisoned(common, detail));
        }
        let hold = match common.options.mode {
            Mode::Read => {
                let path = common.medium.path("");
                return Err(Error::ReadOnly { path });
            }
            Mode::Shared => Some(lock_of(common)?),
            Mode::Exclusive => {
                if self.looks_up(common) {
                    self.keep(common)?;
                }
                None
            }
        };
        self.ready(common)?;
        Ok(hold)
    }

    /// Whether the names of open files are looked at this time: with each batch that is synced, and else
    /// with every so many, because looking costs as much as a part of an append.
    fn looks_up(&self, common: &Shelf) -> bool {
        common.options.durability == Durability::Fsync || self.rounds.is_multiple_of(LOOK)
    }

    /// The lock of an exclusive handle: taken once more where its file was removed, because somebody else
    /// may have locked another one since.
    fn keep(&mut self, common: &Shelf) -> Result<()> {
        let trouble = |error| refused("look at", &common.medium.path(LOCK), error);
        let stands = self.hold.as_ref().map_or(Ok(false), |hold| hold.stands());
        if !stands.map_err(trouble)? {
            self.hold = None;
            let hold = lock_of(common)?;
            self.hold = Some(hold);
        }
        Ok(())
    }

    /// Whether the end is where this handle believes it to be; else the directory is read anew and
    /// mended. Then what lies in the spool is taken up.
    pub(in crate::cold) fn ready(&mut self, common: &Shelf) -> Result<()> {
        common.catch_up()?;
        let looks_up = self.looks_up(common);
        self.rounds = self.rounds.wrapping_add(1);
        let replaced = common.medium.replaced();
        let as_known = replaced == self.replaced && {
            let index = common.known()?;
            match index.segments.last() {
                Some(_) if index.beyond => false,
                // Its file may be another one by now.
                Some(last) if last.source.header.number == index.mark.tainted => false,
                Some(last) if !last.is_sealed() && index.tail => {
                    let source = &last.source;
                    let len = if looks_up {
                        source.named_len()?
                    } else {
                        Some(source.len()?)
                    };
                    len == Some(last.len)
                }
                // Whoever began the next segment may have ended before it said so.
                Some(_) => index.file.is_some() && is_free(common, index.mark.segment + 1)?,
                None => false,
            }
        };
        if !as_known {
            common.repair()?;
            self.replaced = replaced;
            if common.known()?.segments.is_empty() {
                // The lock's name first: beside it a first segment that is cut short is known as ours.
                let trouble = |error| refused("sync", &common.medium.path(""), error);
                common.medium.sync_dir("").map_err(trouble)?;
                self.create(common, Words::default())?;
                common.settle_mark(&mut common.write())?;
            }
        }
        spool::answer(self, common)
    }

    /// Syncs a segment; after a failure nothing more is written, and what lies behind `start` is cut
    /// off if it can be.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`].
    pub(super) fn sync_at(&mut self, common: &Shelf, source: &Source, start: u64) -> Result<()> {
        let mut synced = source.file.sync_data();
        if on(Defect::SyncRetried) && synced.is_err() {
            synced = source.file.sync_data();
        }
        synced.map_err(|error| {
            if on(Defect::FailedSyncForgotten) {
                return refused("sync", &source.path, error);
            }
            // What was not acknowledged should not come back at the next open. If it cannot be cut
            // off, it is a torn tail or an unacknowledged batch then: both are allowed.
            let _ = source.file.set_len(start);
            self.stop(common, source.header.number, "sync", &source.path, &error)
        })
    }

    /// Makes everything that was written durable. Only after [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`].
    pub(in crate::cold) fn sync(&mut self, common: &Shelf) -> Result<()> {
        let (source, end, last, durable) = {
            let index = common.peek();
            let Some(segment) = index.segments.last() else {
                return Ok(());
            };
            let source = Arc::clone(&segment.source);
            (source, segment.len, segment.last(), index.mark.durable)
        };
        if last > durable {
            self.sync_at(common, &source, end)?;
            let mut index = common.write();
            index.mark.durable = last;
            index.tell();
        }
        Ok(())
    }

    /// Leaves the store so that the next open has little to do: the last segment is sealed if it is
    /// long, and what was written is durable. Where the lock stays busy, somebody else leaves the
    /// store later, and only the second holds.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin) and [`sync`](Self::sync), without [`Error::Locked`].
    pub(in crate::cold) fn finish(&mut self, common: &Shelf) -> Result<()> {
        if !self.used || self.stopped.is_some() {
            return Ok(());
        }
        let _hold = match self.begin(common) {
            Err(Error::Locked { .. }) => return persist(common),
            other => other?,
        };
        let long = {
            let index = common.peek();
            index
                .segments
                .last()
                .is_some_and(|s| worth_sealing(common, s.len))
        };
        if long {
            self.seal(common)?;
        }
        self.sync(common)?;
        let mut index = common.write();
        index.tell();
        if let Some(file) = &index.file {
            // The mark is a hint: a store whose mark is behind loses nothing.
            let _ = file.sync();
        }
        Ok(())
    }

    /// Stops for good, and keeps everybody off the segment.
    pub(super) fn stop(
        &mut self,
        common: &Shelf,
        segment: u64,
        op: &str,
        path: &Path,
        error: &io::Error,
    ) -> Error {
        let detail = format!("{op} {}: {error}", path.display());
        let mut index = common.write();
        index.tail = false;
        index.mark.tainted = segment;
        index.tell();
        let answer = poisoned(common, &detail);
        self.stopped = Some(detail);
        answer
    }
}

pub(super) fn poisoned(common: &Shelf, detail: &str) -> Error {
    Error::Poisoned {
        path: common.medium.path(""),
        detail: detail.to_owned(),
    }
}
