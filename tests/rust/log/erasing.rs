//! What was made from something goes with it, whether it is removed or erased, in every handle.

use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::cold::{Draft, Durability, Medium as _, Mode, Options, Ram, Scope, Store};
use warmset_core::log::{Batch, Columns, IfPresent, Item, Key, Log, Outcome, Row, Value};
use warmset_core::{Error, Kind, Seq};

use crate::segment;

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const B: Key<'static> = &[b"t", b"\xffs", b"b"];
const OTHER: Key<'static> = &[b"u", b"\xffs", b"a"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn open(ram: &Ram, mode: Mode) -> Log {
    let options = Options {
        mode,
        durability: Durability::Os,
        ..Options::default()
    };
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

fn write(log: &Log, row: Row<'_>) -> Seq {
    match log.write(&Batch::new(&[row])).unwrap()[0] {
        Outcome::Written(seq) => seq,
        other => panic!("{other:?}"),
    }
}

fn put(log: &Log, key: Key<'_>, sources: &[Seq]) -> Seq {
    let item = Item {
        sources,
        ..Item::new(key, b"x")
    };
    write(log, Row::Put(item))
}

fn add(log: &Log, list: Key<'_>, sources: &[Seq]) -> Seq {
    let item = Item {
        sources,
        ..Item::new(list, b"x")
    };
    write(log, Row::Add(item))
}

/// A record of another kind, which the store writes.
fn embedding(log: &Log, sources: &[Seq]) -> Seq {
    let draft = Draft {
        kind: Kind::Embedding,
        key: TALK,
        meta: b"{}",
        sources,
        payload: b"v",
    };
    log.store().append(&[draft]).unwrap()[0]
}

fn seqs(log: &Log, list: Key<'_>) -> Vec<Seq> {
    let entries = log.entries(list, None, usize::MAX, false, 0).unwrap();
    entries.into_iter().map(|entry| entry.seq).collect()
}

fn is_not_found(log: &Log, seq: Seq) -> bool {
    matches!(log.store().get(seq), Err(Error::NotFound { .. }))
}

/// Removes something, given an entry and the one before it.
type Remove = fn(&Log, Seq, Seq) -> Seq;

#[test]
fn what_was_made_from_something_is_removed_with_it() {
    let how: [(&str, Remove); 5] = [
        ("the cell", |log, _, _| write(log, Row::Remove(A))),
        ("below a prefix", |log, _, _| {
            write(log, Row::RemoveBelow(&[b"t", b"\xffs"]))
        }),
        ("an entry", |log, entry, _| {
            let entries = [entry];
            let row = Row::RemoveEntries {
                list: LIST,
                entries: &entries,
            };
            write(log, row)
        }),
        ("behind an entry", |log, _, first| {
            let row = Row::Cut {
                list: LIST,
                after: first,
            };
            write(log, row)
        }),
        ("a replaced one stays", |log, _, _| put(log, A, &[])),
    ];
    for (at, (name, remove)) in how.into_iter().enumerate() {
        let ram = Ram::new();
        let (log, other) = (open(&ram, Mode::Shared), open(&ram, Mode::Shared));
        let cell = put(&log, A, &[]);
        let first = add(&log, LIST, &[]);
        let entry = add(&log, LIST, &[]);
        let source = if at == 2 || at == 3 { entry } else { cell };
        let made = put(&log, OTHER, &[source]);
        let again = add(&log, TALK, &[made]);
        let vector = embedding(&log, &[again]);
        let kept = add(&log, TALK, &[first]);
        assert_eq!(seqs(&other, TALK), [again, kept]);
        remove(&log, entry, first);
        let late = open(&ram, Mode::Read);
        for handle in [&log, &other, &late] {
            let gone = name != "a replaced one stays";
            assert_eq!(handle.version(OTHER, 0).unwrap().is_none(), gone, "{name}");
            assert_eq!(handle.get(OTHER, 0).unwrap().is_none(), gone, "{name}");
            for seq in [made, again, vector] {
                assert_eq!(is_not_found(handle, seq), gone, "{name} {seq}");
            }
            let path = if gone { vec![kept] } else { vec![again, kept] };
            assert_eq!(seqs(handle, TALK), path, "{name}");
            assert!(handle.store().get(kept).is_ok());
        }
    }
}

