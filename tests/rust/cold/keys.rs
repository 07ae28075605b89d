//! Key files that are gone, broken or not ours: what is lost is named, and the rest goes on.

use std::collections::BTreeSet;
use std::io;

use crate::support::faulty::Faulty;
use crate::support::open;
use warmset_core::cold::{DamageKind, Draft, Encryption, Medium, Options, Ram, Scope, Store};
use warmset_core::{Error, Kind, Seq};

fn options(encryption: Encryption) -> Options {
    Options {
        encryption,
        ..Options::default()
    }
}

fn say(store: &Store, conversation: &[u8], payload: &[u8]) -> Seq {
    let draft = Draft {
        kind: Kind::Turn,
        key: &[b"tenant", conversation],
        meta: b"meta",
        sources: &[],
        payload,
    };
    store.append(&[draft]).unwrap()[0]
}

fn keys(ram: &Ram) -> BTreeSet<String> {
    let names = ram.list("keys").unwrap().into_iter();
    names.map(|name| format!("keys/{name}")).collect()
}

#[test]
fn a_missing_key_costs_its_own_records_and_is_named() {
    for encryption in [Encryption::Keys, Encryption::Master([7; 32])] {
        let ram = Ram::new();
        let store = open(&ram, options(encryption));
        let first = say(&store, b"one", b"of one");
        let of_one = keys(&ram);
        let second = say(&store, b"two", b"of two");
        for name in &of_one {
            ram.remove(name).unwrap();
        }
        // The handle that is open has the key still; a complete check looks at the file.
        let verify = store.verify().unwrap();
        assert_eq!((verify.records, verify.damages.len()), (1, 1));
        drop(store);
        let store = open(&ram, options(encryption));
        assert!(matches!(store.get(first), Err(Error::NoKey { seq }) if seq == first));
        let page = store.page(Seq(0), usize::MAX).unwrap();
        assert_eq!(page.len(), 1);
        assert_eq!(
            (page[0].seq, &page[0].payload[..]),
            (second, &b"of two"[..])
        );
        let verify = store.verify().unwrap();
        assert_eq!(verify.records, 1);
        for damages in [verify.damages, store.report().damages] {
            assert_eq!(damages.len(), 1);
            assert_eq!(damages[0].seqs, Some(first..=first));
            assert_eq!(damages[0].kind, DamageKind::Missing);
            assert_eq!(damages[0].detail, "its key is not here");
        }
        let plain = open(&ram, options(Encryption::Off));
        let refused = plain.page(second, usize::MAX);
        let expected = encryption != Encryption::Keys;
        assert_eq!(matches!(refused, Err(Error::NoKey { .. })), expected);
        assert!(matches!(
            plain.page(Seq(0), usize::MAX),
            Err(Error::NoKey { .. })
        ));

        // A key that went because its conversation was erased is no damage.
        store.erase(Scope::Prefix(&[b"tenant", b"two"])).unwrap();
        let verify = open(&ram, options(encryption)).verify().unwrap();
        assert_eq!(verify.damages.len(), 1);
        assert_eq!(verify.damages[0].seqs, Some(first..=first));
    }
}

#[test]
fn a_store_whose_only_key_is_damaged_opens_and_says_so() {
    for encryption in [Encryption::Keys, Encryption::Master([7; 32])] {
        let ram = Ram::new();
        let store = open(&ram, options(encryption));
        let first = say(&store, b"one", b"of one");
        drop(store);
        let name = keys(&ram).pop_first().unwrap();
        let whole = ram.read(&name).unwrap();
        for len in [0, 10, whole.len() - 1] {
            ram.write(&name, whole[..len].to_vec());
            let store = open(&ram, options(encryption));
            assert!(matches!(store.get(first), Err(Error::NoKey { .. })));
            assert_eq!(store.verify().unwrap().damages.len(), 1);
            let next = say(&store, b"one", b"under another key");
            assert_eq!(store.get(next).unwrap().payload, b"under another key");
        }
        ram.write(&name, whole);
        let store = open(&ram, options(encryption));
        assert_eq!(store.get(first).unwrap().payload, b"of one");
        assert_eq!(store.verify().unwrap().damages, vec![]);
    }
}

