//! What the tests of the cold stage share: small stores whose every byte is known.

pub(crate) mod crash;
pub(crate) mod disk_model;
pub(crate) mod explore;
pub(crate) mod faults;
pub(crate) mod faulty;
pub(crate) mod kept;
pub(crate) mod ledger;
pub(crate) mod ops;
pub(crate) mod random;
pub(crate) mod sample;
pub(crate) mod script;
pub(crate) mod sim;
pub(crate) mod walk;
pub(crate) mod workloads;
pub(crate) mod world;

pub(crate) use random::Random;

use std::collections::BTreeMap;
use std::time::Duration;

use warmset_core::cold::{
    Appended, Draft, Medium, OnBusy, Options, Ram, Read, Store, content_hash,
};
use warmset_core::{Error, Kind, Seq};

/// Ids with their payloads: the oracle.
pub(crate) type Truth = BTreeMap<u64, Vec<u8>>;

/// Options of a store that spools at once what it cannot write.
pub(crate) fn spooling() -> Options {
    Options {
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    }
}

/// Leaves a batch in the spool and gives its file's name.
pub(crate) fn spool(ram: &Ram, store: &Store, batch: &[Draft<'_>]) -> String {
    let hold = ram.try_lock().unwrap().unwrap();
    let Appended::Spooled(token) = store.append_or_spool(batch).unwrap() else {
        panic!("it was stored");
    };
    drop(hold);
    format!("spool/{:032x}.spl", u128::from_be_bytes(token))
}

/// The name of a segment, written down here once more so that the tests share no code with it.
pub(crate) fn segment(number: u64) -> String {
    format!("{number:020}.seg")
}

pub(crate) fn draft(payload: &[u8]) -> Draft<'_> {
    Draft {
        kind: Kind::Turn,
        key: &[b"tenant", b"conversation"],
        meta: b"user",
        sources: &[],
        payload,
    }
}

pub(crate) fn append(store: &Store, payloads: &[&[u8]]) -> Vec<u64> {
    let batch: Vec<Draft<'_>> = payloads.iter().map(|p| draft(p)).collect();
    let seqs = store.append(&batch).unwrap();
    seqs.into_iter().map(|seq| seq.0).collect()
}

pub(crate) fn tiny(segment_bytes: u64, read: Read) -> Options {
    Options {
        read,
        segment_bytes,
        ..Options::default()
    }
}

pub(crate) fn open(ram: &Ram, options: Options) -> Store {
    Store::with_medium(Box::new(ram.clone()), options).unwrap()
}

/// Another directory with the same files.
pub(crate) fn copy(ram: &Ram, names: &[String]) -> Ram {
    let other = Ram::new();
    for name in names {
        other.write(name, ram.read(name).unwrap());
    }
    other
}

/// A store of one segment: three batches of one, two and three records, and where each begins.
pub(crate) fn small() -> (Ram, Truth, Vec<(usize, Vec<u64>)>) {
    let ram = Ram::new();
    let store = open(&ram, Options::default());
    let mut truth = Truth::new();
    let mut batches = Vec::new();
    for batch in [
        &[&b"one"[..]][..],
        &[b"two", b""],
        &[b"three", b"a longer one, over one line", b"\0\0"],
    ] {
        let start = ram.read(&segment(1)).unwrap().len();
        let seqs = append(&store, batch);
        truth.extend(seqs.iter().copied().zip(batch.iter().map(|p| p.to_vec())));
        batches.push((start, seqs));
    }
    (ram, truth, batches)
}

/// Every id either has its own payload or an error that says so; gives the ids that are readable.
pub(crate) fn readable(store: &Store, truth: &Truth) -> Vec<u64> {
    let mut seen = Vec::new();
    for (seq, payload) in truth {
        match store.get(Seq(*seq)) {
            Ok(record) => {
                assert_eq!(&record.payload, payload, "wrong payload for {seq}");
                assert_eq!(record.hash, content_hash(payload));
                assert_eq!(store.hash_of(Seq(*seq)).unwrap(), record.hash);
                assert_eq!((record.seq, record.kind), (Seq(*seq), Kind::Turn));
                assert_eq!(record.key, [b"tenant".to_vec(), b"conversation".to_vec()]);
                assert_eq!(record.meta, b"user");
                seen.push(*seq);
            }
            Err(Error::Corrupt { .. } | Error::Truncated { .. } | Error::NotFound { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    let last = truth.keys().last().copied().unwrap_or(0);
    let paged: Vec<u64> = pages(store, 200)
        .into_iter()
        .map(|(seq, _)| seq)
        .filter(|seq| *seq <= last)
        .collect();
    assert_eq!(paged, seen, "pages and gets disagree");
    seen
}

/// Everything, page by page.
pub(crate) fn pages(store: &Store, max_bytes: usize) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    let mut from = Seq(0);
    loop {
        let page = store.page(from, max_bytes).unwrap();
        let Some(last) = page.last() else {
            return all;
        };
        from = Seq(last.seq.0 + 1);
        all.extend(page.into_iter().map(|r| (r.seq.0, r.payload)));
    }
}

/// Whether anything was reported, by opening or by a check.
pub(crate) fn reported(store: &Store) -> bool {
    let (report, verify) = (store.report(), store.verify().unwrap());
    !report.cuts.is_empty() || !report.damages.is_empty() || !verify.damages.is_empty()
}

/// A turn of a key, made from others.
pub(crate) fn of<'a>(key: &'a [&'a [u8]], payload: &'a [u8], sources: &'a [Seq]) -> Draft<'a> {
    Draft {
        kind: Kind::Turn,
        key,
        meta: b"meta of it",
        sources,
        payload,
    }
}

/// Whether any file has these bytes.
pub(crate) fn anywhere(ram: &Ram, needle: &[u8]) -> bool {
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
