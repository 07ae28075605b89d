//! Batches with a name: written once, however often they are sent.

use std::sync::Arc;

use warmset_core::cold::{Encryption, Options, Ram, Store};
use warmset_core::log::{
    Batch, Expect, Followed, IfPresent, Item, Key, Log, Order, Outcome, Row, Scan,
};
use warmset_core::{Error, Seq};

const KEY: Key<'static> = &[b"t", b"\xffs", b"a"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];

fn owned(key: Key<'_>) -> Vec<Vec<u8>> {
    key.iter().map(|part| part.to_vec()).collect()
}

#[test]
fn a_batch_with_a_name_is_written_once() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let options = Options {
            encryption,
            ..Options::default()
        };
        let open = || {
            let store = Store::with_medium(Box::new(ram.clone()), options).unwrap();
            Log::new(Arc::new(store))
        };
        let (log, other) = (open(), open());
        let skipped = Item {
            if_present: IfPresent::Skip,
            ..Item::new(KEY, b"other")
        };
        let rows = [
            Row::Put(Item::new(KEY, b"x")),
            Row::Put(skipped),
            Row::Add(Item::new(LIST, b"y")),
            Row::Remove(&[b"t", b"\xffs", b"nothing"]),
        ];
        let batch = |now: i64| Batch {
            once: Some(b"name"),
            now,
            expect: &[],
            ..Batch::new(&rows)
        };
        let first = log.write(&batch(1)).unwrap();
        let [
            Outcome::Written(one),
            Outcome::Present(two),
            Outcome::Written(three),
            Outcome::Nothing,
        ] = first[..]
        else {
            panic!("{first:?}");
        };
        assert_eq!((one, three), (two, Seq(one.0 + 1)));
        let records = log.store().stats().unwrap().records;
        for handle in [&log, &other, &open()] {
            assert_eq!(handle.write(&batch(2)).unwrap(), first);
        }
        assert_eq!(log.store().stats().unwrap().records, records);
        // What is remembered is not among the cells.
        let scan = Scan {
            prefix: &[],
            filter: None,
            order: Order::Key,
            reverse: false,
            beyond: None,
            limit: 9,
            now: 2,
        };
        let keys: Vec<_> = log
            .scan(&scan)
            .unwrap()
            .into_iter()
            .map(|one| one.key)
            .collect();
        assert_eq!((keys, log.count(&scan).unwrap()), (vec![owned(KEY)], 1));
        assert_eq!(
            log.spaces(&[], 3, None, 9).unwrap(),
            [owned(LIST), owned(KEY)]
        );
        let Followed::Changes(found, _) = log.follow(None, &[], 9).unwrap() else {
            panic!();
        };
        assert_eq!(found.len(), 2);
        // Other rows by that name, of whoever it belongs to.
        let rows = [Row::Put(Item::new(KEY, b"z"))];
        let changed = Batch {
            once: Some(b"name"),
            now: 3,
            ..Batch::new(&rows)
        };
        let refused = other.write(&changed);
        assert!(
            matches!(
                refused,
                Err(Error::Conflict {
                    row: None,
                    reason: "once",
                    current: Some(_),
                    ..
                })
            ),
            "{refused:?}"
        );
        let foreign = [Row::Put(Item::new(&[b"u", b"\xffs", b"k"], b"z"))];
        let foreign = Batch {
            rows: &foreign,
            ..changed
        };
        assert!(matches!(
            other.write(&foreign).unwrap()[..],
            [Outcome::Written(_)]
        ));
        // A day later it is another one.
        let day = 24 * 60 * 60 * 1_000_000;
        assert_eq!(other.write(&batch(1 + day - 1)).unwrap(), first);
        assert_ne!(other.write(&batch(1 + day)).unwrap(), first);
    }
}

#[test]
fn a_batch_with_a_name_that_failed_may_be_written() {
    let log = Log::new(Arc::new(Store::in_memory(Options::default()).unwrap()));
    let rows = [Row::Put(Item::new(KEY, b"x"))];
    let named = Batch {
        once: Some(b"name"),
        ..Batch::new(&rows)
    };
    let hopeless = Batch {
        expect: &[Expect::Version(KEY, Seq(7))],
        ..named
    };
    assert!(matches!(log.write(&hopeless), Err(Error::Conflict { .. })));
    assert!(matches!(
        log.write(&named).unwrap()[..],
        [Outcome::Written(_)]
    ));
    let most = vec![0; 1 << 10];
    for (rows, once, right) in [
        (&rows[..], &b""[..], false),
        (&rows, &most, true),
        (&rows, &[&most[..], b"x"].concat(), false),
        (&[], b"x", false),
    ] {
        let found = log.write(&Batch {
            once: Some(once),
            ..Batch::new(rows)
        });
        let refused = matches!(found, Err(Error::Argument { name: "once", .. }));
        assert_eq!(refused, !right, "{found:?}");
    }
}
