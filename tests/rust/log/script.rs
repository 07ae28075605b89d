//! Workloads: short sequences of calls, with what a dictionary has after each.

use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{Ack, Appended, Draft, Durability, Mode, OnBusy, Options};
use warmset_core::log::{Batch, Expect, Key, Log, Outcome, Row};
use warmset_core::{Error, Kind};

use crate::deeds::{Deed, NOW, Verb};
use crate::support::ops::{Image, Op};
use crate::support::sim::Sim;
use crate::world::World;

/// The conversation of what goes through the spool.
pub(crate) const WAIT: Key<'static> = &[b"t", b"wait"];
/// No sync comes by itself within a workload.
pub(crate) const NEVER: Durability = Durability::Interval(Duration::from_hours(1));

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Do(Verb),
    /// A put through a second handle.
    Second,
    /// A turn that finds the lock busy.
    Spool,
    /// A batch that expects what waits in the spool not to be there.
    Unaware,
    Sync,
    Reopen,
    /// The process is killed, and another one opens the store.
    Kill,
}

pub(crate) const STEPS: [Step; 25] = [
    Step::Do(Verb::Put),
    Step::Do(Verb::Unsynced),
    Step::Do(Verb::Batch),
    Step::Do(Verb::Replace),
    Step::Do(Verb::Patch),
    Step::Do(Verb::Refused),
    Step::Do(Verb::Suffix),
    Step::Do(Verb::Head),
    Step::Do(Verb::Remove),
    Step::Do(Verb::RemoveBelow),
    Step::Do(Verb::RemoveEntry),
    Step::Do(Verb::Make),
    Step::Do(Verb::RemoveSource),
    Step::Do(Verb::EraseSource),
    Step::Do(Verb::EraseCell),
    Step::Do(Verb::EraseBelow),
    Step::Do(Verb::Sweep),
    Step::Do(Verb::Once),
    Step::Do(Verb::Compact),
    Step::Second,
    Step::Spool,
    Step::Unaware,
    Step::Sync,
    Step::Reopen,
    Step::Kill,
];

/// The world after one commit.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) world: World,
    /// The highest id by then.
    pub(crate) last: u64,
    /// Whether it is durable whatever the options say, when it is acknowledged.
    pub(crate) is_durable: bool,
}

/// A batch with a name that was written.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) deed: Deed,
    pub(crate) outcomes: Vec<Outcome>,
    /// The number of the version that has it.
    pub(crate) version: usize,
}

/// The books at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    /// How many versions were acknowledged.
    pub(crate) versions: usize,
    /// Up to which id the store called itself durable.
    pub(crate) floor: u64,
    /// How many payloads were left in the spool.
    pub(crate) spooled: usize,
}

/// What a workload left.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) ops: Vec<Op>,
    /// Where the operations of the last step begin.
    pub(crate) last: usize,
    pub(crate) versions: Vec<Version>,
    pub(crate) named: Vec<Named>,
    pub(crate) spooled: Vec<Vec<u8>>,
    pub(crate) before: Books,
    pub(crate) after: Books,
}

/// Whether a sequence is possible under these options.
pub(crate) fn makes_sense(steps: &[Step], options: Options) -> bool {
    let shared = |step: &Step| matches!(step, Step::Second | Step::Spool);
    let unsynced = |step: &Step| *step == Step::Do(Verb::Unsynced);
    let fsync = options.durability == Durability::Fsync;
    (options.mode != Mode::Exclusive || !steps.iter().any(shared))
        && (fsync || !steps.iter().any(unsynced))
}

struct Player {
    options: Options,
    sim: Sim,
    process: Sim,
    log: Option<Log>,
    second: Option<Log>,
    world: World,
    tape: Tape,
    /// Whether something waits in the spool.
    waits: bool,
    count: usize,
}

