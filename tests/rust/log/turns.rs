//! Conversations: what 1.0 keeps as JSON beside turns, and turns that the log itself writes.

use std::sync::Arc;

use warmset_core::cold::{Draft, Durability, Encryption, Options, Ram, Scope, Store};
use warmset_core::log::{Batch, Expect, IfPresent, Item, Key, Log, Outcome, Row, Value};
use warmset_core::{Error, Kind, Seq};

const TALK: Key<'static> = &[b"t", b"talk"];

fn open(ram: &Ram, encryption: Encryption) -> Log {
    let options = Options {
        encryption,
        durability: Durability::Os,
        ..Options::default()
    };
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

/// Appends a record as a version without the log does.
fn old(log: &Log, kind: Kind, meta: &str) -> Seq {
    let draft = Draft {
        kind,
        key: TALK,
        meta: meta.as_bytes(),
        sources: &[],
        payload: b"{}",
    };
    log.store().append(&[draft]).unwrap()[0]
}

fn turn(log: &Log, meta: &str, if_present: IfPresent) -> Result<Outcome, Error> {
    let item = Item {
        turn: Some(meta.as_bytes()),
        if_present,
        ..Item::new(TALK, b"{}")
    };
    Ok(log.write(&Batch::new(&[Row::Add(item)]))?[0])
}

fn path(log: &Log) -> Vec<u64> {
    let all = log.entries(TALK, None, 99, false, 0).unwrap();
    let seqs: Vec<u64> = all.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(log.tail(TALK).unwrap().0, seqs.last().copied().unwrap_or(0));
    seqs
}

/// The path in a handle that saw everything happen, and in one that opens now.
fn paths(ram: &Ram, seen: &Log, encryption: Encryption) -> Vec<u64> {
    let known = path(seen);
    assert_eq!(path(&open(ram, encryption)), known);
    known
}

#[test]
fn heads_and_parents_that_are_json_are_followed() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let (log, seen) = (open(&ram, encryption), open(&ram, encryption));
        let look = |expected: &[u64]| assert_eq!(paths(&ram, &seen, encryption), expected);
        for _ in 0..3 {
            old(&log, Kind::Turn, r#"{"at":1}"#);
        }
        look(&[1, 2, 3]);
        assert_eq!(old(&log, Kind::Turn, r#"{"at":1,"parent":1}"#), Seq(4));
        look(&[1, 4]);
        old(&log, Kind::Turn, r#"{"at":1}"#);
        look(&[1, 4, 5]);
        old(&log, Kind::Checkpoint, r#"{"what":"head","id":3}"#);
        look(&[1, 2, 3]);
        old(&log, Kind::Checkpoint, r#"{"what":"embedder","id":1}"#);
        assert_eq!(old(&log, Kind::Turn, r#"{"at":1,"by":"\ud800"}"#), Seq(8));
        look(&[1, 2, 3, 8]);
        old(&log, Kind::Checkpoint, r#"{"what":"head","id":0}"#);
        look(&[]);
        assert_eq!(old(&log, Kind::Turn, r#"{"at":1,"parent":0}"#), Seq(10));
        look(&[10]);
        // A condition holds for that path.
        let expect = [Expect::Tail(TALK, Seq(8))];
        let item = Item {
            turn: Some(br#"{"at":1}"#),
            ..Item::new(TALK, b"{}")
        };
        let rows = [Row::Add(item)];
        let refused = log.write(&Batch {
            expect: &expect,
            ..Batch::new(&rows)
        });
        assert!(
            matches!(
                refused,
                Err(Error::Conflict {
                    current: Some(Seq(10)),
                    ..
                })
            ),
            "{refused:?}"
        );
    }
}

/// A checkpoint of an erasure, and what it comes to.
struct Links {
    said: &'static str,
    erased: &'static [u64],
    path: &'static [u64],
    /// The path to turn 3.
    other: &'static [u64],
    /// The path to the last turn that was erased, for a head that was on its way.
    late: &'static [u64],
}

#[test]
fn survivors_follow_what_links_say() {
    // 1 2 3, and from 1 the branch 4 5 6.
    let tree = |log: &Log| {
        for meta in ["{}", "{}", "{}", r#"{"parent":1}"#, "{}", "{}"] {
            old(log, Kind::Turn, meta);
        }
    };
    let cases = [
        Links {
            said: r#"{"what":"links","of":[[5,4,1],[4,1]],"head":[6]}"#,
            erased: &[4],
            path: &[1, 5, 6],
            other: &[1, 2, 3],
            late: &[1],
        },
        Links {
            said: r#"{"what":"links","of":[[6,5,4],[5,4]],"head":[6,5,4]}"#,
            erased: &[5, 6],
            path: &[1, 4],
            other: &[1, 2, 3],
            late: &[1, 4],
        },
        Links {
            said: r#"{"what":"links","of":[[5,4,1,0],[4,1,0],[2,1,0],[1,0]],"head":[6]}"#,
            erased: &[1, 4],
            path: &[5, 6],
            other: &[2, 3],
            late: &[],
        },
        Links {
            said: r#"{"what":"links","of":[[4,1],[5,4,1],[6,5,4,1]],"head":[6,5,4,1]}"#,
            erased: &[4, 5, 6],
            path: &[1],
            other: &[1, 2, 3],
            late: &[1],
        },
    ];
    for case in cases {
        let ram = Ram::new();
        let (log, seen) = (open(&ram, Encryption::Off), open(&ram, Encryption::Off));
        tree(&log);
        assert_eq!(path(&seen), [1, 4, 5, 6]);
        old(&log, Kind::Checkpoint, case.said);
        let erased: Vec<Seq> = case.erased.iter().copied().map(Seq).collect();
        log.store().erase(Scope::Records(&erased)).unwrap();
        let look = |expected: &[u64]| {
            assert_eq!(
                paths(&ram, &seen, Encryption::Off),
                expected,
                "{}",
                case.said
            );
        };
        look(case.path);
        old(&log, Kind::Checkpoint, r#"{"what":"head","id":3}"#);
        look(case.other);
        let last = case.erased[case.erased.len() - 1];
        let head = format!(r#"{{"what":"head","id":{last}}}"#);
        old(&log, Kind::Checkpoint, &head);
        look(case.late);
    }
}

#[test]
fn the_key_of_a_turn_is_unique_on_its_path() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let log = open(&ram, encryption);
        let add = |meta: &str, how| turn(&log, meta, how).unwrap();
        assert_eq!(
            add(r#"{"key":"a","meta":{"n":1}}"#, IfPresent::Fail),
            Outcome::Written(Seq(1))
        );
        add(r#"{"key":"b"}"#, IfPresent::Fail);
        assert_eq!(
            add(r#"{"key":"a"}"#, IfPresent::Skip),
            Outcome::Present(Seq(1))
        );
        let again = turn(&open(&ram, encryption), r#"{"key":"b"}"#, IfPresent::Fail);
        assert!(
            matches!(
                again,
                Err(Error::Conflict {
                    reason: "present",
                    current: Some(Seq(2)),
                    ..
                })
            ),
            "{again:?}"
        );
        let cut = [Row::Cut {
            list: TALK,
            after: Seq(1),
        }];
        log.write(&Batch::new(&cut)).unwrap();
        assert_eq!(path(&log), [1]);
        // It left the path, so it is stored again; the one that left stays.
        let Outcome::Written(seq) = add(r#"{"key":"b"}"#, IfPresent::Fail) else {
            panic!();
        };
        assert_eq!(paths(&ram, &log, encryption), [1, seq.0]);
        assert!(log.store().get(Seq(2)).is_ok());
        let all = log.entries(TALK, None, 9, false, 0).unwrap();
        assert_eq!(all[0].uid.as_deref(), Some(&b"a"[..]));
        assert_eq!(
            all[0].turn.as_deref(),
            Some(&br#"{"key":"a","meta":{"n":1}}"#[..])
        );
        assert_eq!(all[0].columns.get("n"), &Value::Int(1));
        assert_eq!((all[1].parent, all[0].parent), (Seq(1), Seq(0)));
    }
}

#[test]
fn a_turn_follows_the_end_of_the_path_and_not_what_its_json_says() {
    let ram = Ram::new();
    let log = open(&ram, Encryption::Off);
    for meta in ["{}", "{}", r#"{"at":2,"parent":1,"by":"Ann"}"#] {
        turn(&log, meta, IfPresent::Replace).unwrap();
    }
    assert_eq!(paths(&ram, &log, Encryption::Off), [1, 2, 3]);
    let last = log
        .entries(TALK, Some(Seq(2)), 9, false, 0)
        .unwrap()
        .remove(0);
    assert_eq!(
        (last.at, last.turn.as_deref()),
        (2_000_000, Some(&br#"{"at":2,"by":"Ann"}"#[..]))
    );
}

#[test]
fn what_is_no_turn_is_refused() {
    let fresh = open(&Ram::new(), Encryption::Off);
    let written = |item: Item<'_>, put: bool| {
        let row = if put { Row::Put(item) } else { Row::Add(item) };
        match fresh.write(&Batch::new(&[row])) {
            Err(Error::Argument { name, .. }) => name,
            other => panic!("{other:?}"),
        }
    };
    let item = |key: Key<'static>, meta: &'static str| Item {
        turn: Some(meta.as_bytes()),
        ..Item::new(key, b"{}")
    };
    let long = format!(r#"{{"key":"{}"}}"#, "x".repeat(1025));
    assert_eq!(written(item(TALK, "{}"), true), "turn");
    assert_eq!(written(item(TALK, "[]"), false), "turn");
    assert_eq!(written(item(&[b"t", b"\xffspace"], "{}"), false), "turn");
    assert_eq!(
        written(item(&[b"t", b"talk", b"more"], "{}"), false),
        "turn"
    );
    assert_eq!(
        written(
            Item {
                codec: Some("x"),
                ..item(TALK, "{}")
            },
            false
        ),
        "turn"
    );
    assert_eq!(
        written(
            Item {
                uid: Some(b"x"),
                ..item(TALK, "{}")
            },
            false
        ),
        "turn"
    );
    assert_eq!(
        written(
            Item {
                own: b"x",
                ..item(TALK, "{}")
            },
            false
        ),
        "turn"
    );
    assert_eq!(
        written(
            Item {
                expires: Some(1),
                ..item(TALK, "{}")
            },
            false
        ),
        "turn"
    );
    let over = Item {
        turn: Some(long.as_bytes()),
        ..Item::new(TALK, b"{}")
    };
    assert_eq!(written(over, false), "key");
    let just = long.replace("xx\"", "x\"");
    assert_eq!(
        turn(&fresh, &just, IfPresent::Fail).unwrap(),
        Outcome::Written(Seq(1))
    );
}

#[test]
fn compaction_takes_no_message_that_is_of_no_conversation() {
    let ram = Ram::new();
    let options = Options {
        segment_bytes: 1,
        durability: Durability::Os,
        ..Options::default()
    };
    let log = Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ));
    let keys: [Key<'static>; 4] = [&[], &[b"t"], &[b"t", b"a", b"b"], TALK];
    for key in keys {
        let draft = Draft {
            kind: Kind::Turn,
            key,
            meta: b"{}",
            sources: &[],
            payload: b"x",
        };
        log.store().append(&[draft]).unwrap();
    }
    old(&log, Kind::Checkpoint, r#"{"what":"head","id":0}"#);
    for _ in 0..3 {
        log.write(&Batch::new(&[Row::Put(Item::new(&[b"t", b"\xffs"], b"x"))]))
            .unwrap();
    }
    let told = log.compact(0).unwrap();
    assert!(told.records > 0);
    for seq in 1..=5 {
        assert!(log.store().get(Seq(seq)).is_ok(), "{seq}");
    }
}
