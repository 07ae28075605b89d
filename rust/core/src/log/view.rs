//! Several reads of one moment: between them nothing changes.

use crate::cold::Record;
use crate::entry::Seq;
use crate::error::{Error, Result};

use super::batch::Key;
use super::directory::Directory;
use super::handle::{Cell, Entry, Log, entry, newest};
use super::order;
use super::records::check;

/// One read of a view.
#[derive(Clone, Copy, Debug)]
pub enum Read<'a> {
    /// The newest version of a cell.
    Get(Key<'a>),
    /// The last entry on the path of a list.
    Tail(Key<'a>),
    /// Entries on the path of a list; see [`Log::entries`].
    Entries {
        /// The list's key.
        list: Key<'a>,
        /// The last entry of the page before.
        beyond: Option<Seq>,
        /// The most entries.
        limit: usize,
        /// Whether the newest one comes first.
        reverse: bool,
    },
}

/// What a read found.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The version; `None` where there is none.
    Cell(Option<Box<Cell>>),
    /// The id; 0 where the list is empty.
    Tail(Seq),
    /// The entries.
    Entries(Vec<Entry>),
}

/// How often a view is begun anew because a compaction took what it was about to read.
const TRIES: usize = 64;

impl Log {
    /// Answers several reads as of one moment: no batch of anybody comes between them. What has expired by
    /// `now` is left out.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`entries`](Self::entries).
    pub fn view(&self, reads: &[Read<'_>], now: i64) -> Result<Vec<Seen>> {
        for read in reads {
            let (Read::Get(key) | Read::Tail(key) | Read::Entries { list: key, .. }) = read;
            check(key)?;
        }
        let mut tries = 0;
        loop {
            let all: Result<Vec<Seen>> = {
                // Held to the end, so that nothing is taken up in between.
                let directory = self.directory()?;
                let all = reads.iter().map(|read| self.see(&directory, read, now));
                all.collect()
            };
            match all {
                // It was superseded or removed since, and went; or an older copy of the store was put back.
                Err(Error::NotFound { .. } | Error::Erased { .. }) if tries < TRIES => {
                    tries += 1;
                    if tries > 1 {
                        self.shared().begin_anew();
                    }
                }
                all => return all,
            }
        }
    }

    fn see(&self, directory: &Directory, read: &Read<'_>, now: i64) -> Result<Seen> {
        let record = |seq: Seq, key: &[u8]| -> Result<Record> {
            let record = self.store().get(seq)?;
            if order::encode(&record.key) == key {
                Ok(record)
            } else {
                Err(Error::NotFound { seq })
            }
        };
        Ok(match read {
            Read::Get(key) => {
                let key = order::encode(key);
                let known = newest(directory, &key)?.filter(|cell| cell.is_live(now));
                let cell = known.map(|known| {
                    let record = record(known.version, &key)?;
                    self.cell(&key, known.clone(), record).map(Box::new)
                });
                Seen::Cell(cell.transpose()?)
            }
            Read::Tail(list) => Seen::Tail(directory.tail(&order::encode(list))),
            Read::Entries {
                list,
                beyond,
                limit,
                reverse,
            } => {
                let key = order::encode(list);
                let page = directory.page(&key, *beyond, *limit, *reverse, now);
                let entries = page.into_iter().map(|(node, parent)| {
                    let record = record(node.seq, &key)?;
                    Ok(entry(node, parent, record))
                });
                Seen::Entries(entries.collect::<Result<_>>()?)
            }
        })
    }
}
