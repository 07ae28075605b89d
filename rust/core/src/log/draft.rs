//! What was judged and is not published yet: the state of keys as the next batch of a group sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::cold::Born;
use crate::cold::defect::{Defect, on};
use crate::entry::Seq;

use super::attributes::is_live;
use super::directory::Directory;
use super::directory::lists::List;
use super::once;
use super::value::Columns;

/// Changes over a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// Versions of cells; `None` for one that is gone.
    cells: HashMap<Vec<u8>, Option<Version>>,
    lists: HashMap<Vec<u8>, Path>,
    /// Prefixes below which all is gone that the directory knows.
    gone: Vec<Vec<u8>>,
    /// What was made from what: source, record, and its key.
    made: Vec<(Seq, Seq, Vec<u8>)>,
    /// What is remembered of batches with a name, by the keys of the cells.
    answered: HashMap<Vec<u8>, (Columns, Vec<u64>)>,
}

/// A version of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    pub(super) seq: Seq,
    pub(super) born: Born,
    pub(super) expires: Option<i64>,
}

/// The path of a list: a beginning of the one in the directory, and what was added behind it.
#[derive(Clone, Debug, Default)]
struct Path {
    /// How far the path of the directory holds.
    end: Seq,
    /// What is gone of that.
    without: HashSet<Seq>,
    /// The ids of what was added, ascending.
    added: BTreeMap<Seq, Option<u128>>,
    /// Which of that has an own id.
    named: HashMap<u128, Seq>,
    /// Entries that were added, each with the one of its name that made way for it.
    replaced: HashMap<Seq, Seq>,
}

impl Path {
    fn of(list: Option<&List>) -> Self {
        Self {
            end: list.map(List::tail).unwrap_or_default(),
            ..Self::default()
        }
    }

    fn holds(&self, list: Option<&List>, seq: Seq) -> bool {
        let known = seq <= self.end && !self.without.contains(&seq);
        (known && list.is_some_and(|list| list.is_on_path(seq))) || self.added.contains_key(&seq)
    }

    fn tail(&self, list: Option<&List>) -> Seq {
        if let Some((last, _)) = self.added.last_key_value() {
            return *last;
        }
        let path = list.map_or(&[][..], List::path);
        let upto = path.partition_point(|seq| *seq <= self.end);
        let known = path.get(..upto).unwrap_or_default().iter().rev();
        let mut known = known.filter(|seq| !self.without.contains(seq));
        known.next().copied().unwrap_or_default()
    }

    fn named(&self, list: Option<&List>, uid: u128) -> Option<Seq> {
        self.named.get(&uid).copied().or_else(|| {
            let known = list.and_then(|list| list.named(uid, self.end));
            known.filter(|seq| !self.without.contains(seq))
        })
    }

    fn add(&mut self, seq: Seq, uid: Option<u128>) {
        self.added.insert(seq, uid);
        self.named.extend(uid.map(|uid| (uid, seq)));
    }

    fn cut(&mut self, after: Seq) {
        if !self.added.contains_key(&after) {
            self.end = after;
        }
        self.added.retain(|seq, _| *seq <= after);
        self.named.retain(|_, seq| *seq <= after);
    }

    /// The entries on it within these ranges.
    fn within(&self, list: Option<&List>, ranges: &[RangeInclusive<u64>]) -> Vec<Seq> {
        let path = list.map_or(&[][..], List::path);
        let path = path.get(..path.partition_point(|seq| *seq <= self.end));
        let path = path.unwrap_or_default();
        let known = ranges.iter().flat_map(|range| {
            let from = path.partition_point(|seq| seq.0 < *range.start());
            let upto = path.partition_point(|seq| seq.0 <= *range.end());
            path.get(from..upto).unwrap_or_default()
        });
        let known = known.filter(|seq| !self.without.contains(seq));
        let added = self.added.keys();
        let added = added.filter(|seq| ranges.iter().any(|range| range.contains(&seq.0)));
        known.chain(added).copied().collect()
    }