#[test]
fn what_is_written_in_one_batch_is_removed_with_its_source() {
    let ram = Ram::new();
    let log = open(&ram, Mode::Shared);
    let source = put(&log, A, &[]);
    let sources = [source];
    let made = Item {
        sources: &sources,
        ..Item::new(B, b"x")
    };
    let rows = [Row::Put(made), Row::Remove(A)];
    log.write(&Batch::new(&rows)).unwrap();
    for handle in [&log, &open(&ram, Mode::Read)] {
        assert_eq!(handle.version(B, 0).unwrap(), None);
    }
    // A later row sees it.
    let source = put(&log, A, &[]);
    let sources = [source];
    let made = Item {
        sources: &sources,
        ..Item::new(B, b"x")
    };
    let again = Item {
        if_present: IfPresent::Fail,
        ..Item::new(B, b"y")
    };
    let rows = [Row::Put(made), Row::Remove(A), Row::Put(again)];
    log.write(&Batch::new(&rows)).unwrap();
    for handle in [&log, &open(&ram, Mode::Read)] {
        assert_eq!(handle.get(B, 0).unwrap().unwrap().payload, b"y");
    }
}

#[test]
fn what_a_new_entry_replaces_goes_with_it_in_the_same_batch() {
    for mode in [Mode::Exclusive, Mode::Shared] {
        let ram = Ram::new();
        let log = open(&ram, mode);
        let named = |if_present| {
            Row::Add(Item {
                uid: Some(b"u"),
                if_present,
                ..Item::new(LIST, b"x")
            })
        };
        let first = write(&log, named(IfPresent::Fail));
        let derived = put(&log, A, &[first]);
        assert_eq!(log.version(A, 0).unwrap(), Some(derived));
        let rows = [
            named(IfPresent::Replace),
            named(IfPresent::Replace),
            Row::Cut {
                list: LIST,
                after: Seq(0),
            },
        ];
        log.write(&Batch::new(&rows)).unwrap();
        assert_eq!(log.version(A, 0).unwrap(), None);
        assert!(is_not_found(&log, derived));
        assert!(seqs(&log, LIST).is_empty());
        // Whoever reads it all comes to the same.
        drop(log);
        assert_eq!(open(&ram, mode).version(A, 0).unwrap(), None);
    }
}

#[test]
fn nothing_is_made_from_what_was_removed() {
    let ram = Ram::new();
    let log = open(&ram, Mode::Shared);
    let (cell, entry) = (put(&log, A, &[]), add(&log, LIST, &[]));
    write(&log, Row::Remove(A));
    write(&log, Row::RemoveBelow(&[b"t", b"\xffl"]));
    for source in [cell, entry] {
        let sources = [source];
        let item = Item {
            sources: &sources,
            ..Item::new(B, b"x")
        };
        let found = log.write(&Batch::new(&[Row::Put(item)]));
        assert!(matches!(found, Err(Error::NotFound { seq }) if seq == source));
    }
    assert_eq!(log.version(B, 0).unwrap(), None);
    // Neither a copy nor an entry of another list has anything to do with it.
    let alone = put(&log, A, &[]);
    assert!(put(&log, B, &[alone]) > alone);
}

