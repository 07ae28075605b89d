//! Cells: opening, erasing, removing, putting, looking, filtering.

use std::path::Path;
use std::sync::Arc;

use warmset_core::cold::{Draft, Encryption, Scope, Store};
use warmset_core::log::{Batch, Filter, Item, Log, Order, Row, Scan, Value, now};
use warmset_core::{Kind, Seq};

use crate::figure::{Figure, timed};
use crate::material::{
    CELLS, LEN, Random, SPACES, columns, fill, key, log, options, parts, payload, write,
};

/// The first keyed read after opening a plain store; what opening the store by itself takes beside it.
pub(crate) fn open(place: &Path) {
    let place = place.join("open");
    let writer = log(Some(&place), Encryption::Off);
    fill(&writer, CELLS, 0);
    writer.store().close().unwrap();
    let (mut all, mut store_alone, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..15 {
        let at = at * 6_661 % CELLS;
        let key = key(at);
        let (store, first) = timed(|| Store::open(&place, options()).unwrap());
        let log = Log::new(Arc::new(store));
        let (cell, read) = timed(|| log.get(&parts(&key), now()).unwrap());
        assert_eq!(cell.unwrap().payload, payload(at, 0));
        again.push(timed(|| log.get(&parts(&key), now()).unwrap()).1);
        all.push(first + read);
        store_alone.push(first);
    }
    again.sort_by(f64::total_cmp);
    store_alone.sort_by(f64::total_cmp);
    Figure::of_calls("open, first keyed read", &mut all, 30_000.0)
        .with("opening the store alone", store_alone[7])
        .with("the next read", again[7])
        .print();
    std::fs::remove_dir_all(place).unwrap();
}

/// Erasing one key, in memory, so that no sync is waited for: as it is; with ten cells that were made from
/// it; where each key has an encryption key of its own, and where those are files. Place them in memory, too.
pub(crate) fn erase(place: &Path) {
    let files = place.join("erase");
    let files = Some(&*files);
    for (name, derived, encryption, depth, place) in [
        ("erase one key", 0, Encryption::Off, 0, None),
        (
            "erase one key and ten made from it",
            10,
            Encryption::Off,
            0,
            None,
        ),
        ("erase one key, encrypted", 0, Encryption::Keys, 3, None),
        (
            "erase one key, encrypted, with files",
            0,
            Encryption::Keys,
            3,
            files,
        ),
    ] {
        let log = log(place, encryption);
        // Fewer owners: each has a key file.
        let cells = if depth == 3 { CELLS / 10 } else { CELLS };
        let seqs = fill(&log, cells, depth);
        let mut times = Vec::new();
        for at in 0..200 {
            let at = at * 37 % cells;
            let made: Vec<Vec<u8>> = (0..derived)
                .map(|n| format!("{at} {n}").into_bytes())
                .collect();
            let made: Vec<[&[u8]; 3]> = made
                .iter()
                .map(|name| [&b"acme"[..], b"\xffmade", name])
                .collect();
            for key in &made {
                write(
                    &log,
                    Row::Put(Item {
                        sources: &[seqs[at]],
                        ..Item::new(key, b"made of it")
                    }),
                );
            }
            let key = key(at);
            let key = parts(&key);
            assert!(log.version(&key, now()).unwrap().is_some());
            let (told, time) = timed(|| log.erase(Scope::Prefix(&key)).unwrap());
            times.push(time);
            assert_eq!(told.records + told.derived, 1 + derived);
            for key in made.iter().chain([&key]) {
                assert_eq!(log.version(key, now()).unwrap(), None);
            }
        }
        Figure::of_calls(name, &mut times, 1_000.0)
            .with("cells", cells as f64)
            .print();
    }
}

/// Removing one cell.
pub(crate) fn remove(place: &Path) {
    let place = place.join("remove");
    for (name, place) in [
        ("remove a cell", Some(&*place)),
        ("remove a cell, in memory", None),
    ] {
        let log = log(place, Encryption::Off);
        fill(&log, CELLS, 0);
        let mut times = Vec::new();
        for at in 0..5_000 {
            let key = key(at * 19);
            let key = parts(&key);
            let (_, time) = timed(|| write(&log, Row::Remove(&key)));
            times.push(time);
            assert_eq!(log.version(&key, now()).unwrap(), None);
        }
        Figure::of_calls(name, &mut times, 20.0).print();
    }
    std::fs::remove_dir_all(place).unwrap();
}

/// A new version of a cell, and a bare append of the same bytes to a store of its own, in turns.
pub(crate) fn put(place: &Path) {
    let (ours, bare) = (place.join("ours"), place.join("bare"));
    for (name, disk, batch) in [
        ("put over a bare append", true, 1),
        ("put over a bare append, in memory", false, 1),
        ("put over a bare append, 100 together", true, 100),
    ] {
        let log = log(disk.then_some(&*ours), Encryption::Off);
        fill(&log, CELLS, 0);
        let bare = if disk {
            Store::open(&bare, options())
        } else {
            Store::in_memory(options())
        };
        let bare = bare.unwrap();
        let (mut puts, mut appends) = (Vec::new(), Vec::new());
        let mut random = Random(7);
        for version in 1..=20_000 / batch {
            let at = random.below(CELLS);
            let made: Vec<_> = (0..batch as usize)
                .map(|n| (key((at + n) % CELLS), payload((at + n) % CELLS, version)))
                .collect();
            let keys: Vec<[&[u8]; 3]> = made.iter().map(|(key, _)| parts(key)).collect();
            let both = keys.iter().zip(&made);
            let rows: Vec<Row<'_>> = both
                .clone()
                .map(|(key, (_, payload))| Row::Put(Item::new(key, payload)))
                .collect();
            let drafts: Vec<Draft<'_>> = both
                .map(|(key, (_, payload))| Draft {
                    kind: Kind::Item,
                    key,
                    // About what the log says of a cell.
                    meta: &[0; 16],
                    sources: &[],
                    payload,
                })
                .collect();
            let batch = Batch::new(&rows);
            let ((), time) = timed(|| drop(log.write(&batch).unwrap()));
            puts.push(time);
            let ((), time) = timed(|| drop(bare.append(&drafts).unwrap()));
            appends.push(time);
            let cell = log.get(&keys[0], now()).unwrap().unwrap();
            assert_eq!(cell.payload, made[0].1);
        }
        appends.sort_by(f64::total_cmp);
        puts.sort_by(f64::total_cmp);
        let middle = |sorted: &[f64]| sorted[sorted.len() / 2];
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        Figure::new(name, "ratio", middle(&puts) / middle(&appends), 2.0)
            .with("ratio of means", mean(&puts) / mean(&appends))
            .with("µs of a put", middle(&puts))
            .with("µs of an append", middle(&appends))
            .print();
        log.store().close().unwrap();
        bare.close().unwrap();
        if disk {
            std::fs::remove_dir_all(&ours).unwrap();
            std::fs::remove_dir_all(place.join("bare")).unwrap();
        }
    }
}

/// The version of a cell, a cell, and the spaces of a tenant.
pub(crate) fn look(place: &Path) {
    let place = place.join("look");
    let log = log(Some(&place), Encryption::Off);
    let seqs = fill(&log, CELLS, 0);
    let mut random = Random(11);
    let (mut versions, mut gets, mut spaces) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..20_000 {
        let at = random.below(CELLS);
        let key = key(at);
        let key = parts(&key);
        let (version, time) = timed(|| log.version(&key, now()).unwrap());
        assert_eq!(version, Some(seqs[at]));
        versions.push(time);
        let (cell, time) = timed(|| log.get(&key, now()).unwrap().unwrap());
        assert_eq!((cell.version, cell.payload.len()), (seqs[at], LEN));
        gets.push(time);
    }
    for _ in 0..500 {
        let (found, time) = timed(|| log.spaces(&[b"acme"], 2, None, 1_000).unwrap());
        assert_eq!(found.len(), SPACES);
        spaces.push(time);
    }
    Figure::of_calls("version of a cell", &mut versions, 5.0).print();
    gets.sort_by(f64::total_cmp);
    Figure::of_calls("spaces, 100", &mut spaces, 1_000.0)
        .with("µs of a get of 1 KB", gets[gets.len() / 2])
        .print();
    log.store().close().unwrap();
    std::fs::remove_dir_all(place).unwrap();
}

/// Filters over ten thousand cells of ninety thousand more: what a thousand pass, and what a hundred pass.
pub(crate) fn filter(place: &Path) {
    const AMONG: usize = 10_000;
    let place = place.join("filter");
    let log = log(Some(&place), Encryption::Off);
    fill(&log, CELLS - AMONG, 0);
    let names: Vec<Vec<u8>> = (0..AMONG).map(|n| format!("{n:06}").into_bytes()).collect();
    for (n, name) in names.iter().enumerate() {
        let columns = columns(n * SPACES);
        let key: [&[u8]; 3] = [b"acme", b"\xffamong", name];
        write(
            &log,
            Row::Put(Item {
                columns: Some(&columns),
                ..Item::new(&key, b"payload")
            }),
        );
    }
    let kind = Filter::Eq("kind".into(), Value::Text("kind 3".into()));
    let few = Filter::Lt("score".into(), Value::Int(1_000));
    let both = Filter::And(vec![kind.clone(), few]);
    let of = |name: &str, filter: &Filter, order: Order, limit: usize, passes: usize| {
        let scan = Scan {
            prefix: &[b"acme", b"\xffamong"],
            filter: Some(filter),
            order,
            reverse: false,
            beyond: None,
            limit,
            now: now(),
        };
        let mut times = Vec::new();
        for _ in 0..200 {
            let (found, time) = timed(|| log.scan(&scan).unwrap());
            times.push(time);
            let first: Vec<Seq> = found.iter().map(|one| one.version).collect();
            assert_eq!(first.len(), passes.min(limit));
            assert!(first.is_sorted());
        }
        let (count, time) = timed(|| log.count(&scan).unwrap());
        assert_eq!(count, passes);
        Figure::of_calls(name, &mut times, 1_000.0)
            .with("listed", passes.min(limit) as f64)
            .with("µs of count", time)
            .print();
    };
    of(
        "filter 10,000 by two columns",
        &both,
        Order::Key,
        usize::MAX,
        100,
    );
    of(
        "filter 10,000 by one column",
        &kind,
        Order::Key,
        usize::MAX,
        1_000,
    );
    of(
        "filter 10,000 in order of change",
        &both,
        Order::Changed,
        usize::MAX,
        100,
    );
    log.store().close().unwrap();
    std::fs::remove_dir_all(place).unwrap();
}
