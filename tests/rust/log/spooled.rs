//! Batches that find the lock busy: they wait with their conditions, and the next writer with a log judges them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{
    Draft, Durability, Encryption, Medium as _, OnBusy, Options, Ram, Scope, Store,
};
use warmset_core::log::{Batch, Columns, Expect, IfPresent, Item, Key, Log, Outcome, Row, Value};
use warmset_core::{Error, Kind, Seq};

use crate::faulty::Faulty;

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const B: Key<'static> = &[b"t", b"\xffs", b"b"];
const LIST: Key<'static> = &[b"t", b"\xffs", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn options(encryption: Encryption) -> Options {
    Options {
        encryption,
        durability: Durability::Os,
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    }
}

fn store(ram: &Ram, encryption: Encryption) -> Arc<Store> {
    Arc::new(Store::with_medium(Box::new(ram.clone()), options(encryption)).unwrap())
}

fn open(ram: &Ram) -> Log {
    Log::new(store(ram, Encryption::Off))
}

fn batch<'a>(rows: &'a [Row<'a>]) -> Batch<'a> {
    Batch {
        now: 1_000,
        spools: true,
        ..Batch::new(rows)
    }
}

fn put<'a>(key: Key<'a>, payload: &'a [u8], if_present: IfPresent) -> Row<'a> {
    Row::Put(Item {
        if_present,
        ..Item::new(key, payload)
    })
}

fn add<'a>(payload: &'a [u8], uid: &'a [u8], if_present: IfPresent) -> Row<'a> {
    Row::Add(Item {
        uid: Some(uid),
        if_present,
        ..Item::new(LIST, payload)
    })
}

/// Writes while somebody else has the lock.
fn leave(ram: &Ram, log: &Log, rows: &[Row<'_>]) {
    let lock = ram.try_lock().unwrap().unwrap();
    let told = log.write(&batch(rows)).unwrap();
    assert_eq!(told, vec![Outcome::Spooled; rows.len()]);
    drop(lock);
}

/// Any write takes up what waits.
fn write(log: &Log, row: Row<'_>) -> Outcome {
    log.write(&Batch::new(&[row])).unwrap()[0]
}

fn payload(log: &Log, key: Key<'_>) -> Option<Vec<u8>> {
    log.get(key, 1_000).unwrap().map(|cell| cell.payload)
}

fn entries(log: &Log) -> Vec<Vec<u8>> {
    let all = log.entries(LIST, None, usize::MAX, false, 1_000).unwrap();
    all.into_iter().map(|entry| entry.payload).collect()
}

fn waiting(ram: &Ram) -> usize {
    let names = ram.list("spool").unwrap();
    names.iter().filter(|name| *name != "bell").count()
}

/// The file of the batch that was left first.
fn left(ram: &Ram) -> String {
    let names = ram.list("spool").unwrap();
    let names = names.iter().filter(|name| name.ends_with("spc"));
    format!("spool/{}", names.min().unwrap())
}

/// What a handle without a log writes.
const TURN: Draft<'static> = Draft {
    kind: Kind::Turn,
    key: TALK,
    meta: b"{}",
    sources: &[],
    payload: b"{}",
};

const OTHER: Row<'static> = Row::Put(Item::new(&[b"t", b"\xffs", b"other"], b"x"));

#[test]
fn what_is_left_comes_back_as_it_was_given() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let log = Log::new(store(&ram, encryption));
        let Outcome::Written(source) = write(&log, OTHER) else {
            panic!("nothing was written");
        };
        let columns = Columns::new([("n".to_owned(), Value::Int(5))]).unwrap();
        let sources = [source];
        let cell = Item {
            codec: Some("json"),
            expires: Some(5_000),
            columns: Some(&columns),
            own: b"own",
            sources: &sources,
            ..Item::new(A, b"cell")
        };
        let entry = Item {
            uid: Some(b"id"),
            codec: Some("text"),
            expires: Some(6_000),
            columns: Some(&columns),
            own: b"more",
            ..Item::new(LIST, b"entry")
        };
        let turn = Item {
            turn: Some(br#"{"key":"k","at":2.5}"#),
            ..Item::new(TALK, b"{}")
        };
        leave(
            &ram,
            &log,
            &[Row::Put(cell), Row::Add(entry), Row::Add(turn)],
        );
        assert_eq!(waiting(&ram), 1);
        let other = Log::new(store(&ram, encryption));
        assert_eq!(payload(&log, A).is_some(), payload(&other, A).is_some());
        write(&other, OTHER);
        for log in [&log, &other, &Log::new(store(&ram, encryption))] {
            let found = log.get(A, 1_000).unwrap().unwrap();
            assert_eq!(
                (found.payload, found.own),
                (b"cell".to_vec(), b"own".to_vec())
            );
            assert_eq!(found.codec.as_deref(), Some("json"));
            assert_eq!((found.expires, found.at), (Some(5_000), 1_000));
            assert_eq!(found.columns, columns);
            let found = log.entries(LIST, None, 9, false, 1_000).unwrap();
            let found = &found[0];
            assert_eq!(
                (&found.payload[..], &found.own[..]),
                (&b"entry"[..], &b"more"[..])
            );
            assert_eq!(found.uid.as_deref(), Some(&b"id"[..]));
            assert_eq!((found.expires, found.at), (Some(6_000), 1_000));
            assert_eq!(found.columns, columns);
            let talk = log.entries(TALK, None, 9, false, 1_000).unwrap();
            assert_eq!(
                (talk[0].uid.as_deref(), talk[0].at),
                (Some(&b"k"[..]), 2_500_000)
            );
        }
        assert_eq!(waiting(&ram), 0);
        // The keys of the spool went with the batch; those of what came out of it are the conversation's.
        let keys = ram.list("keys").unwrap().len();
        assert_eq!(keys, if encryption == Encryption::Off { 0 } else { 2 });
        // It was made from what is erased now.
        log.erase(Scope::Records(&[source])).unwrap();
        assert_eq!(payload(&other, A), None);
    }
}

