//! Scans and spaces against all keys sorted by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::cold::{Options, Store};
use warmset_core::log::{Batch, Columns, Filter, Item, Listed, Log, Order, Row, Scan, Value};

type Key = Vec<Vec<u8>>;

fn keys() -> impl Strategy<Value = Vec<Key>> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(255)];
    let part = prop::collection::vec(byte, 0..3);
    prop::collection::vec(prop::collection::vec(part, 1..4), 1..12)
}

fn parts(key: &Key) -> Vec<&[u8]> {
    key.iter().map(Vec::as_slice).collect()
}

/// All pages of a scan, one after the other.
fn pages(log: &Log, scan: Scan<'_>) -> Vec<Listed> {
    let mut all: Vec<Listed> = Vec::new();
    loop {
        let beyond = all.last().cloned();
        let page = log
            .scan(&Scan {
                beyond: beyond.as_ref(),
                ..scan
            })
            .unwrap();
        assert!(page.len() <= scan.limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_a_scan_are_all_keys_in_order(
        puts in keys(),
        lists in keys(),
        prefix in prop::collection::vec(prop_oneof![Just(vec![]), Just(vec![b'a']), Just(vec![255])], 0..3),
        limit in 1..5_usize,
        depth in 0..4_usize,
        now in 0..4_i64,
        least in 0..3_i64,
    ) {
        let filter = Filter::Gte("n".to_owned(), Value::Int(least));
        let log = Log::new(Arc::new(Store::in_memory(Options::default()).unwrap()));
        let mut known: Vec<(Key, u64, u64, i64, i64)> = Vec::new();
        for (at, key) in puts.iter().enumerate() {
            let expires = i64::try_from(at % 5).unwrap();
            let parts = parts(key);
            let number = i64::try_from(at % 3).unwrap();
            let columns = Columns::new([("n".to_owned(), Value::Int(number))]).unwrap();
            let item = Item { expires: Some(expires), columns: Some(&columns), ..Item::new(&parts, b"") };
            // Nothing has expired when it is put again.
            let batch = [Row::Put(item)];
            let outcome = log.write(&Batch { now: -1, ..Batch::new(&batch) }).unwrap()[0];
            let warmset_core::log::Outcome::Written(seq) = outcome else { panic!("{outcome:?}") };
            match known.iter_mut().find(|(own, ..)| own == key) {
                Some((_, _, version, until, n)) => (*version, *until, *n) = (seq.0, expires, number),
                None => known.push((key.clone(), seq.0, seq.0, expires, number)),
            }
        }
        for list in &lists {
            let parts = parts(list);
            log.write(&Batch::new(&[Row::Add(Item::new(&parts, b""))])).unwrap();
        }
        let below = parts(&prefix);
        for order in [Order::Key, Order::Born, Order::Changed] {
            for reverse in [false, true] {
                let mut expected: Vec<_> = known
                    .iter()
                    .filter(|(key, _, _, until, n)| key.starts_with(&prefix) && now < *until && *n >= least)
                    .cloned()
                    .collect();
                match order {
                    Order::Key => expected.sort(),
                    Order::Born => expected.sort_by_key(|(_, born, ..)| *born),
                    Order::Changed => expected.sort_by_key(|(_, _, version, ..)| *version),
                }
                if reverse {
                    expected.reverse();
                }
                let scan = Scan { prefix: &below, filter: Some(&filter), order, reverse, beyond: None, limit, now };
                prop_assert_eq!(log.count(&scan).unwrap(), expected.len());
                let found: Vec<_> = pages(&log, scan)
                    .into_iter()
                    .map(|one| {
                        let Value::Int(n) = *one.columns.get("n") else { panic!("{one:?}") };
                        (one.key, one.born.seq.0, one.version.0, one.expires.unwrap(), n)
                    })
                    .collect();
                prop_assert_eq!(found, expected, "{:?} {}", order, reverse);
            }
        }
        let every = known.iter().map(|(key, ..)| key).chain(&lists);
        let spaces: BTreeSet<Key> = every
            .filter(|key| key.starts_with(&prefix))
            .filter_map(|key| key.get(..depth).map(<[_]>::to_vec))
            .collect();
        let mut found: Vec<Key> = Vec::new();
        loop {
            let beyond = found.last().cloned();
            let page = log.spaces(&below, depth, beyond.as_deref(), limit).unwrap();
            prop_assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        prop_assert_eq!(found, spaces.into_iter().collect::<Vec<_>>());
    }
}
