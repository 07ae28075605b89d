//! A follower that keeps something derived: it ends with what the log shows, or is asked to begin anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::cold::{Durability, Options, Ram, Scope, Store};
use warmset_core::log::{
    Batch, Change, Columns, Followed, Happened, Item, Key, Log, Outcome, Position, Row,
};
use warmset_core::{Error, Seq};

const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn open(ram: &Ram, segment_bytes: u64) -> Log {
    let options = Options {
        segment_bytes,
        durability: Durability::Os,
        ..Options::default()
    };
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

fn write(log: &Log, row: Row<'_>) -> Option<Seq> {
    match log.write(&Batch::new(&[row])) {
        Ok(outcomes) => match outcomes[0] {
            Outcome::Written(seq) => Some(seq),
            _ => None,
        },
        Err(Error::NotFound { .. }) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// What somebody keeps who only follows.
#[derive(Debug, Default)]
struct Kept {
    position: Option<Position>,
    cells: BTreeMap<Vec<Vec<u8>>, Seq>,
    /// Entries by list, on whatever path.
    entries: BTreeMap<Vec<Vec<u8>>, BTreeSet<Seq>>,
    rebuilt: usize,
}

impl Kept {
    fn follow(&mut self, log: &Log, limit: usize) {
        for turn in 0.. {
            assert!(turn < 1000, "it never ends");
            let position = self.position.map(|one| one.to_bytes());
            let position = position.map(|bytes| Position::from_bytes(&bytes).unwrap());
            match log.follow(position.as_ref(), &[], limit).unwrap() {
                Followed::Rebuild => {
                    let rebuilt = self.rebuilt + 1;
                    *self = Self {
                        rebuilt,
                        ..Self::default()
                    };
                }
                Followed::Changes(changes, position) => {
                    assert!(changes.len() <= limit);
                    let end = changes.is_empty();
                    for change in changes {
                        self.take(change);
                    }
                    self.position = Some(position);
                    if end {
                        return;
                    }
                }
            }
        }
    }

    fn take(&mut self, change: Change) {
        let Change { seq, key, what } = change;
        match what {
            Happened::Put => drop(self.cells.insert(key, seq)),
            Happened::Added { replaces, .. } => {
                let all = self.entries.entry(key).or_default();
                all.insert(seq);
                replaces.map(|one| all.remove(&one));
            }
            Happened::Removed { with } => {
                self.cells.remove(&key);
                self.without(&with);
            }
            Happened::RemovedBelow { with } => {
                self.cells.retain(|own, _| !own.starts_with(&key));
                self.entries.retain(|own, _| !own.starts_with(&key));
                self.without(&with);
            }
            Happened::RemovedEntries { entries, with } => {
                let all = self.entries.entry(key).or_default();
                all.retain(|one| *one > seq || !entries.iter().any(|r| r.contains(&one.0)));
                self.without(&with);
            }
            Happened::Erased(scrubbed) => {
                self.cells.retain(|key, seq| !scrubbed.covers(*seq, key));
                for (key, all) in &mut self.entries {
                    all.retain(|seq| !scrubbed.covers(*seq, key));
                }
            }
            Happened::Patched { .. } | Happened::Head { .. } => {}
        }
    }

    fn without(&mut self, seqs: &[std::ops::RangeInclusive<u64>]) {
        let gone = |seq: &Seq| seqs.iter().any(|range| range.contains(&seq.0));
        self.cells.retain(|_, seq| !gone(seq));
        for all in self.entries.values_mut() {
            all.retain(|seq| !gone(seq));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, bool),
    Patch(u8),
    Add(bool, Option<u8>),
    Cut(bool),
    Remove(u8),
    RemoveBelow,
    RemoveEntry(bool),
    Erase(u8),
    EraseBelow,
    Compact,
    Follow(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..3_u8, any::<bool>()).prop_map(|(at, made)| Step::Put(at, made)),
        1 => (0..3_u8).prop_map(Step::Patch),
        5 => (any::<bool>(), prop::option::of(0..2_u8)).prop_map(|(at, uid)| Step::Add(at, uid)),
        1 => any::<bool>().prop_map(Step::Cut),
        1 => (0..3_u8).prop_map(Step::Remove),
        1 => Just(Step::RemoveBelow),
        1 => any::<bool>().prop_map(Step::RemoveEntry),
        1 => (0..3_u8).prop_map(Step::Erase),
        1 => Just(Step::EraseBelow),
        2 => Just(Step::Compact),
        2 => (1..9_usize).prop_map(Step::Follow),
    ]
}

fn apply(log: &Log, step: &Step, last: &mut Option<Seq>) {
    let of = |talk: bool| if talk { TALK } else { LIST };
    let name = |at: u8| [at];
    let path = |talk: bool| -> Vec<Seq> {
        let all = log.entries(of(talk), None, 99, false, 0).unwrap();
        all.into_iter().map(|entry| entry.seq).collect()
    };
    match step {
        Step::Put(at, made) => {
            let name = name(*at);
            let key: &[&[u8]] = &[b"t", b"\xffs", &name];
            // What was removed is no source any more.
            let sources: Vec<Seq> = last.filter(|_| *made).into_iter().collect();
            let item = Item {
                sources: &sources,
                ..Item::new(key, b"x")
            };
            if let Ok(outcomes) = log.write(&Batch::new(&[Row::Put(item)]))
                && let Outcome::Written(seq) = outcomes[0]
            {
                *last = Some(seq);
            }
        }
        Step::Patch(at) => {
            let name = name(*at);
            let row = Row::Patch {
                key: &[b"t", b"\xffs", &name],
                version: None,
                columns: &Columns::default(),
                expires: None,
            };
            write(log, row);
        }
        Step::Add(talk, uid) => {
            let uid = uid.map(name);
            let item = Item {
                uid: uid.as_ref().map(<[u8; 1]>::as_slice),
                ..Item::new(of(*talk), b"x")
            };
            *last = write(log, Row::Add(item));
        }
        Step::Cut(talk) => {
            let all = path(*talk);
            let after = all.get(all.len() / 2).copied().unwrap_or_default();
            write(
                log,
                Row::Cut {
                    list: of(*talk),
                    after,
                },
            );
        }
        Step::Remove(at) => {
            let name = name(*at);
            write(log, Row::Remove(&[b"t", b"\xffs", &name]));
        }
        Step::RemoveBelow => drop(write(log, Row::RemoveBelow(&[b"t", b"\xffs"]))),
        Step::RemoveEntry(talk) => {
            let all = path(*talk);
            let entries = all.get(all.len() / 2).copied();
            let row = Row::RemoveEntries {
                list: of(*talk),
                entries: entries.as_slice(),
            };
            write(log, row);
        }
        Step::Erase(at) => {
            let name = name(*at);
            let key: &[&[u8]] = &[b"t", b"\xffs", &name];
            if let Some(seq) = log.version(key, 0).unwrap() {
                log.erase(Scope::Records(&[seq])).unwrap();
            }
        }
        Step::EraseBelow => drop(log.erase(Scope::Prefix(LIST)).unwrap()),
        Step::Compact => drop(log.compact(0).unwrap()),
        Step::Follow(_) => {}
    }
}

/// Takes these steps, the first of each pair says who, and compares what a follower keeps with what is shown.
fn ends_alike(steps: &[(bool, Step)], segment_bytes: u64) {
    let ram = Ram::new();
    let writers = [open(&ram, segment_bytes), open(&ram, segment_bytes)];
    let (mut kept, mut last) = (Kept::default(), None);
    for (who, step) in steps {
        if let Step::Follow(limit) = step {
            kept.follow(&writers[1], *limit);
        } else {
            apply(&writers[usize::from(*who)], step, &mut last);
        }
    }
    let reader = open(&ram, segment_bytes);
    kept.follow(&reader, 3);
    for name in 0..3_u8 {
        let key = vec![b"t".to_vec(), b"\xffs".to_vec(), vec![name]];
        let parts: Vec<&[u8]> = key.iter().map(Vec::as_slice).collect();
        let shown = reader.version(&parts, 0).unwrap();
        assert_eq!(kept.cells.get(&key).copied(), shown, "{name}");
        for writer in &writers {
            assert_eq!(writer.version(&parts, 0).unwrap(), shown, "{name}");
        }
    }
    for list in [LIST, TALK] {
        let key: Vec<Vec<u8>> = list.iter().map(|part| part.to_vec()).collect();
        let own = kept.entries.get(&key).cloned().unwrap_or_default();
        let path = reader.entries(list, None, 99, false, 0).unwrap();
        let path: BTreeSet<Seq> = path.into_iter().map(|entry| entry.seq).collect();
        // Entries of a conversation stay off its path.
        assert!(path.is_subset(&own), "{path:?} {own:?}");
        assert!(list == TALK || path == own, "{path:?} {own:?}");
        for seq in own {
            assert!(reader.store().get(seq).is_ok(), "{seq}");
        }
    }
}

proptest! {
    #[test]
    fn a_follower_ends_with_what_the_log_shows(
        steps in prop::collection::vec((any::<bool>(), step()), 1..40),
        segment_bytes in prop_oneof![Just(1_u64), 600..2000_u64, Just(1 << 20)],
    ) {
        ends_alike(&steps, segment_bytes);
    }
}

#[test]
fn what_went_with_a_removal_does_not_come_back() {
    use Step::{Add, Compact, EraseBelow, Follow, Put, Remove, RemoveEntry};
    // What superseded an older version is erased or dropped, and only its removal names that one.
    let erased = [
        Put(0, false),
        Put(1, false),
        Add(false, None),
        Put(1, true),
        Put(0, true),
        Remove(1),
        EraseBelow,
    ];
    let dropped = [
        Put(0, false),
        Follow(1),
        Add(false, None),
        Put(0, true),
        Compact,
        RemoveEntry(false),
        Compact,
    ];
    for steps in [erased, dropped] {
        for who in [false, true] {
            let steps: Vec<_> = steps.iter().map(|step| (who, step.clone())).collect();
            ends_alike(&steps, 1);
        }
    }
}

#[test]
fn a_position_of_another_store_or_of_a_later_time_begins_anew() {
    let (one, other) = (open(&Ram::new(), 1 << 20), open(&Ram::new(), 1 << 20));
    for log in [&one, &other] {
        write(log, Row::Add(Item::new(LIST, b"x")));
    }
    let Followed::Changes(changes, position) = one.follow(None, &[], 9).unwrap() else {
        panic!();
    };
    assert_eq!(changes.len(), 1);
    assert_eq!(
        other.follow(Some(&position), &[], 9).unwrap(),
        Followed::Rebuild
    );
    let again = one.follow(Some(&position), &[], 9).unwrap();
    assert_eq!(again, Followed::Changes(Vec::new(), position));
    let mut late = position.to_bytes();
    late[16] = 200;
    let late = Position::from_bytes(&late).unwrap();
    assert_eq!(one.follow(Some(&late), &[], 9).unwrap(), Followed::Rebuild);
    for wrong in [&late.to_bytes()[..31], &[], &[0; 33]] {
        let found = Position::from_bytes(wrong);
        assert!(matches!(
            found,
            Err(Error::Argument {
                name: "position",
                ..
            })
        ));
    }
}

#[test]
fn a_prefix_is_followed_alone() {
    let log = open(&Ram::new(), 1 << 20);
    let first = write(&log, Row::Put(Item::new(&[b"t", b"\xffs", b"a"], b"x"))).unwrap();
    write(&log, Row::Put(Item::new(&[b"u", b"\xffs", b"a"], b"x")));
    let sources = [first];
    let made = Item {
        sources: &sources,
        ..Item::new(&[b"u", b"\xffs", b"b"], b"x")
    };
    write(&log, Row::Put(made));
    write(&log, Row::Remove(&[b"t", b"\xffs", b"a"]));
    write(&log, Row::RemoveBelow(&[b"u"]));
    let keys = |prefix: Key<'_>| {
        let Followed::Changes(changes, _) = log.follow(None, prefix, 99).unwrap() else {
            panic!();
        };
        changes.len()
    };
    // A removal concerns whoever follows what was made from it, and one of a prefix all below it.
    assert_eq!(keys(&[]), 5);
    assert_eq!(keys(&[b"t"]), 2);
    assert_eq!(keys(&[b"u"]), 4);
    assert_eq!(keys(&[b"u", b"\xffs", b"a"]), 3);
    assert_eq!(keys(&[b"v"]), 1);
}