#[test]
fn conditions_are_judged_when_it_is_taken_up() {
    let ram = Ram::new();
    let (log, other) = (open(&ram), open(&ram));
    let Outcome::Written(born) = write(&log, put(B, b"first", IfPresent::Replace)) else {
        panic!("nothing was written");
    };
    // Before anybody takes it up, others write the same names: they are later than nobody but it.
    let rows = [
        put(A, b"left", IfPresent::Skip),
        put(B, b"left", IfPresent::Replace),
        add(b"left", b"1", IfPresent::Skip),
        add(b"left", b"2", IfPresent::Replace),
        add(b"once more", b"2", IfPresent::Skip),
    ];
    let second = [
        put(A, b"second", IfPresent::Skip),
        put(B, b"second", IfPresent::Skip),
        add(b"second", b"1", IfPresent::Replace),
    ];
    leave(&ram, &log, &rows);
    leave(&ram, &log, &second);
    assert_eq!((payload(&other, A), entries(&other).len()), (None, 0));
    // What waited came first.
    assert_eq!(
        write(&other, put(A, b"late", IfPresent::Skip)),
        Outcome::Present(Seq(3))
    );
    for log in [&log, &other, &open(&ram)] {
        assert_eq!(payload(log, A).unwrap(), b"left");
        assert_eq!(payload(log, B).unwrap(), b"left");
        assert_eq!(log.get(B, 1_000).unwrap().unwrap().born.seq, born);
        assert_eq!(entries(log), [&b"left"[..], b"second"]);
    }
    assert_eq!(waiting(&ram), 0);
    assert_eq!(other.store().notices().taken_up, 2);
}

#[test]
fn only_a_handle_with_a_log_takes_it_up() {
    let ram = Ram::new();
    leave(&ram, &open(&ram), &[put(A, b"left", IfPresent::Skip)]);
    let plain = store(&ram, Encryption::Off);
    for _ in 0..2 {
        plain.append(&[TURN]).unwrap();
        assert_eq!(waiting(&ram), 1);
    }
    // What has no conditions is taken up beside it.
    let lock = ram.try_lock().unwrap().unwrap();
    plain.append_or_spool(&[TURN]).unwrap();
    drop(lock);
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 1);
    assert_eq!(plain.report().damages, vec![]);
    // A log of the same handle, although nobody rang since.
    let log = Log::new(Arc::clone(&plain));
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 0);
    assert_eq!(payload(&log, A).unwrap(), b"left");
    // Once the log is gone, the handle leaves such batches alone again.
    drop(log);
    leave(&ram, &open(&ram), &[put(A, b"again", IfPresent::Replace)]);
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 1);
    // Of two logs one is enough.
    let [first, second] = [(); 2].map(|()| Log::new(Arc::clone(&plain)));
    drop(first);
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 0);
    assert_eq!(payload(&second, A).unwrap(), b"again");
}

