//! A dictionary that does what the log should do, and says what each row should come to.

use std::collections::{BTreeMap, BTreeSet};

use warmset_core::Seq;

pub(crate) type Key = Vec<Vec<u8>>;

/// How a name that is taken is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Replace,
    Skip,
    Fail,
}

/// One change, owned.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put {
        key: Key,
        payload: Vec<u8>,
        expires: Option<i64>,
        column: i64,
        /// Versions of cells that it is made from; nothing is made from it.
        sources: Vec<Seq>,
        taken: Taken,
    },
    Add {
        list: Key,
        uid: Option<Vec<u8>>,
        payload: Vec<u8>,
        expires: Option<i64>,
        taken: Taken,
    },
    Patch {
        key: Key,
        column: i64,
        expires: Option<i64>,
    },
    Cut {
        list: Key,
        after: Seq,
    },
    Remove(Key),
    RemoveBelow(Key),
    RemoveEntries {
        list: Key,
        entries: Vec<Seq>,
    },
}

/// What a row should come to. Ids are not known before; `New(n)` is that of the n-th row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Known(Seq),
    New(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Written,
    Present(Id),
    Nothing,
    /// Written or nothing: there may be something that no path shows.
    Either,
}

/// Why a batch should be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Conflict(Option<usize>, &'static str),
    NotFound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) version: Id,
    pub(crate) born: Id,
    pub(crate) at: i64,
    pub(crate) payload: Vec<u8>,
    pub(crate) expires: Option<i64>,
    pub(crate) column: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: Id,
    pub(crate) uid: Option<Vec<u8>>,
    pub(crate) payload: Vec<u8>,
    pub(crate) expires: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) cells: BTreeMap<Key, Cell>,
    pub(crate) lists: BTreeMap<Key, Vec<Entry>>,
    /// Cells and those that are made from them.
    made: BTreeSet<(Key, Key)>,
}

fn live(expires: Option<i64>, now: i64) -> bool {
    expires.is_none_or(|expires| now < expires)
}

impl World {
    pub(crate) fn version(&self, key: &Key, now: i64) -> Option<Id> {
        let cell = self.cells.get(key).filter(|cell| live(cell.expires, now));
        cell.map(|cell| cell.version)
    }

    /// Takes a cell away, with what was made from it.
    pub(crate) fn remove_cell(&mut self, key: &Key) -> bool {
        let pairs = self.made.iter().filter(|(source, _)| source == key);
        for (_, made) in pairs {
            self.cells.remove(made);
        }
        self.made
            .retain(|(source, made)| source != key && made != key);
        self.cells.remove(key).is_some()
    }

    /// Takes away all below a prefix.
    pub(crate) fn remove_below(&mut self, prefix: &Key) {
        let below = self.cells.keys().filter(|key| key.starts_with(prefix));
        for key in below.cloned().collect::<Vec<Key>>() {
            self.remove_cell(&key);
        }
        self.lists.retain(|key, _| !key.starts_with(prefix));
    }

    /// Takes entries of a list away; gives how many.
    fn remove_entries(&mut self, list: &Key, seqs: &[Seq]) -> usize {
        let named = |entry: &Entry| seqs.iter().any(|seq| entry.seq == Id::Known(*seq));
        let all = self.lists.get_mut(list).into_iter();
        all.map(|all| all.extract_if(.., |entry| named(entry)).count())
            .sum()
    }

    /// Takes away what has expired.
    pub(crate) fn sweep(&mut self, now: i64) {
        self.cells.retain(|_, cell| live(cell.expires, now));
        for entries in self.lists.values_mut() {
            entries.retain(|entry| live(entry.expires, now));
        }
    }

    pub(crate) fn tail(&self, list: &Key) -> Option<Id> {
        self.lists.get(list)?.last().map(|entry| entry.seq)
    }

