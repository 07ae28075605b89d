//! What goes in comes out, through every medium, way of reading and segment size.

use std::thread;

use crate::support::{Truth, append, draft, open, pages, readable, segment, tiny};
use warmset_core::cold::{Draft, Options, Ram, Read, Store, content_hash};
use warmset_core::{Error, Kind, Seq};

const SIZES: [u64; 3] = [1, 2_000, 64 << 20];
const READS: [Read; 2] = [Read::Map, Read::Positional];

/// Appends ten batches, checking everything after each, and says what was appended.
fn fill(store: &Store, truth: &mut Truth) {
    for batch in 0..10_u8 {
        let payloads: Vec<Vec<u8>> = (0..=batch % 3)
            .map(|n| vec![batch * 3 + n; usize::from(batch) * 17])
            .collect();
        let slices: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let seqs = append(store, &slices);
        truth.extend(seqs.into_iter().zip(payloads));
        check(store, truth);
    }
}

fn check(store: &Store, truth: &Truth) {
    let all: Vec<u64> = truth.keys().copied().collect();
    assert_eq!(readable(store, truth), all);
    for max_bytes in [0, 500, usize::MAX] {
        let expected: Vec<(u64, Vec<u8>)> = truth.clone().into_iter().collect();
        assert_eq!(pages(store, max_bytes), expected);
    }
    let verify = store.verify().unwrap();
    assert_eq!(
        (verify.records, verify.damages),
        (u64::try_from(all.len()).unwrap(), vec![])
    );
    let stats = store.stats().unwrap();
    assert_eq!(stats.records, verify.records);
    assert_eq!(stats.bytes, verify.bytes);
    assert!(stats.next_seq.0 > *all.last().unwrap());
}

#[test]
fn disk_stores_round_trip_and_reopen() {
    for read in READS {
        for segment_bytes in SIZES {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a/new/store");
            let mut truth = Truth::new();
            for round in 0..3 {
                let store = Store::open(&path, tiny(segment_bytes, read)).unwrap();
                assert_eq!(store.report().cuts, vec![]);
                if round > 0 {
                    check(&store, &truth);
                }
                fill(&store, &mut truth);
                let segments = store.stats().unwrap().segments;
                assert_eq!(
                    segments > 1,
                    segment_bytes < 64 << 20,
                    "{segments} segments"
                );
                if round == 1 {
                    store.close().unwrap();
                }
            }
        }
    }
}

#[test]
fn memory_stores_round_trip_and_reopen() {
    for segment_bytes in SIZES {
        let ram = Ram::new();
        let mut truth = Truth::new();
        for _ in 0..3 {
            let store = open(&ram, tiny(segment_bytes, Read::Map));
            fill(&store, &mut truth);
        }
    }
    let store = Store::in_memory(Options::default()).unwrap();
    fill(&store, &mut Truth::new());
}

#[test]
fn kinds_keys_and_meta_come_back_as_they_were() {
    let store = Store::in_memory(Options::default()).unwrap();
    let keys: [&[&[u8]]; 4] = [&[], &[b""], &[b"a", b"bc"], &[b"ab", b"c"]];
    for key in keys {
        for kind in [Kind::Summary, Kind::Item, Kind::Other(900)] {
            let batch = [Draft {
                kind,
                key,
                meta: b"\0m",
                sources: &[],
                payload: b"p",
            }];
            let seq = store.append(&batch).unwrap()[0];
            let record = store.get(seq).unwrap();
            assert_eq!((record.kind, record.meta), (kind, b"\0m".to_vec()));
            assert_eq!(
                record.key,
                key.iter().map(|part| part.to_vec()).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn an_empty_batch_writes_nothing() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    let before = ram.read(&segment(1));
    assert_eq!(store.append(&[]).unwrap(), vec![]);
    assert_eq!(ram.read(&segment(1)), before);
    assert_eq!(append(&store, &[b"x"]), [1]);
}

#[test]
fn fifty_megabytes_are_legal_and_sixty_five_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    let large: Vec<u8> = (0_u8..=255).cycle().take(65 << 20).collect();
    let legal = &large[..50_000_000];
    let seqs = append(&store, &[b"before", legal]);
    match store.append(&[draft(b"small"), draft(&large)]) {
        Err(Error::TooLarge { size, limit }) => assert_eq!((size, limit), (65 << 20, 64 << 20)),
        other => panic!("{other:?}"),
    }
    assert_eq!(append(&store, &[b"after"]), [seqs[1] + 1]);
    drop(store);
    let smaller = Options {
        max_record: 10,
        ..Options::default()
    };
    let store = Store::open(dir.path(), smaller).unwrap();
    let record = store.get(Seq(seqs[1])).unwrap();
    assert!(record.payload == legal, "the payload differs");
    assert_eq!(record.hash, content_hash(legal));
    let long_meta = Draft {
        meta: &[0; 11],
        ..draft(b"")
    };
    assert!(matches!(
        store.append(&[long_meta]),
        Err(Error::TooLarge { .. })
    ));
}

#[test]
fn a_seal_a_cell_and_an_unknown_id_are_refused() {
    let store = Store::in_memory(Options::default()).unwrap();
    let (seal, cell) = (Kind::Seal.code(), Kind::Cell.code());
    for kind in [Kind::Seal, Kind::Other(seal), Kind::Cell, Kind::Other(cell)] {
        let seal = Draft { kind, ..draft(b"") };
        assert!(matches!(store.append(&[seal]), Err(Error::Argument { .. })));
    }
    append(&store, &[b"x"]);
    for seq in [0, 2, u64::MAX] {
        assert!(matches!(store.get(Seq(seq)), Err(Error::NotFound { .. })));
        assert!(matches!(
            store.hash_of(Seq(seq)),
            Err(Error::NotFound { .. })
        ));
    }
    assert!(store.page(Seq(u64::MAX), 1).unwrap().is_empty());
}

#[test]
fn a_closed_store_says_so_and_closes_twice() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options::default()).unwrap();
    append(&store, &[b"x"]);
    store.close().unwrap();
    store.close().unwrap();
    assert!(matches!(store.append(&[draft(b"y")]), Err(Error::Closed)));
    assert!(matches!(store.get(Seq(1)), Err(Error::Closed)));
    assert!(matches!(store.page(Seq(1), 1), Err(Error::Closed)));
    assert!(matches!(store.stats(), Err(Error::Closed)));
    assert!(matches!(store.verify(), Err(Error::Closed)));
    assert!(matches!(store.hash_of(Seq(1)), Err(Error::Closed)));
}

#[test]
fn threads_share_a_store() {
    fn shareable<T: Send + Sync>(_: &T) {}
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), tiny(4_000, Read::Map)).unwrap();
    shareable(&store);
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..25_u8 {
                    let payload = [thread, n];
                    let seqs = append(store, &[&payload, &payload]);
                    assert_eq!(seqs[1], seqs[0] + 1);
                    assert_eq!(store.get(Seq(seqs[0])).unwrap().payload, payload);
                }
            });
        }
    });
    let all = pages(&store, 1_000);
    let seqs: Vec<u64> = all.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, (1..=200).collect::<Vec<u64>>());
    for pair in all.chunks(2) {
        assert_eq!(pair[0].1, pair[1].1, "a batch was torn apart");
    }
}
