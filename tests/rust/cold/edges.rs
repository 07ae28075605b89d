//! Sizes that fit exactly, and what somebody left half done.

use crate::support::faulty::Faulty;
use crate::support::{anywhere, append, copy, draft, of, open, segment, spool, spooling, tiny};
use warmset_core::cold::{Draft, Encryption, Medium, Mode, Options, Ram, Read, Scope, Store};
use warmset_core::{Error, Kind, Seq};

/// What was said, without the store's own bookkeeping.
fn payloads(store: &Store) -> Vec<Vec<u8>> {
    let page = store.page(Seq(0), usize::MAX).unwrap().into_iter();
    page.filter(|record| record.kind == Kind::Turn)
        .map(|record| record.payload)
        .collect()
}

#[test]
fn a_record_may_be_as_long_as_the_limit() {
    let options = Options {
        max_record: 64,
        ..Options::default()
    };
    let store = open(&Ram::new(), options);
    assert_eq!(append(&store, &[&[7; 64]]), [1]);
    for (payload, meta) in [(65, 1), (1, 65)] {
        let (payload, meta) = (vec![7; payload], vec![8; meta]);
        let long = Draft {
            meta: &meta,
            ..draft(&payload)
        };
        let refused = store.append(&[long]);
        assert!(matches!(
            refused,
            Err(Error::TooLarge {
                size: 65,
                limit: 64
            })
        ));
    }
    assert_eq!(store.get(Seq(1)).unwrap().payload, [7; 64]);
}

#[test]
fn a_batch_that_fills_a_segment_exactly_lies_in_it() {
    let batches: [&[&[u8]]; 2] = [&[b"one"], &[b"two", b"and three"]];
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    let lens = batches.map(|batch| {
        append(&store, batch);
        ram.read(&segment(1)).unwrap().len()
    });
    let full = u64::try_from(lens[1]).unwrap();
    for (limit, segments) in [(full - 1, 2), (full, 1), (full + 1, 1)] {
        let ram = Ram::new();
        let store = open(&ram, tiny(limit, Read::Map));
        for batch in batches {
            append(&store, batch);
        }
        assert_eq!(store.stats().unwrap().segments, segments, "{limit}");
        assert_eq!(payloads(&store), [&b"one"[..], b"two", b"and three"]);
    }
}

#[test]
fn a_page_is_filled_exactly() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    append(&store, &[b"first"]);
    let lens: Vec<usize> = [&b"second"[..], b"the third", b"and a fourth one"]
        .iter()
        .map(|payload| {
            let before = ram.read(&segment(1)).unwrap().len();
            append(&store, &[payload]);
            ram.read(&segment(1)).unwrap().len() - before
        })
        .collect();
    for (room, records) in [
        (lens[0] - 1, 1), // one at least
        (lens[0], 1),
        (lens[0] + lens[1] - 1, 1),
        (lens[0] + lens[1], 2),
        (lens[0] + lens[1] + lens[2], 3),
    ] {
        assert_eq!(store.page(Seq(2), room).unwrap().len(), records, "{room}");
    }
}

#[test]
fn an_end_block_without_its_seal_is_a_torn_tail() {
    let ram = Ram::new();
    let options = tiny(1_600, Read::Map);
    let store = open(&ram, options);
    append(&store, &[&[1; 300], &[2; 200]]);
    let len = ram.read(&segment(1)).unwrap().len();
    store.close().unwrap();
    let mut bytes = ram.read(&segment(1)).unwrap();
    assert!(bytes.len() > len, "closing sealed nothing");
    // Of what was written last the first sectors did not arrive; nor did the mark.
    bytes[len..len + 90].fill(0);
    let torn = Ram::new();
    torn.write(&segment(1), bytes);
    for cuts in [1, 0] {
        let store = open(&torn, options);
        assert_eq!(payloads(&store), [vec![1; 300], vec![2; 200]]);
        assert_eq!(store.report().cuts.len(), cuts);
        assert_eq!(store.report().damages, vec![]);
        assert_eq!(store.verify().unwrap().damages, vec![]);
    }
}

