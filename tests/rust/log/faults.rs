//! Writes that fail while many wait: whoever is answered is right, and nobody counts what was not written.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Barrier};
use std::thread;

use warmset_core::Seq;
use warmset_core::cold::{Durability, Options, Store};
use warmset_core::log::{Batch, Expect, IfPresent, Item, Key, Log, Outcome, Row};

use crate::faulty::Faulty;

const THREADS: usize = 8;
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];

fn options() -> Options {
    Options {
        durability: Durability::Os,
        ..Options::default()
    }
}

#[test]
fn a_group_that_fails_is_judged_again_and_leaves_no_trace() {
    let mut failed = 0;
    for n in 1..60 {
        let medium = Faulty::default();
        let log = Log::new(Arc::new(medium.open_store(options()).unwrap()));
        let warm = [Row::Put(Item::new(&[b"t", b"\xffs"], b"warm"))];
        log.write(&Batch::new(&warm)).unwrap();
        let start = Arc::new(Barrier::new(THREADS));
        medium
            .plan
            .fail(n % 20 + 1, true, io::ErrorKind::StorageFull);
        let threads: Vec<_> = (0..THREADS)
            .map(|at| {
                let (log, start) = (log.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    (0..3_u8).map(|key| one(&log, at, key)).collect::<Vec<_>>()
                })
            })
            .collect();
        let answers: Vec<Vec<Option<[Outcome; 2]>>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        medium.plan.heal();
        failed += answers
            .iter()
            .flatten()
            .filter(|answer| answer.is_none())
            .count();
        // A batch that is written after all shows what this handle believes.
        let anew = Log::new(Arc::new(
            Store::with_medium(Box::new(medium.ram.clone()), options()).unwrap(),
        ));
        let mut entries = BTreeSet::new();
        for key in 0..3_u8 {
            let written: Vec<Seq> = answers
                .iter()
                .filter_map(|got| match got[usize::from(key)]?[0] {
                    Outcome::Written(seq) => Some(seq),
                    _ => None,
                })
                .collect();
            assert!(written.len() <= 1, "key {key} was put {written:?}");
            let name = [key];
            let parts: [&[u8]; 3] = [b"t", b"\xffs", &name];
            for log in [&log, &anew] {
                let found = log.version(&parts, 0).unwrap();
                assert_eq!(found, written.first().copied(), "key {key} after fault {n}");
            }
            for got in &answers {
                if let Some([put, add]) = got[usize::from(key)] {
                    let at = match put {
                        Outcome::Written(seq) | Outcome::Present(seq) => seq,
                        Outcome::Nothing | Outcome::Spooled => panic!("nothing"),
                    };
                    assert_eq!(Some(at), written.first().copied());
                    let Outcome::Written(seq) = add else {
                        panic!("{add:?}")
                    };
                    assert!(entries.insert(seq), "an id was given twice");
                }
            }
        }
        for log in [&log, &anew] {
            let shown = log.entries(LIST, None, usize::MAX, false, 0).unwrap();
            let mut before = Seq(0);
            for entry in &shown {
                assert_eq!(entry.parent, before, "the path has a gap");
                before = entry.seq;
            }
            let shown: BTreeSet<Seq> = shown.into_iter().map(|entry| entry.seq).collect();
            assert_eq!(shown, entries, "after fault {n}");
        }
        let tail = log.tail(LIST).unwrap();
        let rows = [Row::Add(Item::new(LIST, b"last"))];
        let batch = Batch {
            expect: &[Expect::Tail(LIST, tail)],
            ..Batch::new(&rows)
        };
        log.write(&batch).unwrap();
        assert_eq!(anew.tail(LIST).unwrap(), log.tail(LIST).unwrap());
    }
    assert!(failed > 10, "the fault was met {failed} times");
}

/// Puts a key if it is absent and adds an entry, in one batch; `None` if that failed.
fn one(log: &Log, at: usize, key: u8) -> Option<[Outcome; 2]> {
    let name = [key];
    let parts: [&[u8]; 3] = [b"t", b"\xffs", &name];
    let uid = format!("{at} {key}");
    let rows = [
        Row::Put(Item {
            if_present: IfPresent::Skip,
            ..Item::new(&parts, b"x")
        }),
        Row::Add(Item {
            uid: Some(uid.as_bytes()),
            if_present: IfPresent::Fail,
            ..Item::new(LIST, b"x")
        }),
    ];
    let outcomes = log.write(&Batch::new(&rows)).ok()?;
    Some([outcomes[0], outcomes[1]])
}
