//! Erasing: gone everywhere at once, with what was made from it, and nothing else.

use std::time::Duration;

use crate::support::{anywhere, append, of, open, pages, tiny};
use warmset_core::cold::{Appended, Draft, Encryption, Medium, OnBusy, Options, Ram, Read, Scope};
use warmset_core::{Error, Seq};

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
fn an_erasure_covers_no_id_that_is_given_later() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    store.erase(Scope::Records(&[Seq(4)])).unwrap();
    let seqs = append(&store, &[b"two", b"three", b"four", b"five"]);
    assert!(seqs.contains(&4));
    store.compact().unwrap();
    drop(store);
    let store = open(&ram, Options::default());
    assert_eq!(store.get(Seq(4)).unwrap().payload, b"four");
}

#[test]
fn what_a_killed_writer_left_in_the_spool_goes_with_an_erasure() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    let first = append(&store, &[b"one"])[0];
    ram.write("spool/0.spl.new", b"the plaintext".to_vec());
    store.erase(Scope::Records(&[Seq(first)])).unwrap();
    store.compact().unwrap();
    assert!(!anywhere(&ram, b"plaintext"));
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