#[test]
fn ids_of_another_list_are_none_of_this_one() {
    let log = open(&Ram::new(), Mode::Shared);
    let (mine, theirs) = (add(&log, LIST, &[]), add(&log, TALK, &[]));
    let made = put(&log, B, &[theirs]);
    let entries = [theirs];
    let rows = [Row::RemoveEntries {
        list: LIST,
        entries: &entries,
    }];
    assert_eq!(log.write(&Batch::new(&rows)).unwrap(), [Outcome::Nothing]);
    assert_eq!(seqs(&log, LIST), [mine]);
    assert_eq!(seqs(&log, TALK), [theirs]);
    assert_eq!(log.version(B, 0).unwrap(), Some(made));
}

#[test]
fn what_only_says_where_a_list_ends_is_not_erased_by_its_id() {
    let ram = Ram::new();
    let log = open(&ram, Mode::Shared);
    let first = add(&log, TALK, &[]);
    add(&log, TALK, &[]);
    put(&log, A, &[]);
    let row = Row::Cut {
        list: TALK,
        after: first,
    };
    let (head, removal) = (write(&log, row), write(&log, Row::Remove(A)));
    for erase in [Log::erase, |log: &Log, scope: Scope<'_>| {
        log.store().erase(scope)
    }] {
        erase(&log, Scope::Records(&[head, removal])).unwrap();
        log.store().compact().unwrap();
        for handle in [&log, &open(&ram, Mode::Read)] {
            assert_eq!(seqs(handle, TALK), [first]);
            assert_eq!(handle.version(A, 0).unwrap(), None);
        }
    }
}

/// A segment that another handle has just begun, of which nobody who reads knows what it will hold.
#[test]
fn a_segment_that_is_being_begun_hides_nothing_from_a_reader() {
    let ram = Ram::new();
    let log = open(&ram, Mode::Shared);
    put(&log, A, &[]);
    let next = (1..9).find(|number| ram.read(&segment(*number)).is_none());
    let next = segment(next.unwrap());
    ram.write(&next, Vec::new());
    let reader = open(&ram, Mode::Read);
    assert!(reader.get(A, 0).unwrap().is_some());
    ram.remove(&next).unwrap();
    let newest = put(&log, A, &[]);
    put(&log, B, &[]);
    let anew = open(&ram, Mode::Read);
    for handle in [&log, &anew, &reader] {
        assert_eq!(handle.version(A, 0).unwrap(), Some(newest));
        assert!(handle.version(B, 0).unwrap().is_some());
    }
}

#[derive(Clone, Debug)]
enum Made {
    Put(usize),
    Patch(usize),
    Add(usize, Option<u8>),
    Other,
    Cut,
}

fn keys() -> [Key<'static>; 3] {
    [A, B, OTHER]
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Made::Put),
        2 => (0..3_usize).prop_map(Made::Patch),
        4 => (0..2_usize, prop::option::of(0..2_u8)).prop_map(|(at, uid)| Made::Add(at, uid)),
        2 => Just(Made::Other),
        1 => Just(Made::Cut),
    ]
}

/// Writes one record with these sources; `None` where there is nothing to change.
fn make(log: &Log, made: &Made, sources: &[Seq]) -> Option<Seq> {
    Some(match made {
        Made::Put(at) => put(log, keys()[*at], sources),
        Made::Patch(at) => {
            log.version(keys()[*at], 0).unwrap()?;
            write(
                log,
                Row::Patch {
                    key: keys()[*at],
                    version: None,
                    columns: &Columns::default(),
                    expires: None,
                },
            )
        }
        Made::Add(at, uid) => {
            let uid = uid.map(|uid| [uid]);
            let item = Item {
                sources,
                uid: uid.as_ref().map(<[u8; 1]>::as_slice),
                ..Item::new([LIST, TALK][*at], b"x")
            };
            write(log, Row::Add(item))
        }
        Made::Other => embedding(log, sources),
        Made::Cut => {
            let path = seqs(log, TALK);
            let after = *path.get(path.len().checked_sub(2)?)?;
            write(log, Row::Cut { list: TALK, after })
        }
    })
}