#[test]
fn the_thread_that_syncs_keeps_no_log() {
    let ram = Ram::new();
    let every = Duration::from_millis(1);
    let options = Options {
        durability: Durability::Interval(every),
        ..options(Encryption::Off)
    };
    let syncs = Store::with_medium(Box::new(ram.clone()), options).unwrap();
    let (log, other) = (Log::new(Arc::new(syncs)), open(&ram));
    // What it takes up by itself has no conditions: a log that ends meanwhile would end the store, which
    // waits for that thread.
    write(&log, OTHER);
    let lock = loop {
        if let Some(lock) = ram.try_lock().unwrap() {
            break lock;
        }
    };
    let rows = [put(A, b"left", IfPresent::Skip)];
    other.write(&batch(&rows)).unwrap();
    drop(lock);
    std::thread::sleep(every * 50);
    assert_eq!(waiting(&ram), 1);
    let row = [put(B, b"next", IfPresent::Skip)];
    while log.write(&Batch::new(&row)).is_err() {}
    assert_eq!(waiting(&ram), 0);
    assert_eq!(payload(&log, A).unwrap(), b"left");
}

#[test]
fn what_needs_an_answer_is_never_left() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    let fine = [put(A, b"x", IfPresent::Skip)];
    let fails = [put(A, b"x", IfPresent::Fail)];
    let removes = [put(A, b"x", IfPresent::Skip), Row::Remove(B)];
    let cuts = [Row::Cut {
        list: LIST,
        after: Seq(0),
    }];
    let expect = [Expect::Version(A, Seq(0))];
    let never = [
        batch(&fails),
        batch(&removes),
        batch(&cuts),
        Batch {
            expect: &expect,
            ..batch(&fine)
        },
        Batch {
            once: Some(b"name"),
            ..batch(&fine)
        },
    ];
    for one in &never {
        // The same whether the lock is free or not.
        let told = log.write(one);
        assert!(
            matches!(told, Err(Error::Argument { name: "spool", .. })),
            "{told:?}"
        );
    }
    let lock = ram.try_lock().unwrap().unwrap();
    let unasked = Batch {
        spools: false,
        ..batch(&fine)
    };
    assert!(matches!(log.write(&unasked), Err(Error::Locked { .. })));
    drop(lock);
    let refuses = Options {
        on_busy: OnBusy::Fail,
        ..options(Encryption::Off)
    };
    let refuses = Store::with_medium(Box::new(ram.clone()), refuses).unwrap();
    let refuses = Log::new(Arc::new(refuses));
    let lock = ram.try_lock().unwrap().unwrap();
    assert!(matches!(
        refuses.write(&batch(&fine)),
        Err(Error::Locked { .. })
    ));
    drop(lock);
    assert_eq!(waiting(&ram), 0);
}

/// What takes a row away that waits; the id is that of what it may be made from.
type Goes = fn(&Log, Seq);

