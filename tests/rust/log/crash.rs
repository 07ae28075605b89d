//! Crashes everywhere in what a log does: after each operation, within each write, with any part of what was
//! not synced lost, and in recoveries.
//!
//! `WARMSET_CRASH_STATES` says about how many states to look at, instead of some thousands; from a million on every
//! step is played under all options.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::crashed::explore;
use crate::deeds::Verb;
use crate::script::{NEVER, STEPS, Step, makes_sense};
use crate::support::random::Random;
use crate::support::walk::{Count, Effort};
use warmset_core::cold::{Durability, Encryption, Mode, Options};

const SEED: u64 = 20_261_123;

/// The options under which sequences are played.
fn settings() -> Vec<Options> {
    let mut all = Vec::new();
    for durability in [Durability::Fsync, NEVER, Durability::Os] {
        for segment_bytes in [1, 1_500, 1 << 20] {
            for encryption in [Encryption::Off, Encryption::Keys] {
                for mode in [Mode::Shared, Mode::Exclusive] {
                    all.push(Options {
                        durability,
                        encryption,
                        segment_bytes,
                        mode,
                        ..Options::default()
                    });
                }
            }
        }
    }
    all
}

/// What makes older records dead, and a compaction, however little was synced.
fn folds() -> Vec<(Vec<Step>, Options)> {
    let verbs = [
        Verb::Put,
        Verb::Patch,
        Verb::Remove,
        Verb::Replace,
        Verb::Suffix,
    ];
    let mut all = Vec::new();
    for options in settings() {
        for verb in verbs {
            let steps = [Verb::Put, verb, Verb::Compact].map(Step::Do);
            all.push((steps.to_vec(), options));
        }
    }
    all
}

/// Every single step under all options.
fn singles() -> Vec<(Vec<Step>, Options)> {
    let steps = STEPS.iter().map(|step| vec![*step]);
    let all = steps.flat_map(|steps| settings().into_iter().map(move |one| (steps.clone(), one)));
    all.filter(|(steps, options)| makes_sense(steps, *options))
        .collect()
}

/// A sequence of two steps or more.
fn sequence(random: &mut Random) -> (Vec<Step>, Options) {
    let settings = settings();
    loop {
        let len = 2 + random.below(4);
        let steps: Vec<Step> = (0..len).map(|_| STEPS[random.below(STEPS.len())]).collect();
        let options = settings[random.below(settings.len())];
        if makes_sense(&steps, options) {
            return (steps, options);
        }
    }
}

#[test]
fn a_crash_leaves_a_beginning_of_the_commits_with_all_that_is_durable() {
    let wanted = std::env::var("WARMSET_CRASH_STATES");
    let wanted: usize = wanted.map_or(12_000, |states| states.parse().unwrap());
    let mut jobs = singles();
    jobs.extend(folds());
    if wanted < 1_000_000 {
        // Each under a few of the options, others each time that a step is added.
        let mut at = 0;
        jobs.retain(|_| {
            at += 1;
            at % 13 == 0
        });
    }
    let (next, states) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut count = Count::default();
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let seed = SEED + u64::try_from(at).unwrap();
            let (job, effort) = match jobs.get(at) {
                Some(job) => (
                    job.clone(),
                    Effort {
                        random: 0,
                        prefixes: 1,
                        dive_every: 400,
                    },
                ),
                None if states.load(Ordering::SeqCst) >= wanted => return count,
                None => (
                    sequence(&mut Random(seed)),
                    Effort {
                        random: 4,
                        prefixes: 8,
                        dive_every: 100,
                    },
                ),
            };
            let found = explore(&job.0, job.1, effort, seed).unwrap_or_else(|e| panic!("{e}"));
            states.fetch_add(found.states, Ordering::SeqCst);
            count.add(found);
        }
    };
    let mut count = Count::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            count.add(thread.join().expect("a crash state failed, see above"));
        }
    });
    println!("seed {SEED}: {count:?}");
    assert!(count.states >= wanted, "too few states");
    assert!(
        count.cuts > 0 && count.deep > 0,
        "the harness saw no torn tail or no recovery"
    );
}
