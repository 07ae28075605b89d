//! Several handles on one store: each sees what the others acknowledged, and what they erased.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod cold_support;

use std::time::Duration;

use cold_support::{append, draft, open, pages, tiny};
use warmset_core::cold::{
    Appended, Draft, Durability, Encryption, Medium, Mode, OnBusy, Options, Ram, Read, Scope, Store,
};
use warmset_core::{Error, Kind, Seq};

fn of<'a>(key: &'a [&'a [u8]], payload: &'a [u8], sources: &'a [Seq]) -> Draft<'a> {
    Draft {
        kind: Kind::Turn,
        key,
        meta: b"meta of it",
        sources,
        payload,
    }
}

/// Whether any file has these bytes.
fn anywhere(ram: &Ram, needle: &[u8]) -> bool {
    let dirs = ["", "torn", "spool", "keys"];
    let names = dirs.iter().flat_map(|dir| {
        let names = ram.list(dir).unwrap().into_iter();
        names.map(move |n| {
            if dir.is_empty() {
                n
            } else {
                format!("{dir}/{n}")
            }
        })
    });
    let mut files = names.filter_map(|name| ram.read(&name));
    files.any(|bytes| bytes.windows(needle.len()).any(|w| w == needle))
}

#[test]
fn two_handles_take_turns_and_see_each_other() {
    for segment_bytes in [1, 1_500, 1 << 20] {
        let ram = Ram::new();
        let one = open(&ram, tiny(segment_bytes, Read::Map));
        let two = open(&ram, tiny(segment_bytes, Read::Map));
        let reader = open(
            &ram,
            Options {
                mode: Mode::Read,
                ..tiny(segment_bytes, Read::Map)
            },
        );
        let mut all = Vec::new();
        for n in 0..20_u8 {
            let store = if n % 3 == 0 { &one } else { &two };
            let seq = append(store, &[&[n; 40]])[0];
            all.push((seq, vec![n; 40]));
            for other in [&one, &two, &reader] {
                assert_eq!(pages(other, 300), all);
            }
        }
        assert!(matches!(
            reader.append(&[draft(b"x")]),
            Err(Error::ReadOnly { .. })
        ));
        for store in [&one, &two] {
            assert_eq!(store.verify().unwrap().damages, vec![]);
            assert_eq!(store.report().cuts, vec![]);
        }
    }
}

#[test]
fn a_batch_that_finds_the_lock_busy_is_taken_up_once() {
    let ram = Ram::new();
    let options = Options {
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    for encryption in [Encryption::Off, Encryption::Keys] {
        let options = Options {
            encryption,
            ..options
        };
        let store = open(&ram, options);
        let before = store.stats().unwrap().records;
        let hold = ram.try_lock().unwrap().unwrap();
        let spooled = store
            .append_or_spool(&[draft(b"left"), draft(b"behind")])
            .unwrap();
        assert!(matches!(spooled, Appended::Spooled(_)));
        assert_eq!(store.spooled().unwrap().len(), 1);
        assert_eq!(store.stats().unwrap().records, before);
        drop(hold);
        let seq = append(&store, &[b"next"])[0];
        assert_eq!(store.spooled().unwrap(), Vec::<String>::new());
        let payload = |seq| store.get(Seq(seq)).unwrap().payload;
        assert_eq!(
            (payload(seq - 2), payload(seq - 1)),
            (b"left".to_vec(), b"behind".to_vec())
        );
        drop(store);
        let store = open(&ram, options);
        assert_eq!(store.stats().unwrap().next_seq, Seq(seq + 1));
    }
}

#[test]
fn what_is_erased_is_gone_everywhere_and_nothing_else_is() {
    for encryption in [
        Encryption::Off,
        Encryption::Keys,
        Encryption::Master([7; 32]),
    ] {
        for segment_bytes in [600, 1 << 20] {
            let ram = Ram::new();
            let options = Options {
                encryption,
                ..tiny(segment_bytes, Read::Map)
            };
            let store = open(&ram, options);
            let other = open(&ram, options);
            let secret = of(&[b"t", b"one"], b"the plaintext of one", &[]);
            let first = store.append(&[secret]).unwrap()[0];
            let made = of(&[b"t", b"sum"], b"a summary: plaintext", &[]);
            let sources = [first];
            let made = store
                .append(&[Draft {
                    sources: &sources,
                    ..made
                }])
                .unwrap()[0];
            let kept = store
                .append(&[of(&[b"t", b"two"], b"what two said", &[])])
                .unwrap()[0];
            assert_eq!(other.get(first).unwrap().payload, b"the plaintext of one");
            assert_eq!(anywhere(&ram, b"plaintext"), encryption == Encryption::Off);

            let told = store.erase(Scope::Prefix(&[b"t", b"one"])).unwrap();
            assert_eq!((told.records, told.derived), (1, 1));
            for handle in [&store, &other] {
                for seq in [first, made] {
                    assert!(matches!(handle.get(seq), Err(Error::Erased { .. })));
                }
                assert_eq!(handle.get(kept).unwrap().payload, b"what two said");
            }
            assert_eq!(store.erasure_report().unwrap().pending, 2);
            let again = store
                .append(&[of(&[b"t", b"one"], b"one anew", &[])])
                .unwrap()[0];
            let told = store.compact().unwrap();
            assert_eq!(told.records, 2);
            assert!(!anywhere(&ram, b"plaintext"));
            let late = open(&ram, options);
            for handle in [&store, &other, &late] {
                assert_eq!(handle.get(again).unwrap().payload, b"one anew");
                assert_eq!(handle.get(kept).unwrap().payload, b"what two said");
                assert!(matches!(handle.get(first), Err(Error::Erased { .. })));
                assert_eq!(handle.verify().unwrap().damages, vec![]);
                assert_eq!(handle.erasure_report().unwrap().pending, 0);
            }
            append(&other, &[b"goes on"]);
            assert_eq!(store.verify().unwrap().damages, vec![]);
        }
    }
}

#[test]
fn a_spooled_record_that_was_made_from_a_later_one_goes_with_it() {
    let ram = Ram::new();
    let options = Options {
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    let store = open(&ram, options);
    let hold = ram.try_lock().unwrap().unwrap();
    // Its source comes behind it: the spool's head is 1, this is 2, and 3 is what it names.
    let early = of(&[b"t", b"sum"], b"made early", &[Seq(3)]);
    store.append_or_spool(&[early]).unwrap();
    drop(hold);
    let late = store.append(&[of(&[b"t", b"one"], b"said", &[])]).unwrap();
    assert_eq!(late, [Seq(3)]);
    let told = store.erase(Scope::Prefix(&[b"t", b"one"])).unwrap();
    assert_eq!((told.records, told.derived), (1, 1));
    assert!(matches!(store.get(Seq(2)), Err(Error::Erased { .. })));
}

#[test]
fn erasing_again_and_again_makes_no_segments() {
    let ram = Ram::new();
    let (store, other) = (
        open(&ram, Options::default()),
        open(&ram, Options::default()),
    );
    for n in 0..50_u8 {
        let key: [&[u8]; 2] = [b"t", &[n]];
        let payload = [b'x', n, b'y', n];
        store.append(&[of(&key, &payload, &[])]).unwrap();
        let kept = append(&other, &[&[n; 30]])[0];
        store.erase(Scope::Prefix(&key)).unwrap();
        store.compact().unwrap();
        assert!(!anywhere(&ram, &payload));
        for handle in [&store, &other] {
            assert_eq!(handle.get(Seq(kept)).unwrap().payload, [n; 30]);
            assert_eq!(handle.stats().unwrap().segments, 1);
        }
    }
    drop((store, other));
    let store = open(&ram, Options::default());
    assert_eq!(store.verify().unwrap().damages, vec![]);
    assert_eq!(store.report().cuts, vec![]);
    assert_eq!(store.erasure_report().unwrap().pending, 0);
}

#[test]
fn nothing_is_made_from_what_was_erased() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let options = Options {
            encryption,
            on_busy: OnBusy::Spool,
            lock_wait: Duration::ZERO,
            ..Options::default()
        };
        let (store, other) = (open(&ram, options), open(&ram, options));
        let first = store.append(&[of(&[b"t", b"one"], b"said", &[])]).unwrap()[0];
        let sources = [first];
        let made = [
            of(&[b"t", b"sum"], b"a summary of it", &sources),
            of(&[b"t", b"two"], b"beside it", &[]),
        ];
        // Left in the spool by a handle that does not know that its source is erased meanwhile.
        let hold = ram.try_lock().unwrap().unwrap();
        let left = other.append_or_spool(&made).unwrap();
        assert!(matches!(left, Appended::Spooled(_)));
        let spooled = ram.list("spool").unwrap();
        let name = spooled.iter().find(|n| n.contains(".spl")).unwrap();
        let name = format!("spool/{name}");
        let bytes = ram.read(&name).unwrap();
        ram.remove(&name).unwrap();
        drop(hold);
        store.erase(Scope::Prefix(&[b"t", b"one"])).unwrap();
        assert!(matches!(other.append(&made), Err(Error::Erased { seq }) if seq == first));
        ram.write(&name, bytes);
        let late = open(&ram, options);
        let payloads: Vec<Vec<u8>> = pages(&late, 1_000).into_iter().map(|(_, p)| p).collect();
        assert!(!payloads.contains(&b"a summary of it".to_vec()));
        assert!(encryption != Encryption::Off || payloads.contains(&b"beside it".to_vec()));
    }
}

#[test]
fn durability_says_up_to_where() {
    let ram = Ram::new();
    let options = Options {
        durability: Durability::Os,
        ..Options::default()
    };
    let store = open(&ram, options);
    append(&store, &[b"one", b"two"]);
    assert_eq!(store.durable_seq().unwrap(), Seq(0));
    assert_eq!(store.sync().unwrap(), Seq(2));
    append(&store, &[b"three"]);
    assert_eq!(store.durable_seq().unwrap(), Seq(2));
    store.close().unwrap();
    let often = Options {
        durability: Durability::Interval(Duration::from_millis(1)),
        ..options
    };
    let store = open(&ram, often);
    append(&store, &[b"four"]);
    for _ in 0..2_000 {
        if store.durable_seq().unwrap() == Seq(4) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing was synced");
}

#[test]
fn disk_handles_and_threads_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let stores: Vec<Store> = (0..3)
        .map(|_| Store::open(dir.path(), tiny(20_000, Read::Map)).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for (at, store) in stores.iter().enumerate() {
            for thread in 0..3 {
                scope.spawn(move || {
                    for n in 0..40 {
                        let text = format!("{at} {thread} {n}");
                        let seq = append(store, &[text.as_bytes()])[0];
                        assert_eq!(store.get(Seq(seq)).unwrap().payload, text.as_bytes());
                    }
                });
            }
        }
    });
    for store in &stores {
        assert_eq!(pages(store, 5_000).len(), 360);
        assert_eq!(store.verify().unwrap().damages, vec![]);
        assert_eq!(store.report().cuts, vec![]);
    }
}
