//! What others do while a segment is written anew without what is dead in it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{Durability, Medium as _, Mode, Options, Ram, Scope, Store};
use warmset_core::log::{Batch, Columns, Item, Key, Log, Outcome, Row, Value};
use warmset_core::{Error, Seq};

use crate::faulty::{Elsewhere, Faulty};

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const B: Key<'static> = &[b"t", b"\xffs", b"b"];
const LIST: Key<'static> = &[b"t", b"\xffs", b"list"];
const MADE: Key<'static> = &[b"t", b"\xffs", b"made"];

fn options() -> Options {
    Options {
        durability: Durability::Os,
        segment_bytes: 1_500,
        // Nobody waits: whoever finds the lock busy is told.
        lock_wait: Duration::ZERO,
        ..Options::default()
    }
}

fn open(medium: &Faulty) -> Log {
    Log::new(Arc::new(medium.open_store(options()).unwrap()))
}

fn other(ram: &Ram) -> Log {
    let medium = Box::new(ram.clone());
    Log::new(Arc::new(Store::with_medium(medium, options()).unwrap()))
}

fn put(log: &Log, key: Key<'_>, payload: &[u8], sources: &[Seq]) -> Seq {
    let item = Item {
        sources,
        ..Item::new(key, payload)
    };
    written(&log.write(&Batch::new(&[Row::Put(item)])).unwrap())
}

fn written(outcomes: &[Outcome]) -> Seq {
    match outcomes {
        [Outcome::Written(seq)] => *seq,
        other => panic!("{other:?}"),
    }
}

/// A store whose first segments hold versions of `A`, all but the last superseded, and `B` among them.
fn filled() -> (Faulty, Log, Vec<Seq>) {
    let medium = Faulty::default();
    let log = open(&medium);
    let mut versions = vec![put(&log, A, b"secret of the first", &[])];
    put(&log, B, b"kept", &[]);
    versions.extend((0..30).map(|n: u8| put(&log, A, &[n; 40], &[])));
    (medium, log, versions)
}

/// Has something done at each of the two moments, in stores of their own; once, or again and again.
fn at_both(
    times: usize,
    act: impl Fn(&Log, &Ram, &[Seq]) + Clone + Send + 'static,
    look: impl Fn(&Faulty, &Log, &[Seq]),
) {
    for moment in 0..2 {
        let (medium, log, versions) = filled();
        let second = other(&medium.ram);
        for _ in 0..times {
            let (ram, versions, act) = (medium.ram.clone(), versions.clone(), act.clone());
            let second = second.clone();
            let act = Elsewhere(Box::new(move || act(&second, &ram, &versions)));
            medium.plan.meanwhile[moment].lock().unwrap().push(act);
        }
        log.compact(0).unwrap();
        let left = medium.plan.meanwhile[moment].lock().unwrap().len();
        assert!(left < times, "nothing happened in between");
        assert!(times < 100 || left > 100, "it is tried for ever");
        assert_eq!(drafts(&medium.ram), Vec::<String>::new());
        for log in [&log, &other(&medium.ram)] {
            let cell = log.get(B, 0).unwrap().unwrap();
            assert_eq!(cell.payload, b"kept");
            look(&medium, log, &versions);
        }
    }
}

/// Segments that are written anew and have no place.
fn drafts(ram: &Ram) -> Vec<String> {
    let names = ram.list("").unwrap();
    names
        .into_iter()
        .filter(|name| name.ends_with("new"))
        .collect()
}

fn holds(ram: &Ram, bytes: &[u8]) -> bool {
    let names = ram.list("").unwrap();
    let files = names.iter().filter_map(|name| ram.read(name));
    files
        .into_iter()
        .any(|file| file.windows(bytes.len()).any(|part| part == bytes))
}

fn newest(log: &Log, key: Key<'_>) -> Vec<u8> {
    log.get(key, 0).unwrap().unwrap().payload
}