proptest! {
    /// The log finds in its directory what the store finds by a look at everything.
    #[test]
    fn the_log_erases_what_the_store_would(
        all in prop::collection::vec((made(), prop::collection::vec(0..40_usize, 0..3)), 1..24),
        scopes in prop::collection::vec((any::<bool>(), 0..40_usize), 1..4),
    ) {
        let rams = [Ram::new(), Ram::new()];
        let logs = [open(&rams[0], Mode::Shared), open(&rams[1], Mode::Shared)];
        let mut written = Vec::new();
        for (what, sources) in &all {
            let sources = sources.iter().filter_map(|at| written.get(*at).copied());
            let sources: Vec<Seq> = sources.collect();
            let both = [make(&logs[0], what, &sources), make(&logs[1], what, &sources)];
            prop_assert_eq!(both[0], both[1]);
            // A head holds nothing that something could be made from.
            written.extend(both[0].filter(|_| !matches!(what, Made::Cut)));
        }
        prop_assume!(!written.is_empty());
        let prefixes: [Key<'_>; 4] = [&[b"t"], LIST, A, &[b"t", b"\xffs"]];
        for (by_id, at) in scopes {
            let seqs = [written[at % written.len()]];
            let scope = if by_id {
                Scope::Records(&seqs)
            } else {
                Scope::Prefix(prefixes[at % prefixes.len()])
            };
            let told = logs[0].erase(scope).unwrap();
            let theirs = logs[1].store().erase(scope).unwrap();
            // The store also counts heads and removals below a prefix, and superseded ones that are gone.
            prop_assert!(told.records <= theirs.records, "{:?} {:?}", told, theirs);
            let late = [open(&rams[0], Mode::Read), open(&rams[1], Mode::Read)];
            for seq in &written {
                let state = |log: &Log| match log.store().get(*seq) {
                    Ok(_) => 0,
                    Err(Error::Erased { .. }) => 1,
                    Err(other) => panic!("{other:?}"),
                };
                let states = [&logs[0], &logs[1], &late[0], &late[1]].map(state);
                prop_assert_eq!(states, [states[0]; 4], "{} by {:?}", seq, scope);
            }
            for log in [&logs[1], &late[0], &late[1]] {
                for key in keys() {
                    prop_assert_eq!(log.get(key, 0).unwrap().map(|c| c.version), logs[0].get(key, 0).unwrap().map(|c| c.version));
                }
                for list in [LIST, TALK] {
                    prop_assert_eq!(log.entries(list, None, 99, false, 0).unwrap().iter().map(|e| (e.seq, e.parent)).collect::<Vec<_>>(), logs[0].entries(list, None, 99, false, 0).unwrap().iter().map(|e| (e.seq, e.parent)).collect::<Vec<_>>());
                }
            }
            let gone = |seq: &Seq| matches!(logs[0].store().get(*seq), Err(Error::Erased { .. }));
            written.retain(|seq| !gone(seq));
            if written.is_empty() {
                break;
            }
        }
    }
}

#[test]
fn a_version_is_erased_with_its_patches_and_older_versions_without_a_log() {
    let ram = Ram::new();
    let log = open(&ram, Mode::Exclusive);
    put(&log, A, &[]);
    let version = put(&log, A, &[]);
    let columns = Columns::new([("who".to_owned(), Value::Text("somebody".to_owned()))]).unwrap();
    let patch = Row::Patch {
        key: A,
        version: None,
        columns: &columns,
        expires: None,
    };
    write(&log, patch);
    put(&log, B, &[]);
    let has = |needle: &[u8]| {
        let bytes = ram.read(&segment(2)).unwrap();
        bytes.windows(needle.len()).any(|part| part == needle)
    };
    assert!(has(b"somebody"));
    log.store().erase(Scope::Records(&[version])).unwrap();
    log.store().compact().unwrap();
    assert!(!has(b"somebody"));
    assert_eq!(log.get(A, 0).unwrap(), None);
    assert!(log.get(B, 0).unwrap().is_some());
}
