//! What the threads of one handle share: the store, the directory, and what is judged and not published.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::cold::{Store, keyed_hash};
use crate::entry::Seq;
use crate::error::{Error, Result};

use super::directory::Directory;
use super::draft::Draft;
use super::event::Event;

/// The log's state behind a handle.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    directory: RwLock<Directory>,
    /// Only whoever holds the writer's lock uses it.
    pending: Mutex<Draft>,
    /// What the hashes of callers' own ids begin with, so that nobody can foresee two that agree.
    seed: u64,
}

impl Shared {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            directory: RwLock::default(),
            pending: Mutex::default(),
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
        self.follow(false)
    }

    fn follow(&self, fresh: bool) -> Result<RwLockReadGuard<'_, Directory>> {
        // Before any lock: a thread of the parent may have held it when the process forked.
        if self.store.is_forked() {
            return Err(Error::Forked);
        }
        {
            let known = self.read();
            let (erased, rewound) = known.followed();
            if self.store.is_followed(known.seen, erased, rewound, fresh)? {
                return Ok(known);
            }
        }
        let mut directory = self
            .directory
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            let from = Seq(directory.seen.0.saturating_add(1));
            let (outlines, next, gone) = self.store.outlines(from, fresh)?;
            if directory.followed().1 != gone.rewound {
                // What was read once is no longer there: it is read anew from the beginning.
                *directory = Directory::rewound(gone.rewound);
                continue;
            }
            for outline in &outlines {
                if let Some(event) = Event::of(outline, |uid| self.name(uid)) {
                    directory.apply(event);
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
        let directory = self.directory.write();
        let mut directory = directory.unwrap_or_else(PoisonError::into_inner);
        let (_, rewound) = directory.followed();
        *directory = Directory::rewound(rewound);
    }

    /// Takes up what this handle has written, up to the id `last`.
    pub(super) fn publish(&self, events: Vec<Event>, last: Seq) {
        let mut directory = self
            .directory
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for event in events {
            directory.apply(event);
        }
        directory.seen = directory.seen.max(last);
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
