//! What must hold of a store after a crash, whatever the disk kept.

use std::collections::BTreeMap;
use std::time::Duration;

use warmset_core::cold::{Draft, Durability, OnBusy, Options, Store};
use warmset_core::{Error, Kind, Seq};

use super::ops::Image;
use super::sim::Sim;
use super::walk::{Moment, Promise, Recovered};
use super::world::{CONVERSATIONS, Known, World};

/// What a crash may have taken, and what not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    /// What was acknowledged before the step in which the crash happened.
    pub(crate) before: &'a World,
    /// What the step acknowledges when it returns.
    pub(crate) after: &'a World,
    /// Whether the step had returned.
    pub(crate) returned: bool,
    /// Whether only the process died: what was written is there, synced or not.
    pub(crate) killed: bool,
    pub(crate) options: Options,
}

pub(crate) type Row = (u64, u16, Vec<u8>);

macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

impl Promise for Case<'_> {
    type Shown = Vec<Row>;

    fn check(
        &self,
        moment: Moment,
        image: &Image,
        record: bool,
    ) -> Result<Recovered<Vec<Row>>, String> {
        let Moment { returned, killed } = moment;
        let case = Case {
            returned,
            killed,
            ..*self
        };
        case.check(image, record)
    }
}

impl Case<'_> {
    fn acked(&self) -> &World {
        if self.returned {
            self.after
        } else {
            self.before
        }
    }

    /// Whether a batch with these records must be there.
    fn is_safe(&self, world: &World, records: &[Known]) -> bool {
        let fsync = self.options.durability == Durability::Fsync;
        let all = self.killed || fsync && records.iter().all(|record| record.synced);
        let under = |record: &Known| record.seq.is_none_or(|seq| seq <= world.floor);
        all || records.iter().all(under)
    }

    /// Opens what the crash left, and checks everything that was promised.
    pub(crate) fn check(&self, image: &Image, record: bool) -> Result<Recovered<Vec<Row>>, String> {
        let words = |error: Error| error.to_string();
        let options = Options {
            on_busy: OnBusy::Fail,
            lock_wait: Duration::ZERO,
            ..self.options
        };
        let sim = Sim::new(image);
        if record {
            sim.record();
        }
        let store = sim.open_store(options).map_err(words)?;
        let ops = if record { sim.take() } else { Vec::new() };
        let records = rows(&store)?;
        self.compare(&store, &records)?;
        sound(&store)?;
        let cuts = store.report().cuts.len();
        drop(store);

        let store = sim.open_store(options).map_err(words)?;
        let report = store.report();
        ensure!(report.cuts.is_empty(), "a second cut: {:?}", report.cuts);
        ensure!(report.damages.is_empty(), "{:?}", report.damages);
        ensure!(rows(&store)? == records, "the second opening differs");
        let draft = Draft {
            kind: Kind::Turn,
            key: &[b"tenant", CONVERSATIONS[0]],
            meta: b"meta",
            sources: &[],
            payload: b"after the crash",
        };
        let seq = store.append(&[draft]).map_err(words)?[0].0;
        let given = self
            .acked()
            .records
            .iter()
            .filter(|r| self.is_safe(self.acked(), std::slice::from_ref(r)));
        let given = given
            .filter_map(|r| r.seq)
            .chain(records.iter().map(|r| r.0));
        ensure!(given.max() < Some(seq), "id {seq} was given again");
        drop(store);

        let store = sim.open_store(options).map_err(words)?;
        let cuts_again = store.report().cuts;
        ensure!(cuts_again.is_empty(), "a third cut: {cuts_again:?}");
        let mut expected = records.clone();
        expected.push((seq, Kind::Turn.code(), draft.payload.to_vec()));
        let found = rows(&store)?;
        ensure!(
            found == expected,
            "after one more append: {}",
            shown(&found)
        );
        sound(&store)?;
        Ok(Recovered {
            shown: records,
            cuts,
            ops,
        })
    }

    /// Compares what is readable with what was acknowledged.
    fn compare(&self, store: &Store, rows: &[Row]) -> Result<(), String> {
        let mut seen = BTreeMap::new();
        for (seq, kind, payload) in rows.iter().filter(|r| r.1 == Kind::Turn.code()) {
            let before = seen.insert(payload.as_slice(), *seq);
            ensure!(before.is_none(), "{kind} {seq} is there twice");
        }
        let (acked, all) = (self.acked(), &self.after.records);
        let mut left = None;
        let mut hole = None;
        for batch in &self.after.batches {
            let records = &all[batch.clone()];
            let is_acked = batch.end <= acked.records.len();
            let mut there = 0;
            let mut expected = 0;
            for (at, record) in batch.clone().zip(records) {
                let seq = seen.remove(record.payload.as_slice());
                let gone = is_acked && acked.records[at].erased;
                if gone {
                    ensure!(seq.is_none(), "{at} came back after its erasure");
                    let got = record.seq.map(|seq| store.get(Seq(seq)));
                    let told = matches!(
                        got,
                        None | Some(Err(Error::Erased { .. } | Error::NotFound { .. }))
                    );
                    ensure!(told, "erased, and yet {got:?}");
                    continue;
                }
                if record.erased && !is_acked {
                    continue;
                }
                if record.erased {
                    // Its erasure was under way: the tombstone is there or not, for all it names.
                    if !self.is_safe(acked, records) && seq.is_none() {
                        continue;
                    }
                    ensure!(
                        *left.get_or_insert(seq.is_some()) == seq.is_some(),
                        "half an erasure, at {at}"
                    );
                    continue;
                }
                expected += 1;
                there += usize::from(seq.is_some());
                if let Some(seq) = seq {
                    ensure!(record.seq.is_none_or(|own| own == seq), "{at} has id {seq}");
                    same(store, record, seq)?;
                }
            }
            ensure!(
                there == 0 || there == expected,
                "half a batch: {there} of {expected} of {batch:?}"
            );
            if expected == 0 {
                continue;
            }
            let missing = there == 0;
            let safe = is_acked && self.is_safe(acked, records);
            ensure!(!(safe && missing), "{batch:?} is lost");
            if records.iter().all(|r| r.seq.is_some()) {
                ensure!(
                    missing || hole.is_none(),
                    "a hole: {hole:?} before {batch:?}"
                );
                hole = hole.or(missing.then_some(batch));
            }
        }
        ensure!(seen.is_empty(), "nobody wrote {:?}", seen.keys());
        Ok(())
    }
}

