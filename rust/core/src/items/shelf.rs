//! The items of one tenant, as the log has them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::Seq;
use crate::error::Result;
use crate::hot::{Labels, Precision, Retriever, terms};
use crate::log::{Cell, Change, Followed, Happened, Log, Position, Read, Seen};

use super::ask::{Age, Answer, Ask, Question};
use super::find::find;
use super::item::Item;
use super::table::Table;

/// Items that are read from the log at once.
const STEP: usize = 500;

/// Characters of an item that the index of words reads.
const WORDS: usize = 200_000;

/// What items are labelled with in the retriever: they are all of one owner and of one sort there.
const KIND: Labels = Labels {
    tenant: 1,
    conversation: 0,
    session: 0,
    speaker: 0,
    kind: 0,
    role: 0,
    at: 0,
    live: true,
};

/// What a refresh changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// The ids of new versions.
    pub fresh: Vec<u64>,
    /// The ids of versions that are gone or have been replaced.
    pub gone: Vec<u64>,
    /// What is wrong with cells that are no items.
    pub faults: Vec<String>,
}

/// The items of one tenant: by name, by label, by time, by words and by vectors.
#[derive(Debug)]
pub struct Shelf {
    prefix: Vec<Vec<u8>>,
    position: Option<Position>,
    table: Table,
    retriever: Retriever,
}

/// What was read from the log and is not taken up yet.
#[derive(Debug)]
pub struct News {
    anew: bool,
    position: Position,
    /// The last parts of keys, each with its cell.
    cells: Vec<(Vec<u8>, Option<Box<Cell>>)>,
}

impl Shelf {
    /// An empty one, of the cells below a prefix.
    ///
    /// # Errors
    ///
    /// As [`Retriever::new`].
    pub fn new(prefix: Vec<Vec<u8>>) -> Result<Self> {
        Ok(Self {
            prefix,
            position: None,
            table: Table::default(),
            retriever: Retriever::new(Precision::Full)?,
        })
    }

    /// Reads what happened since the last time; `None` if a copy of the store took its place just now. What has
    /// expired by `now` is left out.
    ///
    /// # Errors
    ///
    /// As following and reading the log.
    pub fn news(&self, log: &Log, now: i64) -> Result<Option<News>> {
        let prefix: Vec<&[u8]> = self.prefix.iter().map(Vec::as_slice).collect();
        let mut anew = self.position.is_none();
        let followed = match log.follow(self.position.as_ref(), &prefix, usize::MAX)? {
            Followed::Rebuild => {
                anew = true;
                log.follow(None, &prefix, usize::MAX)?
            }
            followed @ Followed::Changes(..) => followed,
        };
        let Followed::Changes(changes, position) = followed else {
            return Ok(None);
        };
        let mut names = BTreeSet::new();
        for change in changes {
            match change.what {
                Happened::Put | Happened::Patched { .. } => {
                    names.extend(change.key.last().cloned());
                }
                _ if anew => {}
                _ => names.extend(self.covered(&change)),
            }
        }
        let names: Vec<Vec<u8>> = names.into_iter().collect();
        let mut cells = Vec::with_capacity(names.len());
        for some in names.chunks(STEP) {
            let keys: Vec<Vec<&[u8]>> = (some.iter())
                .map(|name| prefix.iter().copied().chain([name.as_slice()]).collect())
                .collect();
            let reads: Vec<Read<'_>> = keys.iter().map(|key| Read::Get(key)).collect();
            for (name, seen) in some.iter().zip(log.view(&reads, now)?) {
                if let Seen::Cell(cell) = seen {
                    cells.push((name.clone(), cell));
                }
            }
        }
        Ok(Some(News {
            anew,
            position,
            cells,
        }))
    }

    /// The names of the items that a removal or an erasure takes.
    fn covered<'a>(&'a self, change: &'a Change) -> impl Iterator<Item = Vec<u8>> + 'a {
        let is_gone = |item: &&Arc<Item>| {
            let key = self.prefix.iter().chain([&item.name]);
            let key: Vec<&[u8]> = key.map(Vec::as_slice).collect();
            change.covers(Seq(item.id), &key)
        };
        self.table
            .rows()
            .filter(is_gone)
            .map(|item| item.name.clone())
    }

    /// Takes up what was read.
    ///
    /// # Errors
    ///
    /// As [`Retriever::new`] and adding to it.
    pub fn take(&mut self, news: News) -> Result<Refreshed> {
        let mut refreshed = Refreshed::default();
        if news.anew {
            refreshed.gone = self.table.rows().map(|item| item.id).collect();
            *self = Self::new(std::mem::take(&mut self.prefix))?;
        }
        let mut fresh = Vec::new();
        for (name, cell) in news.cells {
            if let Some(id) = self.table.of_key(&name) {
                refreshed.gone.push(id);
            }
            let Some(cell) = cell else { continue };
            match Item::of(&cell) {
                Ok(item) => fresh.push((item, cell.payload)),
                Err(why) => {
                    let name = String::from_utf8_lossy(&name);
                    let fault = format!("item {name:?} is not as warmset writes it: {why}");
                    refreshed.faults.push(fault);
                }
            }
        }
        self.table.remove(&refreshed.gone);
        if !news.anew {
            for id in &refreshed.gone {
                self.retriever.remove(*id)?;
            }
        }
        // In the order of ids, as the retriever has them best.
        fresh.sort_unstable_by_key(|(item, _)| item.id);
        refreshed.fresh = fresh.iter().map(|(item, _)| item.id).collect();
        let mut items = Vec::with_capacity(fresh.len());
        for (item, payload) in fresh {
            let text = String::from_utf8_lossy(&payload);
            let labels = Labels {
                at: item.at.div_euclid(1_000),
                ..KIND
            };
            self.retriever.add(item.id, labels, &terms(head(&text)))?;
            items.push(Arc::new(item));
        }
        self.table.insert(items);
        self.position = Some(news.position);
        Ok(refreshed)
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item with an id.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Arc<Item>> {
        self.table.get(id).cloned()
    }

    /// The item with a name.
    #[must_use]
    pub fn named(&self, memory_id: &str) -> Option<Arc<Item>> {
        self.table.named(memory_id).cloned()
    }

    /// All ids, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.table.rows().map(|item| item.id).collect();
        ids.sort_unstable();
        ids
    }

    /// For each name that an item is shown in the place of, the newest such item.
    #[must_use]
    pub fn heirs(&self) -> Vec<(String, u64)> {
        self.table.heirs()
    }

    /// Gives an item its vectors, one row a passage.
    ///
    /// # Errors
    ///
    /// As [`Retriever::put_vectors`].
    pub fn put_vectors(&mut self, id: u64, rows: &[f32], columns: usize) -> Result<()> {
        self.retriever.put_vectors(id, rows, columns)
    }

    /// Forgets all vectors.
    pub fn clear_vectors(&mut self) {
        self.retriever.clear_vectors();
    }

    /// What is found for each of some asks.
    ///
    /// # Errors
    ///
    /// As [`Retriever::search`].
    pub fn find(
        &self,
        asks: &[Ask],
        question: Option<&Question<'_>>,
        age: &Age,
    ) -> Result<Vec<Answer>> {
        asks.iter()
            .map(|ask| find(&self.table, &self.retriever, ask, question, age))
            .collect()
    }
}

/// What of a text the index of words reads.
fn head(text: &str) -> &str {
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => text.get(..end).unwrap_or_default(),
        None => text,
    }
}
