//! Copying all below a prefix to another one, in one batch.

use crate::cold::Ack;
use crate::error::{Error, Result};

use super::batch::{Batch, Expect, Item, Key, Row};
use super::handle::{Cell, Entry, Log};
use super::order;
use super::records::check;
use super::view::{Read, Seen};

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Cells.
    pub cells: usize,
    /// Entries of lists.
    pub entries: usize,
}

/// How often a copy is begun anew because something changed meanwhile.
const TRIES: usize = 16;

impl Log {
    /// Copies the cells and the paths of the lists below a prefix to another one, below which nothing may be:
    /// all of it or nothing, as of one moment. Copies have ids and births of their own, keep columns, expiry
    /// and their own ids, and are made from nothing. What has expired by `now`, and entries on other paths,
    /// stay behind. All payloads lie in memory meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if something is below `to`, or if below `from` something changed each time that it was
    /// tried; [`Error::Argument`] for a prefix over a limit or within the other one; as reading and writing.
    pub fn copy(
        &self,
        from: Key<'_>,
        to: Key<'_>,
        depth: u8,
        now: i64,
        ack: Ack,
    ) -> Result<Copied> {
        check(from)?;
        check(to)?;
        let overlap = from.iter().zip(to).all(|(one, other)| one == other);
        if overlap {
            return Err(Error::Argument {
                name: "to",
                expected: "a prefix that is not within the other one, nor around it".into(),
                found: "one that is".into(),
            });
        }
        let mut tries = 0;
        loop {
            match self.copied(from, to, depth, now, ack) {
                Err(Error::Conflict { row: None, .. } | Error::NotFound { .. })
                    if tries < TRIES =>
                {
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    fn copied(&self, from: Key<'_>, to: Key<'_>, depth: u8, now: i64, ack: Ack) -> Result<Copied> {
        let (cells, lists) = self.below(from, now)?;
        let moved = |key: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let rest = key.get(from.len()..).unwrap_or_default();
            let to = to.iter().map(|part| part.to_vec());
            to.chain(rest.iter().cloned()).collect()
        };
        let keys = cells
            .iter()
            .map(|cell| &cell.key)
            .chain(lists.iter().map(|list| &list.key));
        let moved: Vec<Vec<Vec<u8>>> = keys.clone().map(|key| moved(key)).collect();
        let keys: Vec<Vec<&[u8]>> = keys.map(|key| parts(key)).collect();
        let moved: Vec<Vec<&[u8]>> = moved.iter().map(|key| parts(key)).collect();
        let (mut rows, mut expect) = (Vec::new(), vec![Expect::Nothing(to)]);
        let (of_cells, of_lists) = keys.split_at(cells.len());
        let (to_cells, to_lists) = moved.split_at(cells.len());
        for ((cell, key), to) in cells.iter().zip(of_cells).zip(to_cells) {
            expect.push(Expect::Version(key, cell.version));
            rows.push(Row::Put(Item {
                codec: cell.codec.as_deref(),
                expires: cell.expires,
                columns: Some(&cell.columns),
                own: &cell.own,
                ..Item::new(to, &cell.payload)
            }));
        }
        for ((list, key), to) in lists.iter().zip(of_lists).zip(to_lists) {
            for entry in &list.entries {
                expect.push(Expect::Entry(key, entry.seq));
                rows.push(Row::Add(item(entry, to)));
            }
        }
        let (entries, cells) = (rows.len() - cells.len(), cells.len());
        if !rows.is_empty() {
            self.write(&Batch {
                expect: &expect,
                now,
                depth,
                ack,
                ..Batch::new(&rows)
            })?;
        }
        Ok(Copied { cells, entries })
    }

    /// The cells and the paths of lists below a prefix, as of one moment.
    fn below(&self, prefix: Key<'_>, now: i64) -> Result<(Vec<Cell>, Vec<List>)> {
        let prefix = order::encode(prefix);
        let (cells, lists): (Vec<_>, Vec<_>) = {
            let directory = self.directory()?;
            let cells = directory.cells.below(&prefix, None, false);
            let cells = cells.filter(|(_, cell)| cell.is_live(now) && !cell.is_own);
            let cells = cells.map(|(key, _)| order::decode(key)).collect();
            let lists = directory.lists.below(&prefix);
            (cells, lists.map(|(key, _)| order::decode(key)).collect())
        };
        let of_cells: Vec<Vec<&[u8]>> = cells.iter().map(|key: &Vec<Vec<u8>>| parts(key)).collect();
        let of_lists: Vec<Vec<&[u8]>> = lists.iter().map(|key: &Vec<Vec<u8>>| parts(key)).collect();
        let gets = of_cells.iter().map(|key| Read::Get(key));
        let pages = of_lists.iter().map(|list| Read::Entries {
            list,
            beyond: None,
            limit: usize::MAX,
            reverse: false,
        });
        let reads: Vec<Read<'_>> = gets.chain(pages).collect();
        let (mut cells, mut found) = (Vec::new(), Vec::new());
        let mut keys = lists.iter();
        for seen in self.view(&reads, now)? {
            match seen {
                Seen::Cell(cell) => cells.extend(cell.map(|cell| *cell)),
                Seen::Entries(entries) => found.extend(keys.next().map(|key| List {
                    key: key.clone(),
                    entries,
                })),
                Seen::Tail(_) => {}
            }
        }
        Ok((cells, found))
    }
}

/// A list that is copied.
struct List {
    key: Vec<Vec<u8>>,
    entries: Vec<Entry>,
}

/// The copy of an entry.
fn item<'a>(entry: &'a Entry, list: Key<'a>) -> Item<'a> {
    let bare = Item {
        turn: entry.turn.as_deref(),
        ..Item::new(list, &entry.payload)
    };
    if bare.turn.is_some() {
        // What lies beside a message says the rest.
        return bare;
    }
    Item {
        uid: entry.uid.as_deref(),
        codec: entry.codec.as_deref(),
        expires: entry.expires,
        columns: Some(&entry.columns),
        own: &entry.own,
        ..bare
    }
}

fn parts(key: &[Vec<u8>]) -> Vec<&[u8]> {
    key.iter().map(Vec::as_slice).collect()
}