#[test]
fn nobody_waits_for_a_segment_that_is_written_anew() {
    at_both(
        9,
        |log, _, _| _ = put(log, A, b"meanwhile", &[]),
        |medium, log, versions| {
            assert_eq!(newest(log, A), b"meanwhile");
            assert!(!holds(&medium.ram, b"secret of the first"));
            assert!(matches!(
                log.store().get(versions[1]),
                Err(Error::NotFound { .. })
            ));
        },
    );
}

#[test]
fn what_something_is_made_from_in_between_stays() {
    at_both(
        1,
        |log, _, versions| _ = put(log, MADE, b"made", &versions[..1]),
        |_, log, versions| {
            assert_eq!(newest(log, MADE), b"made");
            let source = log.store().get(versions[0]).unwrap();
            assert_eq!(source.payload, b"secret of the first");
            assert!(matches!(
                log.store().get(versions[1]),
                Err(Error::NotFound { .. })
            ));
        },
    );
}

#[test]
fn what_is_erased_in_between_is_in_no_file() {
    at_both(
        1,
        |log, ram, versions| {
            log.erase(Scope::Records(&versions[..1])).unwrap();
            log.store().compact().unwrap();
            assert_eq!(drafts(ram), Vec::<String>::new());
            assert!(!holds(ram, b"secret of the first"));
        },
        |medium, log, versions| {
            assert_eq!(newest(log, A), [29; 40]);
            assert!(!holds(&medium.ram, b"secret of the first"));
            assert!(matches!(
                log.store().get(versions[0]),
                Err(Error::Erased { .. })
            ));
        },
    );
    // Erased and not compacted: the next compaction of the same call finds it.
    at_both(
        1,
        |log, _, versions| _ = log.erase(Scope::Records(&versions[..1])).unwrap(),
        |medium, _, _| assert!(!holds(&medium.ram, b"secret of the first")),
    );
}

#[test]
fn what_was_erased_before_is_never_written() {
    let (medium, log, _) = filled();
    let second = other(&medium.ram);
    let cell = log.version(B, 0).unwrap().unwrap();
    let erase = move || {
        second.erase(Scope::Records(&[cell])).unwrap();
        second.store().compact().unwrap();
    };
    let ram = medium.ram.clone();
    let look = move || {
        for name in drafts(&ram) {
            let bytes = ram.read(&name).unwrap();
            assert!(!bytes.windows(4).any(|part| part == b"kept"));
        }
    };
    medium.plan.meanwhile[0]
        .lock()
        .unwrap()
        .push(Elsewhere(Box::new(erase)));
    medium.plan.meanwhile[1]
        .lock()
        .unwrap()
        .push(Elsewhere(Box::new(look)));
    log.compact(0).unwrap();
    assert!(
        medium
            .plan
            .meanwhile
            .iter()
            .all(|acts| acts.lock().unwrap().is_empty())
    );
}

/// Whoever compacts looks for drafts, and finds none yet.
#[test]
fn what_was_compacted_away_before_is_never_written() {
    let (medium, log, versions) = filled();
    let second = other(&medium.ram);
    // It is in the segment still, and what says that it is erased is in another one.
    log.erase(Scope::Records(&versions[..1])).unwrap();
    let compact = move || _ = second.store().compact().unwrap();
    let ram = medium.ram.clone();
    let look = move || {
        for name in drafts(&ram) {
            let bytes = ram.read(&name).unwrap();
            assert!(!bytes.windows(19).any(|part| part == b"secret of the first"));
        }
    };
    let acts = [Elsewhere(Box::new(compact)), Elsewhere(Box::new(look))];
    for (moment, act) in acts.into_iter().enumerate() {
        medium.plan.meanwhile[moment].lock().unwrap().push(act);
    }
    log.compact(0).unwrap();
    let all_done = |acts: &std::sync::Mutex<Vec<Elsewhere>>| acts.lock().unwrap().is_empty();
    assert!(medium.plan.meanwhile.iter().all(all_done));
}

