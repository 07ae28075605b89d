//! The entries of each list, and which of them are on its path.
//!
//! A list is a tree of entries, each of which follows another one: the path leads from its head to the
//! first. Mostly there is one path with all of them on it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use crate::cold::defect::{Defect, on};
use crate::entry::Seq;
use crate::log::attributes::{Attributes, is_live};
use crate::log::turns::Links;
use crate::log::value::Columns;

/// What is known of an entry without its payload.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::log) struct Node {
    pub(in crate::log) seq: Seq,
    /// The entry before it; 0 for none.
    pub(in crate::log) parent: Seq,
    uid: Option<Uid>,
    /// The entry before it whose own id looks the same in short; 0 for none.
    alike: Seq,
    /// When it was written, in microseconds since 1970 UTC.
    pub(in crate::log) at: i64,
    /// From when on it is not shown; it keeps its place and its own id.
    pub(in crate::log) expires: Option<i64>,
    /// Its columns, if a patch changed them; else its record has them.
    pub(in crate::log) columns: Option<Box<Columns>>,
    /// The newest patch.
    pub(in crate::log) patch: Option<Seq>,
    /// Patches before the newest, and entries that it replaced with theirs.
    pub(in crate::log) older: Vec<Seq>,
    /// How many bytes it takes.
    pub(in crate::log) len: u64,
}

/// The hash of a caller's own id, in halves: so it needs no more room than its bytes.
type Uid = [u64; 2];

fn halves(uid: u128) -> Uid {
    let bytes = uid.to_le_bytes();
    let half = |from: usize| {
        let half = bytes.get(from..).and_then(<[u8]>::first_chunk);
        half.copied().map_or(0, u64::from_le_bytes)
    };
    [half(0), half(8)]
}

impl Node {
    /// It, its patches, and what it replaced.
    pub(in crate::log) fn records(&self) -> impl Iterator<Item = Seq> {
        let own = std::iter::once(self.seq).chain(self.patch);
        own.chain(self.older.iter().copied())
    }
}

/// One list.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct List {
    /// Every entry that is there.
    nodes: BTreeMap<Seq, Node>,
    /// The ids of those on the path, ascending.
    path: Vec<Seq>,
    /// By the first half of the hash of the caller's own id: the last entry that has it, on whatever
    /// path. It says which one came before.
    uids: HashMap<u64, Seq>,
    /// The id of what moved the head last.
    moved: Seq,
    /// Where the head was moved to, by the id of what did so.
    moves: BTreeMap<Seq, Seq>,
    /// What entries of a conversation followed that were erased: their ancestors, the nearest first, up to
    /// one that stayed or 0 for none.
    heirs: BTreeMap<Seq, Vec<Seq>>,
}

impl List {
    /// Where the path ends; 0 where it is empty.
    pub(in crate::log) fn tail(&self) -> Seq {
        self.path.last().copied().unwrap_or_default()
    }

    /// The ids on the path, ascending.
    pub(in crate::log) fn path(&self) -> &[Seq] {
        &self.path
    }

    pub(in crate::log) fn node(&self, seq: Seq) -> Option<&Node> {
        self.nodes.get(&seq)
    }

    /// Every entry that is there, on whatever path.
    pub(in crate::log) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Whether an entry is on the path.
    pub(in crate::log) fn is_on_path(&self, seq: Seq) -> bool {
        self.path.binary_search(&seq).is_ok()
    }

    /// The entry on the path up to `end` that has this own id.
    pub(in crate::log) fn named(&self, uid: u128, end: Seq) -> Option<Seq> {
        let uid = halves(uid);
        let last = self.uids.get(&uid[0]).and_then(|last| self.node(*last));
        let alike = std::iter::successors(last, |node| self.node(node.alike));
        let mut named = alike
            .filter(|node| node.uid == Some(uid))
            .map(|node| node.seq);
        if on(Defect::UidAnywhere) {
            return named.next();
        }
        named.find(|seq| *seq <= end && self.is_on_path(*seq))
    }

