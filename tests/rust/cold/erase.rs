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
    // A batch whose source came before it, in a copy of the store that ends before both.
    let copy = Ram::new();
    for name in ram.list("").unwrap() {
        copy.write(&name, ram.read(&name).unwrap_or_default());
    }
    append(&store, &[b"one", b"two", b"three"]);
    let hold = ram.try_lock().unwrap().unwrap();
    // In the copy, the spool's head is 1, this is 2, and 3 is what it names.
    let early = of(&[b"t", b"sum"], b"made early", &[Seq(3)]);
    store.append_or_spool(&[early]).unwrap();
    drop(hold);
    let name = format!("spool/{}", ram.list("spool").unwrap()[0]);
    copy.write(&name, ram.read(&name).unwrap());
    let store = open(&copy, options);
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

#[test]
fn tombstones_are_folded_when_segments_are_rewritten() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        for segment_bytes in [4_000, 1 << 20] {
            let ram = Ram::new();
            let options = Options {
                encryption,
                ..tiny(segment_bytes, Read::Map)
            };
            let (store, other) = (open(&ram, options), open(&ram, options));
            let kept = store
                .append(&[of(&[b"t", b"kept"], b"stays", &[])])
                .unwrap()[0];
            let mut gone = Vec::new();
            // Two conversations run side by side, so that each record is a range of its own.
            for n in 0..120_u8 {
                for at in 0..6_u8 {
                    for which in [n, n + 1] {
                        let key: [&[u8]; 2] = [b"t", &[which]];
                        let payload = [at, which, 77];
                        let batch = [of(&key, &payload, &[])];
                        gone.push((store.append(&batch).unwrap()[0], which));
                    }
                }
                other.erase(Scope::Prefix(&[b"t", &[n]])).unwrap();
                other.compact().unwrap();
            }
            let size: usize = ["", "keys", "spool"]
                .iter()
                .flat_map(|dir| ram.list(dir).unwrap().into_iter().map(move |n| (*dir, n)))
                .map(|(dir, name)| match dir {
                    "" => ram.read(&name),
                    _ => ram.read(&format!("{dir}/{name}")),
                })
                .map(|bytes| bytes.map_or(0, |bytes| bytes.len()))
                .sum();
            let segments = usize::try_from(store.stats().unwrap().segments).unwrap();
            assert!(size < 12_000 + 1_000 * segments, "{size} in {segments}");
            let late = open(&ram, options);
            for handle in [&store, &other, &late] {
                assert_eq!(handle.get(kept).unwrap().payload, b"stays");
                for (seq, which) in &gone {
                    let found = handle.get(*seq);
                    assert_eq!(matches!(found, Err(Error::Erased { .. })), *which < 120);
                    assert_eq!(found.is_ok(), *which == 120);
                }
                let report = handle.erasure_report().unwrap();
                assert!(report.erasures.len() < 60, "{}", report.erasures.len());
                assert_eq!(report.pending, 0);
                assert_eq!(handle.verify().unwrap().damages, vec![]);
            }
            // A conversation of an erased one's name begins anew.
            let key: [&[u8]; 2] = [b"t", &[3]];
            let anew = store.append(&[of(&key, b"anew", &[])]).unwrap()[0];
            for handle in [&store, &other, &late] {
                assert_eq!(handle.get(anew).unwrap().payload, b"anew");
            }
        }
    }
}

#[test]
fn a_batch_that_waits_unread_is_covered_after_tombstones_were_folded() {
    let ram = Ram::new();
    let options = Options {
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..tiny(1 << 12, Read::Map)
    };
    let (store, other) = (open(&ram, options), open(&ram, options));
    append(&store, &[b"first"]);
    let hold = ram.try_lock().unwrap().unwrap();
    let left = [of(&[b"t", b"one"], b"late words", &[])];
    other.append_or_spool(&left).unwrap();
    drop(hold);
    // Nobody takes it up for now, as if its key were somewhere else.
    let names = ram.list("spool").unwrap();
    let name = names.iter().find(|name| name.contains(".spl")).unwrap();
    let name = format!("spool/{name}");
    let bytes = ram.read(&name).unwrap();
    ram.write(&name, vec![]);
    ram.rename(&name, "spool/elsewhere").unwrap();
    // Its own conversation is erased first; the tombstone of it is folded with those of others.
    for conversation in [&b"one"[..]].into_iter().chain([&b"two"[..]; 16]) {
        let key: [&[u8]; 2] = [b"t", conversation];
        store.append(&[of(&key, b"words", &[])]).unwrap();
        store.erase(Scope::Prefix(&key)).unwrap();
        store.compact().unwrap();
    }
    let listed = store.erasure_report().unwrap().erasures.len();
    assert!(listed < 8, "{listed}: nothing was folded");
    // The second copy is as short as what the segments say.
    let copy = ram.read("erased").unwrap();
    ram.remove("erased").unwrap();
    drop(open(&ram, options));
    assert_eq!(ram.read("erased").unwrap().len(), copy.len());
    ram.write(&name, bytes);
    for handle in [open(&ram, options), open(&ram, options)] {
        assert!(
            !pages(&handle, 1_000)
                .iter()
                .any(|(_, p)| p == b"late words")
        );
    }
}

#[test]
fn an_erasure_outlives_its_tombstone_and_its_copy_alone() {
    for encryption in [Encryption::Off, Encryption::Keys] {
        let ram = Ram::new();
        let options = Options {
            encryption,
            ..tiny(1 << 20, Read::Map)
        };
        let store = open(&ram, options);
        let first = append(&store, &[b"the plaintext"])[0];
        let before = ram.read("00000000000000000001.seg").unwrap();
        store.erase(Scope::Records(&[Seq(first)])).unwrap();
        drop(store);
        let copy = ram.read("erased").unwrap();
        let (segment, mark) = (
            ram.read("00000000000000000001.seg").unwrap(),
            ram.read("mark").unwrap(),
        );
        let gone = |what: &str| {
            let store = open(&ram, options);
            let found = store.get(Seq(first));
            assert!(
                matches!(found, Err(Error::Erased { .. })),
                "{what}: {found:?}"
            );
            let next = append(&store, &[b"next"])[0];
            assert_eq!(store.get(Seq(next)).unwrap().payload, b"next", "{what}");
        };
        ram.remove("erased").unwrap();
        gone("without the copy");
        assert_eq!(ram.read("erased").unwrap(), copy, "it is made anew");
        ram.write("00000000000000000001.seg", segment);
        ram.write("erased", vec![0; 8]);
        gone("with a broken copy");
        // As after a restored backup: neither the tombstone nor the mark knows of it.
        ram.write("00000000000000000001.seg", before.clone());
        ram.write("erased", copy.clone());
        ram.write("mark", mark);
        gone("with a segment that was cut");
        ram.write("00000000000000000001.seg", before);
        ram.write("erased", copy);
        ram.remove("mark").unwrap();
        gone("with nothing but the copy");
    }
}