#[test]
fn nobody_writes_on_a_segment_that_was_not_synced() {
    let medium = Faulty::default();
    let store = medium.open_store(Options::default()).unwrap();
    let other = open(&medium.ram, Options::default());
    append(&store, &[b"one"]);
    medium.plan.fail(2, true, std::io::ErrorKind::Other);
    let error = store.append(&[draft(b"lost")]).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    let before = medium.ram.read(&segment(1)).unwrap();
    append(&other, &[b"two"]);
    assert_eq!(medium.ram.read(&segment(1)).unwrap(), before);
    let late = open(&medium.ram, Options::default());
    for handle in [&other, &late] {
        assert_eq!(payloads(handle), [b"one", b"two"]);
        assert_eq!(handle.verify().unwrap().damages, vec![]);
    }
}

#[test]
fn batches_are_taken_up_in_the_order_in_which_they_were_left() {
    let ram = Ram::new();
    let store = open(&ram, spooling());
    let left: Vec<Vec<u8>> = (0..12_u8).map(|n| vec![n; 9]).collect();
    for payload in &left {
        spool(&ram, &store, &[draft(payload)]);
    }
    append(&store, &[b"last"]);
    assert_eq!(payloads(&store)[..12], left);
}

#[test]
fn keys_of_batches_go_when_they_are_taken_up_and_no_sooner() {
    let ram = Ram::new();
    let options = Options {
        encryption: Encryption::Keys,
        ..spooling()
    };
    let (store, other) = (open(&ram, options), open(&ram, options));
    let keys = || ram.list("keys").unwrap().len();
    append(&store, &[b"before"]);
    assert_eq!(keys(), 1);
    let one = spool(&ram, &other, &[draft(b"left")]);
    let bytes = ram.read(&one).unwrap();
    ram.remove(&one).unwrap();
    spool(&ram, &other, &[draft(b"left, too")]);
    assert_eq!(keys(), 3);
    // The first one is still on its way when the second is taken up, and its conversation erased.
    append(&store, &[b"after"]);
    assert_eq!(keys(), 2);
    store.erase(Scope::Prefix(&[b"tenant", b"other"])).unwrap();
    ram.write(&one, bytes);
    let late = open(&ram, options);
    assert_eq!(
        payloads(&late),
        [&b"before"[..], b"left, too", b"after", b"left"]
    );
    assert_eq!(keys(), 1);
    assert_eq!(late.report().damages, vec![]);
}

#[test]
fn a_conversation_leaves_the_keys_of_its_batches_that_wait() {
    let ram = Ram::new();
    let options = Options {
        encryption: Encryption::Keys,
        ..spooling()
    };
    let (store, other) = (open(&ram, options), open(&ram, options));
    append(&store, &[b"before"]);
    let name = spool(&ram, &other, &[of(&[b"tenant", b"two"], b"of two", &[])]);
    let bytes = ram.read(&name).unwrap();
    // It is on its way when somebody erases a conversation, of which it has nothing.
    ram.remove(&name).unwrap();
    store.erase(Scope::Prefix(&[b"tenant"])).unwrap();
    let anew = spool(
        &ram,
        &other,
        &[of(&[b"tenant", b"three"], b"said later", &[])],
    );
    let later = ram.read(&anew).unwrap();
    ram.remove(&anew).unwrap();
    store.erase(Scope::Prefix(&[b"nobody"])).unwrap();
    ram.write(&name, bytes);
    ram.write(&anew, later);
    let late = open(&ram, options);
    assert_eq!(payloads(&late), [b"said later"]);
    assert_eq!(late.report().damages, vec![]);
    assert_eq!(late.spooled().unwrap(), Vec::<String>::new());
}

#[test]
fn batches_in_several_segments_are_known_by_whoever_finds_them_in_the_spool_still() {
    for segment_bytes in [1, 1 << 20] {
        let ram = Ram::new();
        let options = Options {
            segment_bytes,
            ..spooling()
        };
        let store = open(&ram, options);
        append(&store, &[b"before"]);
        let names = [b"one", b"two"].map(|payload| spool(&ram, &store, &[draft(payload)]));
        let files = names.each_ref().map(|name| ram.read(name).unwrap());
        drop(open(&ram, options));
        // Whoever took them up ended before their names were gone.
        for (name, bytes) in names.iter().zip(files) {
            assert_eq!(ram.read(name), None);
            ram.write(name, bytes);
        }
        let late = open(&ram, options);
        assert_eq!(payloads(&late), [&b"before"[..], b"one", b"two"]);
        assert!(names.iter().all(|name| ram.read(name).is_none()));
    }
}