#[test]
fn what_another_handle_compacted_in_between_does_not_come_back() {
    for moment in 0..2 {
        let (medium, log, versions) = filled();
        // Of longer segments more than half is dead, so that it compacts by itself.
        let options = Options {
            segment_bytes: 20_000,
            ..options()
        };
        let store = Store::with_medium(Box::new(medium.ram.clone()), options).unwrap();
        let second = Log::new(Arc::new(store));
        let act = move || {
            // Until the removal itself is gone, too: nothing says then that the cell was removed.
            let removal = written(&second.write(&Batch::new(&[Row::Remove(B)])).unwrap());
            for n in 0..2_000_u16 {
                put(&second, A, &n.to_le_bytes().repeat(300), &[]);
                if second.store().get(removal).is_err() {
                    return;
                }
            }
            panic!("the removal is still there");
        };
        medium.plan.meanwhile[moment]
            .lock()
            .unwrap()
            .push(Elsewhere(Box::new(act)));
        log.compact(0).unwrap();
        for log in [&log, &other(&medium.ram)] {
            assert_eq!(log.version(B, 0).unwrap(), None, "{versions:?}");
        }
    }
}

/// Adds an entry in the place of the one before.
fn add(log: &Log, payload: &[u8]) {
    let item = Item {
        uid: Some(b"u"),
        ..Item::new(LIST, payload)
    };
    log.write(&Batch::new(&[Row::Add(item)])).unwrap();
}

fn payloads(log: &Log) -> Vec<Vec<u8>> {
    let entries = log.entries(LIST, None, 9, false, 0).unwrap();
    entries.into_iter().map(|one| one.payload).collect()
}

/// A compaction by itself leaves it in its segment, of which nothing else is dead.
#[test]
fn what_was_replaced_behind_a_pass_does_not_come_back() {
    let medium = Faulty::default();
    let log = open(&medium);
    let dead = put(&log, A, b"superseded", &[]);
    add(&log, b"first");
    let row = Row::Add(Item::new(LIST, b"behind the first"));
    log.write(&Batch::new(&[row])).unwrap();
    // Each seals a segment, of which a pass takes up one with each write.
    let fill = || _ = put(&log, A, &[0; 1_400], &[]);
    while log.store().get(dead).is_ok() {
        fill();
    }
    add(&log, b"second");
    add(&log, b"third");
    for _ in 0..50 {
        fill();
        for log in [&log, &other(&medium.ram)] {
            assert_eq!(payloads(log), [&b"behind the first"[..], b"third"]);
        }
    }
    log.compact(0).unwrap();
    for gone in [&b"superseded"[..], b"second"] {
        assert!(!holds(&medium.ram, gone));
    }
}

/// Long after the segment of what it concerns was gone over, and before the compaction comes to it.
#[test]
fn what_is_removed_or_replaced_in_between_does_not_come_back() {
    let medium = Faulty::default();
    let (log, again) = (open(&medium), open(&medium));
    put(&log, A, b"superseded", &[]);
    put(&log, B, b"alive yet", &[]);
    add(&log, b"first");
    (0..30).for_each(|n: u8| _ = put(&log, A, &[n; 40], &[]));
    let [second, third] = [(); 2].map(|()| other(&medium.ram));
    let goes = move || {
        second.write(&Batch::new(&[Row::Remove(B)])).unwrap();
        add(&second, b"second");
        add(&second, b"third");
    };
    // The segment of these is sealed once the first one was gone over.
    let seals = move || (0..30).for_each(|n: u8| _ = put(&third, A, &[n; 40], &[]));
    // The last one is done first, at the first segment.
    let acts = [Elsewhere(Box::new(seals)), Elsewhere(Box::new(goes))];
    medium.plan.meanwhile[1].lock().unwrap().extend(acts);
    log.compact(0).unwrap();
    assert!(medium.plan.meanwhile[1].lock().unwrap().is_empty());
    for log in [&log, &again, &other(&medium.ram)] {
        assert_eq!(log.version(B, 0).unwrap(), None);
        assert_eq!(payloads(log), [b"third"]);
    }
    // The next one takes them.
    let told = log.compact(0).unwrap();
    assert!(told.records > 0);
    assert_eq!(other(&medium.ram).version(B, 0).unwrap(), None);
}

