//! Logs of every format version, committed as bytes: what they held then is what is shown now.
//!
//! Each lies in `tests/fixtures/stores/<version>/log…`, beside a list of what must be shown of it (`.log`).
//! `cargo test --test log golden:: -- --ignored` writes those of this version that are not there yet; the
//! lists of records beside them are those of `cargo test --test cold golden::`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use warmset_core::cold::{Draft, Encryption, Mode, Options, Scope, Store};
use warmset_core::log::{
    Batch, Columns, IfPresent, Item, Key, Log, Order, Outcome, Row, Scan, Value,
};
use warmset_core::{Kind, Seq};

use crate::kept::{copy, stores};

/// A store of all that a log can hold, the same encrypted, and one that version 1.0 may read.
const NAMES: [&str; 3] = ["log", "log-keys", "log-readable"];
const NOW: i64 = 1_700_000_000_000_000;

fn open(dir: &Path, mode: Mode) -> Log {
    let keys = dir.join("keys").exists();
    let options = Options {
        mode,
        encryption: if keys {
            Encryption::Keys
        } else {
            Encryption::Off
        },
        segment_bytes: 2_000,
        ..Options::default()
    };
    Log::new(Arc::new(Store::open(dir, options).unwrap()))
}

/// One of each: values of every type, names, patches, cuts, removals, what expires, what is deep.
fn fill(log: &Log) {
    let values = [
        ("null", Value::Null),
        ("bool", Value::Bool(true)),
        ("int", Value::Int(-7)),
        ("float", Value::Float(0.5)),
        ("text", Value::Text("\u{1f600}".into())),
        ("time", Value::Time(NOW)),
        (
            "list",
            Value::List(vec![Value::Int(1), Value::Text("b".into())]),
        ),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), value));
    let columns = Columns::new(values).unwrap();
    let few = Columns::new([("n".to_owned(), Value::Int(1))]).unwrap();
    let (a, b): (Key<'_>, Key<'_>) = (&[b"t", b"\xffitems", b"a"], &[b"t", b"\xffitems", b"\0"]);
    let (list, talk): (Key<'_>, Key<'_>) = (&[b"t", b"\xfflist"], &[b"t", b"talk"]);
    log.store().append(&[turn(talk)]).unwrap();
    let write = |rows: &[Row<'_>]| {
        let batch = Batch {
            now: NOW,
            ..Batch::new(rows)
        };
        log.write(&batch).unwrap()
    };
    let full = Item {
        columns: Some(&columns),
        codec: Some("json"),
        own: b"own",
        expires: Some(NOW + 1_000),
        ..Item::new(a, b"first")
    };
    write(&[Row::Put(full)]);
    write(&[
        Row::Put(Item::new(a, b"second")),
        Row::Put(Item::new(b, b"")),
    ]);
    let patch = Row::Patch {
        key: b,
        version: None,
        columns: &few,
        expires: Some(NOW + 5),
    };
    write(&[patch]);
    let named = |uid, payload| {
        Row::Add(Item {
            uid: Some(uid),
            if_present: IfPresent::Skip,
            ..Item::new(list, payload)
        })
    };
    let out = write(&[
        named(b"1", b"one"),
        named(b"2", b"two"),
        named(b"1", b"no"),
        named(b"3", b"three"),
    ]);
    let Outcome::Written(two) = out[1] else {
        panic!("{out:?}")
    };
    write(&[Row::Cut { list, after: two }]);
    write(&[Row::Add(Item::new(talk, b"an entry that is no message"))]);
    write(&[Row::Cut {
        list: talk,
        after: Seq(1),
    }]);
    let deep: Key<'_> = &[b"t", b"\xffitems", b"user", b"deep"];
    let rows = [Row::Put(Item::new(deep, b"deep"))];
    let batch = Batch {
        now: NOW,
        depth: 3,
        ..Batch::new(&rows)
    };
    log.write(&batch).unwrap();
    let erased: Key<'_> = &[b"t", b"\xfferased", b"x"];
    write(&[Row::Put(Item::new(erased, b"erased"))]);
    log.store()
        .erase(Scope::Prefix(&[b"t", b"\xfferased"]))
        .unwrap();
}

