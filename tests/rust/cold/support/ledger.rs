//! Workloads that go on after a failure, and note what was acknowledged, what was refused and what is
//! unknown.

use std::time::Duration;

use warmset_core::cold::{Appended, Durability, Encryption, OnBusy, Options, Scope, Store};
use warmset_core::{Error, Seq};

use super::Random;
use super::crash::Case;
use super::disk_model::{Disk, Fate};
use super::faults::Plan;
use super::ops::{Image, Op};
use super::sim::Sim;
use super::world::{CONVERSATIONS, Known, New, World, with};

/// Two handles on one directory, and the books.
#[derive(Debug)]
pub(crate) struct Run {
    sim: Sim,
    /// One for each handle.
    processes: [Sim; 2],
    plan: Plan,
    options: Options,
    stores: [Option<Store>; 2],
    /// Whether a handle said that it stopped.
    stopped: [bool; 2],
    acked: World,
    /// Refused, so that nothing of it may be there; and left unknown.
    refused: World,
    unknown: World,
    count: usize,
}

impl Run {
    pub(crate) fn new(encryption: Encryption, plan: Plan) -> Self {
        let sim = Sim::new(&Image::default());
        sim.record();
        sim.faults.set(plan);
        Self {
            processes: [sim.other(), sim.other()],
            sim,
            plan,
            options: Options {
                encryption,
                segment_bytes: 1_400,
                on_busy: OnBusy::Spool,
                lock_wait: Duration::ZERO,
                ..Options::default()
            },
            stores: [None, None],
            stopped: [false; 2],
            acked: World::default(),
            refused: World::default(),
            unknown: World::default(),
            count: 0,
        }
    }

    /// The handle, which is opened if it is not; `None` where it cannot be.
    fn store(&mut self, handle: usize) -> Option<&Store> {
        if self.stores[handle].is_none() {
            self.stopped[handle] = false;
            match self.processes[handle].open_store(self.options) {
                Ok(store) => self.stores[handle] = Some(store),
                Err(error) => {
                    self.expect(handle, &error);
                }
            }
        }
        self.stores[handle].as_ref()
    }

    /// An error is one that tells the caller what to do. Whether the process lived to be told.
    fn expect(&mut self, handle: usize, error: &Error) -> bool {
        if self.processes[handle].is_killed() {
            self.stores[handle] = None;
            self.processes[handle] = self.sim.other();
            return false;
        }
        let stops = matches!(error, Error::Poisoned { .. });
        assert!(
            stops || matches!(error, Error::Full { .. } | Error::Io { .. }),
            "{:?}: {error:?}",
            self.plan
        );
        self.stopped[handle] |= stops;
        true
    }

    fn drafts(&mut self, lengths: &[usize]) -> Vec<New> {
        let source = self.acked.first().and_then(|record| record.seq);
        let make = |(at, len): (usize, &usize)| {
            self.count += 1;
            let mut payload = format!("{:04} ", self.count).into_bytes();
            payload.resize(len + 5, b'x');
            New {
                payload,
                conversation: self.count % 2,
                source: source.filter(|_| at == 1),
            }
        };
        lengths.iter().enumerate().map(make).collect()
    }

    pub(crate) fn append(&mut self, handle: usize, lengths: &[usize]) {
        let drafts = self.drafts(lengths);
        if self.store(handle).is_none() {
            return;
        }
        let before = store_syncs(&self.sim);
        let store = self.stores[handle].as_ref().unwrap();
        match with(&drafts, |batch| store.append(batch)) {
            Ok(seqs) => {
                assert!(!self.stopped[handle], "a handle that stopped went on");
                assert!(seqs[0].0 > self.acked.highest(), "an id was given again");
                let hits = self.sim.faults.hits();
                assert_eq!(store_syncs(&self.sim), before, "{:?}: {hits:?}", self.plan);
                self.acked.add(Some(&seqs), &drafts);
            }
            Err(error) => {
                let told = self.expect(handle, &error);
                let stopped = !told || matches!(error, Error::Poisoned { .. });
                let books = if stopped {
                    &mut self.unknown
                } else {
                    &mut self.refused
                };
                books.add(None, &drafts);
            }
        }
    }

