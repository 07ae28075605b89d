//! The workloads in which each call fails once.

use warmset_core::cold::Encryption;

use super::faults::{Fault, Plan, Series};
use super::ledger::Run;

pub(crate) type Workload = (&'static str, Encryption, fn(&mut Run));

pub(crate) const WORKLOADS: [Workload; 5] = [
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
    ("spool and handles", Encryption::Off, |run| {
        run.append(1, &[5]);
        run.spool(0);
        run.spool(0);
        run.append(0, &[30]);
        run.append(1, &[40]);
        run.spool(1);
        run.spool(0);
        run.erase(0, true);
        run.append(1, &[50]);
        run.spool(1);
        run.compact(0);
        run.append(1, &[60]);
    }),
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
pub(crate) fn every_call(
    workload: &Workload,
    series: Series,
    fault: Fault,
    once: bool,
) -> Result<u64, String> {
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
        let place = |detail| format!("{name}, {plan:?}: {detail}");
        let calls = run.end(at % 2 == 0, at).map_err(place)?;
        if calls < at {
            return Ok(at - 1);
        }
    }
    Ok(0)
}
