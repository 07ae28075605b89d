//! Records of the log that nobody checked, in a store that is whole: the log opens, and answers or refuses.
//!
//! What the log writes makes sense; here links lead anywhere, removals cover anything up to all ids, second
//! copies have other contents than the first ones, and metas and payloads may be any bytes.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use warmset_core::cold::fuzzing::{Loose, append};
use warmset_core::cold::{Born, Links, Options, Ram, Scope, Store};
use warmset_core::log::{
    Batch, Columns, Expect, Followed, IfPresent, Item, Key, Log, Order, Row, Scan,
};
use warmset_core::{Kind, Seq};

#[derive(Arbitrary, Debug)]
struct Input {
    short: bool,
    /// The key that is written on.
    chosen: u8,
    batches: Vec<Vec<Record>>,
    /// What is erased then, if anything.
    erased: Option<u8>,
}

#[derive(Arbitrary, Debug)]
struct Record {
    kind: u8,
    key: u8,
    meta: Meta,
    payload: Payload,
    parent: Option<Id>,
    born: Option<Id>,
    of: Option<Id>,
    answers: Vec<u8>,
    sources: Vec<u8>,
    copy_of: Option<u8>,
}

/// An id: mostly one that is there, sometimes one that is not yet or never.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Id {
    Small(u8),
    Any(u64),
    Last,
}

