//! A fault at the n-th call, once or from then on.

use std::io;
use std::sync::Mutex;

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// Those that change something, or make a change durable.
    Changes,
    /// Those that only look.
    Reads,
}

/// What a call that is to fail does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no space: half of a write arrives, then `ENOSPC`.
    Full,
    /// The device fails: half of a write arrives, then `EIO`.
    Broken,
    /// A signal came first: `EINTR`, and nothing happened.
    Interrupted,
    /// A read or a write does less than it was asked for; no other call can.
    Short,
    /// The process that calls is killed; half of a write arrives. The others go on.
    Killed,
}

/// How a call goes.
#[derive(Debug)]
pub(crate) enum Turn {
    Well,
    Short,
    Fails(io::Error),
}

/// When to fail, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) series: Series,
    pub(crate) fault: Fault,
    /// The first call that fails, from 1 on.
    pub(crate) at: u64,
    pub(crate) once: bool,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<Plan>,
    calls: u64,
    hits: Vec<String>,
}

/// The faults of one directory, for all who use it.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<State>);

impl Faults {
    pub(crate) fn set(&self, plan: Plan) {
        let state = State {
            plan: Some(plan),
            ..State::default()
        };
        *self.0.lock().unwrap() = state;
    }

    /// From now on nothing fails; gives how many calls were counted.
    pub(crate) fn heal(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        state.plan = None;
        state.calls
    }

    /// The calls that failed so far.
    pub(crate) fn hits(&self) -> Vec<String> {
        self.0.lock().unwrap().hits.clone()
    }

    /// One call; `name` tells which, and of what.
    pub(crate) fn turn(&self, series: Series, op: &str, name: &str) -> Turn {
        let mut state = self.0.lock().unwrap();
        let Some(plan) = state.plan.filter(|plan| plan.series == series) else {
            return Turn::Well;
        };
        state.calls += 1;
        if state.calls < plan.at || (plan.once && state.calls > plan.at) {
            return Turn::Well;
        }
        if plan.fault == Fault::Short && op != "write" && op != "read" {
            return Turn::Well;
        }
        state.hits.push(format!("{op} {name}"));
        match plan.fault {
            Fault::Short => Turn::Short,
            Fault::Full => Turn::Fails(io::ErrorKind::StorageFull.into()),
            Fault::Broken => Turn::Fails(io::Error::other("the device failed")),
            Fault::Killed => Turn::Fails(io::ErrorKind::BrokenPipe.into()),
            Fault::Interrupted => Turn::Fails(io::ErrorKind::Interrupted.into()),
        }
    }
}