#[test]
fn what_was_removed_or_erased_since_does_not_come_back() {
    let ram = Ram::new();
    let (log, other) = (open(&ram), open(&ram));
    let Outcome::Written(source) = write(&log, put(B, b"source", IfPresent::Replace)) else {
        panic!("nothing was written");
    };
    let sources = [source];
    let made = Item {
        sources: &sources,
        ..Item::new(&[b"t", b"\xffs", b"made"], b"made")
    };
    let cases: [(Row<'_>, Goes); 5] = [
        (put(A, b"left", IfPresent::Replace), |log, _| {
            _ = write(log, Row::Remove(A));
        }),
        (put(A, b"left", IfPresent::Skip), |log, _| {
            _ = write(log, Row::RemoveBelow(&A[..2]));
        }),
        (put(A, b"left", IfPresent::Replace), |log, _| {
            _ = log.erase(Scope::Prefix(A)).unwrap();
        }),
        (Row::Put(made), |log, _| _ = write(log, Row::Remove(B))),
        (Row::Put(made), |log, seq| {
            _ = log.erase(Scope::Records(&[seq])).unwrap();
        }),
    ];
    for (at, (row, goes)) in cases.into_iter().enumerate() {
        // While it is on its way into the spool: whoever has a log would take it up first.
        leave(&ram, &log, &[row, OTHER]);
        let name = left(&ram);
        let bytes = ram.read(&name).unwrap();
        ram.rename(&name, &format!("{name}.new")).unwrap();
        goes(&other, source);
        let _ = ram.remove(&format!("{name}.new"));
        ram.write(&name, bytes);
        let late = open(&ram);
        write(&late, OTHER);
        assert_eq!(waiting(&ram), 0, "case {at}");
        for log in [&log, &other, &late] {
            assert_eq!(payload(log, A), None, "case {at}");
            assert_eq!(payload(log, &[b"t", b"\xffs", b"made"]), None, "case {at}");
        }
    }
}

#[test]
fn a_take_up_that_fails_on_the_way_is_done_once() {
    let (mut failed, mut twice) = (0, 0);
    for call in 1..30 {
        let medium = Faulty::default();
        let log = Log::new(Arc::new(
            medium.open_store(options(Encryption::Keys)).unwrap(),
        ));
        write(&log, OTHER);
        leave(
            &medium.ram,
            &log,
            &[
                put(A, b"left", IfPresent::Replace),
                add(b"left", b"", IfPresent::Skip),
            ],
        );
        medium.plan.fail(call, true, io::ErrorKind::StorageFull);
        let told = log.write(&Batch::new(&[put(B, b"next", IfPresent::Replace)]));
        medium.plan.heal();
        failed += usize::from(told.is_err());
        drop(log);
        let log = Log::new(store(&medium.ram, Encryption::Keys));
        write(&log, OTHER);
        assert_eq!(waiting(&medium.ram), 0, "call {call}");
        assert_eq!(entries(&log), [b"left"], "call {call}");
        let cell = log.get(A, 1_000).unwrap().unwrap();
        assert_eq!(
            (&cell.payload[..], cell.born.seq),
            (&b"left"[..], cell.version)
        );
        twice += usize::from(cell.version > Seq(4));
    }
    assert!(failed > 3, "{failed}");
    assert_eq!(twice, 0);
}

#[test]
fn what_was_taken_up_is_not_again_whoever_comes_next() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    leave(&ram, &log, &[add(b"left", b"", IfPresent::Replace)]);
    let own = left(&ram);
    let bytes = ram.read(&own).unwrap();
    // Only the batch itself is behind it.
    log.write(&Batch::new(&[])).unwrap();
    assert_eq!((waiting(&ram), entries(&log)), (0, vec![b"left".to_vec()]));
    // As if whoever took it up had ended before it removed the file.
    ram.write(&own, bytes);
    let plain = store(&ram, Encryption::Off);
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 0);
    write(&open(&ram), OTHER);
    assert_eq!(entries(&log), [b"left"]);
}

#[test]
fn what_is_erased_is_in_no_batch_that_waits() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let log = Log::new(store(&ram, encryption));
        write(&log, OTHER);
        let far: Key<'_> = &[b"far", b"\xffs", b"away"];
        let rows = [
            put(A, b"secret", IfPresent::Skip),
            put(far, b"stays", IfPresent::Skip),
            add(b"secret too", b"", IfPresent::Skip),
        ];
        leave(&ram, &log, &rows);
        drop(log);
        let holds = |bytes: &[u8]| {
            let names = ram.list("spool").unwrap();
            let files = names
                .iter()
                .map(|name| ram.read(&format!("spool/{name}")).unwrap());
            files
                .into_iter()
                .any(|file| file.windows(bytes.len()).any(|part| part == bytes))
        };
        let plain = encryption == Encryption::Off;
        assert_eq!((holds(b"secret"), holds(b"stays")), (plain, plain));
        let keys = || ram.list("keys").unwrap().len();
        let before = keys();
        let eraser = store(&ram, encryption);
        eraser.erase(Scope::Prefix(&[b"t"])).unwrap();
        eraser.compact().unwrap();
        assert_eq!((holds(b"secret"), holds(b"stays")), (false, plain));
        // Gone are that of the tenant and those of the batch, one a record; what stays of it has a new one.
        assert_eq!((before, keys()), if plain { (0, 0) } else { (5, 2) });
        let late = Log::new(store(&ram, encryption));
        write(&late, OTHER);
        assert_eq!(waiting(&ram), 0);
        assert_eq!(payload(&late, far).unwrap(), b"stays");
        assert_eq!((payload(&late, A), entries(&late).len()), (None, 0));
    }
}

