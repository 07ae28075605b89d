//! A fault at every call of three workloads: what was acknowledged stays, what was refused does not
//! come, errors say which of the two it is, and after a failed sync nothing is acknowledged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says what it looked at"
)]

mod cold_support;

use cold_support::faults::{Fault, Plan, Series};
use cold_support::ledger::Run;
use warmset_core::cold::Encryption;

type Workload = (&'static str, Encryption, fn(&mut Run));

const WORKLOADS: [Workload; 4] = [
    ("appends", Encryption::Off, |run| {
        run.append(0, &[20]);
        run.append(0, &[5, 700, 30]);
        run.append(0, &[40]);
        run.append(0, &[300, 300]);
        run.close(0);
        run.append(0, &[20]);
        run.append(0, &[400]);
    }),
    ("spool and erasure", Encryption::Off, SPOOL),
    ("spool and erasure, encrypted", Encryption::Keys, SPOOL),
    ("handles", Encryption::Keys, |run| {
        run.append(0, &[20]);
        run.append(1, &[30]);
        run.append(0, &[5, 600, 30]);
        run.close(0);
        run.append(1, &[40]);
        run.erase(1, false);
        run.append(0, &[50]);
        run.close(1);
        run.append(1, &[60]);
        run.append(0, &[70]);
    }),
];

const SPOOL: fn(&mut Run) = |run| {
    run.append(0, &[20, 25]);
    run.spool(0);
    run.append(0, &[30]);
    run.spool(0);
    run.spool(0);
    run.erase(0, true);
    run.append(0, &[400]);
    run.compact(0);
    run.append(0, &[40]);
    run.close(0);
    run.append(0, &[50]);
};

/// Fails each call of a series in turn; gives how many there were.
fn every_call(workload: &Workload, series: Series, fault: Fault, once: bool) -> u64 {
    let (name, encryption, steps) = workload;
    for at in 1.. {
        let plan = Plan {
            series,
            fault,
            at,
            once,
        };
        let mut run = Run::new(*encryption, plan);
        steps(&mut run);
        let calls = match run.end(at % 2 == 0, at) {
            Ok(calls) => calls,
            Err(detail) => panic!("{name}, {plan:?}: {detail}"),
        };
        if calls < at {
            return at - 1;
        }
    }
    0
}

#[test]
fn a_fault_at_any_call_loses_nothing_and_lies_about_nothing() {
    let mut all = 0;
    for workload in &WORKLOADS {
        for series in [Series::Changes, Series::Reads] {
            let mut pairs = 0;
            for fault in [Fault::Full, Fault::Broken, Fault::Interrupted, Fault::Short] {
                for once in [true, false] {
                    let calls = every_call(workload, series, fault, once);
                    assert!(calls > 20, "{} has only {calls} calls", workload.0);
                    pairs += calls;
                }
            }
            println!(
                "{}: {series:?}: {pairs} pairs of call and fault",
                workload.0
            );
            all += pairs;
        }
    }
    println!("{all} pairs");
}