#[test]
fn a_batch_is_taken_up_once_though_whoever_left_it_did_not_ring() {
    let ram = Ram::new();
    let (store, other) = (open(&ram, spooling()), open(&ram, spooling()));
    append(&store, &[b"before"]);
    let name = spool(&ram, &other, &[draft(b"left")]);
    let bytes = ram.read(&name).unwrap();
    ram.remove(&name).unwrap();
    append(&store, &[b"heard of nothing"]);
    ram.write(&name, bytes.clone());
    drop(open(&ram, spooling()));
    // Whoever took it up ended before its name was gone: the other handle looks before it appends.
    ram.write(&name, bytes);
    append(&store, &[b"after"]);
    let late = open(&ram, spooling());
    for handle in [&store, &late] {
        let all = payloads(handle);
        assert_eq!(
            all,
            [&b"before"[..], b"heard of nothing", b"left", b"after"]
        );
    }
}

#[test]
fn a_key_that_is_shorter_than_the_erased_beginning_is_not_concerned() {
    let store = open(&Ram::new(), Options::default());
    let keys: [&[&[u8]]; 4] = [&[b"t"], &[b"t", b"a"], &[b"t", b"a", b"x"], &[b"t", b"ab"]];
    let batch = keys.map(|key| of(key, b"said", &[]));
    let seqs = store.append(&batch).unwrap();
    let told = store.erase(Scope::Prefix(&[b"t", b"a"])).unwrap();
    assert_eq!((told.records, told.derived), (2, 0));
    let there = seqs.iter().map(|seq| store.get(*seq).is_ok());
    assert!(there.eq([true, false, false, true]));
    store.compact().unwrap();
    assert_eq!(payloads(&store), [b"said", b"said"]);
}

#[test]
fn a_segment_that_is_written_anew_remembers_what_was_damaged_in_it() {
    for gone in [&[1][..], &[3], &[1, 3]] {
        for segment_bytes in [1 << 20, 1_100] {
            let ram = Ram::new();
            let store = open(&ram, tiny(segment_bytes, Read::Map));
            append(&store, &[b"one", b"another", b"the third", b"four"]);
            append(&store, &[&[5; 300]]);
            drop(store);
            let mut bytes = ram.read(&segment(1)).unwrap();
            let at = bytes.windows(7).position(|seven| seven == b"another");
            bytes[at.unwrap()] ^= 1;
            ram.write(&segment(1), bytes);
            let store = open(&ram, tiny(segment_bytes, Read::Map));
            assert!(matches!(store.get(Seq(2)), Err(Error::Corrupt { .. })));
            let scope: Vec<Seq> = gone.iter().copied().map(Seq).collect();
            store.erase(Scope::Records(&scope)).unwrap();
            store.compact().unwrap();
            let late = open(&ram, tiny(segment_bytes, Read::Map));
            for handle in [&store, &late] {
                for seq in 1..=5 {
                    let found = handle.get(Seq(seq));
                    let right = match found {
                        Err(Error::Corrupt { .. }) => seq == 2,
                        Err(Error::Erased { .. }) => gone.contains(&seq),
                        found => found.is_ok() && seq != 2 && !gone.contains(&seq),
                    };
                    assert!(right, "{seq} where {gone:?} went");
                }
            }
        }
    }
}

#[test]
fn a_compaction_says_how_many_bytes_it_gave_back() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    append(&store, &[&[1; 500], b"stays"]);
    store.erase(Scope::Records(&[Seq(1)])).unwrap();
    let len = || u64::try_from(ram.read(&segment(1)).unwrap().len()).unwrap();
    let before = len();
    let told = store.compact().unwrap();
    assert_eq!((told.segments, told.records), (1, 1));
    assert_eq!(told.bytes, before - len());
    assert!((500..700).contains(&told.bytes), "{}", told.bytes);
    assert_eq!(store.compact().unwrap().bytes, 0);
}

