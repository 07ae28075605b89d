//! The directory: what each key holds, worked out of the records in the order of their ids.
//!
//! It is derived and may be thrown away. Whoever follows the same records has the same directory, in
//! whatever process.

pub(super) mod cells;
mod doubts;
pub(super) mod lists;
pub(super) mod provenance;

use std::collections::{BTreeMap, BTreeSet};

use crate::cold::removal::{Removal, Target};
use crate::cold::{Followed, Gone};
use crate::entry::Seq;

use super::event::{Event, What};
use super::order;
use cells::Cells;
use doubts::Doubts;
use lists::{Added, Lists};
use provenance::Provenance;

/// What the keys of a store hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) cells: Cells,
    pub(super) lists: Lists,
    pub(super) provenance: Provenance,
    /// Up to which id records were taken up.
    pub(super) seen: Seq,
    /// When what may expire does so, with its key; it may have been renewed, or be gone.
    expiring: BTreeSet<(i64, Vec<u8>)>,
    /// About how many bytes nothing shows any more.
    pub(super) dead: u64,
    followed: Followed,
    pub(super) doubts: Doubts,
}

impl Directory {
    /// Takes up one event; an id that was taken up already changes nothing.
    pub(super) fn apply(&mut self, event: Event) {
        if event.record > self.seen {
            self.seen = event.record;
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        let Event {
            seq,
            key,
            sources,
            len,
            what,
            ..
        } = event;
        let is_other = matches!(what, What::Linked(_) | What::Other);
        if let Some(expires) = what.expires() {
            self.expiring.insert((expires, key.clone()));
        }
        self.provenance.add(seq, &key, &sources, is_other);
        self.dead += match what {
            What::Put { born, attributes } => self.cells.put(key, seq, born, attributes, len),
            What::Added {
                parent,
                replaces,
                uid,
                attributes,
            } => {
                let said = attributes.unwrap_or_default();
                let entry = Added {
                    seq,
                    parent,
                    replaces,
                    uid,
                    said,
                    len,
                };
                self.lists.add(key, entry)
            }
            What::Patched { of, attributes } => {
                self.cells.patch(&key, of, seq, attributes.as_ref(), len);
                if let Some(said) = attributes {
                    self.lists.patch(&key, of, seq, &said);
                }
                0
            }
            What::Removed(removal) => len + self.remove(seq, key, &removal),
            What::Head(head) => {
                self.lists.head(&key, seq, head);
                0
            }
            What::Linked(links) => {
                self.lists.link(&key, seq, links);
                0
            }
            What::Other => 0,
        };
    }

    /// Takes away a record that went with something that is removed. The removal may name what nothing here
    /// knows by its id alone: what superseded it may be gone from the store.
    pub(super) fn lose(&mut self, seq: Seq, key: &[u8]) {
        self.dead += without(&mut self.cells, &mut self.lists, seq, key);
    }

    /// Takes away what a removal says; gives how many bytes that took.
    fn remove(&mut self, at: Seq, key: Vec<u8>, removal: &Removal) -> u64 {
        // What comes later is another one of that name.
        let upto = Seq(at.0.saturating_sub(1));
        self.provenance.take(&key, &removal.derived, upto);
        let mut freed = match removal.target {
            Target::Cell => {
                let freed = self.cells.remove(&key, upto);
                self.doubts.settle(key, upto);
                freed
            }
            Target::Prefix => {
                let cells = self.cells.retain(&key, |_, cell| cell.version > upto);
                let lists = self.lists.remove_below(&key, |_, seq| seq <= upto);
                self.doubts.settle_below(key, upto);
                cells + lists
            }
            Target::Entries => {
                let ranges = removal.seqs.iter();
                let ranges = ranges.map(|one| Seq(*one.start())..=Seq(*one.end()).min(upto));
                ranges.map(|one| self.lists.remove(&key, one)).sum()
            }
        };
        for range in &removal.derived {
            for (seq, key) in self.provenance.within(range, upto) {
                freed += without(&mut self.cells, &mut self.lists, seq, key);
            }
        }
        freed
    }

    /// Forgets what was erased, and learns what is damaged.
    pub(super) fn without(&mut self, gone: &Gone) {
        self.followed.generation = gone.generation;
        self.doubts.learn(gone);
        if gone.version() == self.followed.erased {
            return;
        }
        self.followed.erased = gone.version();
        let covers = |seq: Seq, key: &[u8]| gone.covers(seq, &order::decode(key));
        self.cells.retain(&[], |key, cell| {
            let patch = cell.patch.is_some_and(|patch| covers(patch, key));
            !covers(cell.version, key) && !patch
        });
        self.lists.remove_below(&[], |key, seq| covers(seq, key));
        self.provenance.forget_all(covers);
    }

    /// Forgets what this handle erased: these records by key, and all below a prefix. The version of
    /// erasures was `before`, and is `after` now.
    pub(super) fn erase(
        &mut self,
        records: &BTreeMap<Vec<u8>, BTreeSet<u64>>,
        prefix: Option<&[u8]>,
        (before, after): (u64, u64),
    ) {
        if self.followed.erased != before {
            // Another handle's erasure came before: a look at everything finds both.
            return;
        }
        self.followed.erased = after;
        for (key, seqs) in records {
            let cell = self.cells.get(key).map(|cell| (cell.version, cell.patch));
            if let Some((version, patch)) = cell
                && let mut own = std::iter::once(version).chain(patch)
                && own.any(|seq| seqs.contains(&seq.0))
            {
                self.cells.remove(key, version);
            }
            for seq in seqs.iter().copied().map(Seq) {
                self.lists.remove(key, seq..=seq);
            }
            self.provenance.forget(seqs);
        }
        if let Some(prefix) = prefix {
            self.cells.retain(prefix, |_, _| false);
            self.lists.remove_below(prefix, |_, _| true);
            self.provenance.forget_below(prefix);
        }
    }

    /// A directory that begins anew.
    pub(super) fn anew(gone: &Gone) -> Self {
        Self {
            followed: Followed {
                erased: 0,
                rewound: gone.rewound,
                generation: gone.generation,
            },
            ..Self::default()
        }
    }

    /// The last entry on the path of a list; 0 for none.
    pub(super) fn tail(&self, list: &[u8]) -> Seq {
        let list = self.lists.get(list);
        list.map(lists::List::tail).unwrap_or_default()
    }

    /// The next entries on the path of a list, each with the id of the one before it; see
    /// [`Log::entries`](super::handle::Log::entries).
    pub(super) fn page(
        &self,
        list: &[u8],
        beyond: Option<Seq>,
        limit: usize,
        reverse: bool,
        now: i64,
    ) -> Vec<(lists::Node, Seq)> {
        let list = self.lists.get(list);
        list.map(|list| list.page(beyond, limit, reverse, now))
            .unwrap_or_default()
    }

    /// What it is without.
    pub(super) fn followed(&self) -> Followed {
        self.followed
    }

    /// Keys of what may have expired by then, the earliest first, at most so many.
    pub(super) fn expired(&self, now: i64, most: usize) -> Vec<(i64, Vec<u8>)> {
        let expired = self
            .expiring
            .iter()
            .take_while(|(expires, _)| *expires <= now);
        expired.take(most).cloned().collect()
    }

    /// Forgets that these may expire.
    pub(super) fn swept(&mut self, keys: &[(i64, Vec<u8>)]) {
        for key in keys {
            self.expiring.remove(key);
        }
    }

    /// Every record below a prefix.
    pub(super) fn records_below<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = Seq> + 'a {
        let cells = self.cells.below(prefix, None, false);
        let cells = cells.flat_map(|(_, cell)| cell.records());
        let lists = self.lists.below(prefix).flat_map(|(_, list)| list.nodes());
        let entries = lists.flat_map(lists::Node::records);
        cells.chain(entries).chain(self.provenance.others(prefix))
    }