    /// Takes an entry out of those whose own ids look like its own.
    fn unname(&mut self, seq: Seq, uid: Uid, alike: Seq) {
        let Entry::Occupied(mut last) = self.uids.entry(uid[0]) else {
            return;
        };
        if *last.get() == seq {
            if alike == Seq(0) {
                last.remove();
            } else {
                last.insert(alike);
            }
            return;
        }
        let mut next = *last.get();
        while let Some(node) = self.nodes.get_mut(&next) {
            if node.alike == seq {
                node.alike = alike;
                return;
            }
            next = node.alike;
        }
    }

    /// The next entries on the path, each with the id of the one before it.
    pub(super) fn page(
        &self,
        beyond: Option<Seq>,
        limit: usize,
        reverse: bool,
        now: i64,
    ) -> Vec<(Node, Seq)> {
        let path = &self.path;
        let page: Box<dyn Iterator<Item = &Seq>> = if reverse {
            let end = beyond.map_or(path.len(), |beyond| {
                path.partition_point(|seq| *seq < beyond)
            });
            Box::new(path.get(..end).unwrap_or_default().iter().rev())
        } else {
            let start = beyond.map_or(0, |beyond| path.partition_point(|seq| *seq <= beyond));
            Box::new(path.get(start..).unwrap_or_default().iter())
        };
        let nodes = page.filter_map(|seq| self.node(*seq));
        let live = nodes.filter(|node| is_live(node.expires, now)).take(limit);
        live.map(|node| (node.clone(), self.before(node))).collect()
    }

    /// The entry before one on its path; 0 for none.
    fn before(&self, node: &Node) -> Seq {
        self.there(node.parent)
    }

    /// Whether what a move of the head cut off is all gone: then the entries alone tell where the path led.
    pub(in crate::log) fn needs_move(&self, at: Seq) -> bool {
        // A record that anybody wrote may say that it moves the head to what comes after it.
        let to = self.moves.get(&at).filter(|to| **to < at);
        self.moved == at || to.is_some_and(|to| self.nodes.range(after(*to)..at).next().is_some())
    }

    fn add(&mut self, entry: Added) -> u64 {
        let Added {
            seq,
            parent,
            replaces,
            uid,
            said,
            len,
        } = entry;
        if self
            .nodes
            .last_key_value()
            .is_some_and(|(last, _)| *last >= seq)
        {
            return 0;
        }
        let before = replaces.and_then(|before| self.nodes.get(&before));
        let older = before.into_iter().flat_map(Node::records).collect();
        let freed = replaces.map_or(0, |before| self.remove(before..=before));
        // An entry of a store that had no links follows the one before it. So does one that claims to follow
        // what came later: a path leads backwards, and ends.
        let parent = parent.filter(|parent| *parent < seq);
        let parent = parent.unwrap_or_else(|| self.tail());
        self.moved = seq;
        let uid = uid.map(halves);
        let alike = uid.and_then(|uid| self.uids.insert(uid[0], seq));
        let alike = alike.unwrap_or_default();
        let node = Node {
            seq,
            parent,
            uid,
            alike,
            at: said.at,
            expires: said.expires,
            columns: None,
            patch: None,
            older,
            len,
        };
        self.nodes.insert(seq, node);
        if parent == self.tail() {
            self.path.push(seq);
        } else {
            self.lead_to(seq);
        }
        freed
    }

    /// Moves the head, unless something that came later did so; `at` is the id of what says so.
    fn head(&mut self, at: Seq, head: Seq) {
        self.moves.insert(at, head);
        if self.moved < at {
            self.moved = at;
            self.lead_to(self.there(head));
        }
    }

    /// Takes up what a checkpoint says of the path; `at` is its id.
    fn link(&mut self, at: Seq, links: Links) {
        for (seq, ancestors) in links.of {
            let parent = self.first(&ancestors);
            if let Some((node, parent)) = self.nodes.get_mut(&seq).zip(parent) {
                // Without links it was taken to follow the entry before it.
                node.parent = parent;
            }
            self.heirs.insert(seq, ancestors);
        }
        // By its new parents the path may be another one up to the same entry.
        let head = self.first(&links.head).unwrap_or_else(|| self.tail());
        if at > self.moved {
            self.path.clear();
        }
        self.head(at, head);
    }

