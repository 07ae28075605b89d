//! A medium that fails on purpose: nothing acknowledged is lost, nothing unacknowledged is claimed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::support::faulty::{Elsewhere, Faulty};
use crate::support::{Truth, append, draft, open, pages, readable, segment, tiny};
use warmset_core::cold::{Medium, Mode, Options, Ram, Read, Scope, Store};
use warmset_core::{Error, Seq};

#[test]
fn a_failed_sync_poisons_and_is_not_tried_again() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    assert_eq!(append(&store, &[b"one"]), [1]);
    medium.plan.fail(2, true, io::ErrorKind::Other);
    let error = store.append(&[draft(b"two")]).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    assert_eq!(
        *medium.plan.log.lock().unwrap(),
        ["write", "sync", "set_len", "mark"]
    );
    for _ in 0..2 {
        let error = store.append(&[draft(b"three")]).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    }
    assert_eq!(
        medium.plan.log.lock().unwrap().len(),
        4,
        "a poisoned writer wrote"
    );
    assert_eq!(store.get(Seq(1)).unwrap().payload, b"one");
    assert!(matches!(store.get(Seq(2)), Err(Error::NotFound { .. })));
    assert_eq!(store.verify().unwrap().damages, vec![]);
    drop(store);
    let store = medium.open_store(Options::default()).unwrap();
    assert_eq!(store.stats().unwrap().records, 1);
    append(&store, &[b"two again"]);
}

#[test]
fn a_full_medium_is_told_apart_and_the_next_append_works() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    assert_eq!(append(&store, &[b"one"]), [1]);
    medium.plan.fail(1, true, io::ErrorKind::StorageFull);
    let error = store.append(&[draft(b"two"); 9]).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    assert_eq!(store.stats().unwrap().records, 1);
    assert_eq!(append(&store, &[b"four"]), [2]);
    drop(store);
    let store = medium.open_store(Options::default()).unwrap();
    assert_eq!(store.report().cuts, vec![]);
    assert_eq!(store.get(Seq(2)).unwrap().payload, b"four");
}

#[test]
fn a_write_that_cannot_be_taken_back_poisons() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    append(&store, &[b"one"]);
    medium.plan.fail(1, false, io::ErrorKind::StorageFull);
    let error = store.append(&[draft(b"two")]).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    medium.plan.heal();
    let error = store.append(&[draft(b"two")]).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    assert_eq!(store.get(Seq(1)).unwrap().payload, b"one");
    let store = medium.open_store(Options::default()).unwrap();
    assert_eq!(store.report().cuts.len(), 1);
    assert_eq!(store.stats().unwrap().records, 1);
}

#[test]
fn short_and_interrupted_writes_are_finished() {
    let medium = Faulty::default();
    medium.plan.stutter.store(true, Ordering::SeqCst);
    let store = medium.open_store(tiny(1, Read::Map)).unwrap();
    append(&store, &[b"one", b"two"]);
    append(&store, &[b"three"]);
    drop(store);
    let store = open(&medium.ram, Options::default());
    assert_eq!(store.verify().unwrap().records, 3);
    assert_eq!(store.verify().unwrap().damages, vec![]);
}

#[test]
fn a_new_segment_is_synced_before_its_first_record() {
    let medium = Faulty::default();
    let store = medium.open_store(tiny(1, Read::Map)).unwrap();
    append(&store, &[b"one"]);
    medium.plan.fail(u64::MAX / 2, true, io::ErrorKind::Other);
    append(&store, &[b"two"]);
    let order = [
        "write", "sync", "mark", // the seal
        "create", "write", "sync", "sync_dir", "mark", // the next segment
        "write", "sync", "mark", // the batch
    ];
    assert_eq!(*medium.plan.log.lock().unwrap(), order);
}

#[test]
fn opening_makes_what_it_found_durable_before_it_writes_on() {
    let medium = Faulty::default();
    let first = Ram::new();
    let killed = open(&first, Options::default());
    append(&killed, &[b"one"]);
    medium
        .ram
        .write(&segment(1), first.read(&segment(1)).unwrap());
    let _store = medium.open_store(Options::default()).unwrap();
    let log = medium.plan.log.lock().unwrap();
    assert_eq!(log[..2], ["sync", "sync_dir"]);
}

/// Everything acknowledged is there, and besides it only whole batches of two.
fn check(store: &Store, truth: &Truth) {
    let all = pages(store, 500);
    assert_eq!(all.len() % 2, 0, "half a batch");
    for pair in all.chunks(2) {
        assert_eq!(pair[0].1, pair[1].1, "half a batch");
        assert_eq!(pair[0].0 + 1, pair[1].0, "half a batch");
    }
    let there: Truth = all.into_iter().collect();
    for (seq, payload) in truth {
        assert_eq!(there.get(seq), Some(payload), "{seq} is lost");
        assert_eq!(&store.get(Seq(*seq)).unwrap().payload, payload);
    }
    assert_eq!(store.report().damages, vec![]);
    assert_eq!(store.verify().unwrap().damages, vec![]);
}

fn append_pair(store: &Store, truth: &mut Truth, payload: &[u8]) -> Result<(), Error> {
    for seq in store.append(&[draft(payload), draft(payload)])? {
        let before = truth.insert(seq.0, payload.to_vec());
        assert_eq!(before, None, "id {seq} was given twice");
    }
    Ok(())
}