#[test]
fn handles_on_a_disk_see_each_append_of_the_others_at_once() {
    for read in [Read::Map, Read::Positional] {
        let dir = tempfile::tempdir().unwrap();
        let options = tiny(2_000, read);
        let handles = [0, 1, 2].map(|_| Store::open(dir.path(), options).unwrap());
        let mut all = Vec::new();
        for n in 0..12_u8 {
            append(&handles[usize::from(n % 2)], &[&[n; 100]]);
            all.push(vec![n; 100]);
            for handle in &handles {
                assert_eq!(payloads(handle), all);
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_taken_up_is_reported_after_another_handle_wrote_segments_anew() {
    let dir = tempfile::tempdir().unwrap();
    let other = Store::open(dir.path(), spooling()).unwrap();
    append(&other, &[b"goes", b"stays"]);
    let path = dir.path().join("spool").join("x.spl");
    std::fs::create_dir_all(&path).unwrap();
    let store = Store::open(dir.path(), spooling()).unwrap();
    let told = store.report().damages;
    assert_eq!(told.len(), 1, "{told:?}");
    other.erase(Scope::Records(&[Seq(1)])).unwrap();
    other.compact().unwrap();
    assert_eq!(payloads(&store), [b"stays"]);
    assert_eq!(store.report().damages, told);
}

#[test]
fn the_id_of_a_tombstone_that_was_lost_is_not_given_again() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    append(&store, &[b"one", b"two"]);
    let before = ram.read(&segment(1)).unwrap();
    store.erase(Scope::Records(&[Seq(2)])).unwrap();
    drop(store);
    // As after a restored backup: only the second copy knows of the erasure.
    ram.write(&segment(1), before);
    ram.remove("mark").unwrap();
    let store = open(&ram, Options::default());
    assert!(append(&store, &[b"next"])[0] > 3);
}

#[test]
fn opening_mends_both_halves_of_the_mark() {
    for broken in [0, 512] {
        let ram = Ram::new();
        append(&open(&ram, Options::default()), &[b"one", b"two"]);
        let zero = |at: usize| {
            let mut mark = ram.read("mark").unwrap();
            mark[at..at + 88].fill(0);
            ram.write("mark", mark);
        };
        zero(broken);
        drop(open(&ram, Options::default()));
        zero(512 - broken);
        let read = Options {
            mode: Mode::Read,
            ..Options::default()
        };
        assert_eq!(open(&ram, read).durable_seq().unwrap(), Seq(2), "{broken}");
    }
}

#[test]
fn a_conversation_goes_on_with_its_newest_key() {
    let ram = Ram::new();
    let master = Options {
        encryption: Encryption::Master([7; 32]),
        ..Options::default()
    };
    let keys = || ram.list("keys").unwrap().len();
    append(&open(&ram, master), &[b"gone"]);
    // Whoever has not got the master key erases, and leaves the key where it is.
    let other = open(&ram, Options::default());
    let whole: [&[u8]; 2] = [b"tenant", b"conversation"];
    other.erase(Scope::Prefix(&whole)).unwrap();
    drop(other);
    let mut all = Vec::new();
    for n in 0..3_u8 {
        append(&open(&ram, master), &[&[n]]);
        all.push(vec![n]);
        assert_eq!(keys(), 2);
    }
    assert_eq!(payloads(&open(&ram, master)), all);
}

#[test]
fn a_batch_that_waits_keeps_the_kinds_of_its_records() {
    let ram = Ram::new();
    let (store, other) = (open(&ram, spooling()), open(&ram, spooling()));
    let batch = [Kind::Turn, Kind::Summary, Kind::Other(900)].map(|kind| Draft {
        kind,
        ..draft(b"left")
    });
    spool(&ram, &other, &batch);
    // One that is on its way does not wait yet.
    ram.write(
        "spool/0123456789abcdef0123456789abcdef.spl.new",
        vec![7; 99],
    );
    assert_eq!(store.spooled().unwrap().len(), 1);
    append(&store, &[b"after"]);
    let page = store.page(Seq(0), usize::MAX).unwrap();
    let left = page.iter().filter(|record| record.payload == b"left");
    assert!(left.map(|record| record.kind).eq(batch.map(|one| one.kind)));
    assert_eq!(store.spooled().unwrap(), Vec::<String>::new());
    assert_eq!(store.report().damages, vec![]);
}

#[test]
fn a_seal_that_could_not_be_written_leaves_nothing() {
    let medium = Faulty::default();
    let store = medium.open_store(tiny(1, Read::Map)).unwrap();
    append(&store, &[b"one"]);
    medium.plan.fail(1, true, std::io::ErrorKind::StorageFull);
    let error = store.append(&[draft(b"two")]).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    let repairs = store.notices().repairs;
    append(&store, &[b"three"]);
    assert_eq!(store.report().cuts, vec![]);
    assert_eq!(store.notices().repairs, repairs);
    assert_eq!(payloads(&store), [&b"one"[..], b"three"]);
}

#[test]
fn what_another_handle_sealed_needs_no_repair() {
    let ram = Ram::new();
    let (store, other) = (
        open(&ram, tiny(1_600, Read::Map)),
        open(&ram, tiny(1_600, Read::Map)),
    );
    append(&store, &[b"one"]);
    append(&other, &[b"two"]);
    let before = other.notices().repairs;
    let len = ram.read(&segment(1)).unwrap().len();
    store.close().unwrap();
    assert!(
        ram.read(&segment(1)).unwrap().len() > len,
        "nothing was sealed"
    );
    append(&other, &[b"three"]);
    assert_eq!(other.notices().repairs, before);
    assert_eq!(payloads(&other), [&b"one"[..], b"two", b"three"]);
}

#[test]
fn what_was_cut_off_goes_when_anything_is_erased() {
    let ram = Ram::new();
    append(&open(&ram, Options::default()), &[b"one", b"two"]);
    let torn = [ram.read(&segment(1)).unwrap(), b"the plaintext".to_vec()].concat();
    ram.write(&segment(1), torn);
    let store = open(&ram, Options::default());
    assert_eq!(store.report().cuts.len(), 1);
    assert!(anywhere(&ram, b"plaintext"));
    store.erase(Scope::Records(&[Seq(1)])).unwrap();
    assert!(!anywhere(&ram, b"plaintext"));
}

#[test]
fn ids_go_on_after_a_segment_was_written_anew() {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    append(&store, &[b"one", b"two"]);
    store.erase(Scope::Records(&[Seq(1)])).unwrap();
    store.compact().unwrap();
    drop(store);
    for next in [4, 5] {
        // The records alone say which id comes next.
        let other = copy(&ram, &[segment(1)]);
        assert_eq!(
            append(&open(&other, Options::default()), &[b"next"]),
            [next]
        );
        append(&open(&ram, Options::default()), &[b"next"]);
    }
}

#[test]
fn a_beginning_of_keys_that_only_the_second_copy_knows_covers_what_waits() {
    let ram = Ram::new();
    let (store, other) = (open(&ram, spooling()), open(&ram, spooling()));
    append(&store, &[b"one"]);
    let name = spool(&ram, &other, &[of(&[b"t", b"gone"], b"late words", &[])]);
    let bytes = ram.read(&name).unwrap();
    ram.remove(&name).unwrap();
    let before = ram.read(&segment(1)).unwrap();
    store.erase(Scope::Prefix(&[b"t", b"gone"])).unwrap();
    drop((store, other));
    ram.write(&segment(1), before);
    ram.remove("mark").unwrap();
    ram.write(&name, bytes);
    let store = open(&ram, spooling());
    assert_eq!(payloads(&store), [b"one"]);
    assert_eq!(store.spooled().unwrap(), Vec::<String>::new());
}

#[test]
fn a_segment_that_was_written_anew_says_itself_which_ids_were_erased() {
    let ram = Ram::new();
    let store = open(&ram, tiny(1, Read::Map));
    append(&store, &[b"one", b"two", b"three"]);
    append(&store, &[b"four"]);
    store.erase(Scope::Records(&[Seq(2)])).unwrap();
    store.compact().unwrap();
    // Neither the tombstone nor its copy is left.
    let other = copy(&ram, &[segment(1), segment(2)]);
    let late = open(&other, tiny(1, Read::Map));
    assert!(matches!(late.get(Seq(2)), Err(Error::Erased { .. })));
    assert_eq!(payloads(&late), [&b"one"[..], b"three", b"four"]);
}