    fn remove(&mut self, seqs: &[Seq]) {
        for seq in seqs {
            match self.added.remove(seq) {
                Some(Some(uid)) => drop(self.named.remove(&uid)),
                None if *seq <= self.end => drop(self.without.insert(*seq)),
                Some(None) | None => {}
            }
        }
    }
}

impl Draft {
    /// The newest version of a cell that counts as there.
    pub(super) fn version(&self, base: &Directory, key: &[u8], now: i64) -> Option<Version> {
        let now = if on(Defect::ExpiredCounts) {
            i64::MIN
        } else {
            now
        };
        if let Some(known) = self.cells.get(key) {
            return known.filter(|one| is_live(one.expires, now));
        }
        if self.gone.iter().any(|prefix| key.starts_with(prefix)) {
            return None;
        }
        let cell = base.cells.get(key).filter(|cell| cell.is_live(now));
        cell.map(|cell| Version {
            seq: cell.version,
            born: cell.born,
            expires: cell.expires,
        })
    }

    pub(super) fn put(&mut self, key: &[u8], version: Version) {
        self.cells.insert(key.to_vec(), Some(version));
    }

    pub(super) fn remove_cell(&mut self, key: &[u8]) {
        self.cells.insert(key.to_vec(), None);
    }

    pub(super) fn remove_below(&mut self, prefix: &[u8]) {
        self.gone.push(prefix.to_vec());
        for (key, cell) in &mut self.cells {
            if key.starts_with(prefix) {
                *cell = None;
            }
        }
        for (key, path) in &mut self.lists {
            if key.starts_with(prefix) {
                *path = Path::default();
            }
        }
    }

    /// A version or an entry on a path below a prefix, if there is any.
    pub(super) fn first_below(&mut self, base: &Directory, prefix: &[u8], now: i64) -> Option<Seq> {
        let known = base.cells.below(prefix, None, false);
        let known: Vec<&[u8]> = known
            .filter(|(_, cell)| !cell.is_own)
            .map(|(key, _)| key)
            .collect();
        let own = self.cells.keys().filter(|key| key.starts_with(prefix));
        let own: Vec<Vec<u8>> = own.filter(|key| !once::is_place(key)).cloned().collect();
        let keys = known.into_iter().chain(own.iter().map(Vec::as_slice));
        let mut versions = keys.filter_map(|key| self.version(base, key, now));
        if let Some(version) = versions.next() {
            return Some(version.seq);
        }
        let known = base.lists.below(prefix).map(|(key, _)| key.to_vec());
        let own = self.lists.keys().filter(|key| key.starts_with(prefix));
        let lists: Vec<Vec<u8>> = known.chain(own.cloned()).collect();
        let mut tails = lists.iter().map(|list| self.tail(base, list));
        tails.find(|tail| *tail != Seq(0))
    }

    /// The last entry on the path of a list; 0 for none.
    pub(super) fn tail(&mut self, base: &Directory, key: &[u8]) -> Seq {
        self.path(base, key).tail(base.lists.get(key))
    }

    /// The entry of a name on the path of a list.
    pub(super) fn named(&mut self, base: &Directory, key: &[u8], uid: u128) -> Option<Seq> {
        self.path(base, key).named(base.lists.get(key), uid)
    }

    /// Whether an entry is on the path of a list.
    pub(super) fn holds(&mut self, base: &Directory, key: &[u8], seq: Seq) -> bool {
        self.path(base, key).holds(base.lists.get(key), seq)
    }

    pub(super) fn add(&mut self, base: &Directory, key: &[u8], seq: Seq, uid: Option<u128>) {
        self.path(base, key).add(seq, uid);
    }

    pub(super) fn cut(&mut self, base: &Directory, key: &[u8], after: Seq) {
        self.path(base, key).cut(after);
    }

    /// Takes entries off the path.
    pub(super) fn remove_entries(&mut self, base: &Directory, key: &[u8], seqs: &[Seq]) {
        self.path(base, key).remove(seqs);
    }

    /// Takes an entry off the path that makes way for another one.
    pub(super) fn replace(&mut self, base: &Directory, key: &[u8], old: Seq, by: Seq) {
        let path = self.path(base, key);
        path.remove(&[old]);
        path.replaced.insert(by, old);
    }

