//! What must hold of a log after a crash, whatever the disk kept: it shows what some beginning of its commits
//! comes to, with everything that was acknowledged as durable.

use std::sync::Arc;
use std::time::Duration;

use warmset_core::Seq;
use warmset_core::cold::{Medium, OnBusy, Options, Store};
use warmset_core::log::Log;

use crate::asked::ids;
use crate::deeds::{Deed, Shown, Verb};
use crate::script::{Books, Named, Step, Tape, Version, WAIT, play};
use crate::support::ops::Image;
use crate::support::sim::Sim;
use crate::support::walk::{Count, Effort, Moment, Promise, Recovered, walk};
use crate::world::{Came, World};

macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

/// A workload, with what each of its commits shows.
struct Case {
    tape: Tape,
    shown: Vec<Shown>,
    options: Options,
}

/// Crashes everywhere in the last step of a sequence.
pub(crate) fn explore(
    steps: &[Step],
    options: Options,
    effort: Effort,
    seed: u64,
) -> Result<Count, String> {
    let tape = play(steps, options);
    let worlds = tape.versions.iter().map(|version| &version.world);
    let case = Case {
        shown: worlds.map(Shown::of).collect(),
        tape,
        options: Options {
            on_busy: OnBusy::Fail,
            lock_wait: Duration::ZERO,
            ..options
        },
    };
    let place = |detail| format!("{steps:?} under {options:?}, seed {seed}: {detail}");
    walk(&case, &case.tape.ops, case.tape.last, effort, seed).map_err(place)
}

/// What a log shows, and what came through the spool.
type All = (Shown, Vec<Vec<u8>>);

fn all(log: &Log) -> Result<All, String> {
    let words = |error: warmset_core::Error| error.to_string();
    let shown = Shown::by(log).map_err(words)?;
    let waited = log.entries(WAIT, None, usize::MAX, false, 0);
    let waited = waited.map_err(words)?.into_iter();
    Ok((shown, waited.map(|entry| entry.payload).collect()))
}

/// Whether something lies in the spool, complete or not.
fn on_its_way(sim: &Sim) -> bool {
    let names = sim.list("spool");
    names.is_ok_and(|names| names.iter().any(|name| name != "bell"))
}

/// No damage is reported, and a complete check finds none.
fn sound(store: &Store) -> Result<(), String> {
    let damages = store.report().damages;
    ensure!(damages.is_empty(), "{damages:?}");
    let verify = store.verify().map_err(|error| error.to_string())?;
    ensure!(verify.damages.is_empty(), "{:?}", verify.damages);
    Ok(())
}

impl Promise for Case {
    type Shown = All;

    fn check(&self, moment: Moment, image: &Image, record: bool) -> Result<Recovered<All>, String> {
        let sim = Sim::new(image);
        if record {
            sim.record();
        }
        let open = || {
            let store = sim.open_store(self.options);
            let store = store.map_err(|error| error.to_string())?;
            Ok::<_, String>(Log::new(Arc::new(store)))
        };
        let log = open()?;
        let ops = if record { sim.take() } else { Vec::new() };
        let shown = all(&log)?;
        let (version, given) = self.compare(moment, &shown)?;
        sound(log.store())?;
        let cuts = log.store().report().cuts.len();
        drop(log);

        let log = open()?;
        let report = log.store().report();
        ensure!(report.cuts.is_empty(), "a second cut: {:?}", report.cuts);
        ensure!(all(&log)? == shown, "the second opening differs");
        let world = self.go_on(&log, version, given, on_its_way(&sim))?;
        drop(log);

        let log = open()?;
        let cuts_again = log.store().report().cuts;
        ensure!(cuts_again.is_empty(), "a third cut: {cuts_again:?}");
        let (found, waited) = all(&log)?;
        let expected = Shown::of(&world);
        ensure!(
            found == expected,
            "after going on {found:?}, not {expected:?}"
        );
        ensure!(waited == shown.1, "after going on {waited:?} had waited");
        sound(log.store())?;
        Ok(Recovered { shown, cuts, ops })
    }
}

impl Case {
    fn books(&self, moment: Moment) -> &Books {
        if moment.returned {
            &self.tape.after
        } else {
            &self.tape.before
        }
    }

    /// The number of the version that is shown, and the last id that was given by then.
    fn compare(&self, moment: Moment, (shown, waited): &All) -> Result<(usize, u64), String> {
        let books = self.books(moment);
        let versions = &self.tape.versions;
        let safe = |at: usize, version: &Version| {
            at < books.versions
                && (moment.killed || version.is_durable || version.last <= books.floor)
        };
        let mut numbered = versions.iter().enumerate();
        let least = numbered.rfind(|(at, version)| safe(*at, version));
        let least = least.map_or(0, |(at, _)| at);
        let most = if moment.returned {
            books.versions
        } else {
            versions.len()
        };
        let mut alike = (least..most).filter(|at| self.shown[*at] == *shown);
        // Some steps change nothing that is shown: whether they came so far is open.
        let first = alike.next();
        let found = alike.next_back().or(first);
        let old = self.shown.iter().position(|one| one == shown);
        let (Some(version), Some(first)) = (found, first) else {
            return Err(format!(
                "{shown:?} is version {old:?}, not one of {least}..{most}"
            ));
        };
        for (at, payload) in self.tape.spooled.iter().enumerate() {
            let times = waited.iter().filter(|one| *one == payload).count();
            let right = times == 1 || (times == 0 && at >= books.spooled);
            ensure!(right, "what was spooled is there {times} times");
        }
        let known = |payload: &Vec<u8>| self.tape.spooled.contains(payload);
        ensure!(waited.iter().all(known), "nobody spooled {waited:?}");
        Ok((version, versions[first].last))
    }

    /// Writes on, and gives the world after that.
    fn go_on(
        &self,
        log: &Log,
        version: usize,
        given: u64,
        on_its_way: bool,
    ) -> Result<World, String> {
        let foresee = |deed: &Deed, world: &mut World| {
            let mut foreseen = deed.apply(world);
            if let (Ok(came), true) = (&mut foreseen, on_its_way) {
                // What a killed process began to leave may hold what is removed.
                for one in came.iter_mut().filter(|one| **one == Came::Nothing) {
                    *one = Came::Either;
                }
            }
            foreseen
        };
        let mut world = self.tape.versions[version].world.clone();
        for named in &self.tape.named {
            let Named { deed, outcomes, .. } = named;
            let answer = deed.perform(log);
            if named.version <= version {
                let same = answer.as_ref().is_ok_and(|again| again == outcomes);
                ensure!(same, "a batch with a name: {answer:?}, not {outcomes:?}");
            } else {
                let foreseen = foresee(deed, &mut world);
                Deed::settle(&foreseen, &answer, &mut world)?;
            }
        }
        for (n, verb) in [
            (9_000, Verb::Suffix),
            (9_001, Verb::Batch),
            (9_002, Verb::Remove),
        ] {
            let Some(deed) = Deed::of(verb, &world, n) else {
                continue;
            };
            let foreseen = foresee(&deed, &mut world);
            let answer = deed.perform(log);
            let first = answer
                .iter()
                .flat_map(|outcomes| ids(outcomes))
                .flatten()
                .min();
            ensure!(
                first.is_none_or(|seq| seq > Seq(given)),
                "{first:?} was given again"
            );
            Deed::settle(&foreseen, &answer, &mut world).map_err(|e| format!("{deed:?}: {e}"))?;
        }
        Ok(world)
    }
}
