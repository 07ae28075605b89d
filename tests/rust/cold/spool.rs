//! The spool when something is wrong in it: what cannot be taken up is named, and stops nobody.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::faulty::Faulty;
use crate::support::{append, draft, open, pages, spool, spooling};
use warmset_core::cold::{
    Access, Appended, DamageKind, Draft, Encryption, Medium, Notices, OpenReport, Options, Ram,
    Scope, Store,
};
use warmset_core::{Error, Seq};

/// The one damage, which is of a batch in the spool.
fn told(report: &OpenReport) -> String {
    let [damage] = &report.damages[..] else {
        panic!("{report:?}");
    };
    assert_eq!((damage.kind, &damage.seqs), (DamageKind::Corrupt, &None));
    assert!(damage.detail.contains("spool"), "{}", damage.detail);
    damage.path.display().to_string()
}

#[test]
fn a_damaged_batch_is_damage_for_as_long_as_its_name_is_there() {
    let ram = Ram::new();
    let store = open(&ram, spooling());
    let other = open(&ram, spooling());
    append(&store, &[b"before"]);
    let name = spool(&ram, &other, &[draft(b"plaintext of it")]);
    let mut bytes = ram.read(&name).unwrap();
    bytes[150] ^= 1;
    ram.write(&name, bytes.clone());
    append(&store, &[b"after"]);
    let aside = told(&store.report());
    let own = aside.strip_prefix(":memory:/").unwrap();
    assert_eq!(ram.read(own), Some(bytes));
    assert_eq!(store.report().cuts, vec![]);
    assert_eq!(store.verify().unwrap().damages, store.report().damages);
    assert_eq!(pages(&store, 9_000).len(), 2);

    // Erasing takes its bytes, not its name.
    store.erase(Scope::Records(&[Seq(1)])).unwrap();
    store.compact().unwrap();
    assert_eq!(ram.read(own), Some(vec![]));
    for _ in 0..2 {
        let late = open(&ram, spooling());
        assert_eq!(told(&late.report()), aside);
        assert_eq!(late.verify().unwrap().damages, late.report().damages);
        append(&late, &[b"goes on"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_batch_stays_in_the_spool_and_stops_nobody() {
    use std::os::unix::ffi::OsStrExt as _;
    for bad in [&b"x.spl"[..], b"\xff\xfe.spl"] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), spooling()).unwrap();
        append(&store, &[b"before"]);
        let left = {
            let holder = Options {
                mode: warmset_core::cold::Mode::Exclusive,
                ..spooling()
            };
            let _holder = Store::open(dir.path(), holder).unwrap();
            store.append_or_spool(&[draft(b"left")]).unwrap()
        };
        assert!(matches!(left, Appended::Spooled(_)));
        let path = dir
            .path()
            .join("spool")
            .join(std::ffi::OsStr::from_bytes(bad));
        if bad.starts_with(b"x") {
            fs::create_dir(&path).unwrap();
        } else {
            fs::write(&path, "whatever").unwrap();
        }
        for _ in 0..2 {
            let store = Store::open(dir.path(), spooling()).unwrap();
            append(&store, &[b"after"]);
            assert!(told(&store.report()).contains(".spl"));
            assert_eq!(store.verify().unwrap().damages, store.report().damages);
            assert!(path.exists());
            let all = pages(&store, 9_000);
            assert_eq!(all.iter().filter(|(_, p)| p == b"left").count(), 1);
        }
    }
}

fn made(sources: &[Seq]) -> Draft<'_> {
    Draft {
        sources,
        ..draft(b"made from it")
    }
}

#[test]
fn a_record_is_made_from_earlier_ones_only() {
    let ram = Ram::new();
    let (store, other) = (open(&ram, spooling()), open(&ram, spooling()));
    let first = append(&store, &[b"first"])[0];
    // The other handle has not looked since.
    let of_first = [Seq(first)];
    spool(&ram, &other, &[made(&of_first)]);
    let second = append(&store, &[b"second"])[0];
    let next = second + 1;
    for source in [next, next + 1, u64::MAX] {
        let sources = [Seq(first), Seq(source)];
        // Whether it is the record's own id, or that of one before it in its batch.
        for batch in [vec![made(&sources)], vec![draft(b"x"), made(&sources)]] {
            let error = store.append(&batch).unwrap_err();
            let told = matches!(&error, Error::Argument { name: "sources", found, .. } if *found == source.to_string());
            assert!(told, "{error}");
        }
    }
    assert_eq!(store.stats().unwrap().next_seq, Seq(next));
    assert_eq!(store.spooled().unwrap(), Vec::<String>::new());
    let last = [Seq(second)];
    store.append(&[made(&last)]).unwrap();
    assert_eq!(
        store.erase(Scope::Records(&[Seq(second)])).unwrap().derived,
        1
    );
}

