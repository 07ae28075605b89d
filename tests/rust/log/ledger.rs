//! Workloads of a log that go on after a failure, with books of what was acknowledged, refused, and left open.

use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{Durability, Encryption, OnBusy, Options};
use warmset_core::log::{Log, Outcome};
use warmset_core::{Error, Seq};

use crate::asked::ids;
use crate::deeds::{Deed, NOW, Shown, Verb};
use crate::support::disk_model::{Disk, Fate};
use crate::support::faults::Plan;
use crate::support::ops::{Image, Op};
use crate::support::random::Random;
use crate::support::sim::Sim;
use crate::world::{Came, World};

/// How many failures a workload goes on after.
const FAILURES: usize = 3;

/// What was tried, with the ids that its rows got, or would have got.
#[derive(Clone, Debug)]
struct Attempt {
    deed: Deed,
    ids: Vec<Option<Seq>>,
    /// Whether a loss of power must not take it.
    is_safe: bool,
    /// The answer to a batch with a name.
    named: Option<Vec<Outcome>>,
}

impl Attempt {
    /// What it makes of a world, whatever its conditions said.
    fn replay(&self, world: &mut World) {
        if let Deed::Write { rows, .. } = &self.deed {
            if world.apply(rows, NOW).is_ok() {
                world.name(&self.ids);
            }
        } else {
            let done = self.deed.apply(world);
            assert!(done.is_ok(), "{:?}", self.deed);
        }
    }
}

/// The ids that rows get, if nothing goes wrong.
fn foretold(came: &[Came], next: Seq) -> Vec<Option<Seq>> {
    let mut next = next.0;
    let one = |came: &Came| {
        let written = *came == Came::Written;
        next += u64::from(written);
        written.then_some(Seq(next - 1))
    };
    came.iter().map(one).collect()
}

/// One handle after another on one directory, and the books.
#[derive(Debug)]
pub(crate) struct Run {
    sim: Sim,
    process: Sim,
    plan: Plan,
    options: Options,
    log: Option<Log>,
    world: World,
    /// What the world may be instead, since a call left it open.
    open: Option<World>,
    attempts: Vec<Attempt>,
    failures: usize,
    count: usize,
}

impl Run {
    pub(crate) fn new(encryption: Encryption, plan: Plan) -> Self {
        let sim = Sim::new(&Image::default());
        sim.record();
        sim.faults.set(plan);
        Self {
            process: sim.other(),
            sim,
            plan,
            options: Options {
                encryption,
                segment_bytes: 1_400,
                durability: Durability::Fsync,
                on_busy: OnBusy::Fail,
                lock_wait: Duration::ZERO,
                ..Options::default()
            },
            log: None,
            world: World::default(),
            open: None,
            attempts: Vec::new(),
            failures: 0,
            count: 0,
        }
    }

    /// An error is one that says what is wrong; whether the handle is of no use any more.
    fn expect(&mut self, error: &Error) -> Result<bool, String> {
        self.failures += 1;
        if self.process.is_killed() {
            self.process = self.sim.other();
            self.log = None;
            return Ok(true);
        }
        let stops = matches!(error, Error::Poisoned { .. });
        if stops {
            self.log = None;
        }
        let right = stops || matches!(error, Error::Full { .. } | Error::Io { .. });
        right.then_some(stops).ok_or_else(|| format!("{error:?}"))
    }

    /// Opens the log if it is not open, and looks which world it shows; whether that went well.
    fn look(&mut self) -> Result<bool, String> {
        if self.log.is_none() {
            match self.process.open_store(self.options) {
                Ok(store) => self.log = Some(Log::new(Arc::new(store))),
                Err(error) => {
                    self.expect(&error)?;
                    return Ok(false);
                }
            }
        }
        let log = self.log.as_ref().unwrap();
        match Shown::by(log) {
            Ok(shown) => self.compare(&shown).map(|()| true),
            Err(error) => {
                self.expect(&error)?;
                Ok(false)
            }
        }
    }

    fn compare(&mut self, shown: &Shown) -> Result<(), String> {
        let open = self.open.take();
        if *shown == Shown::of(&self.world) {
            return Ok(());
        }
        match open {
            Some(open) if *shown == Shown::of(&open) => {
                self.world = open;
                Ok(())
            }
            other => Err(format!("{shown:?}, not {:?} nor {other:?}", self.world)),
        }
    }

