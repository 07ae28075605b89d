//! A hundred thousand keys, each rewritten twenty times: what lies on the disk in the end, what was written
//! on the way, and how long the writers' lock is held.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warmset_core::Kind;
use warmset_core::cold::{Draft, Encryption, Store};
use warmset_core::log::{Item, Row, now};

use crate::figure::{Figure, quantile, waited};
use crate::material::{
    CELLS, LEN, Random, columns, fill, key, log, options, parts, payload, write,
};

const TIMES: usize = 20;

pub(crate) fn rewrites(place: &Path) {
    let place = place.join("rewrites");
    let log = log(Some(&place), Encryption::Off);
    let segment = options().segment_bytes as f64;
    fill(&log, CELLS, 0);
    let live = size(&place);
    let mut versions = vec![0_u64; CELLS];
    let mut random = Random(13);
    let done = AtomicBool::new(false);
    let before = bytes_written();
    let (mut times, waits, mut most) = (Vec::new(), Vec::new(), live);
    let mut waits: Vec<f64> = std::thread::scope(|scope| {
        let other = scope.spawn(|| wait_for_the_lock(&place, &done, waits));
        for n in 0..CELLS * TIMES {
            let at = random.below(CELLS);
            versions[at] += 1;
            let (key, payload) = (key(at), payload(at, versions[at]));
            let columns = columns(at);
            let key = parts(&key);
            let item = Item {
                columns: Some(&columns),
                ..Item::new(&key, &payload)
            };
            let (_, time) = waited(|| write(&log, Row::Put(item)));
            times.push(time);
            if n % 10_000 == 0 {
                most = most.max(size(&place));
            }
        }
        done.store(true, Ordering::Relaxed);
        other.join().unwrap()
    });
    let others = (waits.len() * (LEN + 100)) as f64;
    let written = bytes_written() - before - others;
    let end = size(&place);
    for pass in 0..2 {
        let again = crate::material::log(Some(&place), Encryption::Off);
        let log = if pass == 0 { &log } else { &again };
        for (at, version) in versions.iter().enumerate() {
            let cell = log.get(&parts(&key(at)), now()).unwrap().unwrap();
            assert_eq!(cell.payload, payload(at, *version));
        }
    }
    let each = live / CELLS as f64;
    let put = each * versions.iter().sum::<u64>() as f64;
    let mb = |bytes: f64| bytes / 1e6;
    Figure::new(
        "rewrites: disk at the end",
        "MB",
        mb(end),
        mb(3.0 * live + 2.0 * segment),
    )
    .with("live", mb(live))
    .with("segment", mb(segment))
    .with("most at any time", mb(most))
    .print();
    Figure::new(
        "rewrites: bytes written over bytes put",
        "ratio",
        written / put,
        4.0,
    )
    .with("over payloads alone", written / put * each / LEN as f64)
    .with("bytes a record", each)
    .print();
    times.sort_by(f64::total_cmp);
    waits.sort_by(f64::total_cmp);
    let most = |sorted: &[f64]| sorted[sorted.len() - 1] / 1e3;
    Figure::new(
        "rewrites: lock held, p99.9 of a second handle's calls",
        "ms",
        quantile(&waits, 0.999) / 1e3,
        100.0,
    )
    .with("longest", most(&waits))
    .with("p99", quantile(&waits, 0.99) / 1e3)
    .with("calls", waits.len() as f64)
    .with(
        "p99.9 of the writer's own calls",
        quantile(&times, 0.999) / 1e3,
    )
    .with("longest of the writer's own", most(&times))
    .with("µs of a put, median", quantile(&times, 0.5))
    .with(
        "µs of a put, mean",
        times.iter().sum::<f64>() / times.len() as f64,
    )
    .print();
    log.store().close().unwrap();
    fs::remove_dir_all(place).unwrap();
}

/// Appends now and then through a handle of its own, which waits for whoever holds the lock.
fn wait_for_the_lock(place: &Path, done: &AtomicBool, mut waits: Vec<f64>) -> Vec<f64> {
    let store = Store::open(place, options()).unwrap();
    let payload = payload(0, 0);
    let draft = Draft {
        kind: Kind::Item,
        key: &[b"other", b"\xffitems"],
        meta: &[],
        sources: &[],
        payload: &payload,
    };
    while !done.load(Ordering::Relaxed) {
        waits.push(waited(|| store.append(&[draft]).unwrap()).1);
        std::thread::sleep(Duration::from_millis(2));
    }
    store.close().unwrap();
    waits
}

/// How many bytes the files of a store have.
fn size(place: &Path) -> f64 {
    let files = fs::read_dir(place).unwrap();
    // One may be renamed meanwhile.
    let lens = files.filter_map(|file| Some(file.unwrap().metadata().ok()?.len()));
    lens.sum::<u64>() as f64
}

/// How many bytes this process gave to the system to write, so far.
fn bytes_written() -> f64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.unwrap().parse().unwrap()
}
