//! The log of a store, as one handle for all threads.

use std::sync::{Arc, RwLockReadGuard, Weak};

use crate::cold::{Born, Judge, MAX_DEPTH, Record, Store};
use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::attributes::Attributes;
use super::batch::{Batch, Expect, Key, Outcome};
use super::directory::Directory;
use super::directory::cells;
use super::directory::lists::Node;
use super::judge::Pending;
use super::once::Once;
use super::order;
use super::records::{Records, check};
use super::shared::Shared;
use super::spooled;
use super::turns;
use super::value::Columns;
use super::view::{Read, Seen};

/// How often entries are read without keeping writers out, before they are read with it.
const FREE_READS: usize = 3;

/// Cells and lists in a store.
#[derive(Clone, Debug)]
pub struct Log {
    shared: Arc<Shared>,
}

/// The newest version of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its key.
    pub key: Vec<Vec<u8>>,
    /// The id of this version.
    pub version: Seq,
    /// When it was put, in microseconds since 1970 UTC.
    pub at: i64,
    /// The first version of the cell.
    pub born: Born,
    /// From when on it counts as absent, in microseconds since 1970 UTC.
    pub expires: Option<i64>,
    /// Named values to filter by.
    pub columns: Columns,
    /// The caller's name of the payload's encoding.
    pub codec: Option<String>,
    /// Bytes that the caller keeps beside the payload.
    pub own: Vec<u8>,
    /// The bytes as they were put.
    pub payload: Vec<u8>,
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its id, by which the entries of a list are in order.
    pub seq: Seq,
    /// The entry before it on its path; id 0 for none.
    pub parent: Seq,
    /// Of a turn of a conversation: what lies beside its message, a JSON object.
    pub turn: Option<Vec<u8>>,
    /// The caller's own id.
    pub uid: Option<Vec<u8>>,
    /// When it was added, in microseconds since 1970 UTC.
    pub at: i64,
    /// From when on it is not shown, in microseconds since 1970 UTC.
    pub expires: Option<i64>,
    /// Named values to filter by.
    pub columns: Columns,
    /// The caller's name of the payload's encoding.
    pub codec: Option<String>,
    /// Bytes that the caller keeps beside the payload.
    pub own: Vec<u8>,
    /// The bytes as they were added.
    pub payload: Vec<u8>,
}