#[test]
fn others_that_always_come_first_are_kept_out_in_the_end() {
    at_both(
        200,
        |log, _, _| {
            let told = log.erase(Scope::Prefix(&[b"nobody"]));
            assert!(
                matches!(told, Ok(_) | Err(Error::Locked { .. })),
                "{told:?}"
            );
        },
        |medium, log, _| {
            assert_eq!(newest(log, A), [29; 40]);
            assert!(!holds(&medium.ram, b"secret of the first"));
        },
    );
}

#[test]
fn two_that_compact_at_once_end_with_one_result() {
    at_both(
        3,
        |log, _, _| _ = log.compact(0).unwrap(),
        |medium, log, _| {
            assert_eq!(newest(log, A), [29; 40]);
            assert!(!holds(&medium.ram, b"secret of the first"));
        },
    );
}

#[test]
fn a_file_that_is_removed_again_and_again_costs_only_its_work() {
    at_both(
        200,
        |_, ram, _| {
            for name in drafts(ram) {
                ram.remove(&name).unwrap();
            }
        },
        |_, log, _| assert_eq!(newest(log, A), [29; 40]),
    );
}

#[test]
fn a_store_that_is_opened_in_between_takes_the_file_away_and_no_record() {
    at_both(
        1,
        |_, ram, _| drop(other(ram)),
        |medium, log, _| {
            assert_eq!(newest(log, A), [29; 40]);
            assert!(!holds(&medium.ram, b"secret of the first"));
        },
    );
}

#[test]
fn a_full_disk_leaves_no_file_and_no_stopped_store() {
    let mut failed = 0;
    for call in 1..12 {
        let (medium, log, _) = filled();
        medium.plan.fail(call, true, io::ErrorKind::StorageFull);
        let told = log.compact(0);
        medium.plan.heal();
        failed += usize::from(told.is_err());
        assert_eq!(drafts(&medium.ram), Vec::<String>::new());
        // After a sync that failed nobody knows what is on the disk, and the handle stops.
        let stopped = matches!(told, Err(Error::Poisoned { .. }));
        let log = if stopped { other(&medium.ram) } else { log };
        put(&log, A, b"goes on", &[]);
        log.compact(0).unwrap();
        assert_eq!(drafts(&medium.ram), Vec::<String>::new());
        assert!(!holds(&medium.ram, b"secret of the first"));
        assert_eq!(newest(&other(&medium.ram), A), b"goes on");
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn who_only_reads_writes_no_file() {
    let (medium, log, _) = filled();
    drop(log);
    let options = Options {
        mode: Mode::Read,
        ..options()
    };
    let store = Store::with_medium(Box::new(medium.ram.clone()), options).unwrap();
    let told = Log::new(Arc::new(store)).compact(0);
    assert!(matches!(told, Err(Error::ReadOnly { .. })), "{told:?}");
    assert_eq!(drafts(&medium.ram), Vec::<String>::new());
}

#[test]
fn patches_that_a_later_one_took_the_place_of_leave_the_files() {
    let medium = Faulty::default();
    let log = open(&medium);
    put(&log, A, b"kept", &[]);
    let mut newest = Seq(0);
    for n in 0..30 {
        let said = Value::Text(format!("what patch {n:02} says"));
        let columns = Columns::new([("said".to_owned(), said)]).unwrap();
        let patch = Row::Patch {
            key: A,
            version: None,
            columns: &columns,
            expires: None,
        };
        newest = written(&log.write(&Batch::new(&[patch])).unwrap());
    }
    assert!(holds(&medium.ram, b"what patch 03 says"));
    log.compact(0).unwrap();
    assert!(!holds(&medium.ram, b"what patch 03 says"));
    assert!(holds(&medium.ram, b"what patch 29 says"));
    for log in [&log, &other(&medium.ram)] {
        let cell = log.get(A, 0).unwrap().unwrap();
        assert_eq!(cell.payload, b"kept");
        assert_eq!(
            cell.columns.get("said"),
            &Value::Text("what patch 29 says".to_owned())
        );
    }
    assert!(newest > Seq(29));
}
