//! What the threads of one handle share: the store, the directory, and what is judged and not published.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cold::defect::{Defect, on};
use crate::cold::{Stats, Store, keyed_hash};
use crate::entry::Seq;
use crate::error::{Error, Result};

use super::dead::Pass;
use super::directory::Directory;
use super::draft::Draft;
use super::event::Event;
use super::order;

/// The log's state behind a handle.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    directory: RwLock<Directory>,
    /// Only whoever holds the writer's lock uses it.
    pending: Mutex<Draft>,
    /// The pass over the segments that is under way, if one is.
    pass: Mutex<Option<Pass>>,
    /// What the hashes of callers' own ids begin with, so that nobody can foresee two that agree.
    seed: u64,
}

impl Shared {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            directory: RwLock::default(),
            pending: Mutex::default(),
            pass: Mutex::default(),
            seed: RandomState::new().hash_one(0),
        }
    }

    /// The hash of a caller's own id, for this handle alone.
    pub(super) fn name(&self, uid: &[u8]) -> u128 {
        keyed_hash(uid, self.seed)
    }

    /// The directory as the store is now, other handles' records included.
    ///
    /// # Errors
    ///
    /// As reading the store.
    pub(super) fn current(&self) -> Result<RwLockReadGuard<'_, Directory>> {
        self.follow(true)
    }

    /// The directory as of the last record, for whoever holds the writer's lock.
    ///
    /// # Errors
    ///
    /// As reading the store.
    pub(super) fn followed(&self) -> Result<RwLockReadGuard<'_, Directory>> {
        if on(Defect::StaleConditions) {
            return Ok(self.read());
        }
        self.follow(false)
    }

    fn follow(&self, fresh: bool) -> Result<RwLockReadGuard<'_, Directory>> {
        // Before any lock: a thread of the parent may have held it when the process forked.
        if self.store.is_forked() {
            return Err(Error::Forked);
        }
        {
            let known = self.read();
            if self
                .store
                .is_followed(known.seen, known.followed(), fresh)?
            {
                return Ok(known);
            }
        }
        let mut directory = self.change();
        loop {
            let from = Seq(directory.seen.0.saturating_add(1));
            let (outlines, next, gone) = self.store.outlines(from, fresh)?;
            if directory.followed().is_before(&gone) {
                // What was read once is no longer there, or what came since is not: it is read anew from
                // the beginning.
                *directory = Directory::anew(&gone);
                continue;
            }
            for outline in &outlines {
                if let Some(event) = Event::of(outline, |uid| self.name(uid)) {
                    directory.apply(event);
                }
                if outline.is_taken {
                    directory.lose(outline.seq, &order::encode(&outline.key));
                }
            }
            directory.without(&gone);
            directory.seen = directory.seen.max(Seq(next.0.saturating_sub(1)));
            if next == from {
                break;
            }
        }
        drop(directory);
        Ok(self.read())
    }

    /// Forgets the directory: the next look reads all records.
    pub(super) fn begin_anew(&self) {
        let mut directory = self.change();
        *directory = Directory::default();
    }

    /// Takes up what this handle has written, up to the id `last`.
    pub(super) fn publish(&self, events: Vec<Event>, last: Seq) {
        let mut directory = self.change();
        for event in events {
            directory.apply(event);
        }
        directory.seen = directory.seen.max(last);
    }

    /// Forgets what this handle erased; see [`Directory::erase`].
    pub(super) fn erased(
        &self,
        records: &BTreeMap<Vec<u8>, BTreeSet<u64>>,
        prefix: Option<&[u8]>,
        versions: (u64, u64),
    ) {
        let mut directory = self.change();
        directory.erase(records, prefix, versions);
    }

    /// The pass under way, for the one thread that goes on with it.
    pub(super) fn pass(&self) -> Option<MutexGuard<'_, Option<Pass>>> {
        self.pass.try_lock().ok()
    }

    /// Whether more than half of the bytes are dead, and more than a segment holds.
    pub(super) fn is_crowded(&self) -> bool {
        let dead = self.read().dead;
        let crowded = |stats: Stats| dead > stats.bytes / 2;
        dead > self.store.segment_bytes() && self.store.stats().is_ok_and(crowded)
    }

    /// Forgets that these keys may expire.
    pub(super) fn swept(&self, keys: &[(i64, Vec<u8>)]) {
        self.change().swept(keys);
    }

    /// Counts dead bytes anew: a pass took what there was.
    pub(super) fn recount(&self) {
        self.change().dead = 0;
    }

    /// Forgets superseded records of cells that lie in the store no more.
    pub(super) fn forget_older(&self, gone: &[(Vec<u8>, Seq)]) {
        let mut directory = self.change();
        for (key, seq) in gone {
            directory.cells.forget_older(key, *seq);
        }
    }

    fn change(&self) -> RwLockWriteGuard<'_, Directory> {
        self.directory
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Draft> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of a condition that nobody can judge.
    pub(super) fn uncertain(&self, lost: Seq) -> Error {
        let detail = "it may have changed what a condition is about";
        self.store.damage_of(lost, detail)
    }

    fn read(&self) -> RwLockReadGuard<'_, Directory> {
        self.directory
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
