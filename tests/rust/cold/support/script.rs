//! Workloads: short sequences of calls, and beside each what it acknowledged and what it may leave.

use std::time::Duration;

use warmset_core::Seq;
use warmset_core::cold::{Ack, Appended, Durability, Medium, Mode, OnBusy, Options, Scope, Store};

use super::ops::{Image, Op};
use super::sim::Sim;
use super::world::{CONVERSATIONS, New, World, with};

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One record.
    Append,
    /// One record that is not synced, whatever the options say.
    Unsynced,
    /// Three records, one of them made from an earlier one, one longer than a sector.
    Batch,
    /// One record whose payload is the last segment's file.
    Embed,
    /// One record through a second handle.
    Second,
    /// Two records that find the lock busy.
    Spool,
    Sync,
    Compact,
    /// The conversation of the first record that is left.
    ErasePrefix,
    /// The first record that is left.
    EraseRecord,
    Reopen,
    /// The process is killed, and another one opens the store.
    Kill,
}

pub(crate) const STEPS: [Step; 12] = [
    Step::Append,
    Step::Unsynced,
    Step::Batch,
    Step::Embed,
    Step::Second,
    Step::Spool,
    Step::Sync,
    Step::Compact,
    Step::ErasePrefix,
    Step::EraseRecord,
    Step::Reopen,
    Step::Kill,
];

/// What a workload left: the operations of its last step, on a disk that had `before` operations.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) ops: Vec<Op>,
    /// Where the operations of the last step begin.
    pub(crate) last: usize,
    pub(crate) before: World,
    pub(crate) after: World,
}

/// The handles of a workload.
struct Player {
    options: Options,
    sim: Sim,
    process: Sim,
    store: Option<Store>,
    second: Option<Store>,
    world: World,
    count: usize,
}

/// Whether a sequence is worth while under these options: each step has something to do.
pub(crate) fn makes_sense(steps: &[Step], options: Options) -> bool {
    let (mut live, mut erased) = (0, false);
    let fsync = options.durability == Durability::Fsync;
    // Whether there may be something to sync.
    let mut loose = !fsync;
    for step in steps {
        match step {
            Step::Second | Step::Spool if options.mode == Mode::Exclusive => return false,
            // Nothing else than an append, there.
            Step::Unsynced if !fsync => return false,
            Step::Unsynced => (live, loose) = (live + 1, true),
            Step::Append | Step::Batch | Step::Embed | Step::Second => {
                (live, loose) = (live + 1, !fsync);
            }
            Step::Sync if !loose => return false,
            Step::ErasePrefix | Step::EraseRecord if live == 0 => return false,
            Step::ErasePrefix | Step::EraseRecord => erased = true,
            Step::Compact if !erased => return false,
            _ => {}
        }
    }
    true
}

/// Plays a sequence from an empty directory.
pub(crate) fn play(steps: &[Step], options: Options) -> Tape {
    let sim = Sim::new(&Image::default());
    sim.record();
    let mut player = Player {
        options: Options {
            on_busy: OnBusy::Spool,
            lock_wait: Duration::ZERO,
            ..options
        },
        process: sim.other(),
        sim,
        store: None,
        second: None,
        world: World::default(),
        count: 0,
    };
    let mut before = player.world.clone();
    let mut last = 0;
    player.open();
    for step in steps {
        (before, last) = (player.world.clone(), player.sim.recorded());
        player.step(*step);
    }
    player.world.floor = player.store().durable_seq().unwrap().0;
    Tape {
        ops: player.sim.take(),
        last,
        before,
        after: player.world.clone(),
    }
}

impl Player {
    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn open(&mut self) {
        self.process = self.sim.other();
        self.store = Some(self.process.open_store(self.options).unwrap());
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Append => self.append(&[20], false, Ack::Durable),
            Step::Unsynced => self.append(&[25], false, Ack::Written),
            Step::Batch => self.append(&[5, 700, 30], false, Ack::Durable),
            Step::Second => self.append(&[40], true, Ack::Durable),
            Step::Embed => self.embed(),
            Step::Spool => self.spool(),
            Step::Sync => {
                let seq = self.store().sync().unwrap();
                assert!(seq.0 >= self.world.highest(), "synced up to {seq}");
            }
            Step::Compact => {
                self.store().compact().unwrap();
            }
            Step::ErasePrefix => {
                let whose = self.world.first().map_or(0, |r| r.conversation);
                let prefix: [&[u8]; 2] = [b"tenant", CONVERSATIONS[whose]];
                self.store().erase(Scope::Prefix(&prefix)).unwrap();
                self.world
                    .erase(false, |record| record.conversation == whose);
            }
            Step::EraseRecord => {
                // After the conversation was erased there may be none.
                let Some(seq) = self.world.first().and_then(|r| r.seq) else {
                    return;
                };
                self.store().erase(Scope::Records(&[Seq(seq)])).unwrap();
                self.world.erase(false, |record| record.seq == Some(seq));
            }
            Step::Reopen => {
                self.store().close().unwrap();
                self.second = None;
                self.open();
                let floor = self.store().durable_seq().unwrap().0;
                assert!(floor >= self.world.highest(), "closing synced {floor} only");
            }
            Step::Kill => {
                self.process.kill();
                // Its lock goes with the process.
                self.store = None;
                self.second = None;
                self.open();
            }
        }
        self.world.floor = self.store().durable_seq().unwrap().0;
    }

    /// Records of these lengths. The second one of a batch is made from the first that is left.
    fn drafts(&mut self, lengths: &[usize]) -> Vec<New> {
        let source = self.world.first().and_then(|record| record.seq);
        let mut made = Vec::new();
        for (at, len) in lengths.iter().enumerate() {
            self.count += 1;
            let mut payload = format!("{:04} ", self.count).into_bytes();
            payload.resize(len + 5, b'x');
            made.push(New {
                payload,
                conversation: self.count % 2,
                source: source.filter(|_| at == 1),
            });
        }
        made
    }

    fn append(&mut self, lengths: &[usize], second: bool, ack: Ack) {
        let drafts = self.drafts(lengths);
        if second && self.second.is_none() {
            self.second = Some(self.process.open_store(self.options).unwrap());
        }
        let store = if second {
            self.second.as_ref().unwrap()
        } else {
            self.store()
        };
        let seqs = with(&drafts, |batch| store.append_with(batch, ack).unwrap());
        assert!(seqs[0].0 > self.world.highest(), "an id was given again");
        self.world.add(Some(&seqs), &drafts);
        if ack == Ack::Written {
            self.world.last_is_unsynced();
        }
    }

    fn embed(&mut self) {
        let names = self.sim.list("").unwrap();
        let last = names.into_iter().filter(|n| n.starts_with("00")).max();
        let mut drafts = self.drafts(&[0]);
        let bytes = self.sim.read(&last.unwrap()).unwrap();
        // So that the embedded records lie at a multiple of 8.
        drafts[0].payload.resize(8, b'-');
        drafts[0].payload.extend_from_slice(&bytes);
        let seqs = with(&drafts, |batch| self.store().append(batch).unwrap());
        self.world.add(Some(&seqs), &drafts);
    }

    fn spool(&mut self) {
        let drafts = self.drafts(&[10, 15]);
        let hold = self.sim.try_lock().unwrap().unwrap();
        let left = with(&drafts, |batch| {
            self.store().append_or_spool(batch).unwrap()
        });
        drop(hold);
        assert!(matches!(left, Appended::Spooled(_)));
        self.world.add(None, &drafts);
    }
}
