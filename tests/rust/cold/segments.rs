//! Missing, empty, cut and headless files: each costs its own records, and is named.

use crate::support::{Truth, append, copy, open, pages, readable, reported, segment, tiny};
use warmset_core::cold::{Durability, Mode, Options, Ram, Read, Store};
use warmset_core::{Error, Seq};

/// Five sealed segments of one record and an active one, as a kill leaves them, without a mark.
fn segments() -> (Ram, Truth, Vec<String>) {
    let ram = Ram::new();
    let store = open(&ram, tiny(1, Read::Map));
    let truth: Truth = (0..6_u8)
        .map(|n| (append(&store, &[&[n; 20]])[0], vec![n; 20]))
        .collect();
    let names: Vec<String> = (1..=6).map(segment).collect();
    (copy(&ram, &names), truth, names)
}

#[test]
fn no_missing_empty_or_cut_file_makes_a_store_unopenable() {
    let (ram, truth, names) = segments();
    for (index, name) in names.iter().enumerate() {
        let lost = u64::try_from(index).unwrap() + 1;
        let is_last = index + 1 == names.len();
        let others: Vec<u64> = truth.keys().copied().filter(|seq| *seq != lost).collect();
        let full = ram.read(name).unwrap();
        for len in [
            None,
            Some(0),
            Some(100),
            Some(640),
            Some(650),
            Some(740),
            Some(full.len() - 1),
        ] {
            let kept: Vec<String> = names.iter().filter(|n| *n != name).cloned().collect();
            let other = copy(&ram, &kept);
            if let Some(len) = len {
                other.write(name, full[..len].to_vec());
            }
            let store = open(&other, tiny(1, Read::Map));
            let seen = readable(&store, &truth);
            let whole = len.is_some_and(|len| !is_last && len == full.len() - 1);
            if whole {
                assert_eq!(seen.len(), truth.len());
            } else {
                assert_eq!(seen, others, "{name} of length {len:?}");
            }
            // A last file that is gone, or ends where it began, cannot be told from one never written.
            if !(is_last && matches!(len, None | Some(640))) {
                assert!(reported(&store), "{name} of length {len:?} went unnoticed");
            }
            if !is_last && !whole {
                let error = store.get(Seq(lost)).unwrap_err();
                let told = matches!(error, Error::Truncated { .. } | Error::Corrupt { .. });
                assert!(told, "{name} of length {len:?}: {error}");
            }
            append(&store, &[b"next"]);
        }
    }
}

#[test]
fn an_emptied_last_segment_does_not_give_ids_again() {
    let (ram, truth, names) = segments();
    ram.write(&names[5], vec![]);
    let store = open(&ram, tiny(1, Read::Map));
    assert_eq!(store.report().cuts.len(), 1);
    drop(store);
    let store = open(&ram, tiny(1, Read::Map));
    assert_eq!(store.report().cuts.len(), 0);
    assert!(append(&store, &[b"next"])[0] > *truth.keys().last().unwrap());
}

#[test]
fn a_segment_whose_header_is_lost_costs_only_its_own_records() {
    let (ram, truth, names) = segments();
    for (index, name) in names.iter().enumerate() {
        let other = copy(&ram, &names);
        let mut bytes = ram.read(name).unwrap();
        bytes[..640].fill(0);
        other.write(name, bytes.clone());
        for round in 0..2 {
            let store = open(&other, tiny(1, Read::Map));
            let lost = u64::try_from(index).unwrap() + 1;
            assert!(matches!(store.get(Seq(lost)), Err(Error::Corrupt { .. })));
            assert_eq!(readable(&store, &truth).len(), truth.len() - 1);
            assert_eq!(store.report().damages.len(), 1);
            assert_eq!(store.report().damages[0].seqs, Some(Seq(lost)..=Seq(lost)));
            if round == 0 {
                assert!(append(&store, &[b"next"])[0] > *truth.keys().last().unwrap());
            }
        }
        assert_eq!(other.read(name), Some(bytes));
    }
}

#[test]
fn a_file_cut_under_an_open_store_is_an_error() {
    for read in [Read::Map, Read::Positional] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), tiny(1, read)).unwrap();
        append(&store, &[&[7; 9000]]);
        append(&store, &[b"x"]);
        assert_eq!(store.get(Seq(1)).unwrap().payload, [7; 9000]);
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(dir.path().join(segment(1)))
            .unwrap();
        file.set_len(700).unwrap();
        assert!(matches!(store.get(Seq(1)), Err(Error::Truncated { .. })));
        assert_eq!(pages(&store, 1).len(), 1);
        assert!(!store.verify().unwrap().damages.is_empty());
    }
}

#[test]
fn a_preamble_that_was_cut_beside_its_mark_takes_no_record() {
    for records in [0, 1] {
        let ram = Ram::new();
        let store = open(&ram, Options::default());
        for _ in 0..records {
            append(&store, &[b"before"]);
        }
        drop(store);
        for len in 0..=700 {
            let names = [segment(1), "mark".into()];
            let cut = copy(&ram, &names);
            let mut bytes = ram.read(&segment(1)).unwrap();
            bytes.truncate(len);
            cut.write(&segment(1), bytes);
            let store = open(&cut, Options::default());
            let next = append(&store, &[b"after"])[0];
            drop(store);
            let store = open(&cut, Options::default());
            assert_eq!(store.get(Seq(next)).unwrap().payload, b"after", "{len}");
            assert!(len > 640 || next == 1 || reported(&store), "{len}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_last_segment_that_is_removed_under_a_handle_takes_no_record() {
    for mode in [Mode::Shared, Mode::Exclusive] {
        for others in [0, 1] {
            let dir = tempfile::tempdir().unwrap();
            let options = Options {
                mode,
                ..Options::default()
            };
            let store = Store::open(dir.path(), options).unwrap();
            let lost = append(&store, &[b"lost"])[0];
            std::fs::remove_file(dir.path().join(segment(1))).unwrap();
            if others == 1 {
                // Another file of that name is not the one that is open.
                std::fs::write(dir.path().join(segment(1)), b"").unwrap();
            }
            let seq = append(&store, &[b"after"])[0];
            assert!(seq > lost);
            assert!(reported(&store), "{mode:?}");
            assert_eq!(store.get(Seq(seq)).unwrap().payload, b"after");
            drop(store);
            let store = Store::open(dir.path(), options).unwrap();
            assert_eq!(store.get(Seq(seq)).unwrap().payload, b"after");
            assert!(store.get(Seq(lost)).is_err());
        }
    }
}

#[cfg(unix)]
#[test]
fn without_syncs_a_removed_segment_is_noticed_soon() {
    for mode in [Mode::Shared, Mode::Exclusive] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            mode,
            durability: Durability::Os,
            ..Options::default()
        };
        let store = Store::open(dir.path(), options).unwrap();
        append(&store, &[b"lost"]);
        std::fs::remove_file(dir.path().join(segment(1))).unwrap();
        for _ in 0..32 {
            append(&store, &[b"perhaps"]);
        }
        let seq = append(&store, &[b"after"])[0];
        assert!(reported(&store), "{mode:?}");
        drop(store);
        let store = Store::open(dir.path(), options).unwrap();
        assert_eq!(store.get(Seq(seq)).unwrap().payload, b"after");
    }
}