#[test]
fn a_conversation_that_was_erased_does_not_come_back_from_the_spool() {
    let of = |conversation| Draft {
        key: conversation,
        ..draft(b"what was said")
    };
    let (one, two): ([&[u8]; 2], [&[u8]; 2]) = ([b"t", b"one"], [b"t", b"two"]);
    for appended in [0, 1] {
        let ram = Ram::new();
        let with_key = Options {
            encryption: Encryption::Master([7; 32]),
            ..spooling()
        };
        let store = open(&ram, with_key);
        append(&store, &[b"before"]);
        drop(store);
        let hook = open(&ram, with_key);
        let name = spool(&ram, &hook, &[of(&one), of(&two)]);
        drop(hook);
        // Whoever has no key cannot take it up, and erases all the same.
        let other = open(&ram, spooling());
        for _ in 0..appended {
            append(&other, &[b"between"]);
        }
        other.erase(Scope::Prefix(&one)).unwrap();
        other.compact().unwrap();
        assert!(ram.read(&name).is_some());
        let store = open(&ram, with_key);
        assert_eq!(ram.read(&name), None);
        let conversations = |store: &Store| -> Vec<Vec<u8>> {
            let page = store.page(Seq(0), usize::MAX).unwrap().into_iter();
            let said = page.filter(|record| record.payload == b"what was said");
            said.map(|record| record.key[1].clone()).collect()
        };
        assert_eq!(conversations(&store), [b"two"]);
        // What is said after the erasure is not concerned by it.
        spool(&ram, &store, &[of(&one)]);
        append(&store, &[b"after"]);
        assert_eq!(conversations(&store), [b"two", b"one"]);
        assert_eq!(store.report().damages, vec![]);
    }
}

#[test]
fn what_no_answer_tells_is_counted() {
    let ram = Ram::new();
    let store = open(&ram, spooling());
    let other = open(&ram, spooling());
    append(&store, &[b"before"]);
    let begun = store.notices();
    append(&store, &[b"and more"]);
    assert_eq!(store.notices(), begun, "nothing happened");
    assert_eq!(other.notices().waits, 0);

    let name = spool(&ram, &other, &[draft(b"left")]);
    let told = other.notices();
    assert_eq!((told.waits, told.refused, told.taken_up), (1, 1, 0));
    spool(&ram, &other, &[draft(b"left, too")]);
    let told = other.notices();
    assert_eq!((told.waits, told.refused), (2, 2));
    let mut bytes = ram.read(&name).unwrap();
    bytes[150] ^= 1;
    ram.write(&name, bytes);
    append(&store, &[b"after"]);
    let told = store.notices();
    assert_eq!(
        (told.taken_up, told.damages, told.repairs),
        (1, 1, begun.repairs)
    );

    // Another writer ended in the middle of a record.
    let segment = "00000000000000000001.seg";
    let file = ram.open(segment, Access::Write).unwrap();
    file.write_at(&[7; 30], file.len().unwrap()).unwrap();
    append(&store, &[b"at last"]);
    assert_eq!(store.report().cuts[0].bytes, 30);
    assert_eq!(store.notices().repairs, begun.repairs + 1);
    let last = store.notices();
    store.close().unwrap();
    assert_eq!(store.notices(), last, "a closed store tells it, too");

    let waiting = open(
        &ram,
        Options {
            lock_wait: Duration::from_secs(30),
            ..spooling()
        },
    );
    let hold = ram.try_lock().unwrap().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| append(&waiting, &[b"patient"]));
        std::thread::sleep(Duration::from_millis(20));
        drop(hold);
    });
    let told: Notices = waiting.notices();
    assert_eq!((told.waits, told.refused), (1, 0));
    assert!(told.waited > 0);
}

#[test]
fn a_batch_that_is_left_while_the_store_is_made_is_taken_up() {
    let medium = Faulty::default();
    let store = medium.open_store(spooling()).unwrap();
    // Whoever makes the store has begun its first segment, and not written the mark yet.
    medium.ram.remove("mark").unwrap();
    let hold = medium.ram.try_lock().unwrap().unwrap();
    for early in 0..4 {
        medium.plan.early.store(early, Ordering::SeqCst);
        match medium.open_store(spooling()) {
            Ok(other) => {
                let left = other.append_or_spool(&[draft(b"left")]).unwrap();
                assert!(matches!(left, Appended::Spooled(_)), "{left:?}");
            }
            // It was there too early.
            Err(error) => assert!(matches!(error, Error::Locked { .. }), "{early} {error:?}"),
        }
        medium.plan.early.store(0, Ordering::SeqCst);
    }
    drop(hold);
    append(&store, &[b"after"]);
    assert_eq!(store.report().damages, vec![]);
    let all = pages(&store, 9_000);
    assert!(all.len() >= 4, "{}", all.len());
}