#[test]
fn a_removal_by_id_takes_nothing_that_came_after_it() {
    let ram = Ram::new();
    let (log, other) = (open(&ram), open(&ram));
    let Outcome::Written(source) = write(&log, put(B, b"source", IfPresent::Replace)) else {
        panic!("nothing was written");
    };
    let sources = [source];
    let made = Item {
        sources: &sources,
        ..Item::new(LIST, b"made")
    };
    let Outcome::Written(last) = write(&log, Row::Add(made)) else {
        panic!("nothing was written");
    };
    leave(
        &ram,
        &log,
        &[
            add(b"left", b"", IfPresent::Replace),
            put(A, b"left", IfPresent::Replace),
        ],
    );
    let name = left(&ram);
    // On its way into the spool while another writer removes the last entry, with its id and with its source.
    ram.rename(&name, &format!("{name}.new")).unwrap();
    let removes = [
        Row::RemoveEntries {
            list: LIST,
            entries: &[last],
        },
        Row::Remove(B),
    ];
    other.write(&Batch::new(&removes)).unwrap();
    ram.rename(&format!("{name}.new"), &name).unwrap();
    write(&open(&ram), OTHER);
    assert_eq!(waiting(&ram), 0);
    assert_eq!(entries(&log), [b"left"]);
    assert_eq!(payload(&log, A).unwrap(), b"left");
}

#[test]
fn a_batch_that_is_damaged_is_set_aside_and_stops_nobody() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    leave(&ram, &log, &[put(A, b"left", IfPresent::Skip)]);
    leave(&ram, &log, &[put(B, b"left", IfPresent::Skip)]);
    let name = left(&ram);
    let mut bytes = ram.read(&name).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    ram.write(&name, bytes);
    write(&log, OTHER);
    assert_eq!(waiting(&ram), 0);
    assert_eq!(
        (payload(&log, A), payload(&log, B)),
        (None, Some(b"left".to_vec()))
    );
    assert_eq!(log.store().report().damages.len(), 1);
}

/// Names of key files, and what is in them.
fn keys(ram: &Ram) -> Vec<(String, Vec<u8>)> {
    let names = ram.list("keys").unwrap();
    names
        .iter()
        .map(|name| format!("keys/{name}"))
        .map(|name| (name.clone(), ram.read(&name).unwrap()))
        .collect()
}

#[test]
fn keys_of_what_was_taken_up_go_although_the_next_batch_fails() {
    let (mut failed, mut between) = (0, 0);
    for (call, once) in (1..40).flat_map(|call| [(call, false), (call, true)]) {
        let medium = Faulty::default();
        let options = options(Encryption::Keys);
        let log = Log::new(Arc::new(medium.open_store(options).unwrap()));
        write(&log, OTHER);
        let own = keys(&medium.ram).len();
        leave(&medium.ram, &log, &[put(A, b"one", IfPresent::Skip)]);
        leave(&medium.ram, &log, &[put(B, b"two", IfPresent::Skip)]);
        assert_eq!(keys(&medium.ram).len(), own + 2);
        medium.plan.fail(call, once, io::ErrorKind::StorageFull);
        let told = log.write(&Batch::new(&[OTHER]));
        medium.plan.heal();
        failed += usize::from(told.is_err());
        if once && told.is_err() && waiting(&medium.ram) == 1 {
            assert_eq!(keys(&medium.ram).len(), own + 1, "call {call}");
            between += 1;
        }
        drop(log);
        let log = Log::new(store(&medium.ram, Encryption::Keys));
        write(&log, OTHER);
        assert_eq!(waiting(&medium.ram), 0, "call {call}");
        // What the first round could not remove, a compaction does.
        log.store().compact().unwrap();
        assert_eq!(keys(&medium.ram).len(), own, "call {call}");
    }
    assert!(failed > 6 && between > 0, "{failed} {between}");
}

