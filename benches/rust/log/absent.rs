//! Two processes put a million keys if they are absent: exactly one of them writes each.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use warmset_core::cold::{Encryption, SPACE};
use warmset_core::log::{Batch, IfPresent, Item, Log, Outcome, Row, Scan, now};

use crate::figure::{Figure, waited};
use crate::material::{Random, log};

/// The word that makes this program one of the two.
pub(crate) const CHILD: &str = "--put-if-absent";
const KEYS: usize = 1_000_000;
/// Within so many keys each process has an order of its own, and neither begins the next ones long before
/// the other one does: so they keep meeting.
const BLOCK: usize = 100;

fn name(at: usize) -> [u8; 8] {
    (at as u64).to_be_bytes()
}

fn keys() -> usize {
    let said = std::env::var("WARMSET_ABSENT_KEYS").ok();
    said.map_or(KEYS, |said| said.parse().unwrap())
}

/// Puts every key if it is absent, and notes for each whether it was this process that wrote it.
pub(crate) fn child(words: &[String]) {
    let (place, who) = (Path::new(&words[0]), words[1].parse::<u64>().unwrap());
    let log = log(Some(&place.join("store")), Encryption::Off);
    let mut random = Random(17 + who);
    let mut notes = vec![0_u8; keys()];
    let own = File::create(progress(place, who)).unwrap();
    for from in (0..keys()).step_by(BLOCK) {
        own.write_all_at(&name(from), 0).unwrap();
        wait_for(&progress(place, 3 - who), from);
        let mut block: Vec<usize> = (from..from + BLOCK).collect();
        for at in (1..BLOCK).rev() {
            block.swap(at, random.below(at + 1));
        }
        for at in block {
            notes[at] = put(&log, at, who);
        }
    }
    fs::write(place.join(words[1].as_str()), notes).unwrap();
    log.store().close().unwrap();
}

fn progress(place: &Path, who: u64) -> PathBuf {
    place.join(format!("progress {who}"))
}

/// Waits until the other process is as far, or a block behind.
fn wait_for(other: &Path, from: usize) {
    let begin = Instant::now();
    loop {
        let bytes = fs::read(other).unwrap_or_default();
        let at = bytes.try_into().map_or(0, u64::from_be_bytes);
        if at as usize + BLOCK >= from {
            return;
        }
        assert!(
            begin.elapsed() < Duration::from_mins(1),
            "the other process has stopped"
        );
        std::thread::yield_now();
    }
}

fn put(log: &Log, at: usize, who: u64) -> u8 {
    let name = name(at);
    let key: [&[u8]; 3] = [b"acme", &[SPACE, b'k'], &name];
    let payload = who.to_le_bytes();
    let row = Row::Put(Item {
        if_present: IfPresent::Skip,
        ..Item::new(&key, &payload)
    });
    match log.write(&Batch::new(&[row])).unwrap()[0] {
        Outcome::Written(_) => 1,
        Outcome::Present(_) => 2,
        Outcome::Nothing | Outcome::Spooled => 0,
    }
}

pub(crate) fn absent(place: &Path) {
    let place = place.join("absent");
    fs::create_dir(&place).unwrap();
    let (notes, time) = waited(|| {
        let start = |who: u64| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg(CHILD).arg(&place).arg(who.to_string());
            command.spawn().unwrap()
        };
        for mut child in [start(1), start(2)] {
            assert!(child.wait().unwrap().success());
        }
        ["1", "2"].map(|who| fs::read(place.join(who)).unwrap())
    });
    let [one, other] = &notes;
    let both = one.iter().zip(other);
    let doubles = both.clone().filter(|both| *both == (&1, &1)).count();
    let neither = both
        .filter(|both| !matches!(both, (1, 1 | 2) | (2, 1)))
        .count();
    assert_eq!(
        neither, 0,
        "each key is written by one and present for the other"
    );
    let log = log(Some(&place.join("store")), Encryption::Off);
    let scan = Scan {
        prefix: &[b"acme"],
        filter: None,
        order: warmset_core::log::Order::Key,
        reverse: false,
        beyond: None,
        limit: usize::MAX,
        now: now(),
    };
    assert_eq!(log.count(&scan).unwrap(), keys());
    // Ids without a gap: nothing was written beside what was told.
    assert_eq!(
        log.store().stats().unwrap().next_seq.0 - 1,
        (keys() + doubles) as u64
    );
    let wrote = one
        .iter()
        .map(|note| usize::from(*note == 1))
        .sum::<usize>();
    Figure::new(
        "put if absent, two processes: doubles",
        "keys",
        doubles as f64,
        0.0,
    )
    .with("keys", keys() as f64)
    .with("written by the first", wrote as f64)
    .with("µs a call", time / keys() as f64)
    .print();
    log.store().close().unwrap();
    fs::remove_dir_all(place).unwrap();
}
