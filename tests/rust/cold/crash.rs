//! Crashes everywhere: after each operation, within each write, with any part of what was not synced
//! lost; in appending, rotating, erasing, compacting, spooling, closing, and in recoveries themselves.
//!
//! `WARMSET_CRASH_STATES` says about how many states to look at, instead of a million; from two million on every
//! sequence of three calls is played under all settings.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::Random;
use crate::support::explore::explore;
use crate::support::script::{STEPS, Step, makes_sense};
use crate::support::walk::{Count, Effort};
use warmset_core::cold::{Durability, Encryption, Mode, Options};

const SEED: u64 = 20_260_101;

/// From so many states on, sequences of three steps are played under all settings, not half of them.
const ALL: usize = 2_000_000;

/// The options under which every sequence is played.
fn settings() -> Vec<Options> {
    let mut all = Vec::new();
    for durability in [Durability::Fsync, Durability::Os] {
        for encryption in [Encryption::Off, Encryption::Keys] {
            for segment_bytes in [1, 1_500, 1 << 20] {
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

/// Every sequence of so many steps, under all settings that allow it.
fn sequences(len: u32) -> Vec<(Vec<Step>, Options)> {
    let settings = settings();
    let mut all = Vec::new();
    for mut at in 0..STEPS.len().pow(len) {
        let mut steps = Vec::new();
        for _ in 0..len {
            steps.push(STEPS[at % STEPS.len()]);
            at /= STEPS.len();
        }
        let sensible = settings.iter().filter(|s| makes_sense(&steps, **s));
        all.extend(sensible.map(|settings| (steps.clone(), *settings)));
    }
    all
}

/// Whether a job is in the half in which each sequence meets every pair of values of two settings.
fn is_of_the_half((steps, options): &(Vec<Step>, Options)) -> bool {
    let settings = [
        options.durability == Durability::Os,
        options.encryption == Encryption::Keys,
        options.segment_bytes == 1_500,
        options.mode == Mode::Exclusive,
    ];
    let places = |step| STEPS.iter().position(|one| one == step);
    let steps: usize = steps.iter().filter_map(places).sum();
    (steps + settings.iter().filter(|set| **set).count()).is_multiple_of(2)
}

/// A longer sequence.
fn sequence(random: &mut Random) -> (Vec<Step>, Options) {
    let settings = settings();
    loop {
        let len = 4 + random.below(4);
        let steps: Vec<Step> = (0..len).map(|_| STEPS[random.below(STEPS.len())]).collect();
        let options = settings[random.below(settings.len())];
        if makes_sense(&steps, options) {
            return (steps, options);
        }
    }
}

#[test]
fn no_crash_loses_what_was_acknowledged() {
    let wanted = std::env::var("WARMSET_CRASH_STATES");
    let wanted: usize = wanted.map_or(1_100_000, |states| states.parse().unwrap());
    let mut jobs: Vec<_> = (0..3).flat_map(sequences).collect();
    let short = jobs.len();
    let all = wanted >= ALL;
    jobs.extend(
        sequences(3)
            .into_iter()
            .filter(|job| all || is_of_the_half(job)),
    );
    let (next, states) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut count = Count::default();
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let seed = SEED + u64::try_from(at).unwrap();
            let job = match jobs.get(at) {
                Some(job) => job.clone(),
                None if states.load(Ordering::SeqCst) >= wanted => return count,
                None => sequence(&mut Random(seed)),
            };
            // All of the shortest, a sample of the others.
            let effort = if at < short || at >= jobs.len() {
                Effort {
                    random: 8,
                    prefixes: 32,
                    dive_every: 40,
                }
            } else {
                Effort {
                    random: 0,
                    prefixes: 2,
                    dive_every: 2_000,
                }
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