    /// Up to which id nothing that is damaged concerns a cell: its newest version, or its removal.
    pub(super) fn settled(&self, key: &[u8]) -> Seq {
        let version = self.cells.get(key).map(|cell| cell.version);
        self.doubts.settled(key).max(version.unwrap_or_default())
    }

    /// The damaged record that may have changed a cell.
    pub(super) fn doubt(&self, key: &[u8]) -> Option<Seq> {
        // Of a version that cannot be read its record says so; of a patch nothing else does.
        let cell = self.cells.get(key).filter(|cell| !cell.readable);
        let unread = cell.and_then(|cell| cell.patch);
        if !self.doubts.are_any() {
            return unread;
        }
        self.doubts.after(self.settled(key)).or(unread)
    }
}

/// Takes away a version or an entry; gives how many bytes that took.
fn without(cells: &mut Cells, lists: &mut Lists, seq: Seq, key: &[u8]) -> u64 {
    let is_newest = cells.get(key).is_some_and(|cell| cell.version == seq);
    let freed = if is_newest { cells.remove(key, seq) } else { 0 };
    freed + lists.remove(key, seq..=seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::attributes::Attributes;

    const KEY: &[u8] = b"list\0\0";

    fn event(seq: u64, what: What) -> Event {
        Event {
            record: Seq(seq),
            seq: Seq(seq),
            key: KEY.to_vec(),
            sources: Vec::new(),
            len: 100,
            what,
        }
    }

    fn added(seq: u64, parent: u64) -> Event {
        let what = What::Added {
            parent: Some(Seq(parent)),
            replaces: None,
            uid: None,
            attributes: Some(Attributes::default()),
        };
        event(seq, what)
    }

    fn removed(seq: u64, seqs: &[u64]) -> Event {
        let removal = Removal::new(Target::Entries, &seqs.iter().copied().collect());
        event(seq, What::Removed(removal))
    }

    /// The path of the list after these events.
    fn path(events: impl IntoIterator<Item = Event>) -> Vec<u64> {
        let mut directory = Directory::default();
        for one in events {
            directory.apply(one);
        }
        let list = directory.lists.get(KEY);
        let path = list.map_or(&[][..], lists::List::path);
        path.iter().map(|seq| seq.0).collect()
    }

    #[test]
    fn a_path_leads_from_its_head_to_the_first_entry() {
        let tree = || {
            [
                added(1, 0),
                added(2, 1),
                added(3, 2),
                added(4, 1),
                added(5, 4),
            ]
        };
        assert_eq!(path(tree()), [1, 4, 5]);
        let head = |seq, to| event(seq, What::Head(Seq(to)));
        assert_eq!(path(tree().into_iter().chain([head(6, 3)])), [1, 2, 3]);
        assert_eq!(path(tree().into_iter().chain([head(6, 4)])), [1, 4]);
        assert!(path(tree().into_iter().chain([head(6, 0)])).is_empty());
        let again = [head(6, 0), added(7, 0)];
        assert_eq!(path(tree().into_iter().chain(again)), [7]);
        // An entry whose parent nobody knows follows the one before that.
        assert_eq!(path([added(1, 0), added(3, 2)]), [1, 3]);
        assert_eq!(path([added(5, 4)]), [5]);
    }

    #[test]
    fn what_followed_a_removed_entry_follows_what_that_one_followed() {
        let tree = || [added(1, 0), added(2, 1), added(3, 1), added(4, 2)];
        assert_eq!(path(tree().into_iter().chain([removed(5, &[2])])), [1, 4]);
        assert_eq!(path(tree().into_iter().chain([removed(5, &[1, 2])])), [4]);
        assert_eq!(path(tree().into_iter().chain([removed(5, &[4])])), [1, 2]);
        assert_eq!(
            path(tree().into_iter().chain([removed(5, &[9])])),
            [1, 2, 4]
        );
    }

    #[test]
    fn an_entry_that_is_gone_leads_to_what_it_followed_on_its_own_path() {
        let head = |seq, to| event(seq, What::Head(Seq(to)));
        // 1, 2, 3; back to 1; 5 and 6; back to 3; 8 and 9; back to 5; 11.
        let all = || {
            [
                added(1, 0),
                added(2, 1),
                added(3, 2),
                head(4, 1),
                added(5, 1),
                added(6, 5),
                head(7, 3),
                added(8, 3),
                added(9, 8),
                head(10, 5),
                added(11, 5),
            ]
        };
        let without = |gone: &[u64], more: Option<Event>| {
            let kept = all().into_iter().filter(|one| !gone.contains(&one.seq.0));
            path(kept.chain(more))
        };
        assert_eq!(without(&[], None), [1, 5, 11]);
        assert_eq!(without(&[5], None), [1, 11]);
        assert_eq!(without(&[1, 5], None), [11]);
        assert_eq!(without(&[5], Some(head(12, 6))), [1, 6]);
        assert_eq!(without(&[6], Some(head(12, 6))), [1, 5]);
        assert_eq!(without(&[8], Some(head(12, 9))), [1, 2, 3, 9]);
        assert_eq!(without(&[8, 9], Some(head(12, 9))), [1, 2, 3]);
        assert_eq!(without(&[3, 8], Some(head(12, 9))), [1, 2, 9]);
        // As the handle sees it that was there before.
        for gone in [vec![5], vec![1, 5], vec![6], vec![3, 8], vec![8, 9]] {
            for to in [3, 6, 9, 11] {
                let late = all().into_iter().chain([removed(12, &gone), head(13, to)]);
                assert_eq!(
                    path(late),
                    without(&gone, Some(head(13, to))),
                    "{gone:?} {to}"
                );
            }
        }
    }

    #[test]
    fn a_second_copy_counts_as_the_first() {
        let copy = |record, seq, what| Event {
            record: Seq(record),
            ..event(seq, what)
        };
        let head = copy(4, 2, What::Head(Seq(1)));
        // The first copy of the head, 2, is damaged, and an entry came between.
        assert_eq!(path([added(1, 0), added(3, 1), head.clone()]), [1, 3]);
        assert_eq!(path([added(1, 0), head]), [1]);
        let behind = Removal::behind(Seq(1));
        let cut = copy(5, 3, What::Removed(behind));
        assert_eq!(path([added(1, 0), added(2, 1), added(4, 1), cut]), [1, 4]);
    }

    #[test]
    fn a_patch_is_of_its_version_alone_and_the_newest_counts() {
        let said = |expires| Attributes {
            expires: Some(expires),
            ..Attributes::default()
        };
        let put = |seq| {
            let what = What::Put {
                born: None,
                attributes: Some(Attributes::default()),
            };
            event(seq, what)
        };
        let patch = |seq, of, expires| {
            let what = What::Patched {
                of: Seq(of),
                attributes: Some(said(expires)),
            };
            event(seq, what)
        };
        let expires = |events: Vec<Event>| {
            let mut directory = Directory::default();
            for one in events {
                directory.apply(one);
            }
            directory.cells.get(KEY).unwrap().expires
        };
        assert_eq!(
            expires(vec![put(1), patch(2, 1, 20), patch(3, 1, 30)]),
            Some(30)
        );
        assert_eq!(expires(vec![put(1), put(2), patch(3, 1, 30)]), None);
        assert_eq!(expires(vec![put(1), patch(2, 1, 20), put(3)]), None);
        assert_eq!(expires(vec![put(2), patch(3, 4, 30)]), None);
        // What was taken up already changes nothing.
        assert_eq!(expires(vec![put(3), patch(2, 3, 20)]), None);
    }
}
