//! What an erasure concerns: the records of a scope, what was made from them, and what they superseded.
//!
//! A version of a cell goes with all older ones, and a replacing entry with the one that it replaced: an
//! older truth does not come back because a newer one was erased. A patch goes with what it changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::defect::{Defect, on};
use crate::cold::erase::erasures::hash_of;
use crate::cold::erase::{Scope, is_bookkeeping};
use crate::cold::read::source::Ties;
use crate::cold::removal::Removal;
use crate::cold::shelf::Shelf;

/// The records that an erasure concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Those in the scope.
    pub(crate) records: BTreeSet<u64>,
    /// Those that go with them.
    pub(crate) derived: BTreeSet<u64>,
    /// Those that went with something that was removed, and whose removal goes now.
    pub(crate) taken: BTreeSet<u64>,
    /// Those that stay, though they were asked for: what only says where a list ends, or what is removed,
    /// holds nothing of anybody's.
    pub(crate) spared: BTreeSet<u64>,
}

/// Looks through all records for what a scope concerns. The lock is held.
///
/// # Errors
///
/// [`Error::Argument`] for an empty scope; [`Error::Interrupted`]; what the operating system answers.
pub(super) fn find(shelf: &Shelf, scope: Scope<'_>) -> Result<Found> {
    let empty = match scope {
        Scope::Prefix([]) => Some("prefix"),
        Scope::Records([]) => Some("records"),
        Scope::Prefix(_) | Scope::Records(_) => None,
    };
    if let Some(name) = empty {
        return Err(Error::Argument {
            name,
            expected: "at least one".into(),
            found: "none".into(),
        });
    }
    let asked: BTreeSet<u64> = match scope {
        Scope::Prefix(_) => BTreeSet::new(),
        Scope::Records(seqs) => seqs.iter().map(|seq| seq.0).collect(),
    };
    let (mut found, mut web) = (Found::default(), Web::default());
    let index = shelf.known()?;
    for segment in &index.segments {
        let listing = segment.listing()?;
        let left = listing
            .contents
            .entries
            .iter()
            .filter(|entry| !is_bookkeeping(entry) && !index.erasures.covers_seq(entry.seq));
        segment.source.each_tied(left, |entry, ties| {
            if index.erasures.covers_key(entry.seq, &ties.key) {
                return Ok(());
            }
            let kind = Kind::from_code(entry.kind);
            let begins = match scope {
                Scope::Prefix(parts) => {
                    ties.key.len() >= parts.len()
                        && parts.iter().zip(&ties.key).all(|(part, own)| part == own)
                }
                Scope::Records(_) => asked.contains(&entry.seq),
            };
            if begins && asked.contains(&entry.seq) && kind.is_plain() {
                found.spared.insert(entry.seq);
            } else if begins {
                found.records.insert(entry.seq);
            }
            if begins && kind == Kind::Removed {
                let said = Removal::decode(&segment.source.payload(entry)?);
                let made = said.into_iter().flat_map(|said| said.derived).flatten();
                found.taken.extend(made);
            }
            web.add(entry.seq, kind, &ties, &shelf.uuid);
            Ok(())
        })?;
    }
    let roots = found.records.union(&found.taken).copied().collect();
    found.derived = web.tied_to(&roots);
    Ok(found)
}

/// Which records are tied to which.
#[derive(Debug, Default)]
struct Web {
    /// By source: what was made from it.
    made: HashMap<u64, Vec<u64>>,
    /// By a record that is changed or replaced: what does so, and the other way round.
    of: HashMap<u64, Vec<u64>>,
    /// By the hash of a key: the versions of a cell, with their patches.
    cells: HashMap<u128, BTreeSet<u64>>,
    /// By version: the hash of its key.
    keys: BTreeMap<u64, u128>,
}

impl Web {
    fn add(&mut self, seq: u64, kind: Kind, ties: &Ties, uuid: &[u8; 16]) {
        if !on(Defect::NoCascade) {
            for source in &ties.sources {
                self.made.entry(source.0).or_default().push(seq);
            }
        }
        if let Some(Seq(of)) = ties.of.filter(|_| !kind.is_plain()) {
            self.of.entry(seq).or_default().push(of);
            if kind == Kind::Patch {
                self.of.entry(of).or_default().push(seq);
            }
        }
        let is_cell = matches!(kind, Kind::Cell | Kind::Patch);
        if let Some(hash) = hash_of(uuid, &ties.key).filter(|_| is_cell) {
            self.cells.entry(hash).or_default().insert(seq);
            self.keys.insert(seq, hash);
        }
    }

    /// All that goes with these records.
    fn tied_to(mut self, records: &BTreeSet<u64>) -> BTreeSet<u64> {
        let mut out = BTreeSet::new();
        let mut open: Vec<u64> = records.iter().copied().collect();
        while let Some(seq) = open.pop() {
            let made = self.made.get(&seq).into_iter().flatten();
            let of = self.of.get(&seq).into_iter().flatten();
            let all = self
                .keys
                .get(&seq)
                .and_then(|hash| self.cells.get_mut(hash));
            // Each once: the older ones need not be looked at again.
            let older = all.map(|all| {
                let newer = all.split_off(&seq);
                std::mem::replace(all, newer)
            });
            for one in made.chain(of).chain(older.iter().flatten()) {
                if !records.contains(one) && out.insert(*one) {
                    open.push(*one);
                }
            }
        }
        out
    }
}
