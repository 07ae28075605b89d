//! What the parts of an open store share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use crate::error::{Error, Result};

use super::crypt::keyring::Keyring;
use super::format::MARK;
use super::format::header::random;
use super::mark::MarkFile;
use super::medium::{Medium, refused};
use super::notices::Counters;
use super::open::load::{Loaded, Repair, load};
use super::options::{Mode, Options, Read};
use super::read::follow::follow;
use super::read::index::Index;
use super::report::{Cut, Damage};
use super::write::packet::Press;
use super::write::spool::Taker;

/// The state of a handle, without what only the writer has.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) medium: Arc<dyn Medium>,
    pub(super) options: Options,
    pub(super) uuid: [u8; 16],
    pub(super) keyring: Keyring,
    index: RwLock<Index>,
    cuts: Mutex<Vec<Cut>>,
    pub(super) counters: Counters,
    /// The time in the name of the newest batch that this handle left in the spool.
    pub(super) left: Mutex<u64>,
    /// Who can judge what is left in the spool with conditions.
    pub(super) takers: Mutex<Vec<Weak<dyn Taker>>>,
    closed: AtomicBool,
    pub(super) pid: u32,
}

impl Shelf {
    /// Reads a directory; only who holds the lock may ask to repair it.
    ///
    /// # Errors
    ///
    /// As [`load`]; [`Error::Argument`] for another master key.
    pub(super) fn new(
        medium: Arc<dyn Medium>,
        options: Options,
        repair: Repair,
        counters: Counters,
    ) -> Result<Self> {
        let keyring = Keyring::new(Arc::clone(&medium), options.encryption);
        keyring.check()?;
        let loaded = load(&*medium, &options, repair, random())?;
        let shelf = Self {
            medium,
            options,
            uuid: loaded.uuid,
            keyring,
            index: RwLock::default(),
            cuts: Mutex::default(),
            counters,
            left: Mutex::default(),
            takers: Mutex::default(),
            closed: AtomicBool::new(false),
            pid: std::process::id(),
        };
        shelf.replace(loaded, repair)?;
        Ok(shelf)
    }

    /// Reads the directory anew and mends it. Only who holds the lock may.
    ///
    /// # Errors
    ///
    /// As [`load`].
    pub(super) fn repair(&self) -> Result<()> {
        let loaded = load(&*self.medium, &self.options, Repair::Allowed, self.uuid)?;
        if loaded.uuid != self.uuid {
            return Err(Error::ForeignSegment {
                path: self.medium.path(""),
            });
        }
        self.keyring.forget();
        self.replace(loaded, Repair::Allowed)?;
        self.counters.repair();
        Ok(())
    }

    /// Remembers damage that was come upon.
    pub(super) fn note(&self, damage: Damage) {
        self.write().note(damage);
        self.counters.damage();
    }

    fn replace(&self, loaded: Loaded, repair: Repair) -> Result<()> {
        let Loaded {
            mut index, cuts, ..
        } = loaded;
        if repair == Repair::Allowed && !index.segments.is_empty() {
            self.settle_mark(&mut index)?;
        }
        let mut known = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(cuts);
        let mut slot = self.write();
        index.succeed(&slot);
        *slot = index;
        Ok(())
    }

    /// Gives a store its mark, or says in it what opening found.
    pub(super) fn settle_mark(&self, index: &mut Index) -> Result<()> {
        let trouble = |error| refused("write", &self.medium.path(MARK), error);
        index.mark.count = index.mark.count.saturating_add(1);
        if let Some(file) = &index.file {
            // Both slots: a broken one would hide the other one day.
            file.write(&index.mark).map_err(trouble)?;
            index.mark.count = index.mark.count.saturating_add(1);
            file.write(&index.mark).map_err(trouble)?;
        } else {
            let mapped = self.options.read == Read::Map;
            let file = MarkFile::create(&*self.medium, self.uuid, &index.mark, mapped);
            index.file = Some(file.map_err(trouble)?);
        }
        Ok(())
    }

    /// The index as the store is now, other handles' records included. Every read begins here.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`]; [`Error::Closed`]; as [`follow`].
    pub(super) fn fresh(&self) -> Result<RwLockReadGuard<'_, Index>> {
        // Before any lock: a thread of the parent may have held it when the process forked.
        if self.is_forked() {
            return Err(Error::Forked);
        }
        let index = self.known()?;
        if self.options.mode == Mode::Exclusive || self.is_current(&index)? {
            return Ok(index);
        }
        drop(index);
        self.catch_up()?;
        self.known()
    }

    /// Takes up what other handles acknowledged.
    ///
    /// # Errors
    ///
    /// As [`follow`].
    pub(super) fn catch_up(&self) -> Result<()> {
        let mut index = self.write();
        if self.is_current(&index)? {
            return Ok(());
        }
        follow(self, &mut index)
    }

    /// The index as this handle knows it.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`].
    pub(super) fn known(&self) -> Result<RwLockReadGuard<'_, Index>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        // In this order: closing sets the flag before it empties the index.
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        Ok(index)
    }

    /// The index to change.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index for a report, of a closed store too.
    pub(super) fn peek(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_current(&self, index: &Index) -> Result<bool> {
        index
            .is_current()
            .map_err(|error| refused("read", &self.medium.path(MARK), error))
    }

    /// A log of this store, if there is one.
    pub(super) fn taker(&self) -> Option<Arc<dyn Taker>> {
        let takers = self.takers.lock().unwrap_or_else(PoisonError::into_inner);
        takers.iter().find_map(Weak::upgrade)
    }

    pub(super) fn cuts(&self) -> Vec<Cut> {
        let cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        cuts.clone()
    }

    /// What packets are made with.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`].
    pub(super) fn press(&self, for_spool: bool) -> Result<Press<'_>> {
        let index = self.known()?;
        Ok(Press {
            keyring: &self.keyring,
            limit: self.options.max_record,
            last: index.last(),
            erasures: Arc::clone(&index.erasures),
            for_spool,
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Sets the handle down: no file stays open, and only what a report needs stays in memory.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if self.is_forked() {
            // The locks may have been held when the process forked.
            return;
        }
        let mut index = self.write();
        index.segments = Vec::new();
        index.erasures = Arc::default();
        index.removals = Arc::default();
        index.file = None;
        drop(index);
        self.keyring.forget();
        self.medium.release();
    }

    /// Whether another process than the one that opened it asks.
    pub(super) fn is_forked(&self) -> bool {
        std::process::id() != self.pid
    }
}