    /// Does something, if it can be done.
    pub(crate) fn act(&mut self, verb: Verb) -> Result<(), String> {
        self.count += 1;
        if self.failures >= FAILURES || !self.look()? {
            return Ok(());
        }
        let Some(deed) = Deed::of(verb, &self.world, self.count) else {
            return Ok(());
        };
        let log = self.log.as_ref().unwrap();
        let Ok(stats) = log.store().stats() else {
            return Ok(());
        };
        let mut world = self.world.clone();
        let foreseen = deed.apply(&mut world);
        let answer = deed.perform(log);
        let is_write = matches!(deed, Deed::Write { .. });
        let failed = match answer {
            Err(error) if !matches!(error, Error::Conflict { .. }) => Err(error),
            answer => Ok(answer),
        };
        let error = match failed {
            Err(error) => error,
            Ok(answer) => {
                Deed::settle(&foreseen, &answer, &mut world)
                    .map_err(|e| format!("{deed:?}: {e}"))?;
                if let Ok(outcomes) = answer {
                    self.world = world;
                    self.attempts.push(Attempt {
                        // A sweep is not waited for.
                        is_safe: !matches!(deed, Deed::Sweep),
                        ids: ids(&outcomes),
                        named: matches!(&deed, Deed::Write { once: Some(_), .. })
                            .then_some(outcomes),
                        deed,
                    });
                }
                return Ok(());
            }
        };
        let stops = self.expect(&error)?;
        if let Ok(came) = foreseen {
            let ids = foretold(&came, stats.next_seq);
            world.name(&ids);
            self.attempts.push(Attempt {
                deed,
                ids,
                is_safe: false,
                named: None,
            });
            // What is refused is not there; of anything else nobody knows.
            if stops || !is_write {
                self.open = Some(world);
            }
        }
        Ok(())
    }

    /// Gives the handle up in good order.
    pub(crate) fn close(&mut self) -> Result<(), String> {
        if let Some(log) = self.log.take()
            && let Err(error) = log.store().close()
        {
            self.expect(&error)?;
        }
        Ok(())
    }

    /// Ends the run, by a kill or in good order, and checks what is left, with power and without; gives how
    /// many calls were counted.
    pub(crate) fn end(mut self, kill: bool, seed: u64) -> Result<u64, String> {
        if kill {
            self.process.kill();
        }
        self.log = None;
        let calls = self.sim.faults.heal();
        let ops = self.sim.take();
        self.process = self.sim.other();
        let place = |what: &'static str| move |detail| format!("{what}: {detail}");
        if !self.look().map_err(place("reopened"))? {
            return Err("it does not open any more".into());
        }
        let log = self.log.take().unwrap();
        for attempt in &self.attempts {
            if let Some(outcomes) = &attempt.named {
                let again = attempt.deed.perform(&log);
                let same = again.as_ref().is_ok_and(|again| again == outcomes);
                if !same {
                    return Err(format!("a batch with a name: {again:?}, not {outcomes:?}"));
                }
            }
        }
        let worlds = self.worlds();
        let mut random = Random(seed);
        for what in ["all lost", "some lost"] {
            let image = power_lost(&ops, || match random.below(3) {
                _ if what == "all lost" => Fate::Lost,
                0 => Fate::Kept,
                1 => Fate::Zeros,
                _ => Fate::Lost,
            });
            let store = Sim::new(&image).open_store(self.options);
            let log = Log::new(Arc::new(store.map_err(|e| format!("{what}: {e}"))?));
            let shown = Shown::by(&log).map_err(|e| format!("{what}: {e}"))?;
            if !worlds.contains(&shown) {
                return Err(format!("{what}: {shown:?}, not one of {worlds:?}"));
            }
        }
        Ok(calls)
    }

    /// What may be shown after a loss of power: with each of what is not safe, or without.
    fn worlds(&self) -> Vec<Shown> {
        let loose = self.attempts.iter().filter(|one| !one.is_safe).count();
        let mut out = Vec::new();
        for mut which in 0..1_usize << loose {
            let mut world = World::default();
            for attempt in &self.attempts {
                let stays = attempt.is_safe || {
                    let stays = which % 2 == 1;
                    which /= 2;
                    stays
                };
                if stays {
                    attempt.replay(&mut world);
                }
            }
            out.push(Shown::of(&world));
        }
        out
    }

    pub(crate) fn plan(&self) -> Plan {
        self.plan
    }
}

fn power_lost(ops: &[Op], mut fate: impl FnMut() -> Fate) -> Image {
    let mut disk = Disk::default();
    for op in ops {
        disk.apply(op);
    }
    disk.image(|_| fate())
}