    /// The first of these that is there, or the last one.
    fn first(&self, seqs: &[Seq]) -> Option<Seq> {
        let there = seqs.iter().find(|seq| self.nodes.contains_key(seq));
        there.or(seqs.last()).copied()
    }

    /// Makes the path end at an entry that is there; 0 empties it.
    fn lead_to(&mut self, head: Seq) {
        let mut fresh = Vec::new();
        let mut next = head;
        while let Some(node) = self.nodes.get(&next) {
            if let Ok(place) = self.path.binary_search(&next) {
                self.path.truncate(place + 1);
                self.path.extend(fresh.into_iter().rev());
                return;
            }
            fresh.push(next);
            next = self.there(node.parent);
        }
        self.path = fresh.into_iter().rev().collect();
    }

    /// An entry, or where it is gone what it followed; 0 for none.
    ///
    /// An entry follows what was the end of the path when it was written. That is the entry before it by
    /// id, unless the head was moved in between.
    fn there(&self, seq: Seq) -> Seq {
        let mut seq = seq;
        while !self.nodes.contains_key(&seq) {
            if let Some(heir) = self.heir(seq) {
                seq = heir;
                continue;
            }
            let node = self
                .nodes
                .range(..seq)
                .next_back()
                .map(|(before, _)| *before);
            let moved = self.moves.range(..seq).next_back();
            seq = match (node, moved) {
                (_, Some((at, to))) if node.is_none_or(|node| node < *at) && *to < seq => *to,
                (Some(node), _) => node,
                (None, _) => return Seq(0),
            };
        }
        seq
    }

    /// What a checkpoint says that an erased entry followed, as far as that is there, or the first that is not.
    fn heir(&self, seq: Seq) -> Option<Seq> {
        let heir = self.first(self.heirs.get(&seq)?);
        heir.filter(|heir| *heir < seq)
    }

    fn patch(&mut self, of: Seq, seq: Seq, said: &Attributes) {
        if let Some(node) = self.nodes.get_mut(&of)
            && node.patch.is_none_or(|patch| patch < seq)
        {
            node.columns = Some(Box::new(said.columns.clone()));
            node.expires = said.expires;
            node.older.extend(node.patch.replace(seq));
        }
    }

    /// Takes entries away, and gives how many bytes they took; those that followed them follow what they
    /// followed.
    fn remove(&mut self, range: RangeInclusive<Seq>) -> u64 {
        let mut freed = 0;
        if range.is_empty() {
            return freed;
        }
        let from = self.path.partition_point(|seq| seq < range.start());
        let upto = self.path.partition_point(|seq| seq <= range.end());
        self.path.drain(from..upto);
        while let Some((&seq, node)) = self.nodes.range(range.clone()).next() {
            freed += node.len;
            let (uid, alike) = (node.uid, node.alike);
            if let Some(uid) = uid {
                self.unname(seq, uid, alike);
            }
            self.nodes.remove(&seq);
        }
        freed
    }
}

/// An entry that is added.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) seq: Seq,
    pub(super) parent: Option<Seq>,
    /// The entry of its name that makes way for it.
    pub(super) replaces: Option<Seq>,
    pub(super) uid: Option<u128>,
    pub(super) said: Attributes,
    /// How many bytes its record takes.
    pub(super) len: u64,
}

/// The id after this one.
fn after(seq: Seq) -> Seq {
    Seq(seq.0.saturating_add(1))
}

/// All lists, by their keys as `order` encodes them.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Lists(BTreeMap<Vec<u8>, List>);

impl Lists {
    pub(in crate::log) fn get(&self, key: &[u8]) -> Option<&List> {
        self.0.get(key)
    }

    /// Takes up an entry; gives how many bytes it replaced.
    pub(super) fn add(&mut self, key: Vec<u8>, entry: Added) -> u64 {
        self.0.entry(key).or_default().add(entry)
    }