/// Plays a sequence from an empty directory.
pub(crate) fn play(steps: &[Step], options: Options) -> Tape {
    let sim = Sim::new(&Image::default());
    sim.record();
    let none = Books {
        versions: 1,
        floor: 0,
        spooled: 0,
    };
    let empty = Version {
        world: World::default(),
        last: 0,
        is_durable: true,
    };
    let mut player = Player {
        options: Options {
            on_busy: OnBusy::Spool,
            lock_wait: Duration::ZERO,
            ..options
        },
        process: sim.other(),
        sim,
        log: None,
        second: None,
        world: World::default(),
        tape: Tape {
            ops: Vec::new(),
            last: 0,
            versions: vec![empty],
            named: Vec::new(),
            spooled: Vec::new(),
            before: none.clone(),
            after: none,
        },
        waits: false,
        count: 0,
    };
    player.open();
    for step in [Step::Do(Verb::Begin), Step::Do(Verb::Make)]
        .iter()
        .chain(steps)
    {
        player.tape.before = player.books();
        player.tape.last = player.sim.recorded();
        player.step(*step);
    }
    player.tape.after = player.books();
    let mut tape = player.tape;
    tape.ops = player.sim.take();
    tape
}

impl Player {
    fn log(&self) -> &Log {
        self.log.as_ref().unwrap()
    }

    fn open(&mut self) {
        self.process = self.sim.other();
        let store = self.process.open_store(self.options).unwrap();
        self.log = Some(Log::new(Arc::new(store)));
        self.waits = false;
    }

    fn books(&self) -> Books {
        Books {
            versions: self.tape.versions.len(),
            floor: self.log().store().durable_seq().unwrap().0,
            spooled: self.tape.spooled.len(),
        }
    }

    fn step(&mut self, step: Step) {
        self.count += 1;
        match step {
            Step::Do(verb) => self.act(verb, false),
            Step::Second => self.act(Verb::Put, true),
            Step::Spool => self.spool(),
            Step::Unaware => self.unaware(),
            Step::Sync => drop(self.log().store().sync().unwrap()),
            Step::Reopen => {
                self.log().store().close().unwrap();
                self.second = None;
                self.open();
            }
            Step::Kill => {
                self.process.kill();
                self.log = None;
                self.second = None;
                self.open();
            }
        }
    }

    fn act(&mut self, verb: Verb, second: bool) {
        let Some(deed) = Deed::of(verb, &self.world, self.count) else {
            return;
        };
        if second && self.second.is_none() {
            let store = self.process.open_store(self.options).unwrap();
            self.second = Some(Log::new(Arc::new(store)));
        }
        let log = if second {
            self.second.as_ref().unwrap()
        } else {
            self.log()
        };
        let mut world = self.world.clone();
        let foreseen = deed.apply(&mut world);
        let answer = deed.perform(log);
        Deed::settle(&foreseen, &answer, &mut world).unwrap_or_else(|e| panic!("{deed:?}: {e}"));
        self.waits = false;
        let Ok(outcomes) = answer else {
            return;
        };
        let is_durable = matches!(deed, Deed::EraseCell(..) | Deed::EraseBelow);
        self.commit(world, is_durable);
        if matches!(&deed, Deed::Write { once: Some(_), .. }) {
            let version = self.tape.versions.len() - 1;
            self.tape.named.push(Named {
                deed,
                outcomes,
                version,
            });
        }
    }

    /// Takes the world as it is after a commit.
    fn commit(&mut self, world: World, is_durable: bool) {
        self.world = world.clone();
        let next = self.log().store().stats().unwrap().next_seq;
        let last = next.0 - 1;
        self.tape.versions.push(Version {
            world,
            last,
            is_durable,
        });
    }

    fn spool(&mut self) {
        let payload = format!("spooled {:04}", self.count).into_bytes();
        let draft = Draft {
            kind: Kind::Turn,
            key: WAIT,
            meta: b"{}",
            sources: &[],
            payload: &payload,
        };
        let hold = self.sim.other_lock();
        let left = self.log().store().append_or_spool(&[draft]).unwrap();
        drop(hold);
        assert!(matches!(left, Appended::Spooled(_)));
        self.tape.spooled.push(payload);
        self.waits = true;
    }

    /// A batch that would go over what waits in the spool.
    fn unaware(&mut self) {
        let tail = self.log().tail(WAIT).unwrap();
        let rows = [Row::Remove(&[b"nobody", b"\xffs"])];
        let batch = Batch {
            expect: &[Expect::Tail(WAIT, tail)],
            now: NOW,
            ack: Ack::Durable,
            ..Batch::new(&rows)
        };
        let answer = self.log().write(&batch);
        if self.waits {
            let refused = matches!(answer, Err(Error::Conflict { reason: "tail", .. }));
            assert!(refused, "{answer:?}");
        } else {
            assert_eq!(answer.unwrap(), [Outcome::Nothing]);
        }
        self.waits = false;
    }
}
