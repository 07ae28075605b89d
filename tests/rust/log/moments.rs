//! Several reads of one moment, and copies of one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warmset_core::cold::{Ack, Durability, Encryption, Options, Ram, Scope, Store};
use warmset_core::log::{
    Batch, Columns, Copied, Expect, Item, Key, Log, Outcome, Read, Row, Seen, Value,
};
use warmset_core::{Error, Seq};

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const B: Key<'static> = &[b"t", b"\xffs", b"b"];
const LIST: Key<'static> = &[b"t", b"\xffs", b"list"];
const FROM: Key<'static> = &[b"t", b"\xffs"];
const TO: Key<'static> = &[b"u", b"\xffs"];

fn open(ram: &Ram, encryption: Encryption) -> Log {
    let options = Options {
        encryption,
        segment_bytes: 2_000,
        durability: Durability::Os,
        ..Options::default()
    };
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

fn write(log: &Log, rows: &[Row<'_>]) -> Vec<Outcome> {
    let batch = Batch {
        now: 0,
        ..Batch::new(rows)
    };
    log.write(&batch).unwrap()
}

#[test]
fn a_view_is_of_one_moment() {
    let ram = Ram::new();
    let (log, reader) = (open(&ram, Encryption::Off), open(&ram, Encryption::Off));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Both cells and the last entry have the same number.
            for n in 0_u64.. {
                let payload = n.to_le_bytes();
                write(
                    &log,
                    &[
                        Row::Put(Item::new(A, &payload)),
                        Row::Put(Item::new(B, &payload)),
                        Row::Add(Item::new(LIST, &payload)),
                    ],
                );
                if n % 100 == 99 {
                    log.compact(0).unwrap();
                }
                if stop.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        let mut numbers = BTreeSet::new();
        while numbers.len() < 40 {
            let newest = Read::Entries {
                list: LIST,
                beyond: None,
                limit: 1,
                reverse: true,
            };
            let reads = [Read::Get(A), newest, Read::Tail(LIST), Read::Get(B)];
            let seen = reader.view(&reads, 0).unwrap();
            let [
                Seen::Cell(a),
                Seen::Entries(last),
                Seen::Tail(tail),
                Seen::Cell(b),
            ] = &seen[..]
            else {
                panic!("{seen:?}");
            };
            let payload = |cell: &Option<Box<warmset_core::log::Cell>>| {
                cell.as_ref().map(|cell| cell.payload.clone())
            };
            assert_eq!(payload(a), payload(b));
            assert_eq!(payload(a), last.first().map(|entry| entry.payload.clone()));
            assert_eq!(
                *tail,
                last.first().map(|entry| entry.seq).unwrap_or_default()
            );
            numbers.insert(payload(a));
        }
        stop.store(true, Ordering::Release);
    });
    assert_eq!(reader.view(&[], 0).unwrap(), []);
    let expired = Item {
        expires: Some(5),
        ..Item::new(A, b"x")
    };
    write(&log, &[Row::Put(expired)]);
    let cell = |now| {
        matches!(
            &log.view(&[Read::Get(A)], now).unwrap()[0],
            Seen::Cell(Some(_))
        )
    };
    assert!(cell(4) && !cell(5));
    assert!(matches!(
        log.view(&[Read::Get(&[])], 0),
        Err(Error::Argument { .. })
    ));
}

#[test]
fn a_page_of_a_list_is_of_one_moment() {
    let ram = Ram::new();
    let (log, reader) = (open(&ram, Encryption::Off), open(&ram, Encryption::Off));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // All entries have the same number.
            for n in 0_u64..400 {
                let payload = n.to_le_bytes();
                let cut = Row::Cut {
                    list: LIST,
                    after: Seq(0),
                };
                let mut rows = vec![cut];
                rows.resize(8, Row::Add(Item::new(LIST, &payload)));
                write(&log, &rows);
                if n % 5 == 0 {
                    log.compact(0).unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut numbers = BTreeSet::new();
        while !done.load(Ordering::Acquire) || numbers.is_empty() {
            for (limit, reverse) in [(3, false), (7, false), (3, true), (9, true)] {
                let page = reader.entries(LIST, None, limit, reverse, 0).unwrap();
                let found: BTreeSet<Vec<u8>> =
                    page.iter().map(|entry| entry.payload.clone()).collect();
                assert!(found.len() <= 1, "{page:?}");
                assert!(page.is_empty() || page.len() == limit.min(7), "{page:?}");
                numbers.extend(found);
            }
        }
    });
}

#[test]
fn a_copy_has_all_but_ids_and_sources() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let log = open(&ram, encryption);
        let columns = Columns::new([("n".to_owned(), Value::Int(1))]).unwrap();
        let few = Columns::new([("n".to_owned(), Value::Int(2))]).unwrap();
        let first = write(&log, &[Row::Put(Item::new(B, b"source"))])[0];
        let Outcome::Written(source) = first else {
            panic!()
        };
        let full = Item {
            codec: Some("json"),
            own: b"own",
            columns: Some(&columns),
            expires: Some(50),
            sources: &[source],
            ..Item::new(A, b"payload")
        };
        let named = Item {
            uid: Some(b"uid"),
            ..Item::new(LIST, b"one")
        };
        let brief = Item {
            expires: Some(5),
            ..Item::new(LIST, b"gone by then")
        };
        write(
            &log,
            &[
                Row::Put(full),
                Row::Add(named),
                Row::Add(brief),
                Row::Add(Item::new(LIST, b"two")),
            ],
        );
        let patch = Row::Patch {
            key: A,
            version: None,
            columns: &few,
            expires: Some(60),
        };
        write(
            &log,
            &[patch, Row::Put(Item::new(&[b"t", b"\xffs", b"c"], b""))],
        );
        let once = [Row::Put(Item::new(&[b"t", b"\xffs", b"d"], b""))];
        log.write(&Batch {
            once: Some(b"name"),
            now: 0,
            ..Batch::new(&once)
        })
        .unwrap();
        let copied = log.copy(FROM, TO, 0, 10, Ack::Durable).unwrap();
        assert_eq!(
            copied,
            Copied {
                cells: 4,
                entries: 2
            }
        );
        let reader = open(&ram, encryption);
        let copy: Key<'_> = &[b"u", b"\xffs", b"a"];
        let cell = reader.get(copy, 0).unwrap().unwrap();
        assert_eq!((cell.columns, cell.expires), (few.clone(), Some(60)));
        assert_eq!(
            (cell.codec.as_deref(), &cell.own[..]),
            (Some("json"), &b"own"[..])
        );
        assert_eq!(
            (&cell.payload[..], cell.born.seq),
            (&b"payload"[..], cell.version)
        );
        let list: Key<'_> = &[b"u", b"\xffs", b"list"];
        let entries = reader.entries(list, None, 9, false, 0).unwrap();
        let payloads: Vec<_> = entries.iter().map(|entry| &entry.payload[..]).collect();
        assert_eq!(payloads, [&b"one"[..], b"two"]);
        assert_eq!(entries[0].uid.as_deref(), Some(&b"uid"[..]));
        // What it was made from is none of the copy's business.
        log.erase(Scope::Records(&[source])).unwrap();
        assert_eq!(log.get(A, 0).unwrap(), None);
        assert!(reader.get(copy, 0).unwrap().is_some());
        // There is something now, so nothing is copied again.
        let again = log.copy(FROM, TO, 0, 10, Ack::Durable);
        assert!(
            matches!(
                again,
                Err(Error::Conflict {
                    reason: "present",
                    ..
                })
            ),
            "{again:?}"
        );
        let nothing = log.copy(
            &[b"t", b"\xffnone"],
            &[b"t", b"\xffnew"],
            0,
            0,
            Ack::Durable,
        );
        assert_eq!(nothing.unwrap(), Copied::default());
    }
}

