//! Many threads, on one handle and on several: a condition is judged against what is written by then.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use warmset_core::cold::{Durability, OnBusy, Options, Store};
use warmset_core::log::{Batch, Expect, IfPresent, Item, Log, Outcome, Row, now};
use warmset_core::{Error, Seq};

fn open(dir: &Path, durability: Durability) -> Log {
    let options = Options {
        durability,
        on_busy: OnBusy::Fail,
        lock_wait: std::time::Duration::from_mins(1),
        ..Options::default()
    };
    Log::new(Arc::new(Store::open(dir, options).unwrap()))
}

/// Runs a task of each thread, eight on each of two handles, and gives their answers.
fn run<T: Send + 'static>(
    durability: Durability,
    task: impl Fn(usize, &Log) -> T + Send + Sync + Clone + 'static,
) -> (Vec<T>, Log, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let logs = [open(dir.path(), durability), open(dir.path(), durability)];
    let threads: Vec<_> = (0..16)
        .map(|at| {
            let (log, task) = (logs[at % 2].clone(), task.clone());
            thread::spawn(move || task(at, &log))
        })
        .collect();
    let answers = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let [first, _] = logs;
    (answers, first, dir)
}

#[test]
fn of_many_that_put_one_key_if_it_is_absent_one_does() {
    let keys = 40_u8;
    for durability in [Durability::Os, Durability::Fsync] {
        let (answers, log, _dir) = run(durability, move |at, log| {
            let mut got = Vec::new();
            for key in 0..keys {
                let name = [key];
                let parts: [&[u8]; 3] = [b"t", b"\xffs", &name];
                let payload = [u8::try_from(at).unwrap()];
                let item = Item {
                    if_present: IfPresent::Skip,
                    ..Item::new(&parts, &payload)
                };
                let outcomes = log.write(&Batch::new(&[Row::Put(item)])).unwrap();
                got.push(outcomes[0]);
            }
            got
        });
        for key in 0..usize::from(keys) {
            let written: Vec<(usize, Seq)> = answers
                .iter()
                .enumerate()
                .filter_map(|(at, got)| match got[key] {
                    Outcome::Written(seq) => Some((at, seq)),
                    _ => None,
                })
                .collect();
            assert_eq!(
                written.len(),
                1,
                "{durability:?}: key {key} was put {written:?}"
            );
            let (who, seq) = written[0];
            let others = answers.iter().enumerate().filter(|(at, _)| *at != who);
            for (_, got) in others {
                assert_eq!(got[key], Outcome::Present(seq));
            }
            let name = [u8::try_from(key).unwrap()];
            let found = log.get(&[b"t", b"\xffs", &name], now()).unwrap().unwrap();
            assert_eq!((found.version, usize::from(found.payload[0])), (seq, who));
        }
    }
}

#[test]
fn an_own_id_is_taken_once_and_no_entry_is_lost() {
    let (answers, log, _dir) = run(Durability::Os, |at, log| {
        let mut added = Vec::new();
        for n in 0..40_usize {
            // Half of the ids are everybody's, half are the thread's own.
            let uid = if n % 2 == 0 {
                format!("all {n}")
            } else {
                format!("{at} {n}")
            };
            let list: [&[u8]; 3] = [b"t", b"\xffl", b"list"];
            let item = Item {
                uid: Some(uid.as_bytes()),
                if_present: IfPresent::Fail,
                ..Item::new(&list, uid.as_bytes())
            };
            match log.write(&Batch::new(&[Row::Add(item)])) {
                Ok(outcomes) => added.push((uid.clone(), outcomes[0])),
                Err(Error::Conflict {
                    reason: "present",
                    row: Some(0),
                    ..
                }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        added
    });
    let added: Vec<_> = answers.into_iter().flatten().collect();
    let list: [&[u8]; 3] = [b"t", b"\xffl", b"list"];
    let entries = log.entries(&list, None, usize::MAX, false, now()).unwrap();
    assert_eq!(entries.len(), added.len());
    assert_eq!(entries.len(), 20 + 16 * 20);
    let names: HashSet<_> = entries
        .iter()
        .map(|entry| entry.uid.clone().unwrap())
        .collect();
    assert_eq!(names.len(), entries.len());
    let mut before = Seq(0);
    for entry in &entries {
        assert_eq!(entry.parent, before, "the path has a gap");
        before = entry.seq;
    }
    for (uid, outcome) in added {
        let entry = entries
            .iter()
            .find(|entry| entry.payload == uid.as_bytes())
            .unwrap();
        assert_eq!(outcome, Outcome::Written(entry.seq));
    }
}

#[test]
fn a_number_that_many_raise_by_compare_and_set_is_their_sum() {
    let (tries, log, _dir) = run(Durability::Os, |_, log| {
        let key: [&[u8]; 3] = [b"t", b"\xffs", b"number"];
        let mut tries = 0_u64;
        for _ in 0..25 {
            loop {
                tries += 1;
                let cell = log.get(&key, now()).unwrap();
                let number = cell.as_ref().map_or(0, |cell| cell.payload[0]);
                let version = cell.map(|cell| cell.version).unwrap_or_default();
                let more = [number.wrapping_add(1)];
                let rows = [Row::Put(Item::new(&key, &more))];
                let batch = Batch {
                    expect: &[Expect::Version(&key, version)],
                    ..Batch::new(&rows)
                };
                match log.write(&batch) {
                    Ok(_) => break,
                    Err(Error::Conflict {
                        reason: "version",
                        row: None,
                        ..
                    }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }
        tries
    });
    let cell = log
        .get(&[b"t", b"\xffs", b"number"], now())
        .unwrap()
        .unwrap();
    assert_eq!(u64::from(cell.payload[0]), 16 * 25 % 256);
    assert!(tries.iter().sum::<u64>() >= 400);
}

#[test]
fn two_logs_of_one_store_judge_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::clone(open(dir.path(), Durability::Fsync).store());
    let logs = [Log::new(Arc::clone(&store)), Log::new(store)];
    let stop = Arc::new(AtomicBool::new(false));
    // Somebody keeps the writer busy, so that what comes meanwhile is written together.
    let (log, ended) = (logs[0].clone(), Arc::clone(&stop));
    let busy = thread::spawn(move || {
        let key: [&[u8]; 3] = [b"t", b"\xffs", b"busy"];
        while !ended.load(Ordering::Relaxed) {
            log.write(&Batch::new(&[Row::Put(Item::new(&key, b""))]))
                .unwrap();
        }
    });
    let keys = 60_u8;
    let barrier = Arc::new(Barrier::new(12));
    let threads: Vec<_> = (0..12)
        .map(|at| {
            let (log, barrier) = (logs[at % 2].clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                let put = |key: u8| {
                    barrier.wait();
                    let name = [key];
                    let parts: [&[u8]; 3] = [b"t", b"\xffs", &name];
                    let item = Item {
                        if_present: IfPresent::Skip,
                        ..Item::new(&parts, b"")
                    };
                    let outcomes = log.write(&Batch::new(&[Row::Put(item)])).unwrap();
                    usize::from(matches!(outcomes[0], Outcome::Written(_)))
                };
                (0..keys).map(put).sum::<usize>()
            })
        })
        .collect();
    let written: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    stop.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    assert_eq!(written, usize::from(keys));
}
