//! The store: appends of 1 KB records, durable, unsynced and in memory; verified reads by id; opening.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::cell::Cell;
use std::fs;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use tempfile::TempDir;
use warmset_core::cold::{Draft, Durability, Mode, Options, Read, Store};
use warmset_core::{Kind, Seq};

const LEN: usize = 1_024;
const BATCH: usize = 1_000;

/// Bytes that no file system or disk could make smaller; payload `at` begins at its `at`-th byte.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..(LEN + BATCH) / 8).flat_map(|_| word()).collect()
}

fn draft(payload: &[u8]) -> Draft<'_> {
    Draft {
        kind: Kind::Turn,
        key: &[b"tenant", b"conversation"],
        meta: b"meta",
        sources: &[],
        payload,
    }
}

fn drafts(noise: &[u8], count: usize) -> Vec<Draft<'_>> {
    noise.windows(LEN).take(count).map(draft).collect()
}

fn main() {
    divan::main();
}

/// One batch, synced; batches of 1 say what the disk allows, batches of 1,000 what the code does.
#[divan::bench(args = [1, BATCH])]
fn append_on_disk(bencher: Bencher<'_, '_>, batch: usize) {
    on_disk(bencher, Options::default(), batch);
}

/// The same without a sync; the lock is taken for each batch, or once for all.
#[divan::bench(args = [(Mode::Shared, 1), (Mode::Exclusive, 1), (Mode::Shared, BATCH), (Mode::Exclusive, BATCH)], sample_count = 500)]
fn append_unsynced(bencher: Bencher<'_, '_>, (mode, batch): (Mode, usize)) {
    let options = Options {
        mode,
        durability: Durability::Os,
        ..Options::default()
    };
    on_disk(bencher, options, batch);
}

/// The same without a disk: encoding and checksums.
#[divan::bench(args = [1, BATCH])]
fn append_in_memory(bencher: Bencher<'_, '_>, batch: usize) {
    let store = Store::in_memory(Options::default()).unwrap();
    append(bencher, &store, batch);
}

fn on_disk(bencher: Bencher<'_, '_>, options: Options, batch: usize) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store"), options).unwrap();
    append(bencher, &store, batch);
}

fn append(bencher: Bencher<'_, '_>, store: &Store, batch: usize) {
    let noise = noise();
    let batch = drafts(&noise, batch);
    bencher
        .counter(ItemsCount::new(batch.len()))
        .bench_local(|| store.append(black_box(&batch)).unwrap());
    let stats = store.stats().unwrap();
    assert_eq!(stats.records, stats.next_seq.0 - 1);
    assert_eq!(store.verify().unwrap().records, stats.records);
}

/// A store of so many records, each 1,000 of them with the same payloads.
fn filled(records: usize, segment_bytes: u64) -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes,
        durability: Durability::Os,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let noise = noise();
    let batch = drafts(&noise, BATCH);
    for _ in 0..records / BATCH {
        store.append(&batch).unwrap();
    }
    (dir, store)
}

fn expect(store: &Store, noise: &[u8], seq: Seq) {
    let at = usize::try_from(seq.0 - 1).unwrap() % BATCH;
    let record = store.get(seq).unwrap();
    assert_eq!(Some(&*record.payload), noise.get(at..at + LEN));
}

/// One record by id out of 50,000 in sealed segments, verified by the hash of its payload.
#[divan::bench(args = [Read::Map, Read::Positional], sample_size = 1_000)]
fn get(bencher: Bencher<'_, '_>, read: Read) {
    const RECORDS: u64 = 50_000;
    let (dir, writer) = filled(50_000, 16 << 20);
    writer.close().unwrap();
    let options = Options {
        read,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let noise = noise();
    (1..=RECORDS).for_each(|seq| expect(&store, &noise, Seq(seq)));
    let at = Cell::new(0_u64);
    bencher.counter(BytesCount::new(LEN)).bench_local(|| {
        at.set(at.get() + 7_919);
        let record = store.get(Seq(1 + at.get() % RECORDS)).unwrap();
        assert_eq!(record.payload.len(), LEN);
        record
    });
}

/// Opening a store of a million records whose last segment was sealed by closing, or is still as its
/// writer left it. Says how many bytes a record takes.
#[divan::bench(args = ["closed", "left"], sample_count = 30, sample_size = 1)]
fn open_a_million(bencher: Bencher<'_, '_>, end: &str) {
    const RECORDS: u64 = 1_000_000;
    let (dir, writer) = filled(1_000_000, Options::default().segment_bytes);
    if end == "closed" {
        writer.close().unwrap();
    }
    let files = fs::read_dir(dir.path()).unwrap();
    let bytes: u64 = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes / RECORDS <= 1_200);
    eprintln!("{} bytes a record", bytes / RECORDS);
    let open = || Store::open(dir.path(), Options::default()).unwrap();
    bencher.bench_local(open);
    let store = open();
    assert_eq!(store.stats().unwrap().records, RECORDS);
    let noise = noise();
    (1..=RECORDS)
        .step_by(997)
        .for_each(|seq| expect(&store, &noise, Seq(seq)));
}
