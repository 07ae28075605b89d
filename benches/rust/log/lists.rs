//! A list of ten thousand entries: added together, loaded, popped one by one.

use std::path::Path;

use warmset_core::Seq;
use warmset_core::cold::Encryption;
use warmset_core::log::{Batch, Expect, Item, Log, Outcome, Row, now};

use crate::figure::{Figure, timed};
use crate::material::{CELLS, fill, log, payload, written};

const ENTRIES: usize = 10_000;
const ROUNDS: usize = 15;

/// Lists without own ids and with them, in a store that has 100,000 cells.
pub(crate) fn lists(place: &Path) {
    let place = place.join("lists");
    let log = log(Some(&place), Encryption::Off);
    fill(&log, CELLS, 0);
    // What a message of a session takes.
    let payloads: Vec<Vec<u8>> = (0..ENTRIES)
        .map(|at| payload(at, 0)[..200].to_vec())
        .collect();
    let uids: Vec<String> = (0..ENTRIES).map(|at| format!("message {at}")).collect();
    for named in [false, true] {
        let suffix = if named { ", with own ids" } else { "" };
        let (mut adds, mut loads, mut pops) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let name = format!("run {named} {round}");
            let list: [&[u8]; 3] = [b"acme", b"\xffevents", name.as_bytes()];
            let rows: Vec<Row<'_>> = payloads
                .iter()
                .zip(&uids)
                .map(|(payload, uid)| {
                    Row::Add(Item {
                        uid: named.then_some(uid.as_bytes()),
                        ..Item::new(&list, payload)
                    })
                })
                .collect();
            let batch = Batch::new(&rows);
            let (outcomes, time) = timed(|| log.write(&batch).unwrap());
            adds.push(time);
            let mut seqs: Vec<Seq> = outcomes.iter().map(written).collect();
            let (found, time) =
                timed(|| log.entries(&list, None, usize::MAX, false, now()).unwrap());
            loads.push(time);
            assert!(found.iter().map(|one| one.seq).eq(seqs.iter().copied()));
            assert!(found.iter().map(|one| &one.payload).eq(&payloads));
            for _ in 0..200 {
                let (popped, time) = timed(|| pop(&log, &list));
                pops.push(time);
                assert_eq!(Some(popped.0), seqs.pop());
                assert_eq!(popped.1, payloads[seqs.len()]);
            }
            assert_eq!(log.tail(&list).unwrap(), *seqs.last().unwrap());
        }
        Figure::of_calls(
            &format!("list of 10,000: add all{suffix}"),
            &mut adds,
            60_000.0,
        )
        .print();
        Figure::of_calls(
            &format!("list of 10,000: load all{suffix}"),
            &mut loads,
            21_000.0,
        )
        .print();
        Figure::of_calls(&format!("list of 10,000: pop{suffix}"), &mut pops, 300.0).print();
    }
    log.store().close().unwrap();
    std::fs::remove_dir_all(place).unwrap();
}

/// Takes the last entry off a list and gives it; nobody else gets the same one.
fn pop(log: &Log, list: &[&[u8]]) -> (Seq, Vec<u8>) {
    let end = log.entries(list, None, 1, true, now()).unwrap().remove(0);
    let rows = [Row::RemoveEntries {
        list,
        entries: &[end.seq],
    }];
    let condition = [Expect::Tail(list, end.seq)];
    let outcomes = log.write(&Batch {
        expect: &condition,
        ..Batch::new(&rows)
    });
    assert!(matches!(outcomes.unwrap()[..], [Outcome::Written(_)]));
    (end.seq, end.payload)
}