/// Turns with names and branches, what was made from what is gone, and a batch with a name.
fn fill_more(log: &Log) {
    let talk: Key<'_> = &[b"t", b"talk"];
    let turn = turn(talk);
    let write = |rows: &[Row<'_>]| {
        let batch = Batch {
            now: NOW,
            ..Batch::new(rows)
        };
        log.write(&batch).unwrap()
    };
    let message = Item {
        turn: Some(br#"{"at":2,"key":"m 2","meta":{"n":1}}"#),
        ..Item::new(talk, b"{\"role\":\"assistant\"}")
    };
    write(&[Row::Add(message)]);
    let head = Draft {
        kind: Kind::Checkpoint,
        meta: br#"{"what":"head","id":1}"#,
        payload: b"",
        ..turn
    };
    let branch = Draft {
        meta: br#"{"at":3,"parent":1}"#,
        ..turn
    };
    log.store().append(&[head, branch]).unwrap();
    let gone: Key<'_> = &[b"t", b"\xffgone", b"x"];
    let Outcome::Written(source) = write(&[Row::Put(Item::new(gone, b"gone"))])[0] else {
        panic!()
    };
    let made = Item {
        sources: &[source],
        ..Item::new(&[b"t", b"\xffmade"], b"made from what is gone")
    };
    write(&[Row::Put(made)]);
    write(&[Row::RemoveBelow(&[b"t", b"\xffgone"])]);
    let rows = [Row::Put(Item::new(&[b"t", b"\xffonce"], b"once"))];
    let batch = Batch {
        now: NOW,
        once: Some(b"a name"),
        ..Batch::new(&rows)
    };
    log.write(&batch).unwrap();
}

/// A message as a version without the log writes it.
fn turn(key: Key<'_>) -> Draft<'_> {
    Draft {
        kind: Kind::Turn,
        key,
        meta: b"{\"at\":1}",
        sources: &[],
        payload: b"{\"role\":\"user\"}",
    }
}

/// What says nothing about turns that version 1.0 would get wrong.
fn fill_readable(log: &Log) {
    let turn = turn(&[b"t", b"talk"]);
    log.store().append(&[turn]).unwrap();
    let (cell, list): (Key<'_>, Key<'_>) = (&[b"t", b"\xffitems", b"a"], &[b"t", b"\xfflist"]);
    let rows = [
        Row::Put(Item::new(cell, b"a cell")),
        Row::Add(Item::new(list, b"an entry")),
        Row::Cut {
            list,
            after: Seq(0),
        },
    ];
    let batch = Batch {
        now: NOW,
        ..Batch::new(&rows)
    };
    log.write(&batch).unwrap();
    log.store().append(&[turn]).unwrap();
}

/// All that a log shows.
fn shown(log: &Log) -> String {
    let mut out = String::new();
    let scan = Scan {
        prefix: &[],
        filter: None,
        order: Order::Key,
        reverse: false,
        beyond: None,
        limit: usize::MAX,
        now: NOW,
    };
    for listed in log.scan(&scan).unwrap() {
        let parts: Vec<&[u8]> = listed.key.iter().map(Vec::as_slice).collect();
        writeln!(out, "cell {:?}", log.get(&parts, NOW).unwrap().unwrap()).unwrap();
    }
    for list in log.spaces(&[], 2, None, usize::MAX).unwrap() {
        let parts: Vec<&[u8]> = list.iter().map(Vec::as_slice).collect();
        writeln!(out, "space {list:?} ends at {}", log.tail(&parts).unwrap()).unwrap();
        for entry in log.entries(&parts, None, usize::MAX, false, NOW).unwrap() {
            writeln!(out, "entry {entry:?}").unwrap();
        }
    }
    out
}

#[test]
#[ignore = "writes the stores that are compared with"]
fn write_golden_logs() {
    for name in NAMES {
        let kept = stores().join("1.1").join(name);
        if kept.exists() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        if name == "log-keys" {
            fs::create_dir(dir.path().join("keys")).unwrap();
        }
        let log = open(dir.path(), Mode::Shared);
        if name == "log-readable" {
            fill_readable(&log);
        } else {
            fill(&log);
            fill_more(&log);
        }
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::write(kept.with_extension("log"), shown(&log)).unwrap();
        log.store().close().unwrap();
        copy(dir.path(), &kept);
    }
}

#[test]
fn what_was_written_then_is_shown_now() {
    let mut looked_at = 0;
    for version in fs::read_dir(stores()).unwrap() {
        for name in NAMES {
            let kept = version.as_ref().unwrap().path().join(name);
            let Ok(list) = fs::read_to_string(kept.with_extension("log")) else {
                continue;
            };
            let dir = tempfile::tempdir().unwrap();
            copy(&kept, dir.path());
            for mode in [Mode::Read, Mode::Shared] {
                assert_eq!(shown(&open(dir.path(), mode)), list, "{name} {mode:?}");
            }
            let log = open(dir.path(), Mode::Shared);
            let key: Key<'_> = &[b"t", b"\xffitems", b"a"];
            log.write(&Batch::new(&[Row::Put(Item::new(key, b"and on it goes"))]))
                .unwrap();
            log.store().compact().unwrap();
            assert_eq!(
                log.get(key, NOW).unwrap().unwrap().payload,
                b"and on it goes"
            );
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, NAMES.len(), "stores are missing");
}