#[test]
fn a_conversation_is_copied_as_its_path() {
    let log = open(&Ram::new(), Encryption::Off);
    let talk: Key<'_> = &[b"t", b"talk"];
    let metas: [&[u8]; 3] = [br#"{"at":1,"key":"a"}"#, br#"{"at":2}"#, br#"{"at":3}"#];
    for meta in metas {
        let item = Item {
            turn: Some(meta),
            ..Item::new(talk, b"{}")
        };
        write(&log, &[Row::Add(item)]);
    }
    write(
        &log,
        &[Row::Cut {
            list: talk,
            after: Seq(2),
        }],
    );
    write(&log, &[Row::Add(Item::new(talk, b"no message"))]);
    let to: Key<'_> = &[b"t", b"copy"];
    let copied = log.copy(talk, to, 0, 0, Ack::Durable).unwrap();
    assert_eq!(
        copied,
        Copied {
            cells: 0,
            entries: 3
        }
    );
    let all = log.entries(to, None, 9, false, 0).unwrap();
    let turns: Vec<_> = all.iter().map(|entry| entry.turn.as_deref()).collect();
    assert_eq!(turns, [Some(metas[0]), Some(metas[1]), None]);
    assert_eq!(all[0].uid.as_deref(), Some(&b"a"[..]));
}

#[test]
fn a_prefix_within_the_other_is_refused() {
    let log = open(&Ram::new(), Encryption::Off);
    let deep: Key<'_> = &[b"t", b"\xffs", b"deeper"];
    for (from, to) in [
        (FROM, FROM),
        (FROM, deep),
        (deep, FROM),
        (&[][..], FROM),
        (FROM, &[][..]),
    ] {
        let found = log.copy(from, to, 0, 0, Ack::Durable);
        assert!(matches!(found, Err(Error::Argument { .. })), "{found:?}");
    }
}

#[test]
fn nothing_is_copied_that_goes_meanwhile() {
    let log = open(&Ram::new(), Encryption::Off);
    let Outcome::Written(seq) = write(&log, &[Row::Add(Item::new(LIST, b"x"))])[0] else {
        panic!()
    };
    write(
        &log,
        &[
            Row::Add(Item::new(LIST, b"y")),
            Row::Put(Item::new(A, b"z")),
        ],
    );
    let tried = |expect: Expect<'_>| {
        let rows = [Row::Put(Item::new(B, b""))];
        log.write(&Batch {
            expect: &[expect],
            ..Batch::new(&rows)
        })
    };
    tried(Expect::Entry(LIST, seq)).unwrap();
    tried(Expect::Nothing(TO)).unwrap();
    let tenant: Key<'_> = &[b"t"];
    for prefix in [FROM, A, LIST, tenant] {
        let found = tried(Expect::Nothing(prefix));
        assert!(matches!(
            found,
            Err(Error::Conflict {
                row: None,
                reason: "present",
                current: Some(_),
                ..
            })
        ));
    }
    let entries = [seq];
    write(
        &log,
        &[Row::RemoveEntries {
            list: LIST,
            entries: &entries,
        }],
    );
    let found = tried(Expect::Entry(LIST, seq));
    assert!(matches!(
        found,
        Err(Error::Conflict {
            row: None,
            reason: "entry",
            current: None,
            ..
        })
    ));
    write(&log, &[Row::RemoveBelow(FROM)]);
    tried(Expect::Nothing(FROM)).unwrap();
}