impl Log {
    /// The log of a store. Several may be had of one store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let shared = Arc::new(Shared::new(store));
        let taker: Weak<Shared> = Arc::downgrade(&shared);
        shared.store.take_up_with(taker);
        Self { shared }
    }

    /// The store that the log lies in.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// Writes a batch, all of it or nothing, and says what became of each row.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] for a condition that does not hold, [`Error::NotFound`] for a patch of what is
    /// not there, [`Error::Corrupt`] for a condition that a damaged record leaves open; [`Error::Argument`]
    /// for what is over a limit; as [`Store::append`].
    pub fn write(&self, batch: &Batch<'_>) -> Result<Vec<Outcome>> {
        for expect in batch.expect {
            let (Expect::Version(key, _)
            | Expect::Tail(key, _)
            | Expect::Entry(key, _)
            | Expect::Nothing(key)) = expect;
            check(key)?;
        }
        if batch.depth > MAX_DEPTH {
            return Err(Error::Argument {
                name: "depth",
                expected: format!("at most {MAX_DEPTH} parts"),
                found: batch.depth.to_string(),
            });
        }
        let conditions = batch
            .spools
            .then(|| spooled::conditions(batch))
            .transpose()?;
        let once = Once::of(batch)?;
        let parts = once.iter().flat_map(|once| &once.key).map(Vec::as_slice);
        let parts: Vec<&[u8]> = parts.collect();
        let remembered = once.as_ref().map(|once| (once, parts.as_slice()));
        let records = Records::of(batch, remembered, |uid| self.shared.name(uid))?;
        let rows: Vec<_> = records
            .made
            .iter()
            .map(|made| made.row(batch.depth))
            .collect();
        let shared = Arc::clone(&self.shared);
        let pending = Arc::new(Pending::new(shared, records.steps, batch, once.clone()));
        let judge: Arc<dyn Judge> = pending.clone();
        let store = &self.shared.store;
        match store.append_judged(&rows, batch.ack, &judge) {
            Err(Error::Locked { path, owner }) => match conditions {
                Some(said) if store.leave_judged(&rows, &said)? => {
                    Ok(vec![Outcome::Spooled; batch.rows.len()])
                }
                _ => Err(Error::Locked { path, owner }),
            },
            Err(other) => Err(other),
            Ok(_) => {
                self.tidy();
                Ok(pending.outcomes())
            }
        }
    }

    /// The newest version of a cell; `None` if there is none, or it has expired by `now`.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if it is damaged; [`Error::Uncertain`] if a damaged record may have changed it;
    /// as reading the store.
    pub fn get(&self, key: Key<'_>, now: i64) -> Result<Option<Cell>> {
        check(key)?;
        let encoded = order::encode(key);
        loop {
            let known = newest(&*self.shared.current()?, &encoded)?.cloned();
            let Some(known) = known.filter(|cell| cell.is_live(now)) else {
                return Ok(None);
            };
            match self.shared.store.get(known.version) {
                Ok(record) if order::encode(&record.key) == encoded => {
                    return self.cell(&encoded, known, record).map(Some);
                }
                // An older copy of the store was put back, and another record got that id since.
                Ok(_) => self.shared.begin_anew(),
                // A compaction took a version that was superseded meanwhile.
                Err(Error::NotFound { .. } | Error::Erased { .. })
                    if !self.is_newest(&encoded, known.version)? => {}
                Err(other) => return Err(other),
            }
        }
    }

    /// The id of the newest version of a cell, if there is one that has not expired by `now`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), without a look at the payload.
    pub fn version(&self, key: Key<'_>, now: i64) -> Result<Option<Seq>> {
        check(key)?;
        let directory = self.shared.current()?;
        let known = newest(&directory, &order::encode(key))?;
        Ok(known
            .filter(|cell| cell.is_live(now))
            .map(|cell| cell.version))
    }

    /// The last entry on the path of a list; id 0 for none.
    ///
    /// # Errors
    ///
    /// As reading the store.
    pub fn tail(&self, list: Key<'_>) -> Result<Seq> {
        check(list)?;
        Ok(self.shared.current()?.tail(&order::encode(list)))
    }

    /// The entries on the path of a list in order, or against it, beyond an id if one is given, at most
    /// `limit`, as of one moment; those that have expired by `now` are left out.
    ///
    /// # Errors
    ///
    /// As reading the store.
    pub fn entries(
        &self,
        list: Key<'_>,
        beyond: Option<Seq>,
        limit: usize,
        reverse: bool,
        now: i64,
    ) -> Result<Vec<Entry>> {
        check(list)?;
        let encoded = order::encode(list);
        for _ in 0..FREE_READS {
            let page = self
                .shared
                .current()?
                .page(&encoded, beyond, limit, reverse, now);
            if let Some(found) = self.entries_of(&encoded, page)? {
                return Ok(found);
            }
        }
        let read = Read::Entries {
            list,
            beyond,
            limit,
            reverse,
        };
        let seen = self.view(&[read], now)?;
        let entries = seen.into_iter().filter_map(|seen| match seen {
            Seen::Entries(found) => Some(found),
            Seen::Cell(_) | Seen::Tail(_) => None,
        });
        Ok(entries.flatten().collect())
    }

    /// The entries of a page; `None` if one of them went since the page was looked up.
    fn entries_of(&self, key: &[u8], page: Vec<(Node, Seq)>) -> Result<Option<Vec<Entry>>> {
        let mut out = Vec::with_capacity(page.len());
        for (node, parent) in page {
            match self.shared.store.get(node.seq) {
                Ok(record) if order::encode(&record.key) == key => {
                    out.push(entry(node, parent, record));
                }
                // An older copy of the store was put back, and another record got that id since.
                Ok(_) => {
                    self.shared.begin_anew();
                    return Ok(None);
                }
                Err(Error::NotFound { .. } | Error::Erased { .. }) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        Ok(Some(out))
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The directory as the store is now.
    pub(super) fn directory(&self) -> Result<RwLockReadGuard<'_, Directory>> {
        self.shared.current()
    }

    fn is_newest(&self, key: &[u8], version: Seq) -> Result<bool> {
        let directory = self.shared.current()?;
        Ok(directory
            .cells
            .get(key)
            .is_some_and(|cell| cell.version == version))
    }

    pub(super) fn cell(&self, key: &[u8], known: cells::Cell, record: Record) -> Result<Cell> {
        let said = Attributes::decode(&record.meta);
        let said = said.ok_or_else(|| {
            self.shared
                .store
                .damage_of(known.version, "its meta is malformed")
        })?;
        Ok(Cell {
            key: order::decode(key),
            version: known.version,
            at: known.at,
            born: known.born,
            expires: known.expires,
            columns: known.columns,
            codec: said.codec,
            own: said.own,
            payload: record.payload,
        })
    }
}

/// The newest version of a cell that is known.
///
/// # Errors
///
/// [`Error::Uncertain`] if a damaged record may have changed it.
pub(super) fn newest<'a>(directory: &'a Directory, key: &[u8]) -> Result<Option<&'a cells::Cell>> {
    let known = directory.cells.get(key);
    let version = known.map(|cell| cell.version).unwrap_or_default();
    match directory.doubt(key) {
        Some(seq) => Err(Error::Uncertain { seq, version }),
        None => Ok(known),
    }
}

/// An entry of a list, from what is known of it and its record.
pub(super) fn entry(node: Node, parent: Seq, record: Record) -> Entry {
    let is_turn = record.kind == Kind::Turn;
    let said = if is_turn {
        turns::turn(&record.meta).0
    } else {
        Attributes::decode(&record.meta).unwrap_or_default()
    };
    Entry {
        seq: node.seq,
        parent,
        turn: is_turn.then_some(record.meta),
        uid: said.uid,
        at: node.at,
        expires: node.expires,
        columns: node.columns.map_or(said.columns, |columns| *columns),
        codec: said.codec,
        own: said.own,
        payload: record.payload,
    }
}
