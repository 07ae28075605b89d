//! What is refused is left as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{append, segment, tiny};
use warmset_core::cold::{Mode, Options, Read, Store};
use warmset_core::{Error, Seq};

/// Every file of a directory with its bytes.
fn bytes(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                return bytes(&path).into_iter().collect();
            }
            vec![(path.clone(), fs::read(&path).unwrap())]
        })
        .collect()
}

fn quick() -> Options {
    Options {
        lock_wait: Duration::ZERO,
        ..Options::default()
    }
}

fn alone() -> Options {
    Options {
        mode: Mode::Exclusive,
        ..quick()
    }
}

#[test]
fn paths_that_are_no_store_are_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "mine").unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join(segment(1)), "somebody else's format").unwrap();
    let refused = |path: &Path| matches!(Store::open(path, quick()), Err(Error::NotAStore { .. }));
    let before = (bytes(dir.path()), bytes(other.path()));
    assert!(refused(Path::new("")));
    assert!(refused(&file));
    assert!(refused(dir.path()));
    assert!(refused(other.path()));
    assert_eq!((bytes(dir.path()), bytes(other.path())), before);
}

#[cfg(unix)]
#[test]
fn new_directories_and_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let store = Store::open(&path, Options::default()).unwrap();
    append(&store, &[b"x"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in bytes(&path).keys() {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
}

#[test]
fn an_unusable_directory_is_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let below = Store::open(&file.join("store"), quick());
    assert!(matches!(below, Err(Error::Io { .. })), "{below:?}");
}

#[test]
fn a_newer_major_is_refused_and_left_byte_for_byte() {
    for rewrite_checksum in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        append(&Store::open(dir.path(), quick()).unwrap(), &[b"x"]);
        let path = dir.path().join(segment(1));
        let mut file = fs::read(&path).unwrap();
        for start in [0, 512] {
            file[start + 8] = 9;
            if rewrite_checksum {
                let crc = crc32c::crc32c(&file[start..start + 124]);
                file[start + 124..start + 128].copy_from_slice(&crc.to_le_bytes());
            }
        }
        fs::write(&path, file).unwrap();
        let before = bytes(dir.path());
        match Store::open(dir.path(), quick()) {
            Err(Error::NewerFormat {
                found, supported, ..
            }) => {
                assert!(found.starts_with("9."), "{found}");
                assert_eq!(supported, "1.1");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(bytes(dir.path()), before);
    }
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dir in [&ours, &theirs] {
        let store = Store::open(dir.path(), tiny(1, Read::Map)).unwrap();
        append(&store, &[b"x"]);
        append(&store, &[b"y"]);
    }
    let foreign = ours.path().join(segment(2));
    fs::copy(theirs.path().join(segment(2)), &foreign).unwrap();
    let before = bytes(ours.path());
    match Store::open(ours.path(), quick()) {
        Err(Error::ForeignSegment { path }) => assert_eq!(path, foreign),
        other => panic!("{other:?}"),
    }
    assert_eq!(bytes(ours.path()), before);
}

#[test]
fn an_exclusive_store_has_one_owner_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path(), alone()).unwrap();
    append(&first, &[b"x"]);
    let wait = Duration::from_millis(150);
    let waiting = Options {
        lock_wait: wait,
        ..alone()
    };
    let start = Instant::now();
    match Store::open(dir.path(), waiting) {
        Err(Error::Locked { owner, .. }) => {
            assert!(owner.contains(&std::process::id().to_string()), "{owner}");
        }
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() >= wait);
    append(&first, &[b"y"]);
    first.close().unwrap();
    let second = Store::open(dir.path(), alone()).unwrap();
    assert_eq!(second.get(Seq(2)).unwrap().payload, b"y");
    // The first handle lives on, closed; dropping it must not give away the second one's lock.
    drop(first);
    assert!(matches!(
        Store::open(dir.path(), alone()),
        Err(Error::Locked { .. })
    ));
}

#[test]
fn a_waiting_open_gets_the_lock_when_it_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path(), alone()).unwrap();
    std::thread::scope(|scope| {
        let waiting = Options {
            lock_wait: Duration::from_secs(2),
            ..alone()
        };
        let path = dir.path();
        let second = scope.spawn(move || Store::open(path, waiting));
        std::thread::sleep(Duration::from_millis(50));
        drop(first);
        second.join().unwrap().unwrap();
    });
}

#[test]
fn a_directory_with_only_a_lock_is_a_new_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("lock"), "").unwrap();
    let store = Store::open(dir.path(), alone()).unwrap();
    assert_eq!(append(&store, &[b"x"]), [1]);
}

#[cfg(unix)]
#[test]
fn an_exclusive_handle_without_its_lock_file_takes_the_lock_again() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path(), alone()).unwrap();
    append(&first, &[b"x"]);
    fs::remove_file(dir.path().join("lock")).unwrap();
    // Nobody else came: it goes on, and keeps others off again.
    append(&first, &[b"y"]);
    assert!(matches!(
        Store::open(dir.path(), alone()),
        Err(Error::Locked { .. })
    ));
    fs::remove_file(dir.path().join("lock")).unwrap();
    let second = Store::open(dir.path(), alone()).unwrap();
    assert_eq!(append(&second, &[b"z"]), [3]);
    for _ in 0..2 {
        let refused = first.append(&[crate::support::draft(b"not now")]);
        assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    }
    drop(second);
    assert_eq!(append(&first, &[b"again"]), [4]);
    assert_eq!(first.get(Seq(3)).unwrap().payload, b"z");
    assert_eq!(first.verify().unwrap().damages, vec![]);
}
