//! What replaces what: an item names those that it takes the place of.

use std::collections::{BTreeSet, HashMap};

/// The items that replace a name, by the name.
#[derive(Debug, Default)]
pub(super) struct Heirs(HashMap<String, BTreeSet<u64>>);

impl Heirs {
    pub(super) fn add(&mut self, name: &str, heir: u64) {
        match self.0.get_mut(name) {
            Some(all) => all.insert(heir),
            None => (self.0).entry(name.to_owned()).or_default().insert(heir),
        };
    }

    pub(super) fn remove(&mut self, name: &str, heir: u64) {
        if let Some(all) = self.0.get_mut(name) {
            all.remove(&heir);
            if all.is_empty() {
                self.0.remove(name);
            }
        }
    }

    /// The newest item that replaces a name and is shown.
    pub(super) fn of(&self, name: &str, is_shown: impl Fn(u64) -> bool) -> Option<u64> {
        let all = self.0.get(name)?;
        all.iter().rev().copied().find(|heir| is_shown(*heir))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
