//! Each classic mistake of a log, made on purpose, is caught; without it the same check passes.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warmset_core::cold::{Defect, Durability, Medium as _, Options, Ram, Store};
use warmset_core::log::{Batch, Expect, IfPresent, Item, Key, Log, Outcome, Row};
use warmset_core::{Error, Seq};

use crate::catching::{Checked, catches};
use crate::crashed::explore;
use crate::deeds::Verb;
use crate::faulty::Faulty;
use crate::script::Step;
use crate::segment;
use crate::support::walk::Effort;

const A: Key<'static> = &[b"t", b"\xffs", b"a"];
const B: Key<'static> = &[b"t", b"\xffs", b"b"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];
const TALK: Key<'static> = &[b"t", b"talk"];

fn of(durability: Durability, segment_bytes: u64) -> Options {
    Options {
        durability,
        segment_bytes,
        ..Options::default()
    }
}

fn open(ram: &Ram, segment_bytes: u64) -> Log {
    let options = of(Durability::Os, segment_bytes);
    let store = Store::with_medium(Box::new(ram.clone()), options).unwrap();
    Log::new(Arc::new(store))
}

fn write(log: &Log, row: Row<'_>) -> Result<Outcome, Error> {
    let rows = [row];
    let batch = Batch {
        now: 20,
        ..Batch::new(&rows)
    };
    Ok(log.write(&batch)?[0])
}

fn put(log: &Log, key: Key<'_>, payload: &[u8]) -> Seq {
    match write(log, Row::Put(Item::new(key, payload))).unwrap() {
        Outcome::Written(seq) => seq,
        other => panic!("{other:?}"),
    }
}

/// A put of what is not there, or is taken for that.
fn absent(key: Key<'_>, if_present: IfPresent) -> Row<'_> {
    Row::Put(Item {
        if_present,
        ..Item::new(key, b"x")
    })
}

fn ensure(holds: bool, what: impl std::fmt::Debug) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(format!("{what:?}"))
    }
}

fn is_written(outcome: Outcome) -> Checked {
    ensure(matches!(outcome, Outcome::Written(_)), outcome)
}

/// The crash states of every beginning of a sequence.
fn crashes(verbs: &[Verb], options: Options) -> Checked {
    let effort = Effort {
        random: 30,
        prefixes: 16,
        dive_every: 50,
    };
    let steps: Vec<Step> = verbs.iter().copied().map(Step::Do).collect();
    for end in 0..=steps.len() {
        explore(&steps[..end], options, effort, 1)?;
    }
    Ok(())
}

#[test]
fn half_a_batch_in_recovery_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::HalfBatch, || crashes(&[Verb::Batch], options));
}

#[test]
fn an_acknowledgement_before_the_sync_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::AckBeforeSync, || crashes(&[Verb::Remove], options));
}

#[test]
fn a_tombstone_without_a_sync_is_caught() {
    let options = of(Durability::Os, 1 << 20);
    catches(Defect::TombstoneUnsynced, || {
        crashes(&[Verb::EraseCell], options)
    });
}

#[test]
fn a_compaction_that_does_not_sync_what_superseded_is_caught() {
    let options = of(Durability::Os, 1);
    catches(Defect::FoldUnsynced, || {
        crashes(&[Verb::Put, Verb::Put, Verb::Compact], options)
    });
}

#[test]
fn an_erasure_that_leaves_older_versions_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::EraseNewestOnly, || {
        crashes(&[Verb::Put, Verb::EraseCell], options)
    });
}

#[test]
fn a_removal_that_leaves_what_was_made_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::DerivedKept, || {
        crashes(&[Verb::RemoveSource], options)
    });
}

#[test]
fn a_condition_judged_before_following_is_caught() {
    catches(Defect::StaleConditions, || {
        let ram = Ram::new();
        let (log, other) = (open(&ram, 1 << 20), open(&ram, 1 << 20));
        put(&log, B, b"both have begun");
        put(&other, A, b"theirs");
        let skipped = write(&log, absent(A, IfPresent::Skip)).unwrap();
        ensure(matches!(skipped, Outcome::Present(_)), skipped)?;
        put(&other, B, b"theirs");
        let rows = [Row::Put(Item::new(B, b"ours"))];
        let batch = Batch {
            expect: &[Expect::Version(B, Seq(1))],
            ..Batch::new(&rows)
        };
        let refused = log.write(&batch);
        ensure(matches!(refused, Err(Error::Conflict { .. })), refused)
    });
}

#[test]
fn a_batch_that_does_not_see_its_group_is_caught() {
    catches(Defect::GroupUnseen, || {
        let ram = Ram::new();
        let log = open(&ram, 1 << 20);
        let hold = ram.try_lock().unwrap();
        // One waits for the lock, and the others wait for that one.
        let other = |key: Key<'static>| {
            let log = log.clone();
            let thread = thread::spawn(move || write(&log, absent(key, IfPresent::Skip)).unwrap());
            thread::sleep(Duration::from_millis(200));
            thread
        };
        let first = other(B);
        let group = [other(A), other(A), other(A)];
        drop(hold);
        is_written(first.join().unwrap())?;
        let got = group.map(|one| one.join().unwrap());
        let written = got.iter().filter(|one| matches!(one, Outcome::Written(_)));
        ensure(written.count() == 1, got)
    });
}

