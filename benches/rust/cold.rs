//! The store: appends of 1 KB records, durable and in memory, and verified reads by id.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::cell::Cell;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use warmset_core::cold::{Draft, Options, Read, Store};
use warmset_core::{Kind, Seq};

const PAYLOAD: [u8; 1024] = [0x5a; 1024];

fn draft() -> Draft<'static> {
    Draft {
        kind: Kind::Turn,
        key: &[b"tenant", b"conversation"],
        meta: b"meta",
        sources: &[],
        payload: &PAYLOAD,
    }
}

fn main() {
    divan::main();
}

/// One batch, synced; batches of 1 say what the disk allows, batches of 1,000 what the code does.
#[divan::bench(args = [1, 1_000])]
fn append_on_disk(bencher: Bencher<'_, '_>, batch: usize) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store"), Options::default()).unwrap();
    append(bencher, &store, batch);
}

/// The same without a disk: encoding and checksums.
#[divan::bench(args = [1, 1_000])]
fn append_in_memory(bencher: Bencher<'_, '_>, batch: usize) {
    append(
        bencher,
        &Store::in_memory(Options::default()).unwrap(),
        batch,
    );
}

fn append(bencher: Bencher<'_, '_>, store: &Store, batch: usize) {
    let batch = vec![draft(); batch];
    bencher
        .counter(ItemsCount::new(batch.len()))
        .bench_local(|| store.append(black_box(&batch)).unwrap());
    let stats = store.stats().unwrap();
    assert_eq!(stats.records, stats.next_seq.0 - 1);
    assert_eq!(store.verify().unwrap().records, stats.records);
}

/// One record by id out of sealed segments, verified by the hash of its payload.
#[divan::bench(args = [Read::Map, Read::Positional], sample_size = 1_000)]
fn get(bencher: Bencher<'_, '_>, read: Read) {
    const RECORDS: u64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        read,
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let store = Store::open(&dir.path().join("store"), options).unwrap();
    for _ in 0..RECORDS / 1_000 {
        store.append(&vec![draft(); 1_000]).unwrap();
    }
    let at = Cell::new(0_u64);
    bencher
        .counter(BytesCount::new(PAYLOAD.len()))
        .bench_local(|| {
            at.set(at.get() + 7_919);
            let record = store.get(Seq(1 + at.get() % (RECORDS - 2_000))).unwrap();
            assert_eq!(record.payload.len(), PAYLOAD.len());
            record
        });
    assert_eq!(store.get(Seq(RECORDS)).unwrap().payload, PAYLOAD);
}
