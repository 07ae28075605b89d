//! A fault at every call of some workloads: what was acknowledged is shown, what was refused is not, and no
//! version comes back that was replaced, removed or erased.

use crate::deeds::Verb;
use crate::ledger::Run;
use crate::support::faults::{Fault, Plan, Series};
use warmset_core::cold::Encryption;

type Workload = (&'static str, Encryption, &'static [Verb]);

const WORKLOADS: [Workload; 3] = [
    (
        "cells and lists",
        Encryption::Off,
        &[
            Verb::Begin,
            Verb::Put,
            Verb::Once,
            Verb::Suffix,
            Verb::Refused,
            Verb::Patch,
            Verb::Head,
            Verb::Replace,
            Verb::Batch,
        ],
    ),
    (
        "removals",
        Encryption::Off,
        &[
            Verb::Begin,
            Verb::Make,
            Verb::RemoveEntry,
            Verb::RemoveSource,
            Verb::Put,
            Verb::Compact,
            Verb::Sweep,
            Verb::RemoveBelow,
            Verb::Put,
            Verb::Compact,
            Verb::Put,
        ],
    ),
    (
        "erasures",
        Encryption::Keys,
        &[
            Verb::Begin,
            Verb::Make,
            Verb::Put,
            Verb::EraseSource,
            Verb::Put,
            Verb::EraseCell,
            Verb::Compact,
            Verb::Batch,
            Verb::EraseBelow,
            Verb::Put,
        ],
    ),
];

/// Fails each call of a series in turn, or one of so many; gives how many there were.
fn every_call(
    (name, encryption, verbs): &Workload,
    series: Series,
    fault: Fault,
    once: bool,
    every: usize,
) -> u64 {
    for at in (1..).step_by(every) {
        let plan = Plan {
            series,
            fault,
            at,
            once,
        };
        let mut run = Run::new(*encryption, plan);
        let played = verbs.iter().enumerate().try_for_each(|(place, verb)| {
            run.act(*verb)?;
            if place == verbs.len() / 2 {
                run.close()?;
            }
            Ok::<_, String>(())
        });
        let plan = run.plan();
        let calls = played.and_then(|()| run.end(at % 2 == 0, at));
        let calls = calls.unwrap_or_else(|error| panic!("{name}, {plan:?}: {error}"));
        if calls < at {
            return calls;
        }
    }
    0
}

#[test]
fn a_fault_at_any_call_that_changes_something_brings_nothing_old_back() {
    for workload in &WORKLOADS {
        let mut pairs = 0;
        for fault in [Fault::Full, Fault::Broken, Fault::Interrupted, Fault::Short] {
            for once in [true, false] {
                let calls = every_call(workload, Series::Changes, fault, once, 1);
                assert!(calls > 8, "{} has only {calls} calls", workload.0);
                pairs += calls;
            }
        }
        pairs += every_call(workload, Series::Changes, Fault::Killed, true, 1);
        println!("{}: {pairs} pairs of call and fault", workload.0);
    }
}

#[test]
fn a_fault_at_any_call_that_looks_brings_nothing_old_back() {
    for workload in &WORKLOADS {
        let mut pairs = 0;
        for (fault, once) in [
            (Fault::Broken, true),
            (Fault::Broken, false),
            (Fault::Interrupted, true),
            (Fault::Short, false),
            (Fault::Killed, true),
        ] {
            // Reads are many, and alike.
            pairs += every_call(workload, Series::Reads, fault, once, 7) / 7;
        }
        println!("{}: {pairs} pairs of call and fault", workload.0);
    }
}