#[test]
fn a_draft_of_a_refused_batch_that_counts_is_caught() {
    catches(Defect::RefusedDraftKept, || {
        let log = open(&Ram::new(), 1 << 20);
        put(&log, B, b"there");
        let rows = [absent(A, IfPresent::Skip), absent(B, IfPresent::Fail)];
        let refused = log.write(&Batch::new(&rows));
        ensure(matches!(refused, Err(Error::Conflict { .. })), refused)?;
        is_written(write(&log, absent(A, IfPresent::Skip)).unwrap())
    });
}

/// A log whose next write fails, as it will be found to have.
fn failing(batch: &Batch<'_>) -> Log {
    let medium = Faulty::default();
    let store = medium.open_store(of(Durability::Os, 1 << 20)).unwrap();
    let log = Log::new(Arc::new(store));
    put(&log, B, b"warm");
    medium.plan.fail(1, true, io::ErrorKind::StorageFull);
    let refused = log.write(batch);
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    log
}

#[test]
fn a_batch_that_is_shown_though_its_write_failed_is_caught() {
    catches(Defect::PublishedThoughFailed, || {
        let rows = [Row::Put(Item::new(A, b"x"))];
        let shown = failing(&Batch::new(&rows)).version(A, 20).unwrap();
        ensure(shown.is_none(), shown)
    });
}

#[test]
fn a_named_batch_that_is_remembered_though_its_write_failed_is_caught() {
    catches(Defect::OnceThoughFailed, || {
        let rows = [Row::Put(Item::new(A, b"x"))];
        let batch = Batch {
            once: Some(b"name"),
            ..Batch::new(&rows)
        };
        let again = failing(&batch).write(&batch);
        is_written(again.map_err(|error| error.to_string())?[0])
    });
}

#[test]
fn a_removal_that_is_written_once_is_caught() {
    catches(Defect::OneCopy, || {
        let ram = Ram::new();
        let log = open(&ram, 1 << 20);
        for n in 0..3_u8 {
            write(&log, Row::Add(Item::new(LIST, &[n]))).unwrap();
        }
        let first = log.entries(LIST, None, 1, false, 20).unwrap()[0].seq;
        let files = || (1..9).map_while(|number| ram.read(&segment(number)));
        let before: Vec<usize> = files().map(|bytes| bytes.len()).collect();
        let list = LIST;
        write(&log, Row::Cut { list, after: first }).unwrap();
        log.store().close().unwrap();
        let healthy: Vec<Vec<u8>> = files().collect();
        for (number, bytes) in (1..).zip(&healthy) {
            let known = before.get(number - 1).map_or(640, |len| *len.max(&640));
            let name = segment(u64::try_from(number).unwrap());
            for sector in known / 512..bytes.len().div_ceil(512) {
                let mut broken = bytes.clone();
                let end = broken.len().min(sector * 512 + 512);
                broken[known.max(sector * 512).min(end)..end].fill(0x55);
                ram.write(&name, broken);
                let shown = open(&ram, 1 << 20).entries(LIST, None, 9, false, 20);
                let right = shown.as_ref().is_ok_and(|all| all.len() == 1);
                ensure(right, (number, sector, shown))?;
                for (number, bytes) in (1..).zip(&healthy) {
                    ram.write(&segment(number), bytes.clone());
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_removal_that_leaves_before_what_it_covers_is_caught() {
    catches(Defect::RemovalDroppedFirst, || {
        let ram = Ram::new();
        let log = open(&ram, 4_000);
        // So little of the first segment is dead that it stays as it is.
        put(&log, A, b"gone");
        put(&log, &[b"t", b"\xffs", b"large"], &[7; 2_500]);
        write(&log, Row::Remove(A)).unwrap();
        for n in 0..60_u8 {
            put(&log, B, &[n; 500]);
        }
        drop(log);
        let shown = open(&ram, 4_000).get(A, 20).unwrap();
        ensure(shown.is_none(), shown)
    });
}

#[test]
fn an_own_id_that_counts_on_any_path_is_caught() {
    catches(Defect::UidAnywhere, || {
        let log = open(&Ram::new(), 1 << 20);
        let one = Row::Add(Item {
            uid: Some(b"own"),
            if_present: IfPresent::Skip,
            ..Item::new(TALK, b"x")
        });
        write(&log, one).unwrap();
        let back = Row::Cut {
            list: TALK,
            after: Seq(0),
        };
        write(&log, back).unwrap();
        is_written(write(&log, one).unwrap())
    });
}

#[test]
fn a_condition_that_takes_what_has_expired_for_there_is_caught() {
    catches(Defect::ExpiredCounts, || {
        let log = open(&Ram::new(), 1 << 20);
        let short = Row::Put(Item {
            expires: Some(10),
            ..Item::new(A, b"x")
        });
        write(&log, short).unwrap();
        is_written(write(&log, absent(A, IfPresent::Skip)).unwrap())
    });
}
