//! Several handles on one store: each sees what the others acknowledged, and what they erased.

use std::time::Duration;

use crate::support::ops::{Image, Op};
use crate::support::sim::Sim;
use crate::support::{append, draft, open, pages, tiny};
use warmset_core::cold::{
    Ack, Appended, Durability, Encryption, Medium, Mode, OnBusy, Options, Ram, Read, Store,
};
use warmset_core::{Error, Seq};

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
fn what_was_not_synced_is_when_its_handle_closes_though_the_lock_is_busy() {
    for (ack, syncs) in [(Ack::Durable, 0), (Ack::Written, 1)] {
        let sim = Sim::new(&Image::default());
        let options = Options {
            lock_wait: Duration::ZERO,
            ..Options::default()
        };
        let store = sim.open_store(options).unwrap();
        append(&store, &[b"first"]);
        store.append_with(&[draft(b"last")], ack).unwrap();
        let hold = sim.other_lock();
        sim.record();
        store.close().unwrap();
        drop(hold);
        let ops = sim.take();
        let synced = ops.iter().filter(|op| matches!(op, Op::Sync(_)));
        assert_eq!(synced.count(), syncs, "{ack:?}: {ops:?}");
    }
}

#[test]
fn disk_handles_and_threads_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        lock_wait: Duration::from_mins(5), // nine threads take turns, on whatever machine
        ..tiny(20_000, Read::Map)
    };
    let stores: Vec<Store> = (0..3)
        .map(|_| Store::open(dir.path(), options).unwrap())
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
