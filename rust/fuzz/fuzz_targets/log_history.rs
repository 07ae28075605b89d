//! A history of batches of two handles: each row comes to what a dictionary foresees, and every handle shows
//! what that has, one that begins anew among them.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use warmset_core::cold::{Durability, Encryption, Options, Ram, Scope, Store};
use warmset_core::log::{Batch, Log};
use warmset_core::{Error, Seq};

#[path = "../../../tests/rust/log/asked.rs"]
mod asked;
#[path = "../../../tests/rust/log/world.rs"]
mod world;

use asked::{Hoped, agree, cell, entries, ids, key, written};
use world::{Change, Id, Key, Refused, Taken, World};

#[derive(Arbitrary, Debug)]
struct Input {
    short: bool,
    encrypted: bool,
    steps: Vec<(bool, Step)>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Write {
        rows: Vec<Row>,
        hope: Option<(bool, u8, bool)>,
    },
    EraseCell(u8),
    EraseBelow(u8),
    Sweep,
    Compact,
    Reopen,
    Later(u8),
}

#[derive(Arbitrary, Debug)]
enum Row {
    Put(u8, u8, Option<u8>, How),
    Add(u8, Option<u8>, Option<u8>, How),
    Patch(u8, Option<u8>),
    Cut(u8, u8),
    Remove(u8),
    RemoveBelow(u8),
    RemoveEntry(u8, u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum How {
    Replace,
    Skip,
    Fail,
}

fn cells() -> [Key; 4] {
    [
        key(&[b"t", b"\xffs", b"a"]),
        key(&[b"t", b"\xffs", b"a", b"b"]),
        key(&[b"t", b"\xffs", b"a\0"]),
        key(&[b"u", b"\xffs", b"a"]),
    ]
}

fn lists() -> [Key; 3] {
    [
        key(&[b"t", b"\xffl", b"x"]),
        key(&[b"t", b"talk"]),
        key(&[b"t", b"\xffl", b"x", b"y"]),
    ]
}

fn prefixes() -> [Key; 4] {
    [
        key(&[b"t"]),
        key(&[b"t", b"\xffs"]),
        key(&[b"t", b"\xffl", b"x"]),
        key(&[b"t", b"talk"]),
    ]
}

fn of(keys: &[Key], at: u8) -> Key {
    keys[usize::from(at) % keys.len()].clone()
}

fn taken(how: How) -> Taken {
    match how {
        How::Replace => Taken::Replace,
        How::Skip => Taken::Skip,
        How::Fail => Taken::Fail,
    }
}

/// A row on the world as it is before its batch.
fn change(row: &Row, world: &World, now: i64) -> Change {
    let entry = |list: &Key, at: u8| {
        let entries = world.lists.get(list);
        let entry = entries.and_then(|entries| entries.get(usize::from(at)));
        match entry.map(|entry| entry.seq) {
            Some(Id::Known(seq)) => seq,
            _ => Seq(0),
        }
    };
    let expires = |after: &Option<u8>| after.map(|after| now + i64::from(after) - 20);
    match row {
        Row::Put(at, payload, after, how) => Change::Put {
            key: of(&cells(), *at),
            payload: vec![*payload; usize::from(*payload)],
            expires: expires(after),
            column: i64::from(*payload),
            sources: Vec::new(),
            taken: taken(*how),
        },
        Row::Add(at, uid, after, how) => Change::Add {
            list: of(&lists(), *at),
            uid: uid.map(|uid| vec![uid % 3]),
            payload: vec![*at; 3],
            expires: expires(after),
            taken: taken(*how),
        },
        Row::Patch(at, after) => Change::Patch {
            key: of(&cells(), *at),
            column: -1,
            expires: expires(after),
        },
        Row::Cut(at, after) => {
            let list = of(&lists(), *at);
            let after = entry(&list, *after);
            Change::Cut { list, after }
        }
        Row::Remove(at) => Change::Remove(of(&cells(), *at)),
        Row::RemoveBelow(at) => Change::RemoveBelow(of(&prefixes(), *at)),
        Row::RemoveEntry(at, which) => {
            let list = of(&lists(), *at);
            let entries = vec![entry(&list, *which)];
            Change::RemoveEntries { list, entries }
        }
    }
}

fn write(log: &Log, world: &mut World, rows: &[Row], hope: Option<(bool, u8, bool)>, now: i64) {
    let rows: Vec<Change> = rows
        .iter()
        .take(6)
        .map(|row| change(row, world, now))
        .collect();
    let mut hoped: Vec<Hoped> = Vec::new();
    let mut refused = None;
    if let Some((is_tail, at, right)) = hope {
        let (key, found) = if is_tail {
            let list = of(&lists(), at);
            (list.clone(), world.tail(&list))
        } else {
            let cell = of(&cells(), at);
            (cell.clone(), world.version(&cell, now))
        };
        let Seq(found) = match found {
            Some(Id::Known(seq)) => seq,
            _ => Seq(0),
        };
        if !right {
            refused = Some(Refused::Conflict(
                None,
                if is_tail { "tail" } else { "version" },
            ));
        }
        hoped.push((is_tail, key, Seq(found + u64::from(!right))));
    }
    let foreseen = match refused {
        Some(refused) => Err(refused),
        None => world.apply(&rows, now),
    };
    let with = Batch {
        now,
        ..Batch::new(&[])
    };
    match (foreseen, written(log, &rows, &hoped, &with)) {
        (Ok(came), Ok(outcomes)) => {
            assert_eq!(agree(&came, &outcomes), Ok(()), "{rows:?}");
            world.name(&ids(&outcomes));
        }
        (
            Err(Refused::Conflict(row, reason)),
            Err(Error::Conflict {
                row: at,
                reason: why,
                ..
            }),
        ) => assert_eq!((row, reason), (at, why), "{rows:?}"),
        (Err(Refused::NotFound), Err(Error::NotFound { .. })) => {}
        (foreseen, found) => panic!("{found:?} in place of {foreseen:?} of {rows:?}"),
    }
}

fn compare(log: &Log, world: &World, now: i64) {
    let live = |expires: Option<i64>| expires.is_none_or(|at| now < at);
    for key in cells() {
        let expected = world.cells.get(&key).filter(|cell| live(cell.expires));
        assert_eq!(cell(log, &key, now).unwrap().as_ref(), expected, "{key:?}");
    }
    for list in lists() {
        let all = world.lists.get(&list).into_iter().flatten();
        let expected: Vec<_> = all.filter(|entry| live(entry.expires)).cloned().collect();
        assert_eq!(entries(log, &list, now).unwrap(), expected, "{list:?}");
    }
}

fuzz_target!(|input: Input| {
    let options = Options {
        durability: Durability::Os,
        segment_bytes: if input.short { 1_500 } else { 64 << 20 },
        encryption: if input.encrypted {
            Encryption::Keys
        } else {
            Encryption::Off
        },
        ..Options::default()
    };
    let ram = Ram::new();
    let open = || {
        Log::new(Arc::new(
            Store::with_medium(Box::new(ram.clone()), options).unwrap(),
        ))
    };
    let mut logs = [open(), open()];
    let reader = open();
    let (mut world, mut now) = (World::default(), 1_000);
    for (second, step) in input.steps.iter().take(24) {
        let log = &mut logs[usize::from(*second)];
        match step {
            Step::Write { rows, hope } => write(log, &mut world, rows, *hope, now),
            Step::EraseCell(at) => {
                let key = of(&cells(), *at);
                let Some(Id::Known(seq)) = world.version(&key, i64::MIN) else {
                    continue;
                };
                log.erase(Scope::Records(&[seq])).unwrap();
                world.remove_cell(&key);
            }
            Step::EraseBelow(at) => {
                let prefix = of(&prefixes(), *at);
                let parts: Vec<&[u8]> = prefix.iter().map(Vec::as_slice).collect();
                log.erase(Scope::Prefix(&parts)).unwrap();
                world.remove_below(&prefix);
            }
            Step::Sweep => {
                log.sweep(now).unwrap();
                world.sweep(now);
            }
            Step::Compact => {
                log.compact(now).unwrap();
                world.sweep(now);
            }
            Step::Reopen => {
                log.store().close().unwrap();
                *log = open();
            }
            Step::Later(by) => now += i64::from(*by),
        }
        compare(&reader, &world, now);
    }
    for log in [&logs[0], &logs[1], &open()] {
        compare(log, &world, now);
    }
});
