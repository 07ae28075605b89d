//! Single batches: what each kind of row does beside others, and what is refused.

use std::sync::Arc;

use warmset_core::cold::{Options, Store};
use warmset_core::log::{
    Batch, Columns, Expect, IfPresent, Item, Key, Log, MAX_DEPTH, MAX_KEY, MAX_OWN, MAX_PARTS,
    MAX_UID, Outcome, Row, Value,
};
use warmset_core::{Error, Seq};

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn log() -> Log {
    Log::new(Arc::new(Store::in_memory(Options::default()).unwrap()))
}

fn write(log: &Log, rows: &[Row<'_>]) -> Vec<Outcome> {
    log.write(&Batch::new(rows)).unwrap()
}

fn put<'a>(key: Key<'a>, payload: &'a [u8]) -> Row<'a> {
    Row::Put(Item::new(key, payload))
}

fn add<'a>(list: Key<'a>, payload: &'a [u8]) -> Row<'a> {
    Row::Add(Item::new(list, payload))
}

fn payload(log: &Log, key: Key<'_>) -> Option<Vec<u8>> {
    log.get(key, 0).unwrap().map(|cell| cell.payload)
}

fn payloads(log: &Log, list: Key<'_>) -> Vec<Vec<u8>> {
    let entries = log.entries(list, None, usize::MAX, false, 0).unwrap();
    entries.into_iter().map(|entry| entry.payload).collect()
}

fn seq(outcome: Outcome) -> Seq {
    match outcome {
        Outcome::Written(seq) => seq,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_apply_in_order() {
    let log = log();
    write(&log, &[Row::Remove(A), put(A, b"put")]);
    assert_eq!(payload(&log, A), Some(b"put".to_vec()));
    write(&log, &[put(A, b"gone"), Row::Remove(A)]);
    assert_eq!(payload(&log, A), None);
    let columns = Columns::new([("n".to_owned(), Value::Int(7))]).unwrap();
    let patch = Row::Patch {
        key: A,
        version: None,
        columns: &columns,
        expires: Some(9),
    };
    write(&log, &[put(A, b"patched"), patch]);
    let cell = log.get(A, 8).unwrap().unwrap();
    assert_eq!(
        (cell.columns.get("n"), cell.expires),
        (&Value::Int(7), Some(9))
    );
    assert_eq!(log.get(A, 9).unwrap(), None);
    // What has expired is no more to be patched, and a later put starts from nothing.
    let late = log.write(&Batch::new(&[patch]));
    assert!(matches!(late, Err(Error::NotFound { .. })), "{late:?}");
    write(&log, &[put(A, b"anew")]);
    let cell = log.get(A, 9).unwrap().unwrap();
    assert_eq!((cell.columns.get("n"), cell.expires), (&Value::Null, None));
}

#[test]
fn a_batch_that_is_refused_leaves_nothing_and_no_gap() {
    let log = log();
    let first = seq(write(&log, &[put(A, b"first")])[0]);
    let next = log.store().stats().unwrap().next_seq;
    let fails = Row::Put(Item {
        if_present: IfPresent::Fail,
        ..Item::new(A, b"second")
    });
    let refused = log.write(&Batch::new(&[add(LIST, b"x"), put(TALK, b"y"), fails]));
    match refused {
        Err(Error::Conflict {
            row,
            key,
            reason,
            current,
        }) => {
            assert_eq!((row, reason, current), (Some(2), "present", Some(first)));
            assert_eq!(key, [b"t".to_vec(), b"\xffs".to_vec(), b"a".to_vec()]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(log.store().stats().unwrap().next_seq, next);
    assert_eq!(payloads(&log, LIST), Vec::<Vec<u8>>::new());
    assert_eq!(payload(&log, A), Some(b"first".to_vec()));
    assert_eq!(seq(write(&log, &[add(LIST, b"x")])[0]), next);
}

#[test]
fn rows_that_are_left_out_take_no_id() {
    let log = log();
    let first = seq(write(&log, &[put(A, b"first")])[0]);
    let skip = |payload| {
        Row::Put(Item {
            if_present: IfPresent::Skip,
            ..Item::new(A, payload)
        })
    };
    let out = write(&log, &[add(LIST, b"1"), skip(b"no"), add(LIST, b"2")]);
    assert_eq!(out[1], Outcome::Present(first));
    assert_eq!(seq(out[2]).0, seq(out[0]).0 + 1);
    let next = log.store().stats().unwrap().next_seq;
    assert_eq!(
        write(&log, &[skip(b"no"), skip(b"no")]),
        [Outcome::Present(first); 2]
    );
    assert_eq!(log.store().stats().unwrap().next_seq, next);
    assert_eq!(payloads(&log, LIST), [b"1", b"2"]);
    assert!(log.store().verify().unwrap().damages.is_empty());
}

#[test]
fn nothing_is_expected_as_zero() {
    let log = log();
    let rows = [put(A, b"x")];
    let with = |expect: &[Expect<'_>]| {
        log.write(&Batch {
            expect,
            ..Batch::new(&rows)
        })
    };
    let wrong = with(&[Expect::Version(A, Seq(1))]);
    assert!(matches!(
        wrong,
        Err(Error::Conflict {
            row: None,
            reason: "version",
            current: None,
            ..
        })
    ));
    let wrong = with(&[Expect::Tail(LIST, Seq(1))]);
    assert!(matches!(
        wrong,
        Err(Error::Conflict {
            row: None,
            reason: "tail",
            current: None,
            ..
        })
    ));
    with(&[Expect::Version(A, Seq(0)), Expect::Tail(LIST, Seq(0))]).unwrap();
    let again = with(&[Expect::Version(A, Seq(0))]);
    assert!(matches!(
        again,
        Err(Error::Conflict {
            current: Some(_),
            ..
        })
    ));
}

#[test]
fn conditions_alone_are_judged_and_write_nothing() {
    let log = log();
    let first = seq(write(&log, &[put(A, b"x")])[0]);
    let next = log.store().stats().unwrap().next_seq;
    let with = |expect: &[Expect<'_>]| {
        log.write(&Batch {
            expect,
            ..Batch::new(&[])
        })
    };
    assert_eq!(with(&[Expect::Version(A, first)]).unwrap(), []);
    let wrong = with(&[Expect::Version(A, Seq(0))]).unwrap_err();
    assert!(matches!(wrong, Error::Conflict { .. }), "{wrong:?}");
    let said = format!("(t, \u{fffd}s, a): version, found {first}; read it again and decide anew");
    assert_eq!(wrong.to_string(), said);
    assert_eq!(log.store().stats().unwrap().next_seq, next);
}

#[test]
fn an_entry_takes_the_place_of_the_one_of_its_name() {
    let log = log();
    let named = |uid, payload, if_present| {
        Row::Add(Item {
            uid: Some(uid),
            if_present,
            ..Item::new(LIST, payload)
        })
    };
    let first = write(&log, &[named(b"u", b"1", IfPresent::Fail), add(LIST, b"2")]);
    let again = write(&log, &[named(b"u", b"no", IfPresent::Skip)]);
    assert_eq!(again, [Outcome::Present(seq(first[0]))]);
    write(&log, &[named(b"u", b"3", IfPresent::Replace)]);
    assert_eq!(payloads(&log, LIST), [b"2", b"3"]);
    // A name is free again with what bore it, and is each list's own.
    let last = log.tail(LIST).unwrap();
    write(
        &log,
        &[Row::RemoveEntries {
            list: LIST,
            entries: &[last],
        }],
    );
    write(&log, &[named(b"u", b"4", IfPresent::Fail)]);
    let other = Row::Add(Item {
        uid: Some(b"u"),
        if_present: IfPresent::Fail,
        ..Item::new(TALK, b"5")
    });
    write(&log, &[other]);
    assert_eq!(payloads(&log, LIST), [b"2", b"4"]);
    // An expired entry keeps its name.
    let brief = Row::Add(Item {
        uid: Some(b"brief"),
        expires: Some(5),
        ..Item::new(LIST, b"6")
    });
    let brief = write(&log, &[brief]);
    assert_eq!(log.entries(LIST, None, 9, false, 5).unwrap().len(), 2);
    assert_eq!(log.entries(LIST, None, 9, false, 4).unwrap().len(), 3);
    let late = write(&log, &[named(b"brief", b"7", IfPresent::Skip)]);
    assert_eq!(late, [Outcome::Present(seq(brief[0]))]);
}

#[test]
fn what_is_over_a_limit_is_refused_before_anything_is_written() {
    let log = log();
    let parts = vec![&b"p"[..]; MAX_PARTS];
    let most = vec![0; MAX_KEY];
    for key in [&parts[..], &[&most]] {
        write(&log, &[put(key, b"x")]);
        assert_eq!(payload(&log, key), Some(b"x".to_vec()));
    }
    let more = vec![&b"p"[..]; MAX_PARTS + 1];
    let longer = vec![0; MAX_KEY + 1];
    let next = log.store().stats().unwrap().next_seq;
    for key in [&[][..], &more, &[&longer]] {
        let refused = log.write(&Batch::new(&[put(A, b"y"), put(key, b"x")]));
        assert!(
            matches!(refused, Err(Error::Argument { name: "key", .. })),
            "{refused:?}"
        );
        assert!(matches!(log.get(key, 0), Err(Error::Argument { .. })));
        assert!(matches!(log.version(key, 0), Err(Error::Argument { .. })));
        assert!(matches!(log.tail(key), Err(Error::Argument { .. })));
        assert!(matches!(
            log.entries(key, None, 1, false, 0),
            Err(Error::Argument { .. })
        ));
        let expect = [Expect::Tail(key, Seq(0))];
        let batch = Batch {
            expect: &expect,
            ..Batch::new(&[])
        };
        assert!(matches!(log.write(&batch), Err(Error::Argument { .. })));
    }
    let (uid, own) = (vec![0; MAX_UID], vec![0; MAX_OWN]);
    let item = Item::new(LIST, b"x");
    let fits = Item {
        uid: Some(&uid),
        own: &own,
        codec: Some("json"),
        ..item
    };
    let (uid, own) = ([&uid[..], &[0]].concat(), [&own[..], &[0]].concat());
    let codec = "x".repeat(256);
    for item in [
        Item {
            uid: Some(&uid),
            ..item
        },
        Item { own: &own, ..item },
        Item {
            codec: Some(&codec),
            ..item
        },
    ] {
        let refused = log.write(&Batch::new(&[Row::Add(item)]));
        assert!(
            matches!(refused, Err(Error::Argument { .. })),
            "{refused:?}"
        );
    }
    let refused = log.write(&Batch::new(&[Row::Put(Item {
        uid: Some(b"u"),
        ..item
    })]));
    assert!(
        matches!(refused, Err(Error::Argument { name: "uid", .. })),
        "{refused:?}"
    );
    assert_eq!(log.store().stats().unwrap().next_seq, next);
    write(&log, &[Row::Add(fits)]);
    let entry = &log.entries(LIST, None, 1, false, 0).unwrap()[0];
    assert_eq!(
        (entry.codec.as_deref(), entry.own.len()),
        (Some("json"), MAX_OWN)
    );
}

#[test]
fn a_patch_is_of_the_version_that_it_names() {
    let log = log();
    let columns = Columns::new([("n".to_owned(), Value::Int(1))]).unwrap();
    let patch = |version| Row::Patch {
        key: A,
        version,
        columns: &columns,
        expires: None,
    };
    let none = log.write(&Batch::new(&[patch(None)]));
    assert!(matches!(none, Err(Error::NotFound { .. })), "{none:?}");
    let first = seq(write(&log, &[put(A, b"1")])[0]);
    let second = seq(write(&log, &[put(A, b"2")])[0]);
    let old = log.write(&Batch::new(&[patch(Some(first))]));
    let is_old = matches!(old, Err(Error::Conflict { reason: "version", current, .. }) if current == Some(second));
    assert!(is_old, "{old:?}");
    write(&log, &[patch(Some(second))]);
    let cell = log.get(A, 0).unwrap().unwrap();
    assert_eq!((cell.version, cell.payload.as_slice()), (second, &b"2"[..]));
    assert_eq!(cell.columns.get("n"), &Value::Int(1));
    assert_eq!(cell.born.seq, first);
}

#[test]
fn a_cell_and_a_list_of_one_key_are_two_things() {
    let log = log();
    for key in [A, TALK] {
        write(&log, &[add(key, b"1"), add(key, b"2")]);
        write(&log, &[put(key, b"cell")]);
        write(
            &log,
            &[Row::Cut {
                list: key,
                after: Seq(0),
            }],
        );
        assert_eq!(payload(&log, key), Some(b"cell".to_vec()));
        write(&log, &[add(key, b"3")]);
        write(&log, &[Row::Remove(key)]);
        assert_eq!(
            (payload(&log, key), payloads(&log, key)),
            (None, vec![b"3".to_vec()])
        );
    }
}

#[test]
fn a_scope_has_as_many_parts_as_a_record_can_say() {
    let log = log();
    let parts = [&b"p"[..]; 20];
    let rows = [put(&parts, b"x")];
    let with = |depth| {
        log.write(&Batch {
            depth,
            ..Batch::new(&rows)
        })
    };
    with(MAX_DEPTH).unwrap();
    let refused = with(MAX_DEPTH + 1);
    assert!(
        matches!(refused, Err(Error::Argument { name: "depth", .. })),
        "{refused:?}"
    );
}