    /// Applies a batch, or says why not; the world is as before then.
    pub(crate) fn apply(&mut self, rows: &[Change], now: i64) -> Result<Vec<Came>, Refused> {
        let mut next = self.clone();
        let came: Result<Vec<Came>, Refused> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| next.row(at, row, now))
            .collect();
        if came.is_ok() {
            *self = next;
        }
        came
    }

    fn row(&mut self, at: usize, row: &Change, now: i64) -> Result<Came, Refused> {
        let new = Id::New(at);
        match row {
            Change::Put {
                key,
                payload,
                expires,
                column,
                sources,
                taken,
            } => {
                let there = self.version(key, now);
                match (there, taken) {
                    (Some(there), Taken::Skip) => return Ok(Came::Present(there)),
                    (Some(_), Taken::Fail) => return Err(Refused::Conflict(Some(at), "present")),
                    _ => {}
                }
                let born = there.map_or(new, |_| self.cells[key].born);
                let cell = Cell {
                    version: new,
                    born,
                    at: now,
                    payload: payload.clone(),
                    expires: *expires,
                    column: *column,
                };
                let is_source =
                    |cell: &Cell| sources.iter().any(|seq| cell.version == Id::Known(*seq));
                let from = self.cells.iter().filter(|(_, cell)| is_source(cell));
                let from: Vec<Key> = from.map(|(source, _)| source.clone()).collect();
                self.made.retain(|(_, made)| made != key);
                self.made
                    .extend(from.into_iter().map(|source| (source, key.clone())));
                self.cells.insert(key.clone(), cell);
            }
            Change::Add {
                list,
                uid,
                payload,
                expires,
                taken,
            } => {
                let entries = self.lists.entry(list.clone()).or_default();
                let there = entries.iter().rposition(|e| uid.is_some() && e.uid == *uid);
                match (there, taken) {
                    (Some(place), Taken::Skip) => return Ok(Came::Present(entries[place].seq)),
                    (Some(_), Taken::Fail) => return Err(Refused::Conflict(Some(at), "present")),
                    (Some(place), Taken::Replace) => drop(entries.remove(place)),
                    (None, _) => {}
                }
                entries.push(Entry {
                    seq: new,
                    uid: uid.clone(),
                    payload: payload.clone(),
                    expires: *expires,
                });
            }
            Change::Patch {
                key,
                column,
                expires,
            } => {
                if self.version(key, now).is_none() {
                    return Err(Refused::NotFound);
                }
                let cell = self.cells.get_mut(key).unwrap();
                (cell.column, cell.expires) = (*column, *expires);
            }
            Change::Cut { list, after } => {
                let entries = self.lists.entry(list.clone()).or_default();
                let keep = match entries.iter().position(|e| e.seq == Id::Known(*after)) {
                    Some(place) => place + 1,
                    None if *after == Seq(0) => 0,
                    None => return Err(Refused::Conflict(Some(at), "tail")),
                };
                if keep == entries.len() {
                    return Ok(Came::Nothing);
                }
                entries.truncate(keep);
            }
            Change::Remove(key) => {
                if !self.remove_cell(key) {
                    return Ok(Came::Nothing);
                }
            }
            Change::RemoveBelow(prefix) => {
                let cells = self.cells.keys().any(|key| key.starts_with(prefix));
                let mut lists = self.lists.iter().filter(|(key, _)| key.starts_with(prefix));
                let shown = cells || lists.any(|(_, entries)| !entries.is_empty());
                self.remove_below(prefix);
                if !shown {
                    return Ok(Came::Either);
                }
            }
            Change::RemoveEntries { list, entries } => {
                if self.remove_entries(list, entries) == 0 {
                    return Ok(Came::Either);
                }
            }
        }
        Ok(Came::Written)
    }

    /// Puts the ids in that the rows got.
    pub(crate) fn name(&mut self, ids: &[Option<Seq>]) {
        let named = |id: &mut Id| {
            if let Id::New(row) = *id {
                *id = Id::Known(ids[row].unwrap());
            }
        };
        for cell in self.cells.values_mut() {
            named(&mut cell.version);
            named(&mut cell.born);
        }
        for entry in self.lists.values_mut().flatten() {
            named(&mut entry.seq);
        }
    }
}
