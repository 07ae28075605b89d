//! Stores of every format version, committed as bytes: what they held then is what is read now.
//!
//! Each lies in `tests/fixtures/stores/<version>/<name>`, beside a list of what must be read from it.
//! `cargo test --test cold golden:: -- --ignored` writes those of version 1.0 that are not there yet, and
//! the lists of those of later ones, which the tests of the log make; one that is there is never written
//! again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use warmset_core::cold::{
    Appended, Draft, Encryption, Mode, OnBusy, Options, Scope, Store, VerifyReport,
};
use warmset_core::{Error, Kind, Seq};

use crate::support::kept::{copy, files, stores};

const MASTER: [u8; 32] = *b"thirty-two bytes for golden ones";
/// Where the major and minor number and the feature words lie in a header.
const MAJOR: usize = 8;
const MINOR: usize = 10;
const READ_ONLY: usize = 24;
const INCOMPATIBLE: usize = 32;

fn options(name: &str) -> Options {
    Options {
        encryption: match name {
            "keys" | "log-keys" => Encryption::Keys,
            "master" => Encryption::Master(MASTER),
            _ => Encryption::Off,
        },
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        segment_bytes: 1_200,
        ..Options::default()
    }
}

fn draft<'a>(kind: Kind, key: &'a [&'a [u8]], sources: &'a [Seq], payload: &'a [u8]) -> Draft<'a> {
    Draft {
        kind,
        key,
        meta: b"{\"at\":1}",
        sources,
        payload,
    }
}

/// One of each: kinds, batches, rotation, what is empty, long, binary.
fn fill(store: &Store) {
    let key: [&[u8]; 2] = [b"tenant", "conversation \u{1f600}".as_bytes()];
    let long = vec![0x80; 900];
    let first = store
        .append(&[draft(Kind::Turn, &key, &[], b"{\"role\":\"user\"}")])
        .unwrap()[0];
    store
        .append(&[
            draft(Kind::Summary, &key, &[first], b"a summary"),
            draft(Kind::Embedding, &key, &[first], &[0, 0, 128, 63]),
            draft(Kind::Checkpoint, &[], &[], b""),
        ])
        .unwrap();
    store
        .append(&[draft(Kind::Turn, &[b"tenant", b"other"], &[], &long)])
        .unwrap();
    store
        .append(&[draft(Kind::Item, &[b"", b"\0", b"third"], &[], b"item")])
        .unwrap();
}

/// What a store holds, one line a record, and what it says of itself.
fn listing(store: &Store) -> String {
    let mut out = String::new();
    let next = store.stats().unwrap().next_seq.0;
    for seq in 1..next.min(100) {
        match store.get(Seq(seq)) {
            Ok(r) => {
                let key: Vec<String> = r.key.iter().map(|part| hex(part)).collect();
                let sources: Vec<u64> = r.sources.iter().map(|seq| seq.0).collect();
                writeln!(
                    out,
                    "{seq} {} key={} meta={} sources={sources:?} payload={}",
                    r.kind.name(),
                    key.join("."),
                    hex(&r.meta),
                    hex(&r.payload)
                )
                .unwrap();
            }
            Err(Error::Erased { .. }) => writeln!(out, "{seq} erased").unwrap(),
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) => {
                writeln!(out, "{seq} damaged").unwrap();
            }
            Err(Error::NotFound { .. }) => writeln!(out, "{seq} none").unwrap(),
            Err(other) => panic!("{other}"),
        }
    }
    let VerifyReport {
        records, damages, ..
    } = store.verify().unwrap();
    let cuts = store.report().cuts.len();
    let erasures = store.erasure_report().unwrap();
    writeln!(
        out,
        "records={records} damages={} cuts={cuts} erasures={} pending={}",
        damages.len(),
        erasures.erasures.len(),
        erasures.pending
    )
    .unwrap();
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

fn last_segment(dir: &Path) -> PathBuf {
    let mut names: Vec<PathBuf> = files(dir).into_keys().collect();
    names.retain(|path| path.extension().is_some_and(|ext| ext == "seg"));
    names.pop().unwrap()
}

/// Changes both copies of the header of every segment, checksums included.
fn reword(dir: &Path, at: usize, value: u8) {
    for (path, mut bytes) in files(dir) {
        if path.extension().is_some_and(|ext| ext == "seg") {
            for start in [0, 512] {
                bytes[start + at] = value;
                let crc = crc32c::crc32c(&bytes[start..start + 124]);
                bytes[start + 124..start + 128].copy_from_slice(&crc.to_le_bytes());
            }
            fs::write(path, bytes).unwrap();
        }
    }
}

/// Makes a store in one directory and puts it into another one as it is to be kept.
fn make(name: &str, dir: &Path, kept: &Path) {
    let store = Store::open(dir, options(name)).unwrap();
    if name != "empty" {
        fill(&store);
    }
    if name == "erased" {
        store.erase(Scope::Prefix(&[b"tenant", b"other"])).unwrap();
        store.compact().unwrap();
        store.erase(Scope::Records(&[Seq(1)])).unwrap();
    }
    if name == "spooled" {
        let alone = Options {
            mode: Mode::Exclusive,
            ..options(name)
        };
        let _holder = Store::open(dir, alone).unwrap();
        let left = draft(Kind::Turn, &[b"tenant", b"hook"], &[], b"left in the spool");
        let left = store.append_or_spool(&[left]).unwrap();
        assert!(matches!(left, Appended::Spooled(_)));
        copy(dir, kept);
        return;
    }
    store.close().unwrap();
    copy(dir, kept);
    let first = kept.join("00000000000000000001.seg");
    match name {
        "torn" => {
            let path = last_segment(kept);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, [&bytes[..], b"rcrd and no more"].concat()).unwrap();
        }
        "flipped" => {
            let mut bytes = fs::read(&first).unwrap();
            bytes[760] ^= 4;
            fs::write(first, bytes).unwrap();
        }
        "no-mark" => fs::remove_file(kept.join("mark")).unwrap(),
        "newer-major" => reword(kept, MAJOR, 2),
        "newer-minor" => reword(kept, MINOR, 1),
        "newer-incompatible" => reword(kept, INCOMPATIBLE, 1),
        "newer-read-only" => reword(kept, READ_ONLY, 1),
        _ => {}
    }
}

