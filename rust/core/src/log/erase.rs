//! Erasing from a log: the directory knows what is concerned, so nothing else is looked at.

use std::collections::{BTreeMap, BTreeSet};

use crate::cold::defect::{Defect, on};
use crate::cold::{Erased, Found, Scope};
use crate::entry::{Kind, Seq};
use crate::error::Result;

use super::directory::Directory;
use super::handle::Log;
use super::order;

impl Log {
    /// Erases what is in a scope and what was made from it: reads say so at once, in every process, and the
    /// keys of whole scopes are gone when it returns. The bytes go with [`compact`](Self::compact).
    ///
    /// A version of a cell goes with all older ones, and an entry with those that it replaced: what was
    /// superseded does not come back. What followed an erased entry follows what that one followed.
    ///
    /// # Errors
    ///
    /// As [`Store::erase`](crate::cold::Store::erase).
    pub fn erase(&self, scope: Scope<'_>) -> Result<Erased> {
        let prefix = match scope {
            Scope::Prefix(parts) if !parts.is_empty() => Some(order::encode(parts)),
            Scope::Records(seqs) if !seqs.is_empty() => None,
            // The store says what is missing.
            _ => return self.store().erase(scope),
        };
        let shared = self.shared();
        let find = || {
            let directory = shared.followed()?;
            let mut reach = Reach::new(self, &directory);
            match scope {
                Scope::Prefix(_) => {
                    let prefix = prefix.as_deref().unwrap_or_default();
                    let below: Vec<Seq> = directory.records_below(prefix).collect();
                    reach.start(&below);
                    reach.take(directory.provenance.taken(prefix));
                }
                Scope::Records(seqs) => reach.start(seqs),
            }
            reach.run()?;
            Ok((reach.found, reach.keys))
        };
        self.store().erase_with(scope, find, |keys, versions| {
            shared.erased(&keys, prefix.as_deref(), versions);
        })
    }
}

/// What is reached from the records of a scope.
struct Reach<'a> {
    log: &'a Log,
    directory: &'a Directory,
    open: Vec<Seq>,
    found: Found,
    /// All that is concerned, by key.
    keys: BTreeMap<Vec<u8>, BTreeSet<u64>>,
}

impl<'a> Reach<'a> {
    fn new(log: &'a Log, directory: &'a Directory) -> Self {
        Self {
            log,
            directory,
            open: Vec::new(),
            found: Found::default(),
            keys: BTreeMap::new(),
        }
    }

    fn start(&mut self, seqs: &[Seq]) {
        self.found.records.extend(seqs.iter().map(|seq| seq.0));
        self.open.extend_from_slice(seqs);
    }

    /// Records that went with something that was removed: their removal goes now, and they may lie there still.
    fn take(&mut self, seqs: impl Iterator<Item = u64>) {
        self.found.taken.extend(seqs);
        self.open.extend(self.found.taken.iter().copied().map(Seq));
    }

    fn run(&mut self) -> Result<()> {
        while let Some(seq) = self.open.pop() {
            crate::interrupt::check()?;
            let Some(ties) = self.log.store().tied(seq)? else {
                // It is gone already, or nobody can read what it is.
                self.found.records.remove(&seq.0);
                self.found.derived.remove(&seq.0);
                continue;
            };
            let kind = ties.kind;
            if kind.is_plain() {
                self.found.records.remove(&seq.0);
                self.found.spared.insert(seq.0);
                continue;
            }
            let key = order::encode(&ties.key);
            let mut more: Vec<Seq> = self.directory.provenance.made_from(seq).collect();
            more.extend(
                ties.of
                    .filter(|_| matches!(kind, Kind::Patch | Kind::Entry)),
            );
            if matches!(kind, Kind::Cell | Kind::Patch)
                && let Some(cell) = self.directory.cells.get(&key)
                && !on(Defect::EraseNewestOnly)
            {
                more.extend(cell.going_with(seq));
            }
            let node = self
                .directory
                .lists
                .get(&key)
                .and_then(|list| list.node(seq));
            more.extend(node.iter().flat_map(|node| node.records()));
            self.keys.entry(key).or_default().insert(seq.0);
            for one in more {
                let known =
                    self.found.records.contains(&one.0) || self.found.taken.contains(&one.0);
                if !known && self.found.derived.insert(one.0) {
                    self.open.push(one);
                }
            }
        }
        Ok(())
    }
}