    /// Takes up what a cell remembers of a batch.
    pub(super) fn answer(&mut self, key: &[u8], columns: Columns, answers: Vec<u64>) {
        self.answered.insert(key.to_vec(), (columns, answers));
    }

    /// What a cell remembers of a batch that is not published yet.
    pub(super) fn answered(&self, key: &[u8]) -> Option<&(Columns, Vec<u64>)> {
        self.answered.get(key)
    }

    /// Takes up what a record was made from.
    pub(super) fn make(&mut self, seq: Seq, key: &[u8], sources: &[Seq]) {
        let made = sources.iter().map(|source| (*source, seq, key.to_vec()));
        self.made.extend(made);
    }

    /// Everything that was made from these records, and takes it away.
    pub(super) fn remove_made(&mut self, base: &Directory, roots: &BTreeSet<u64>) -> BTreeSet<u64> {
        if on(Defect::DerivedKept) {
            return BTreeSet::new();
        }
        let mut all = base.provenance.all_made_from(roots);
        loop {
            let own = self.made.iter().filter(|(source, seq, _)| {
                (roots.contains(&source.0) || all.contains(&source.0)) && !all.contains(&seq.0)
            });
            let own: BTreeSet<u64> = own.map(|(_, seq, _)| seq.0).collect();
            if own.is_empty() {
                break;
            }
            all.extend(&own);
            all.extend(base.provenance.all_made_from(&own));
        }
        let mut older = BTreeSet::new();
        for seq in all.iter().copied().map(Seq) {
            let own = self.made.iter().find(|(_, made, _)| *made == seq);
            let own = own.map(|(_, _, key)| key.as_slice());
            let Some(key) = own.or_else(|| base.provenance.key(seq)).map(<[u8]>::to_vec) else {
                continue;
            };
            let there = self.version(base, &key, i64::MIN);
            if there.is_some_and(|there| there.seq == seq) {
                // What it superseded is not to come back when the removal itself is erased.
                older.extend(self.records_of(base, &key));
                self.remove_cell(&key);
            } else if self.holds(base, &key, seq) {
                older.extend(self.records_of_entry(base, &key, seq));
                self.remove_entries(base, &key, &[seq]);
            }
        }
        all.extend(older);
        all
    }

    /// Every record of a cell that may be a source of another one: its version, its patch, and older ones.
    pub(super) fn records_of(&self, base: &Directory, key: &[u8]) -> BTreeSet<u64> {
        let mut out = BTreeSet::new();
        if let Some(Some(own)) = self.cells.get(key) {
            out.insert(own.seq.0);
        }
        if let Some(cell) = base.cells.get(key) {
            out.extend(cell.records().map(|seq| seq.0));
        }
        out
    }

    /// Every record of an entry that may be a source of another one: itself, its patch, and those that made
    /// way for it.
    pub(super) fn records_of_entry(
        &self,
        base: &Directory,
        key: &[u8],
        entry: Seq,
    ) -> BTreeSet<u64> {
        let list = base.lists.get(key);
        let replaced = self.lists.get(key).map(|path| &path.replaced);
        let (mut out, mut open) = (BTreeSet::new(), vec![entry]);
        while let Some(seq) = open.pop() {
            out.insert(seq.0);
            let node = list.and_then(|list| list.node(seq));
            out.extend(node.iter().flat_map(|node| node.records()).map(|seq| seq.0));
            open.extend(replaced.and_then(|replaced| replaced.get(&seq)));
        }
        out
    }

    /// Every record below a prefix that may be a source of another one.
    pub(super) fn records_below(&self, base: &Directory, prefix: &[u8]) -> BTreeSet<u64> {
        let own = self.cells.iter().filter(|(key, _)| key.starts_with(prefix));
        let own = own.filter_map(|(_, version)| version.map(|version| version.seq));
        let paths = self.lists.iter().filter(|(key, _)| key.starts_with(prefix));
        let added = paths.flat_map(|(_, path)| path.added.keys().copied());
        let mut out: BTreeSet<u64> = own.chain(added).map(|seq| seq.0).collect();
        out.extend(base.records_below(prefix).map(|seq| seq.0));
        out
    }

