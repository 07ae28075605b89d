//! All items, and what they are found by.

use std::collections::HashMap;
use std::sync::Arc;

use roaring::RoaringTreemap as Ids;

use super::ask::{Ask, Wanted};
use super::heirs::Heirs;
use super::item::{Item, Label};
use super::times::Times;

/// Ids of items by one sort of name.
#[derive(Debug, Default)]
struct Postings {
    by_name: HashMap<String, Ids>,
    /// Those that have any.
    any: Ids,
}

/// Items by id, name, label and time.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: HashMap<u64, Arc<Item>>,
    all: Ids,
    archived: Ids,
    /// Those that a newer item replaces.
    replaced: Ids,
    by_key: HashMap<Vec<u8>, u64>,
    by_name: HashMap<String, u64>,
    postings: [Postings; 8],
    heirs: Heirs,
    times: Times,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, id: u64) -> Option<&Arc<Item>> {
        self.rows.get(&id)
    }

    pub(super) fn named(&self, memory_id: &str) -> Option<&Arc<Item>> {
        self.get(*self.by_name.get(memory_id)?)
    }

    /// The id of the item whose key ends so.
    pub(super) fn of_key(&self, name: &[u8]) -> Option<u64> {
        self.by_key.get(name).copied()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.rows.values()
    }

    pub(super) fn times(&self) -> &Times {
        &self.times
    }

    /// Takes items in; none of their names is there.
    pub(super) fn insert(&mut self, fresh: Vec<Arc<Item>>) {
        let times = fresh.iter().map(|one| (one.at, one.id)).collect();
        self.times.insert(times);
        for item in fresh {
            let id = item.id;
            self.all.insert(id);
            if item.archived {
                self.archived.insert(id);
            }
            for (postings, names) in self.postings.iter_mut().zip(&item.labels) {
                if !names.is_empty() {
                    postings.any.insert(id);
                }
                for name in names {
                    match postings.by_name.get_mut(name) {
                        Some(ids) => ids.insert(id),
                        None => (postings.by_name)
                            .entry(name.clone())
                            .or_default()
                            .insert(id),
                    };
                }
            }
            for name in &item.supersedes {
                self.heirs.add(name, id);
            }
            self.by_key.insert(item.name.clone(), id);
            self.by_name.insert(item.memory_id.clone(), id);
            self.rows.insert(id, Arc::clone(&item));
            self.settle(&item);
        }
    }

    /// Takes items out.
    pub(super) fn remove(&mut self, gone: &[u64]) {
        let gone: Vec<Arc<Item>> = (gone.iter())
            .filter_map(|id| self.rows.remove(id))
            .collect();
        self.times
            .remove(gone.iter().map(|one| (one.at, one.id)).collect());
        for item in gone {
            let id = item.id;
            for all in [&mut self.all, &mut self.archived, &mut self.replaced] {
                all.remove(id);
            }
            for (postings, names) in self.postings.iter_mut().zip(&item.labels) {
                postings.any.remove(id);
                for name in names {
                    if let Some(ids) = postings.by_name.get_mut(name) {
                        ids.remove(id);
                        if ids.is_empty() {
                            postings.by_name.remove(name);
                        }
                    }
                }
            }
            for name in &item.supersedes {
                self.heirs.remove(name, id);
            }
            self.by_key.remove(&item.name);
            self.by_name.remove(&item.memory_id);
            self.settle(&item);
        }
    }

    /// Works out anew what is replaced, of an item that came or went and of those that it replaces.
    fn settle(&mut self, item: &Item) {
        for name in item.supersedes.iter().chain([&item.memory_id]) {
            let Some(id) = self.by_name.get(name).copied() else {
                continue;
            };
            if self.heir(name).is_some_and(|heir| heir > id) {
                self.replaced.insert(id);
            } else {
                self.replaced.remove(id);
            }
        }
    }

    fn heir(&self, name: &str) -> Option<u64> {
        self.heirs.of(name, |id| !self.archived.contains(id))
    }

    /// For each name that an item is shown in the place of, the newest such item.
    pub(super) fn heirs(&self) -> Vec<(String, u64)> {
        let all = self.heirs.names();
        all.filter_map(|name| Some((name.to_owned(), self.heir(name)?)))
            .collect()
    }

    /// The items that meet an ask but for times and similarity, those that would but for what replaces them,
    /// and for each label that names are asked of how many would if they had any of it.
    pub(super) fn mask(&self, ask: &Ask) -> (Ids, Ids, Vec<(Label, u64)>) {
        let mut shown = self.all.clone();
        if !ask.archived {
            shown -= &self.archived;
        }
        let met: Vec<Ids> = ask.wanted.iter().map(|one| self.met(one)).collect();
        let lacking = (ask.wanted.iter().enumerate())
            .filter(|(_, one)| one.among && !one.names.iter().any(String::is_empty))
            .filter_map(|(at, one)| {
                let mut rest = &shown - &self.postings(one.label)?.any;
                for (_, other) in met.iter().enumerate().filter(|(other, _)| *other != at) {
                    rest &= other;
                }
                (!rest.is_empty()).then(|| (one.label, rest.len()))
            })
            .collect();
        for one in &met {
            shown &= one;
        }
        if ask.superseded {
            return (shown, Ids::new(), lacking);
        }
        let replaced = &shown & &self.replaced;
        shown -= &replaced;
        (shown, replaced, lacking)
    }

    fn met(&self, wanted: &Wanted) -> Ids {
        let mut met = Ids::new();
        let Some(postings) = self.postings(wanted.label) else {
            return met;
        };
        for name in &wanted.names {
            if name.is_empty() {
                met |= &self.all - &postings.any;
            } else if let Some(ids) = postings.by_name.get(name) {
                met |= ids;
            }
        }
        if wanted.among { met } else { &self.all - met }
    }

    fn postings(&self, label: Label) -> Option<&Postings> {
        let at = Label::ALL.iter().position(|one| *one == label)?;
        self.postings.get(at)
    }
}