/// Appends and reopens with a failure at call `n`, then checks what was acknowledged; whether the
/// workload has that many calls.
fn fault_at(n: u64, once: bool, kind: io::ErrorKind) -> bool {
    let medium = Faulty::default();
    let options = tiny(1_400, Read::Map);
    let mut truth = Truth::new();
    medium.plan.fail(n, once, kind);
    for round in 0..2_u8 {
        if let Ok(store) = medium.open_store(options) {
            for step in 0..4_u8 {
                let appended = append_pair(&store, &mut truth, &[round * 10 + step; 60]);
                assert!(appended.is_ok() || n <= medium.plan.calls.load(Ordering::SeqCst));
                check(&store, &truth);
            }
        }
    }
    let hit = medium.plan.calls.load(Ordering::SeqCst) >= n;
    medium.plan.heal();
    for round in 0..2 {
        let store = medium.open_store(options).unwrap();
        check(&store, &truth);
        append_pair(&store, &mut truth, &[100 + round; 60]).unwrap();
        check(&store, &truth);
    }
    hit
}

#[test]
fn a_fault_at_any_call_loses_nothing_acknowledged() {
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
        for once in [true, false] {
            let mut n = 1;
            while fault_at(n, once, kind) {
                n += 1;
            }
            assert!(n > 5, "the workload has only {n} calls");
        }
    }
}

#[test]
fn a_fault_in_any_step_of_recovery_is_made_good_by_the_next() {
    let healthy = Ram::new();
    let store = open(&healthy, tiny(900, Read::Map));
    let mut truth = Truth::new();
    for n in 0..5_u8 {
        truth.insert(append(&store, &[&[n; 30]])[0], vec![n; 30]);
    }
    // As a kill leaves it: the last segment has no seal.
    let names: Vec<String> = healthy.list("").unwrap();
    let names: Vec<String> = names.into_iter().filter(|n| n.contains(".seg")).collect();
    let last = names.last().unwrap().clone();
    let tail = [healthy.read(&last).unwrap(), b"torn".to_vec()].concat();
    for n in 1..20 {
        let medium = Faulty {
            ram: crate::support::copy(&healthy, &names),
            ..Faulty::default()
        };
        medium.ram.write(&last, tail.clone());
        medium.plan.fail(n, false, io::ErrorKind::Other);
        let broken = medium.open_store(tiny(900, Read::Map)).is_err();
        assert_eq!(broken, n <= medium.plan.calls.load(Ordering::SeqCst));
        medium.plan.heal();
        let store = medium.open_store(tiny(900, Read::Map)).unwrap();
        assert_eq!(readable(&store, &truth).len(), truth.len(), "fault at {n}");
        assert_eq!(store.report().damages, vec![]);
        let aside = ["", "-1"];
        let number = names.len();
        let place = tail.len() - 4;
        let copies = aside.iter().filter_map(|suffix| {
            medium
                .ram
                .read(&format!("torn/{number}-{place}{suffix}.bin"))
        });
        assert!(
            copies.into_iter().any(|copy| copy == b"torn"),
            "fault at {n}"
        );
    }
}

#[test]
fn a_fault_in_recovery_never_turns_damage_into_a_torn_tail() {
    let (healthy, truth, batches) = crate::support::small();
    let name = crate::support::segment(1);
    let mut bytes = healthy.read(&name).unwrap();
    bytes[batches[1].0 + 100] ^= 0x40;
    bytes.pop();
    for n in 1..20 {
        let medium = Faulty::default();
        medium.ram.write(&name, bytes.clone());
        medium.plan.fail(n, false, io::ErrorKind::Other);
        let _ = medium.open_store(Options::default());
        medium.plan.heal();
        let store = medium.open_store(Options::default()).unwrap();
        assert_eq!(readable(&store, &truth), [1, 3], "fault at {n}");
        assert_eq!(store.report().damages.len(), 1, "fault at {n}");
        assert!(append(&store, &[b"next"])[0] > 6, "fault at {n}");
    }
}

#[test]
fn a_file_that_is_set_aside_after_it_was_listed_is_no_error() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    append(&store, &[b"one"]);
    let read = Options {
        mode: Mode::Read,
        ..Options::default()
    };
    medium.plan.phantoms.store(3, Ordering::SeqCst);
    let reader = medium.open_store(read).unwrap();
    assert_eq!(reader.get(Seq(1)).unwrap().payload, b"one");
    assert_eq!(reader.report().damages, vec![]);
}

#[test]
fn nobody_writes_on_a_file_that_a_killed_compaction_replaced() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    let other = Arc::new(open(&medium.ram, Options::default()));
    append(&store, &[b"goes", b"stays"]);
    store.erase(Scope::Records(&[Seq(1)])).unwrap();
    let living = Arc::clone(&other);
    // It reads the directory anew, and holds the file that is about to lose its name.
    let looks = move || assert_eq!(living.get(Seq(2)).unwrap().payload, b"stays");
    *medium.plan.at_rename.lock().unwrap() = Some(Elsewhere(Box::new(looks)));
    store.compact().unwrap_err();
    drop(store);
    let next = append(&other, &[b"next"])[0];
    let late = open(&medium.ram, Options::default());
    assert_eq!(late.get(Seq(2)).unwrap().payload, b"stays");
    assert_eq!(late.get(Seq(next)).unwrap().payload, b"next");
    assert_eq!(late.report().damages, vec![]);
    assert_eq!(late.verify().unwrap().damages, vec![]);
}