/// The record of an id is what was handed in.
fn same(store: &Store, known: &Known, seq: u64) -> Result<(), String> {
    let record = store.get(Seq(seq)).map_err(|error| error.to_string())?;
    let key = [&b"tenant"[..], CONVERSATIONS[known.conversation]];
    ensure!(
        record.payload == known.payload && record.meta == b"meta" && record.key == key,
        "wrong content of {seq}"
    );
    Ok(())
}

/// No damage is reported, and a complete check finds none.
fn sound(store: &Store) -> Result<(), String> {
    let damages = store.report().damages;
    ensure!(damages.is_empty(), "{damages:?}");
    let verify = store.verify().map_err(|error| error.to_string())?;
    ensure!(verify.damages.is_empty(), "{:?}", verify.damages);
    Ok(())
}

fn rows(store: &Store) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let mut from = Seq(0);
    loop {
        let page = store
            .page(from, usize::MAX)
            .map_err(|error| error.to_string())?;
        let Some(last) = page.last() else {
            return Ok(rows);
        };
        from = Seq(last.seq.0 + 1);
        rows.extend(
            page.into_iter()
                .map(|r| (r.seq.0, r.kind.code(), r.payload)),
        );
    }
}

fn shown(rows: &[Row]) -> String {
    let short = rows.iter().map(|row| (row.0, row.1, row.2.len()));
    format!("{:?}", short.collect::<Vec<_>>())
}