impl Id {
    fn seq(self) -> u64 {
        match self {
            Self::Small(n) => n.into(),
            Self::Any(n) => n,
            Self::Last => u64::MAX,
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Meta {
    Bytes(Vec<u8>),
    Said {
        at: i64,
        uid: Option<u8>,
        expires: Option<i8>,
        columns: Option<Vec<u8>>,
    },
}

impl Meta {
    /// As it would be written, columns aside.
    fn bytes(&self) -> Vec<u8> {
        let Self::Said {
            at,
            uid,
            expires,
            columns,
        } = self
        else {
            let Self::Bytes(bytes) = self else {
                unreachable!()
            };
            return bytes.clone();
        };
        let mut out = vec![1];
        let mut field = |number: u8, bytes: &[u8]| {
            out.push(number);
            out.extend(u32::try_from(bytes.len()).expect("short").to_le_bytes());
            out.extend_from_slice(bytes);
        };
        field(1, &at.to_le_bytes());
        if let Some(uid) = uid {
            field(2, &[*uid % 4]);
        }
        if let Some(expires) = expires {
            field(3, &i64::from(*expires).to_le_bytes());
        }
        if let Some(columns) = columns {
            field(5, columns);
        }
        out
    }
}

#[derive(Arbitrary, Debug)]
enum Payload {
    Bytes(Vec<u8>),
    Head(Id),
    Removal {
        what: u8,
        seqs: Vec<(Id, Id)>,
        derived: Vec<(Id, Id)>,
    },
}

impl Payload {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Head(id) => id.seq().to_le_bytes().to_vec(),
            Self::Removal {
                what,
                seqs,
                derived,
            } => {
                let mut words = vec![u64::from(what % 4)];
                for ranges in [seqs, derived] {
                    words.push(u64::try_from(ranges.len()).expect("few"));
                    words.extend(ranges.iter().flat_map(|(a, b)| [a.seq(), b.seq()]));
                }
                words.into_iter().flat_map(u64::to_le_bytes).collect()
            }
        }
    }
}

const KINDS: [Kind; 8] = [
    Kind::Cell,
    Kind::Entry,
    Kind::Patch,
    Kind::Removed,
    Kind::Head,
    Kind::Turn,
    Kind::Filler,
    Kind::Embedding,
];
const KEYS: [Key<'static>; 6] = [
    &[b"t", b"\xffs", b"a"],
    &[b"t", b"\xffs", b"a", b"b"],
    &[b"t", b"\xffs"],
    &[b"t", b"talk"],
    &[b"u", b"\xffs", b"a"],
    &[],
];

fn write(store: &Store, batch: &[Record]) {
    let next = store.stats().expect("memory").next_seq.0;
    let made: Vec<(Vec<u8>, Vec<u8>, Vec<Seq>)> = batch
        .iter()
        .map(|one| {
            let sources = one
                .sources
                .iter()
                .take(4)
                .map(|n| Seq(u64::from(*n) % next));
            let sources = sources.filter(|seq| seq.0 > 0).collect();
            (one.meta.bytes(), one.payload.bytes(), sources)
        })
        .collect();
    let records: Vec<Loose<'_>> = batch
        .iter()
        .zip(&made)
        .enumerate()
        .map(|(at, (one, (meta, payload, sources)))| Loose {
            kind: KINDS[usize::from(one.kind) % KINDS.len()],
            key: KEYS[usize::from(one.key) % KEYS.len()],
            meta,
            sources,
            payload,
            links: Links {
                parent: one.parent.map(|id| Seq(id.seq())),
                born: one.born.map(|id| Born {
                    seq: Seq(id.seq()),
                    at: 1,
                }),
                of: one.of.map(|id| Seq(id.seq())),
                answers: one.answers.iter().take(4).map(|n| u64::from(*n)).collect(),
            },
            copy_of: one
                .copy_of
                .filter(|_| at > 0)
                .map(|n| usize::from(n) % at.max(1)),
        })
        .collect();
    // What was made from something that is gone is refused.
    let _ = append(store, &records);
}

/// What a log shows of all keys, errors among it.
fn shown(log: &Log) -> String {
    let mut out = String::new();
    for key in KEYS.iter().filter(|key| !key.is_empty()) {
        let cell = log.get(key, 0).map_err(|error| error.to_string());
        let entries = log.entries(key, None, 200, false, 0);
        let entries = entries.map_err(|error| error.to_string());
        let last = log.entries(key, None, 3, true, 0).is_ok();
        let (version, tail) = (log.version(key, 0).ok(), log.tail(key).ok());
        out += &format!("{key:?} {cell:?} {entries:?} {last} {version:?} {tail:?}\n");
    }
    for order in [Order::Key, Order::Born, Order::Changed] {
        let scan = Scan {
            prefix: &[],
            filter: None,
            order,
            reverse: false,
            beyond: None,
            limit: 100,
            now: 0,
        };
        let listed = log.scan(&scan).map_err(|error| error.to_string());
        out += &format!("{listed:?}\n");
    }
    let mut position = None;
    let mut changes = 0;
    while let Ok(Followed::Changes(page, next)) = log.follow(position.as_ref(), &[], 7) {
        if page.is_empty() {
            break;
        }
        (changes, position) = (changes + page.len(), Some(next));
        assert!(changes <= 10_000, "a follower does not get on");
    }
    out
}

fuzz_target!(|input: Input| {
    let options = Options {
        segment_bytes: if input.short { 1_000 } else { 64 << 20 },
        ..Options::default()
    };
    let ram = Ram::new();
    let open = || Store::with_medium(Box::new(ram.clone()), options).expect("nothing is damaged");
    let log = Log::new(Arc::new(open()));
    for batch in input.batches.iter().take(8) {
        write(log.store(), &batch[..batch.len().min(8)]);
        // The directory follows record by record.
        let _ = log.tail(KEYS[0]);
    }
    shown(&log);
    let (one, other) = (Log::new(Arc::new(open())), Log::new(Arc::new(open())));
    assert_eq!(shown(&one), shown(&other), "two that begin anew differ");

    // All that the log does goes on, whatever was there.
    let columns = Columns::default();
    let chosen = KEYS[usize::from(input.chosen) % (KEYS.len() - 1)];
    let key = chosen;
    {
        let entries = [Seq(1), Seq(3)];
        let rows = [
            Row::Put(Item {
                if_present: IfPresent::Skip,
                ..Item::new(key, b"x")
            }),
            Row::Add(Item {
                uid: Some(&[1]),
                ..Item::new(key, b"x")
            }),
            Row::Patch {
                key,
                version: None,
                columns: &columns,
                expires: None,
            },
            Row::Cut {
                list: key,
                after: Seq(2),
            },
            Row::RemoveEntries {
                list: key,
                entries: &entries,
            },
            Row::RemoveExpired(key),
            Row::Remove(key),
            Row::RemoveBelow(&key[..1]),
        ];
        for row in &rows {
            let rows = [*row];
            let batch = Batch {
                now: 100,
                once: Some(b"once"),
                ..Batch::new(&rows)
            };
            let _ = one.write(&batch);
        }
        let tail = one.tail(key).unwrap_or_default();
        let rows = [Row::Add(Item::new(key, b"y"))];
        let batch = Batch {
            expect: &[Expect::Tail(key, tail)],
            ..Batch::new(&rows)
        };
        let _ = one.write(&batch);
    }
    shown(&other);
    if let Some(erased) = input.erased {
        let key = KEYS[usize::from(erased) % (KEYS.len() - 1)];
        let _ = match erased % 2 {
            0 => one.erase(Scope::Prefix(key)),
            _ => one.erase(Scope::Records(&[Seq(u64::from(erased) / 2)])),
        };
    }
    let _ = one.compact(50);
    let (one, other) = (Log::new(Arc::new(open())), Log::new(Arc::new(open())));
    assert_eq!(shown(&one), shown(&other), "two that begin anew differ");
});
