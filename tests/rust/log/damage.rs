//! Damaged records: never an older version in the place of a newer one, and what is gone stays gone.

use std::sync::Arc;

use warmset_core::cold::{Access, Durability, Encryption, Medium as _, Options, Ram, Scope, Store};
use warmset_core::log::{Batch, Columns, Expect, IfPresent, Item, Key, Log, Outcome, Row};
use warmset_core::{Error, Seq};

use crate::segment;

const A: Key<'static> = &[b"t", b"\xffs", b"first-key"];
const B: Key<'static> = &[b"t", b"\xffs", b"other-key"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"plain-list"];
const TALK: Key<'static> = &[b"t", b"conversation"];

fn open(ram: &Ram, segment_bytes: u64) -> Log {
    let options = Options {
        segment_bytes,
        durability: Durability::Fsync,
        ..Options::default()
    };
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

fn write(log: &Log, row: Row<'_>) -> Seq {
    match log.write(&Batch::new(&[row])).unwrap()[0] {
        Outcome::Written(seq) => seq,
        other => panic!("{other:?}"),
    }
}

fn put(log: &Log, key: Key<'_>, payload: &[u8]) -> Seq {
    write(log, Row::Put(Item::new(key, payload)))
}

/// Changes the n-th place, counted through all segments, where these bytes lie.
fn damage(ram: &Ram, bytes: &[u8], n: usize) {
    let mut seen = 0;
    for number in 1..30 {
        let name = segment(number);
        let Some(mut file) = ram.read(&name) else {
            break;
        };
        let places: Vec<usize> = file
            .windows(bytes.len())
            .enumerate()
            .filter(|(_, found)| *found == bytes)
            .map(|(at, _)| at)
            .collect();
        if let Some(at) = n.checked_sub(seen).and_then(|n| places.get(n)) {
            file[*at] ^= 4;
            ram.write(&name, file);
            return;
        }
        seen += places.len();
    }
    panic!("there are {seen} places");
}

/// Each length at which the segments of these tests are all sealed, or none.
const LENGTHS: [u64; 2] = [1, 1 << 20];

#[test]
fn a_damaged_payload_is_an_error_and_never_an_older_version() {
    for length in LENGTHS {
        let ram = Ram::new();
        let log = open(&ram, length);
        put(&log, A, b"payload-1");
        let newest = put(&log, A, b"payload-2");
        put(&log, B, b"payload-3");
        log.store().close().unwrap();
        damage(&ram, b"payload-2", 0);
        let log = open(&ram, length);
        let found = log.get(A, 0);
        assert!(
            matches!(found, Err(Error::Corrupt { .. } | Error::Uncertain { .. })),
            "{found:?}"
        );
        assert_eq!(log.get(B, 0).unwrap().unwrap().payload, b"payload-3");
        let again = put(&log, A, b"payload-4");
        assert!(again > newest);
        assert_eq!(log.get(A, 0).unwrap().unwrap().payload, b"payload-4");
    }
}

#[test]
fn what_a_record_without_a_key_may_have_changed_is_uncertain() {
    for length in LENGTHS {
        let ram = Ram::new();
        let log = open(&ram, length);
        let old = put(&log, A, b"1");
        let lost = put(&log, B, b"2");
        let newest = put(&log, A, b"3");
        let lost_too = put(&log, A, b"4");
        let behind = put(&log, &[b"t", b"\xffs", b"third"], b"5");
        log.store().close().unwrap();
        damage(&ram, b"first-key", 2);
        damage(&ram, b"other-key", 0);
        let log = open(&ram, length);
        assert!(old < lost && newest < lost_too);
        for log in [&log, &open(&ram, length)] {
            let uncertain = |found: Error, seq: Seq, version: Seq| match found {
                Error::Uncertain { seq: a, version: b } => assert_eq!((a, b), (seq, version)),
                other => panic!("{other}"),
            };
            uncertain(log.get(A, 0).unwrap_err(), lost_too, newest);
            uncertain(log.version(A, 0).unwrap_err(), lost_too, newest);
            uncertain(log.get(B, 0).unwrap_err(), lost, Seq(0));
            assert_eq!(
                log.get(&[b"t", b"\xffs", b"third"], 0)
                    .unwrap()
                    .unwrap()
                    .version,
                behind
            );
            for if_present in [IfPresent::Skip, IfPresent::Fail] {
                let item = Item {
                    if_present,
                    ..Item::new(A, b"x")
                };
                let refused = log.write(&Batch::new(&[Row::Put(item)]));
                assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
            }
            let rows = [Row::Put(Item::new(A, b"x"))];
            let batch = Batch {
                expect: &[Expect::Version(A, newest)],
                ..Batch::new(&rows)
            };
            let refused = log.write(&batch);
            assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
        }
        // Whoever puts without a condition knows what is there.
        put(&log, A, b"6");
        assert_eq!(log.get(A, 0).unwrap().unwrap().payload, b"6");
        let item = Item {
            if_present: IfPresent::Fail,
            ..Item::new(A, b"x")
        };
        let refused = log.write(&Batch::new(&[Row::Put(item)]));
        assert!(
            matches!(refused, Err(Error::Conflict { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_compaction_heals_no_damage_and_forgets_none() {
    // The header of the newest version lies right before its key.
    for (length, from) in [(1_500, 93), (1_500, 96), (1 << 20, 93), (1 << 20, 0)] {
        for bit in [1_u8, 4, 16] {
            let ram = Ram::new();
            let log = open(&ram, length);
            put(&log, A, b"old");
            put(&log, A, b"new");
            let gone = put(&log, B, b"gone");
            for _ in 0..8 {
                put(&log, &[b"t", b"\xffs", b"third"], b"more and more and more");
            }
            log.store().close().unwrap();
            let name = segment(2);
            let mut file = ram.read(&name).unwrap();
            let places = file.windows(9).enumerate();
            let places: Vec<usize> = places
                .filter(|(_, found)| *found == b"first-key")
                .map(|(at, _)| at)
                .collect();
            file[places[1] - from] ^= bit;
            ram.write(&name, file);
            let log = open(&ram, length);
            log.store().erase(Scope::Records(&[gone])).unwrap();
            log.store().compact().unwrap();
            for log in [&log, &open(&ram, length)] {
                let found = log.get(A, 0);
                let refused = matches!(found, Err(Error::Corrupt { .. } | Error::Uncertain { .. }));
                assert!(refused, "{length} {from} {bit}: {found:?}");
            }
        }
    }
}

#[test]
fn a_patch_that_nobody_can_read_leaves_its_cell_uncertain() {
    let ram = Ram::new();
    let options = Options {
        encryption: Encryption::Keys,
        segment_bytes: 1,
        ..Options::default()
    };
    let open = || {
        Log::new(Arc::new(
            Store::with_medium(Box::new(ram.clone()), options).unwrap(),
        ))
    };
    let log = open();
    let version = put(&log, A, b"payload");
    let columns = Columns::default();
    let patch = write(
        &log,
        Row::Patch {
            key: A,
            version: None,
            columns: &columns,
            expires: Some(-5),
        },
    );
    assert_eq!(log.get(A, 0).unwrap(), None);
    put(&log, B, b"behind");
    log.store().close().unwrap();
    // Each has a segment of its own: an empty one, the cell, its patch.
    let name = segment(3);
    let healthy = ram.read(&name).unwrap();
    let mut places = healthy.windows(9).enumerate();
    let key = places.find(|(_, found)| *found == b"first-key").unwrap().0;
    for behind in [60, 70, 80] {
        let mut file = healthy.clone();
        file[key + behind] ^= 1;
        ram.write(&name, file);
        for found in [open().get(A, 0).err(), open().version(A, 0).err()] {
            let uncertain = matches!(found, Some(Error::Uncertain { seq, version: known }) if (seq, known) == (patch, version));
            assert!(uncertain, "{behind}: {found:?}");
        }
    }
}

#[test]
fn one_lost_sector_brings_nothing_back() {
    for length in LENGTHS {
        // What is cut and removed is written twice: each copy in turn, and each sector.
        let ram = Ram::new();
        let log = open(&ram, length);
        put(&log, A, b"gone");
        for n in 0..3_u8 {
            write(&log, Row::Add(Item::new(LIST, &[n])));
            write(&log, Row::Add(Item::new(TALK, &[n])));
        }
        let firsts: Vec<Seq> = [LIST, TALK]
            .iter()
            .map(|list| log.entries(list, None, 1, false, 0).unwrap()[0].seq)
            .collect();
        let before: Vec<Vec<u8>> = segments(&ram);
        write(&log, Row::Remove(A));
        for (list, after) in [LIST, TALK].into_iter().zip(&firsts) {
            write(
                &log,
                Row::Cut {
                    list,
                    after: *after,
                },
            );
        }
        log.store().close().unwrap();
        let healthy = segments(&ram);
        let mut tried = 0;
        for (at, bytes) in healthy.iter().enumerate() {
            let known = before.get(at).map_or(640, Vec::len).max(640);
            for sector in (known / 512)..bytes.len().div_ceil(512) {
                let mut broken = bytes.clone();
                let end = broken.len().min(sector * 512 + 512);
                let start = known.max(sector * 512);
                if start >= end {
                    continue;
                }
                broken[start..end].fill(0x55);
                ram.write(&name(at), broken);
                let log = open(&ram, length);
                let cell = log.get(A, 0);
                assert!(
                    matches!(cell, Ok(None) | Err(Error::Uncertain { .. })),
                    "{cell:?}"
                );
                for (list, first) in [LIST, TALK].iter().zip(&firsts) {
                    let shown = log.entries(list, None, 9, false, 0).unwrap();
                    let shown: Vec<Seq> = shown.into_iter().map(|entry| entry.seq).collect();
                    assert_eq!(shown, [*first], "segment {at} without sector {sector}");
                }
                drop(log);
                for (at, bytes) in healthy.iter().enumerate() {
                    ram.write(&name(at), bytes.clone());
                }
                tried += 1;
            }
        }
        assert!(tried > 6, "{tried}");
    }
}

/// The name of the n-th segment, from 0.
fn name(at: usize) -> String {
    segment(u64::try_from(at).unwrap() + 1)
}

#[test]
fn what_took_the_ids_of_what_was_lost_is_shown_by_whoever_had_read_that() {
    let ram = Ram::new();
    let (log, reader) = (open(&ram, 1 << 20), open(&ram, 1 << 20));
    let log_of_lost = open(&ram, 1 << 20);
    put(&log, A, b"kept");
    let (kept, mark) = (segments(&ram), ram.read("mark").unwrap());
    let rows = [
        Row::Put(Item::new(A, b"lost")),
        Row::Add(Item::new(LIST, b"lost")),
    ];
    let out = log.write(&Batch::new(&rows)).unwrap();
    let Outcome::Written(lost) = out[0] else {
        panic!("{out:?}")
    };
    assert_eq!(reader.get(A, 0).unwrap().unwrap().payload, b"lost");
    assert_eq!(
        log_of_lost.entries(LIST, None, 9, false, 0).unwrap().len(),
        1
    );
    drop(log);
    take_back(&ram, kept, &mark);
    let other = open(&ram, 1 << 20);
    assert_eq!(put(&other, B, b"instead"), lost);
    let entries = log_of_lost.entries(LIST, None, 9, false, 0).unwrap();
    assert_eq!(entries, [], "another record is shown as an entry");
    assert_eq!(reader.get(A, 0).unwrap().unwrap().payload, b"kept");
    assert_eq!(reader.get(B, 0).unwrap().unwrap().payload, b"instead");
}

/// Files as after a loss of power, in the very files: whoever has them open has these.
fn take_back(ram: &Ram, kept: Vec<Vec<u8>>, mark: &[u8]) {
    for (at, bytes) in kept.into_iter().enumerate() {
        let file = ram.open(&name(at), Access::Write).unwrap();
        file.set_len(u64::try_from(bytes.len()).unwrap()).unwrap();
    }
    let file = ram.open("mark", Access::Write).unwrap();
    file.write_at(mark, 0).unwrap();
}

#[test]
fn what_a_loss_of_power_took_away_is_not_shown_by_whoever_had_read_it() {
    let ram = Ram::new();
    let (log, reader) = (open(&ram, 1 << 20), open(&ram, 1 << 20));
    put(&log, A, b"kept");
    let (kept, mark) = (segments(&ram), ram.read("mark").unwrap());
    put(&log, A, b"lost");
    write(&log, Row::Add(Item::new(LIST, b"lost")));
    assert_eq!(reader.get(A, 0).unwrap().unwrap().payload, b"lost");
    assert_eq!(reader.entries(LIST, None, 9, false, 0).unwrap().len(), 1);
    drop(log);
    take_back(&ram, kept, &mark);
    assert_eq!(reader.get(A, 0).unwrap().unwrap().payload, b"kept");
    assert_eq!(reader.entries(LIST, None, 9, false, 0).unwrap(), []);
    put(&reader, B, b"goes on");
    assert_eq!(reader.get(B, 0).unwrap().unwrap().payload, b"goes on");
    assert_eq!(reader.get(A, 0).unwrap().unwrap().payload, b"kept");
}

fn segments(ram: &Ram) -> Vec<Vec<u8>> {
    (1..30)
        .map_while(|number| ram.read(&segment(number)))
        .collect()
}

#[test]
fn a_damaged_payload_of_the_last_record_is_not_an_older_version() {
    let ram = Ram::new();
    let log = open(&ram, 1 << 20);
    put(&log, A, b"older");
    put(&log, A, b"newest-payload");
    log.store().close().unwrap();
    damage(&ram, b"newest-payload", 0);
    let log = open(&ram, 1 << 20);
    assert_eq!(log.version(A, 0).unwrap(), Some(Seq(2)));
    assert!(matches!(log.get(A, 0), Err(Error::Corrupt { .. })));
    // It is known whose it is, so nothing else is in doubt.
    assert_eq!(log.get(B, 0).unwrap(), None);
    let third = put(&log, A, b"third");
    assert_eq!(log.get(A, 0).unwrap().unwrap().version, third);
}