    /// Moves the head of a list; `at` is the id of what says so.
    pub(super) fn head(&mut self, key: &[u8], at: Seq, head: Seq) {
        if let Some(list) = self.0.get_mut(key) {
            list.head(at, head);
        }
    }

    /// Takes up what a checkpoint says of the path of a list; `at` is its id.
    pub(super) fn link(&mut self, key: &[u8], at: Seq, links: Links) {
        if let Some(list) = self.0.get_mut(key) {
            list.link(at, links);
        }
    }

    pub(super) fn patch(&mut self, key: &[u8], of: Seq, seq: Seq, said: &Attributes) {
        if let Some(list) = self.0.get_mut(key) {
            list.patch(of, seq, said);
        }
    }

    /// Takes the entries of one list away that lie in a range of ids, and gives how many bytes they took.
    pub(super) fn remove(&mut self, key: &[u8], range: RangeInclusive<Seq>) -> u64 {
        let Some(list) = self.0.get_mut(key) else {
            return 0;
        };
        let freed = list.remove(range);
        if list.nodes.is_empty() {
            self.0.remove(key);
        }
        freed
    }

    /// Takes the entries of the lists below a prefix away that pass, and gives how many bytes they took.
    pub(super) fn remove_below(&mut self, prefix: &[u8], goes: impl Fn(&[u8], Seq) -> bool) -> u64 {
        let gone: Vec<(Vec<u8>, Seq)> = self
            .below(prefix)
            .flat_map(|(key, list)| list.nodes().map(move |node| (key, node)))
            .filter(|(key, node)| goes(key, node.seq) || node.patch.is_some_and(|p| goes(key, p)))
            .map(|(key, node)| (key.to_vec(), node.seq))
            .collect();
        let gone = gone.into_iter();
        gone.map(|(key, seq)| self.remove(&key, seq..=seq)).sum()
    }

    /// The lists below a prefix, in the order of keys.
    pub(in crate::log) fn below<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a List)> {
        let range = self.0.range(prefix.to_vec()..);
        range
            .map(|(key, list)| (key.as_slice(), list))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The first key that is not less than this one.
    pub(in crate::log) fn next_key(&self, key: &[u8]) -> Option<&[u8]> {
        let from = std::ops::Bound::Included(key);
        let mut range = self.0.range::<[u8], _>((from, std::ops::Bound::Unbounded));
        range.next().map(|(key, _)| key.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_that_look_alike_in_short_are_told_apart() {
        let mut list = List::default();
        let high = |uid: u128| uid << 64 | 7;
        for (seq, uid) in [(1, high(1)), (2, high(2)), (3, high(1)), (4, high(3))] {
            list.add(Added {
                seq: Seq(seq),
                parent: Some(Seq(seq - 1)),
                replaces: None,
                uid: Some(uid),
                said: Attributes::default(),
                len: 1,
            });
        }
        let named = |list: &List| {
            let end = list.tail();
            [1, 2, 3, 4].map(|uid| list.named(high(uid), end).unwrap_or_default().0)
        };
        assert_eq!(named(&list), [3, 2, 4, 0]);
        assert_eq!(list.named(high(1), Seq(2)), Some(Seq(1)));
        assert_eq!(list.named(7, Seq(4)), None);
        list.remove(Seq(3)..=Seq(3));
        assert_eq!(named(&list), [1, 2, 4, 0]);
        list.remove(Seq(4)..=Seq(4));
        assert_eq!(named(&list), [1, 2, 0, 0]);
        list.remove(Seq(1)..=Seq(2));
        assert!(list.uids.is_empty());
    }

    #[test]
    fn what_claims_to_follow_what_came_later_ends_the_path() {
        let mut list = List::default();
        for (seq, parent) in [(5, 9), (7, 7), (9, 5)] {
            list.add(Added {
                seq: Seq(seq),
                parent: Some(Seq(parent)),
                replaces: None,
                uid: None,
                said: Attributes::default(),
                len: 0,
            });
        }
        assert_eq!(list.path(), [Seq(5), Seq(9)]);
    }
}
