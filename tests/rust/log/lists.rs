//! Lists: pages, cuts, and the paths of a conversation.

use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{Appended, Draft, Encryption, Medium as _, OnBusy, Options, Ram, Store};
use warmset_core::log::{Batch, IfPresent, Item, Key, Log, Outcome, Row};
use warmset_core::{Error, Kind, Seq};

const PLAIN: Key<'static> = &[b"t", b"\xffl", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn log(ram: &Ram) -> Log {
    let store = Store::with_medium(Box::new(ram.clone()), Options::default());
    Log::new(Arc::new(store.unwrap()))
}

fn add(log: &Log, list: Key<'_>, count: usize) -> Vec<Seq> {
    (0..count)
        .map(|n| {
            let payload = n.to_string();
            let rows = [Row::Add(Item::new(list, payload.as_bytes()))];
            match log.write(&Batch::new(&rows)).unwrap()[0] {
                Outcome::Written(seq) => seq,
                other => panic!("{other:?}"),
            }
        })
        .collect()
}

/// A message that the log did not write.
fn turn(key: Key<'static>) -> Draft<'static> {
    Draft {
        kind: Kind::Turn,
        key,
        meta: b"{}",
        sources: &[],
        payload: b"left",
    }
}

fn cut(log: &Log, list: Key<'_>, after: Seq) -> Outcome {
    let rows = [Row::Cut { list, after }];
    log.write(&Batch::new(&rows)).unwrap()[0]
}

fn seqs(log: &Log, list: Key<'_>) -> Vec<Seq> {
    let entries = log.entries(list, None, usize::MAX, false, 0).unwrap();
    entries.into_iter().map(|entry| entry.seq).collect()
}

#[test]
fn pages_go_both_ways_and_meet() {
    let log = log(&Ram::new());
    let all = add(&log, PLAIN, 7);
    for size in 1..9 {
        for reverse in [false, true] {
            let (mut found, mut beyond) = (Vec::new(), None);
            loop {
                let page = log.entries(PLAIN, beyond, size, reverse, 0).unwrap();
                assert!(page.len() <= size);
                let Some(last) = page.last() else { break };
                beyond = Some(last.seq);
                found.extend(page.into_iter().map(|entry| entry.seq));
            }
            if reverse {
                found.reverse();
            }
            assert_eq!(found, all, "{size} {reverse}");
        }
    }
    let after = log.entries(PLAIN, Some(all[2]), 2, false, 0).unwrap();
    assert_eq!(after.iter().map(|e| e.seq).collect::<Vec<_>>(), all[3..5]);
    let before = log.entries(PLAIN, Some(all[2]), 9, true, 0).unwrap();
    assert_eq!(
        before.iter().map(|e| e.seq).collect::<Vec<_>>(),
        [all[1], all[0]]
    );
}

#[test]
fn a_cut_removes_from_a_plain_list_and_branches_a_conversation() {
    for list in [PLAIN, TALK] {
        let ram = Ram::new();
        let log = log(&ram);
        let all = add(&log, list, 5);
        assert!(matches!(cut(&log, list, all[2]), Outcome::Written(_)));
        assert_eq!(cut(&log, list, all[2]), Outcome::Nothing);
        assert_eq!(seqs(&log, list), all[..3]);
        let behind = [Row::Cut {
            list,
            after: all[4],
        }];
        let refused = log.write(&Batch::new(&behind));
        assert!(
            matches!(refused, Err(Error::Conflict { reason: "tail", .. })),
            "{refused:?}"
        );
        let more = add(&log, list, 1);
        assert_eq!(seqs(&log, list), [&all[..3], &more].concat());
        let parents: Vec<Seq> = log
            .entries(list, None, 9, false, 0)
            .unwrap()
            .into_iter()
            .map(|entry| entry.parent)
            .collect();
        assert_eq!(parents, [Seq(0), all[0], all[1], all[2]]);
        cut(&log, list, Seq(0));
        assert_eq!(
            (seqs(&log, list), log.tail(list).unwrap()),
            (vec![], Seq(0))
        );
        let again = add(&log, list, 2);
        // Another handle reads the same from the records alone.
        let other = self::log(&ram);
        for log in [&log, &other] {
            assert_eq!(seqs(log, list), again);
        }
        assert!(log.store().verify().unwrap().damages.is_empty());
    }
}

#[test]
fn an_own_id_is_free_again_off_the_path() {
    let log = log(&Ram::new());
    let first = add(&log, TALK, 1)[0];
    let named = || {
        let item = Item {
            uid: Some(b"u"),
            if_present: IfPresent::Skip,
            ..Item::new(TALK, b"named")
        };
        log.write(&Batch::new(&[Row::Add(item)])).unwrap()[0]
    };
    let Outcome::Written(old) = named() else {
        panic!("it is there already")
    };
    assert_eq!(named(), Outcome::Present(old));
    cut(&log, TALK, first);
    let Outcome::Written(new) = named() else {
        panic!("it is not on the path")
    };
    assert_eq!(seqs(&log, TALK), [first, new]);
    assert_eq!(named(), Outcome::Present(new));
    assert_eq!(log.store().get(old).unwrap().payload, b"named");
}

#[test]
fn turns_of_a_store_without_links_follow_each_other() {
    let ram = Ram::new();
    let log = log(&ram);
    let turn = turn(TALK);
    let old = log.store().append(&[turn; 3]).unwrap();
    assert_eq!(seqs(&log, TALK), old);
    let more = add(&log, TALK, 1);
    cut(&log, TALK, old[1]);
    let after = log.store().append(&[turn]).unwrap();
    assert_eq!(seqs(&log, TALK), [&old[..2], &after].concat());
    assert!(!seqs(&log, TALK).contains(&more[0]));
}

#[test]
fn what_is_removed_is_not_found_by_its_id_either_and_in_no_process() {
    let ram = Ram::new();
    let (log, other) = (log(&ram), self::log(&ram));
    let cell: Key = &[b"t", b"\xffs", b"a"];
    let deeper: Key = &[b"t", b"\xffs", b"a", b"b"];
    let put = |key| {
        let rows = [Row::Put(Item::new(key, b"x"))];
        match log.write(&Batch::new(&rows)).unwrap()[0] {
            Outcome::Written(seq) => seq,
            other => panic!("{other:?}"),
        }
    };
    let (old, new, below) = (put(cell), put(cell), put(deeper));
    let (plain, talk) = (add(&log, PLAIN, 3), add(&log, TALK, 3));
    // The other handle has read them all before.
    assert_eq!(other.store().page(Seq(1), usize::MAX).unwrap().len(), 9);
    log.write(&Batch::new(&[Row::Remove(cell)])).unwrap();
    cut(&log, PLAIN, plain[0]);
    cut(&log, TALK, talk[0]);
    let one = [talk[0]];
    let remove = Row::RemoveEntries {
        list: TALK,
        entries: &one,
    };
    log.write(&Batch::new(&[remove])).unwrap();
    let later = put(cell);
    let gone = [old, new, plain[1], plain[2], talk[0]];
    let there = [below, plain[0], talk[1], talk[2], later];
    let check = |log: &Log, gone: &[Seq], there: &[Seq]| {
        let store = log.store();
        let listed: Vec<Seq> = store
            .page(Seq(1), usize::MAX)
            .unwrap()
            .iter()
            .map(|r| r.seq)
            .collect();
        for seq in gone {
            assert!(
                matches!(store.get(*seq), Err(Error::NotFound { .. })),
                "{seq}"
            );
            assert!(
                matches!(store.hash_of(*seq), Err(Error::NotFound { .. })),
                "{seq}"
            );
            assert!(!listed.contains(seq), "{seq}");
        }
        for seq in there {
            assert!(
                store.get(*seq).is_ok() && store.hash_of(*seq).is_ok(),
                "{seq}"
            );
            assert!(listed.contains(seq), "{seq}");
        }
    };
    for log in [&log, &other, &self::log(&ram)] {
        check(log, &gone, &there);
    }
    // All below a prefix, the cell of that very key among them; what comes later is not meant.
    log.write(&Batch::new(&[Row::RemoveBelow(cell)])).unwrap();
    let last = put(deeper);
    for log in [&log, &other, &self::log(&ram)] {
        check(log, &[later, below], &[last, plain[0]]);
    }
    log.store().close().unwrap();
    check(
        &self::log(&ram),
        &[&gone[..], &[later, below]].concat(),
        &[last, plain[0]],
    );
}

#[test]
fn what_waited_in_the_spool_goes_with_what_was_removed_meanwhile() {
    let ram = Ram::new();
    let options = Options {
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    let open = || Store::with_medium(Box::new(ram.clone()), options).unwrap();
    let (log, hook) = (Log::new(Arc::new(open())), open());
    let other: Key<'static> = &[b"t", b"other"];
    let first = add(&log, TALK, 1)[0];
    let leave = || {
        // While somebody else writes.
        let hold = ram.try_lock().unwrap().unwrap();
        let left = hook.append_or_spool(&[turn(TALK), turn(other)]).unwrap();
        assert!(matches!(left, Appended::Spooled(_)), "{left:?}");
        drop(hold);
    };
    leave();
    let remove = |log: &Log| log.write(&Batch::new(&[Row::RemoveBelow(TALK)])).unwrap();
    // The next writer takes it up first, so it is removed with the rest.
    remove(&log);
    assert_eq!((seqs(&log, TALK), seqs(&log, other).len()), (vec![], 1));
    assert!(matches!(
        log.store().get(first),
        Err(Error::NotFound { .. })
    ));
    // What comes later is not meant.
    leave();
    let last = add(&log, TALK, 1);
    assert_eq!((seqs(&log, TALK).len(), seqs(&log, other).len()), (2, 2));
    assert_eq!(log.tail(TALK).unwrap(), last[0]);
}

#[test]
fn what_waits_for_its_key_goes_with_what_was_removed_before_it_was_taken_up() {
    for compacts in [false, true] {
        what_waits_for_its_key(compacts);
    }
}

/// Leaves a batch in the spool, removes what it belongs to, and may compact before it is taken up.
fn what_waits_for_its_key(compacts: bool) {
    let ram = Ram::new();
    let with = |encryption| {
        let options = Options {
            on_busy: OnBusy::Spool,
            lock_wait: Duration::ZERO,
            encryption,
            segment_bytes: 1, // one of its own for each batch
            ..Options::default()
        };
        Arc::new(Store::with_medium(Box::new(ram.clone()), options).unwrap())
    };
    let (keyed, bare) = (with(Encryption::Master([9; 32])), with(Encryption::Off));
    let other: Key<'static> = &[b"t", b"other"];
    let hold = ram.try_lock().unwrap().unwrap();
    keyed.append_or_spool(&[turn(TALK), turn(other)]).unwrap();
    drop(hold);
    // Without the keys nobody can take it up, but may remove what it belongs to.
    let log = Log::new(bare);
    log.write(&Batch::new(&[Row::RemoveBelow(TALK)])).unwrap();
    if compacts {
        while log.store().stats().unwrap().segments < 4 {
            add(&log, &[b"t", b"filler"], 9);
        }
        log.compact(0).unwrap();
    }
    assert_eq!(keyed.spooled().unwrap().len(), 1);
    keyed.append(&[turn(other)]).unwrap();
    assert_eq!(keyed.spooled().unwrap().len(), 0);
    let log = Log::new(keyed);
    assert_eq!((seqs(&log, TALK).len(), seqs(&log, other).len()), (0, 2));
}
