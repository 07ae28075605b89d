//! What a store notices that no answer of a call tells: counted, so that whoever keeps a log can ask.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a handle noticed since it was opened. Every number only grows; where one is another than
/// before, [`Store::report`](super::Store::report) may have more to tell, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// How often the lock was busy when it was asked for, and had to be waited for.
    pub waits: u64,
    /// Microseconds that was waited for it in all.
    pub waited: u64,
    /// How often it stayed busy for longer than the options allow.
    pub refused: u64,
    /// How often the directory was read anew and mended before a write, because its end was not where
    /// this handle had left it: another writer stopped half-way, or somebody else changed a file.
    pub repairs: u64,
    /// How many batches this handle took up out of the spool.
    pub taken_up: u64,
    /// How often damage was come upon after the store was opened.
    pub damages: u64,
}

/// The same while it grows, for several threads.
#[derive(Debug, Default)]
pub(in crate::cold) struct Counters {
    waits: AtomicU64,
    waited: AtomicU64,
    refused: AtomicU64,
    repairs: AtomicU64,
    taken_up: AtomicU64,
    damages: AtomicU64,
}

impl Counters {
    /// The lock was busy at first; `got` says whether it came free in time.
    pub(in crate::cold) fn wait(&self, waited: Duration, got: bool) {
        let micros = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.waited.fetch_add(micros, Ordering::Relaxed);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(u64::from(!got), Ordering::Relaxed);
    }

    /// The directory was read anew and mended.
    pub(in crate::cold) fn repair(&self) {
        self.repairs.fetch_add(1, Ordering::Relaxed);
    }

    /// A batch was taken up out of the spool.
    pub(in crate::cold) fn take_up(&self) {
        self.taken_up.fetch_add(1, Ordering::Relaxed);
    }

    /// Damage was come upon.
    pub(in crate::cold) fn damage(&self) {
        self.damages.fetch_add(1, Ordering::Relaxed);
    }

    /// What was noticed so far.
    pub(in crate::cold) fn now(&self) -> Notices {
        Notices {
            waits: self.waits.load(Ordering::Relaxed),
            waited: self.waited.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            repairs: self.repairs.load(Ordering::Relaxed),
            taken_up: self.taken_up.load(Ordering::Relaxed),
            damages: self.damages.load(Ordering::Relaxed),
        }
    }
}