#[test]
fn keys_of_a_batch_whose_taker_ended_early_go_with_its_file() {
    let ram = Ram::new();
    let log = Log::new(store(&ram, Encryption::Keys));
    write(&log, OTHER);
    let own = keys(&ram);
    leave(&ram, &log, &[put(A, b"left", IfPresent::Skip)]);
    let (name, all) = (left(&ram), keys(&ram));
    let bytes = ram.read(&name).unwrap();
    // Only the batch itself is behind it.
    log.write(&Batch::new(&[])).unwrap();
    assert_eq!((keys(&ram), waiting(&ram)), (own.clone(), 0));
    ram.write(&name, bytes);
    for (name, bytes) in &all {
        ram.write(name, bytes.clone());
    }
    let log = Log::new(store(&ram, Encryption::Keys));
    write(&log, OTHER);
    assert_eq!((keys(&ram), waiting(&ram)), (own, 0));
    assert_eq!(payload(&log, A).unwrap(), b"left");
}

#[test]
fn keys_that_no_batch_has_go_with_a_compaction() {
    let ram = Ram::new();
    let log = Log::new(store(&ram, Encryption::Keys));
    write(&log, OTHER);
    let own = keys(&ram);
    leave(&ram, &log, &[put(A, b"left", IfPresent::Skip)]);
    let all = keys(&ram);
    write(&log, OTHER);
    assert_eq!(keys(&ram), own);
    // As if whoever took it up had ended before the key was removed; and another batch waits.
    for (name, bytes) in &all {
        ram.write(name, bytes.clone());
    }
    leave(&ram, &log, &[put(B, b"waits", IfPresent::Skip)]);
    assert_eq!(keys(&ram).len(), own.len() + 2);
    let plain = store(&ram, Encryption::Keys);
    plain.compact().unwrap();
    assert_eq!((keys(&ram).len(), waiting(&ram)), (own.len() + 1, 1));
    write(&log, OTHER);
    assert_eq!(payload(&log, B).unwrap(), b"waits");
    assert_eq!(keys(&ram), own);
}

#[test]
fn what_waits_for_long_is_not_rung_for() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    ram.write("spool/odd.spc/file", b"a directory".to_vec());
    let bell = || ram.read("spool/bell").map_or(0, |bytes| bytes.len());
    let before = bell();
    for _ in 0..5 {
        write(&open(&ram), OTHER);
        write(&log, OTHER);
    }
    assert_eq!(bell(), before);
    leave(&ram, &log, &[put(A, b"left", IfPresent::Skip)]);
    leave(&ram, &log, &[put(B, b"left", IfPresent::Skip)]);
    write(&log, OTHER);
    assert_eq!(payload(&log, A), payload(&log, B));
    // By whoever left them, and once by whoever took them up.
    assert_eq!(bell(), before + 3);
}

#[test]
fn what_comes_later_is_no_source_of_what_is_left() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    let lock = ram.try_lock().unwrap().unwrap();
    for (source, is_right) in [(1, true), (2, false), (999, false)] {
        let sources = [Seq(source)];
        let row = Row::Put(Item {
            sources: &sources,
            ..Item::new(A, b"made")
        });
        let told = log.write(&batch(&[row]));
        match told {
            Ok(told) => assert!(is_right && told == [Outcome::Spooled], "{source}: {told:?}"),
            Err(Error::Argument { name, .. }) => assert!(!is_right && name == "sources"),
            Err(other) => panic!("{other}"),
        }
    }
    drop(lock);
    assert_eq!(waiting(&ram), 1);
}

#[test]
fn a_damaged_batch_keeps_nothing_that_was_erased() {
    let ram = Ram::new();
    let log = open(&ram);
    write(&log, OTHER);
    leave(&ram, &log, &[put(A, b"secret", IfPresent::Skip), OTHER]);
    let name = left(&ram);
    let mut bytes = ram.read(&name).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    ram.write(&name, bytes);
    // A handle without a log does not take it up.
    let plain = store(&ram, Encryption::Off);
    plain.append(&[TURN]).unwrap();
    assert_eq!(waiting(&ram), 1);
    plain.erase(Scope::Prefix(A)).unwrap();
    assert_eq!(waiting(&ram), 0);
    for folder in ["spool", "torn"] {
        for name in ram.list(folder).unwrap() {
            let bytes = ram.read(&format!("{folder}/{name}")).unwrap_or_default();
            assert!(!bytes.windows(6).any(|part| part == b"secret"), "{name}");
        }
    }
    assert_eq!(plain.report().damages.len(), 1);
}
