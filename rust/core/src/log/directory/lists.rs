//! The entries of each list, and which of them are on its path.
//!
//! A list is a tree of entries, each of which follows another one: the path leads from its head to the
//! first. Mostly there is one path with all of them on it.

use std::collections::{BTreeMap, HashMap};

use crate::entry::Seq;
use crate::log::attributes::Attributes;
use crate::log::value::Columns;

/// What is known of an entry without its payload.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::log) struct Node {
    pub(in crate::log) seq: Seq,
    /// The entry before it; 0 for none.
    pub(in crate::log) parent: Seq,
    pub(in crate::log) uid: Option<u128>,
    /// When it was written, in microseconds since 1970 UTC.
    pub(in crate::log) at: i64,
    /// From when on it is not shown; it keeps its place and its own id.
    pub(in crate::log) expires: Option<i64>,
    pub(in crate::log) columns: Columns,
    /// The newest patch.
    pub(in crate::log) patch: Option<Seq>,
}

/// One list.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct List {
    /// Every entry that is there, in the order of ids.
    nodes: Vec<Node>,
    /// The ids of those on the path, ascending.
    path: Vec<Seq>,
    /// By the hash of the caller's own id: the entries that have it, on whatever path.
    uids: HashMap<u128, Vec<Seq>>,
    /// The id of what moved the head last.
    moved: Seq,
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
        let at = self
            .nodes
            .binary_search_by_key(&seq, |node| node.seq)
            .ok()?;
        self.nodes.get(at)
    }

    /// Whether an entry is on the path.
    pub(in crate::log) fn is_on_path(&self, seq: Seq) -> bool {
        self.path.binary_search(&seq).is_ok()
    }

    /// The entry on the path up to `end` that has this own id.
    pub(in crate::log) fn named(&self, uid: u128, end: Seq) -> Option<Seq> {
        let seqs = self.uids.get(&uid)?;
        let on_path = |seq: &&Seq| **seq <= end && self.is_on_path(**seq);
        seqs.iter().rev().find(on_path).copied()
    }

    fn add(&mut self, seq: Seq, parent: Option<Seq>, uid: Option<u128>, said: Attributes) {
        if self.nodes.last().is_some_and(|last| last.seq >= seq) {
            return;
        }
        // One of that name that is on the path makes way for it.
        if let Some(before) = uid.and_then(|uid| self.named(uid, seq)) {
            self.remove(|one| one == before, &[]);
        }
        // An entry of a store that had no links follows the one before it.
        let parent = parent.unwrap_or_else(|| self.tail());
        self.moved = seq;
        self.nodes.push(Node {
            seq,
            parent,
            uid,
            at: said.at,
            expires: said.expires,
            columns: said.columns,
            patch: None,
        });
        if let Some(uid) = uid {
            self.uids.entry(uid).or_default().push(seq);
        }
        if parent == self.tail() {
            self.path.push(seq);
        } else {
            self.lead_to(seq);
        }
    }

    /// Makes the path end at an entry; 0 empties it.
    fn lead_to(&mut self, head: Seq) {
        if let Ok(at) = self.path.binary_search(&head) {
            self.path.truncate(at + 1);
            return;
        }
        let mut fresh = Vec::new();
        let mut next = self.at_or_before(head);
        while let Some(node) = next {
            if let Ok(place) = self.path.binary_search(&node.seq) {
                self.path.truncate(place + 1);
                self.path.extend(fresh.into_iter().rev());
                return;
            }
            fresh.push(node.seq);
            // What an entry follows is older than it is, so this ends.
            let older = Seq(node.parent.0.min(node.seq.0.saturating_sub(1)));
            next = self.at_or_before(older);
        }
        self.path = fresh.into_iter().rev().collect();
    }

    /// An entry, or where it is gone the one before it: of a list without branches, what it followed.
    fn at_or_before(&self, seq: Seq) -> Option<&Node> {
        let after = self.nodes.partition_point(|node| node.seq <= seq);
        self.nodes.get(after.checked_sub(1)?)
    }

    fn patch(&mut self, of: Seq, seq: Seq, said: &Attributes) {
        let Ok(at) = self.nodes.binary_search_by_key(&of, |node| node.seq) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(at)
            && node.patch.is_none_or(|patch| patch < seq)
        {
            node.columns = said.columns.clone();
            node.expires = said.expires;
            node.patch = Some(seq);
        }
    }

    /// Takes entries away; those that followed them follow what they followed.
    fn remove(&mut self, goes: impl Fn(Seq) -> bool, relinked: &[(Seq, Seq)]) {
        let tail = self.tail();
        let mut before: HashMap<Seq, Seq> = HashMap::new();
        for node in self.nodes.iter().filter(|node| goes(node.seq)) {
            // Ascending, so what an entry followed is already what stays of that.
            let parent = before.get(&node.parent).copied().unwrap_or(node.parent);
            before.insert(node.seq, parent);
        }
        if before.is_empty() {
            return;
        }
        self.nodes.retain(|node| !before.contains_key(&node.seq));
        for node in &mut self.nodes {
            let parent = before.get(&node.parent).copied().unwrap_or(node.parent);
            let said = relinked.iter().find(|(entry, _)| *entry == node.seq);
            node.parent = said.map_or(parent, |(_, parent)| *parent);
        }
        for seqs in self.uids.values_mut() {
            seqs.retain(|seq| !before.contains_key(seq));
        }
        self.uids.retain(|_, seqs| !seqs.is_empty());
        self.path.clear();
        self.lead_to(before.get(&tail).copied().unwrap_or(tail));
    }
}

/// All lists, by their keys as `order` encodes them.
#[derive(Clone, Debug, Default)]
pub(in crate::log) struct Lists(BTreeMap<Vec<u8>, List>);

impl Lists {
    pub(in crate::log) fn get(&self, key: &[u8]) -> Option<&List> {
        self.0.get(key)
    }

    pub(super) fn add(
        &mut self,
        key: Vec<u8>,
        seq: Seq,
        parent: Option<Seq>,
        uid: Option<u128>,
        said: Attributes,
    ) {
        self.0.entry(key).or_default().add(seq, parent, uid, said);
    }

    /// Moves the head, unless something that came later did so; `at` is the id of what says so.
    pub(super) fn head(&mut self, key: &[u8], at: Seq, head: Seq) {
        if let Some(list) = self.0.get_mut(key).filter(|list| list.moved < at) {
            list.moved = at;
            if head == Seq(0) {
                list.path.clear();
            } else {
                list.lead_to(head);
            }
        }
    }

    pub(super) fn patch(&mut self, key: &[u8], of: Seq, seq: Seq, said: &Attributes) {
        if let Some(list) = self.0.get_mut(key) {
            list.patch(of, seq, said);
        }
    }

    /// Takes entries of one list away.
    pub(super) fn remove(
        &mut self,
        key: &[u8],
        goes: impl Fn(Seq) -> bool,
        relinked: &[(Seq, Seq)],
    ) {
        if let Some(list) = self.0.get_mut(key) {
            list.remove(goes, relinked);
            if list.nodes.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Takes entries of the lists below a prefix away.
    pub(super) fn remove_below(&mut self, prefix: &[u8], goes: impl Fn(&[u8], Seq) -> bool) {
        let keys: Vec<Vec<u8>> = self.below(prefix).map(|(key, _)| key.to_vec()).collect();
        for key in keys {
            self.remove(&key, |seq| goes(&key, seq), &[]);
        }
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
