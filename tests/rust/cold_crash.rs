//! Crashes everywhere: after each operation, within each write, with any part of what was not synced
//! lost; in appending, rotating, erasing, compacting, spooling, closing, and in recoveries themselves.
//!
//! `WARMSET_CRASH_STATES` says about how many states to look at, instead of a million.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod cold_support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cold_support::explore::{Count, Effort, explore};
use cold_support::script::{STEPS, Step, makes_sense};
use warmset_core::cold::{Durability, Encryption, Mode, Options};

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

/// Every sequence of up to so many steps.
fn sequences(most: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..most {
        let to = all.len();
        for at in from..to {
            for step in STEPS {
                let longer = [&all[at][..], &[step]].concat();
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

fn wanted() -> usize {
    let asked = std::env::var("WARMSET_CRASH_STATES");
    asked.map_or(1_000_000, |states| states.parse().unwrap())
}

#[test]
fn no_crash_loses_what_was_acknowledged() {
    let seed = 20_260_101;
    let most = std::env::var("MOST").map_or(2, |n| n.parse().unwrap());
    let effort = Effort {
        random: 8,
        prefixes: 32,
        dive_every: 40,
    };
    let mut jobs: Vec<(Vec<Step>, Options)> = Vec::new();
    for steps in sequences(most) {
        for options in settings() {
            if makes_sense(&steps, options) {
                jobs.push((steps.clone(), options));
            }
        }
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut count = Count::default();
        loop {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let Some((steps, options)) = jobs.get(at) else {
                return count;
            };
            let seed = seed + u64::try_from(at).unwrap();
            count.add(explore(steps, *options, effort, seed));
        }
    };
    let mut count = Count::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            count.add(thread.join().expect("a crash state failed, see above"));
        }
    });
    println!(
        "seed {seed}, {} jobs, wanted {}: {count:?}",
        jobs.len(),
        wanted()
    );
}