const NAMES: [&str; 13] = [
    "empty",
    "plain",
    "keys",
    "master",
    "erased",
    "spooled",
    "torn",
    "flipped",
    "no-mark",
    "newer-major",
    "newer-minor",
    "newer-incompatible",
    "newer-read-only",
];

#[test]
#[ignore = "writes the stores that are compared with"]
fn write_golden_stores() {
    for name in NAMES {
        let kept = stores().join("1.0").join(name);
        if kept.exists() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        make(name, dir.path(), &kept);
        let list = match Store::open(dir.path(), options(name)) {
            Ok(_) if name.starts_with("newer-") && name != "newer-minor" => "refused\n".into(),
            Ok(_) => {
                let again = tempfile::tempdir().unwrap();
                copy(&kept, again.path());
                listing(&Store::open(again.path(), options(name)).unwrap())
            }
            Err(error) => panic!("{error}"),
        };
        fs::write(kept.with_extension("txt"), list).unwrap();
    }
    for (name, path) in directories() {
        if !path.with_extension("txt").exists() {
            let dir = tempfile::tempdir().unwrap();
            copy(&path, dir.path());
            let list = listing(&Store::open(dir.path(), options(&name)).unwrap());
            fs::write(path.with_extension("txt"), list).unwrap();
        }
    }
}

/// Every store that is kept: name and directory.
fn directories() -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for version in fs::read_dir(stores()).unwrap() {
        for entry in fs::read_dir(version.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                all.push((name, path));
            }
        }
    }
    all
}

/// Every store that is kept: its name, its directory, and what must be read from it.
fn kept() -> Vec<(String, PathBuf, String)> {
    let with_list = |(name, path): (String, PathBuf)| {
        let list = fs::read_to_string(path.with_extension("txt")).unwrap();
        (name, path, list)
    };
    let all: Vec<_> = directories().into_iter().map(with_list).collect();
    assert!(all.len() > NAMES.len(), "stores are missing");
    all
}

#[test]
fn what_was_stored_then_is_read_now() {
    for (name, path, list) in kept() {
        let dir = tempfile::tempdir().unwrap();
        copy(&path, dir.path());
        let opened = Store::open(dir.path(), options(&name));
        if list == "refused\n" {
            assert!(
                matches!(opened, Err(Error::NewerFormat { .. })),
                "{name}: {opened:?}"
            );
            let before: Vec<Vec<u8>> = files(&path).into_values().collect();
            let after: Vec<Vec<u8>> = files(dir.path()).into_values().collect();
            assert_eq!(before, after, "{name} was changed");
            continue;
        }
        let store = opened.unwrap();
        assert_eq!(listing(&store), list, "{name}");
        let next = draft(Kind::Turn, &[b"t", b"c"], &[], b"and on it goes");
        let next = store.append(&[next]).unwrap()[0];
        store.close().unwrap();
        let store = Store::open(dir.path(), options(&name)).unwrap();
        assert_eq!(store.get(next).unwrap().payload, b"and on it goes");
    }
}

#[test]
fn features_that_allow_reading_allow_no_writing() {
    let path = stores().join("1.0/newer-read-only");
    let dir = tempfile::tempdir().unwrap();
    copy(&path, dir.path());
    let read = Options {
        mode: Mode::Read,
        ..options("plain")
    };
    let store = Store::open(dir.path(), read).unwrap();
    let plain = fs::read_to_string(stores().join("1.0/plain.txt")).unwrap();
    assert_eq!(listing(&store), plain);
    let x = draft(Kind::Turn, &[], &[], b"x");
    assert!(matches!(store.append(&[x]), Err(Error::ReadOnly { .. })));
}
