//! A fault at every call of three workloads: what was acknowledged stays, what was refused does not
//! come, errors say which of the two it is, and after a failed sync nothing is acknowledged.

use crate::support::faults::{Fault, Series};
use crate::support::workloads::{WORKLOADS, every_call};

#[test]
fn a_fault_at_any_call_loses_nothing_and_lies_about_nothing() {
    let mut all = 0;
    for workload in &WORKLOADS {
        for series in [Series::Changes, Series::Reads] {
            let mut pairs = 0;
            for fault in [Fault::Full, Fault::Broken, Fault::Interrupted, Fault::Short] {
                for once in [true, false] {
                    let calls = every_call(workload, series, fault, once);
                    let calls = calls.unwrap_or_else(|error| panic!("{error}"));
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

#[test]
fn a_kill_at_any_call_leaves_the_other_handles_a_whole_store() {
    let mut all = 0;
    for workload in &WORKLOADS {
        for series in [Series::Changes, Series::Reads] {
            let calls = every_call(workload, series, Fault::Killed, true);
            all += calls.unwrap_or_else(|error| panic!("{error}"));
        }
    }
    println!("{all} kills");
}