#[test]
fn a_key_in_plain_vouches_for_no_master() {
    let ram = Ram::new();
    say(&open(&ram, options(Encryption::Keys)), b"one", b"of one");
    let master = options(Encryption::Master([7; 32]));
    say(&open(&ram, master), b"two", b"of two");
    assert_eq!(keys(&ram).len(), 2);
    open(&ram, master);
    let other = options(Encryption::Master([8; 32]));
    assert!(matches!(
        Store::with_medium(Box::new(ram.clone()), other),
        Err(Error::Argument { .. })
    ));
}

#[test]
fn a_directory_that_is_named_like_a_key_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(Encryption::Keys);
    let key = dir.path().join("keys").join("x.key");
    std::fs::create_dir_all(&key).unwrap();
    for n in 0..2 {
        let store = Store::open(dir.path(), options).unwrap();
        say(&store, b"one", b"of one");
        say(&store, b"two", b"of two");
        let erased = store.erase(Scope::Prefix(&[b"tenant", b"two"])).unwrap();
        assert_eq!((erased.records, erased.keys), (1, 1), "{n}");
        store.compact().unwrap();
        assert!(key.exists());
    }
}

fn erase(store: &Store, conversation: &[u8]) -> Result<u64, Error> {
    let told = store.erase(Scope::Prefix(&[b"tenant", conversation]));
    told.map(|told| told.keys)
}

#[test]
fn keys_that_another_handle_made_since_go_with_what_is_erased() {
    for reading in [false, true] {
        let ram = Ram::new();
        let encrypted = || options(Encryption::Keys);
        let (one, other) = (open(&ram, encrypted()), open(&ram, encrypted()));
        say(&one, b"a", b"first");
        assert_eq!(erase(&one, b"a").unwrap(), 1);
        let newer = say(&other, b"b", b"second");
        if reading {
            // So it learns of the record before it erases.
            assert_eq!(one.get(newer).unwrap().payload, b"second");
        }
        assert_eq!(erase(&one, b"b").unwrap(), 1);
        assert_eq!(keys(&ram), BTreeSet::new());
        // Of one conversation that was erased once only the newest key goes; of another one, none.
        say(&one, b"a", b"third");
        say(&other, b"ab", b"fourth");
        say(&one, b"b", b"fifth");
        assert_eq!(erase(&one, b"a").unwrap(), 1);
        assert_eq!(erase(&one, b"a").unwrap(), 0);
        assert_eq!(keys(&ram).len(), 2);
        assert_eq!(one.erase(Scope::Prefix(&[b"tenant"])).unwrap().keys, 2);
        say(&one, b"last", b"made with the record before the erasure");
        assert_eq!(erase(&one, b"last").unwrap(), 1);
        assert_eq!(keys(&ram), BTreeSet::new());
    }
}

#[test]
fn a_key_that_could_not_be_removed_goes_with_the_next_erasure() {
    let mut failed = 0;
    for call in 1..20 {
        let medium = Faulty::default();
        let store = medium.open_store(options(Encryption::Keys)).unwrap();
        say(&store, b"a", b"first");
        say(&store, b"b", b"second");
        say(&store, b"c", b"third");
        assert_eq!(erase(&store, b"c").unwrap(), 1);
        medium.plan.fail(call, true, io::ErrorKind::Other);
        let told = erase(&store, b"a");
        medium.plan.heal();
        let stopped = matches!(told, Err(Error::Poisoned { .. }));
        let store = if stopped {
            open(&medium.ram, options(Encryption::Keys))
        } else {
            store
        };
        let is_erased = matches!(store.get(Seq(1)), Err(Error::Erased { .. }));
        failed += usize::from(told.is_err() && is_erased);
        erase(&store, b"b").unwrap();
        assert_eq!(keys(&medium.ram).is_empty(), is_erased, "call {call}");
    }
    assert!(failed > 1, "{failed}");
}