    /// The entries on the path of a list within these ranges of ids.
    pub(super) fn within(
        &mut self,
        base: &Directory,
        key: &[u8],
        ranges: &[RangeInclusive<u64>],
    ) -> Vec<Seq> {
        self.path(base, key).within(base.lists.get(key), ranges)
    }

    fn path(&mut self, base: &Directory, key: &[u8]) -> &mut Path {
        let gone = self.gone.iter().any(|prefix| key.starts_with(prefix));
        let list = base.lists.get(key).filter(|_| !gone);
        self.lists
            .entry(key.to_vec())
            .or_insert_with(|| Path::of(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::attributes::Attributes;
    use crate::log::event::{Event, What};

    const KEY: &[u8] = b"list\0\0";

    /// A directory with a list of three entries, of which the second has the name 7.
    fn base() -> Directory {
        let mut directory = Directory::default();
        for seq in 1..=3 {
            let what = What::Added {
                parent: Some(Seq(seq - 1)),
                replaces: None,
                uid: (seq == 2).then_some(7),
                attributes: Some(Attributes::default()),
            };
            directory.apply(Event {
                record: Seq(seq),
                seq: Seq(seq),
                key: KEY.to_vec(),
                sources: Vec::new(),
                len: 100,
                what,
            });
        }
        directory
    }

    fn remove(draft: &mut Draft, base: &Directory, seqs: &[u64]) {
        let seqs: Vec<Seq> = seqs.iter().copied().map(Seq).collect();
        draft.remove_entries(base, KEY, &seqs);
    }

    #[test]
    fn a_batch_sees_what_was_judged_before_it() {
        let (base, mut draft) = (base(), Draft::default());
        assert_eq!(draft.tail(&base, KEY), Seq(3));
        assert_eq!(draft.named(&base, KEY, 7), Some(Seq(2)));
        for seq in 4..=6 {
            draft.add(&base, KEY, Seq(seq), (seq == 5).then_some(8));
        }
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 8)),
            (Seq(6), Some(Seq(5)))
        );
        // Behind an entry that is not published yet.
        draft.cut(&base, KEY, Seq(5));
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 8)),
            (Seq(5), Some(Seq(5)))
        );
        assert!(draft.holds(&base, KEY, Seq(5)) && !draft.holds(&base, KEY, Seq(6)));
        remove(&mut draft, &base, &[3, 5]);
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 8)),
            (Seq(4), None)
        );
        assert!(!draft.holds(&base, KEY, Seq(3)) && draft.holds(&base, KEY, Seq(2)));
        remove(&mut draft, &base, &[2, 4]);
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 7)),
            (Seq(1), None)
        );
        draft.cut(&base, KEY, Seq(0));
        assert_eq!(draft.tail(&base, KEY), Seq(0));
        assert!(!draft.holds(&base, KEY, Seq(1)));
    }

    #[test]
    fn a_cut_of_what_is_published_keeps_what_is_before_it() {
        let (base, mut draft) = (base(), Draft::default());
        draft.add(&base, KEY, Seq(4), None);
        draft.cut(&base, KEY, Seq(2));
        assert_eq!(draft.tail(&base, KEY), Seq(2));
        assert_eq!(draft.named(&base, KEY, 7), Some(Seq(2)));
        assert!(!draft.holds(&base, KEY, Seq(3)) && !draft.holds(&base, KEY, Seq(4)));
        draft.cut(&base, KEY, Seq(1));
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 7)),
            (Seq(1), None)
        );
        // All below a prefix, and what is added afterwards.
        draft.remove_below(b"li");
        assert_eq!(draft.tail(&base, KEY), Seq(0));
        draft.add(&base, KEY, Seq(5), Some(7));
        assert_eq!(
            (draft.tail(&base, KEY), draft.named(&base, KEY, 7)),
            (Seq(5), Some(Seq(5)))
        );
        let mut fresh = Draft::default();
        fresh.remove_below(b"list\0\0");
        assert_eq!(
            (fresh.tail(&base, KEY), fresh.named(&base, KEY, 7)),
            (Seq(0), None)
        );
    }
}