    pub(crate) fn spool(&mut self, handle: usize) {
        let drafts = self.drafts(&[10, 15]);
        if self.store(handle).is_none() {
            return;
        }
        let hold = self.sim.other_lock();
        let store = self.stores[handle].as_ref().unwrap();
        let left = with(&drafts, |batch| store.append_or_spool(batch));
        drop(hold);
        match left {
            Ok(Appended::Spooled(_)) => self.acked.add(None, &drafts),
            Ok(Appended::Stored(_)) => panic!("the lock was held"),
            // Where the mark could not be written, whoever waits for the lock knows no later ids.
            Err(Error::Argument {
                name: "sources", ..
            }) if self.sim.faults.hits().contains(&"write mark".to_owned()) => {
                self.refused.add(None, &drafts);
            }
            Err(error) => {
                self.expect(handle, &error);
                self.unknown.add(None, &drafts);
            }
        }
    }

    pub(crate) fn erase(&mut self, handle: usize, whole: bool) {
        let Some(first) = self.acked.first().cloned() else {
            return;
        };
        if self.store(handle).is_none() {
            return;
        }
        let store = self.stores[handle].as_ref().unwrap();
        let prefix: [&[u8]; 2] = [b"tenant", CONVERSATIONS[first.conversation]];
        let erased = if whole {
            store.erase(Scope::Prefix(&prefix))
        } else {
            store.erase(Scope::Records(&[Seq(first.seq.unwrap())]))
        };
        let perhaps = erased.is_err();
        if let Err(error) = erased {
            self.expect(handle, &error);
        }
        let all = |record: &Known| record.conversation == first.conversation;
        let one = |record: &Known| record.seq == first.seq;
        let hit = |record: &Known| if whole { all(record) } else { one(record) };
        self.acked.erase(perhaps, hit);
        // What is made from an erased record goes with it, known or not.
        for books in [&mut self.unknown, &mut self.refused] {
            books.erase(true, |record| {
                hit(record) || self.acked.is_gone(record.source)
            });
        }
    }

    pub(crate) fn compact(&mut self, handle: usize) {
        if let Some(Err(error)) = self.store(handle).map(Store::compact) {
            self.expect(handle, &error);
        }
    }

    pub(crate) fn close(&mut self, handle: usize) {
        if let Some(store) = self.stores[handle].take()
            && let Err(error) = store.close()
        {
            self.expect(handle, &error);
        }
    }

    /// Ends the run, by a kill or in good order, and checks what is left, with power and without;
    /// gives how many calls were counted.
    pub(crate) fn end(mut self, kill: bool, seed: u64) -> Result<u64, String> {
        if kill {
            self.processes.iter().for_each(Sim::kill);
        }
        self.stores = [None, None];
        let calls = self.sim.faults.heal();
        let ops = self.sim.take();
        let (before, mut after) = (self.acked, World::default());
        after.extend(&before);
        after.extend(&self.unknown);
        let mut case = Case {
            before: &before,
            after: &after,
            returned: false,
            killed: true,
            options: self.options,
        };
        let words = |what| move |detail| format!("{what}: {detail}");
        case.check(&self.sim.image(), false)
            .map_err(words("reopened"))?;
        let mut after = after.clone();
        after.extend(&self.refused);
        case.after = &after;
        case.killed = false;
        assert_eq!(case.options.durability, Durability::Fsync);
        let mut random = Random(seed);
        for what in ["all lost", "some lost"] {
            let image = power_lost(&ops, || match random.below(3) {
                _ if what == "all lost" => Fate::Lost,
                0 => Fate::Kept,
                1 => Fate::Zeros,
                _ => Fate::Lost,
            });
            case.check(&image, false).map_err(words(what))?;
        }
        Ok(calls)
    }
}

/// How many syncs of segments failed so far.
fn store_syncs(sim: &Sim) -> usize {
    let hits = sim.faults.hits();
    hits.iter().filter(|hit| hit.starts_with("sync 0")).count()
}

fn power_lost(ops: &[Op], mut fate: impl FnMut() -> Fate) -> Image {
    let mut disk = Disk::default();
    for op in ops {
        disk.apply(op);
    }
    disk.image(|_| fate())
}
