//! Judging a batch under the writer's lock: every condition against what is written by then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cold::defect::{Defect, on};
use crate::cold::{Judge, Verdict};
use crate::entry::Seq;
use crate::error::Result;

use super::batch::{Batch, Expect, Outcome};
use super::bench::Bench;
use super::draft::Draft;
use super::event::Event;
use super::once::{self, Once};
use super::order;
use super::records::Step;
use super::shared::Shared;

/// One batch that is on its way.
#[derive(Debug)]
pub(super) struct Pending {
    shared: Arc<Shared>,
    steps: Vec<Step>,
    expect: Vec<(Expected, Vec<u8>, Seq)>,
    now: i64,
    once: Option<Once>,
    /// How many rows it has.
    rows: usize,
    judged: Mutex<Judged>,
}

/// What an expectation is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    Version,
    Tail,
    Entry,
    Nothing,
}

/// What the last judgement came to.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) events: Vec<Event>,
    /// The id of the last record.
    pub(super) last: Seq,
}

impl Pending {
    pub(super) fn new(
        shared: Arc<Shared>,
        steps: Vec<Step>,
        batch: &Batch<'_>,
        once: Option<Once>,
    ) -> Self {
        let expect = batch.expect.iter().map(|one| match one {
            Expect::Version(key, seq) => (Expected::Version, order::encode(key), *seq),
            Expect::Tail(key, seq) => (Expected::Tail, order::encode(key), *seq),
            Expect::Entry(key, seq) => (Expected::Entry, order::encode(key), *seq),
            Expect::Nothing(key) => (Expected::Nothing, order::encode(key), Seq(0)),
        });
        Self {
            shared,
            steps,
            expect: expect.collect(),
            now: batch.now,
            once,
            rows: batch.rows.len(),
            judged: Mutex::default(),
        }
    }

    /// What became of each row.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        self.judged().outcomes.clone()
    }

    /// Judges its conditions and its rows, one after the other.
    fn pass(&self, bench: &mut Bench<'_>) -> Result<()> {
        if let Some(once) = &self.once
            && bench.repeated(once, self.steps.len())?
        {
            return Ok(());
        }
        for (what, key, seq) in &self.expect {
            bench.expect(*what, key, *seq)?;
        }
        self.steps.iter().try_for_each(|step| bench.step(step))
    }

    fn judged(&self) -> MutexGuard<'_, Judged> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judge for Pending {
    fn judge(&self, first: Seq) -> Result<Vec<Verdict>> {
        let mut pending = self.shared.pending();
        let base = self.shared.followed()?;
        // A batch that does not pass leaves no trace.
        let mut draft = pending.clone();
        if on(Defect::GroupUnseen) {
            draft = Draft::default();
        }
        let mut bench = Bench::new(&base, &self.shared, &mut draft, self.now, first, self.rows);
        let passed = self.pass(&mut bench);
        let (verdicts, judged) = bench.done();
        if passed.is_ok() || on(Defect::RefusedDraftKept) {
            *pending = draft;
        }
        passed?;
        *self.judged() = judged;
        Ok(verdicts)
    }

    fn verdict(&self) -> Vec<u8> {
        let answers = once::encode(&self.judged().outcomes);
        answers.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn circle(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    fn settle(&self, written: bool) {
        *self.shared.pending() = Draft::default();
        let remembered = !written && on(Defect::OnceThoughFailed);
        if written || remembered || on(Defect::PublishedThoughFailed) {
            let mut judged = self.judged();
            let mut events = std::mem::take(&mut judged.events);
            if remembered {
                let name = self.once.as_ref().map(|once| order::encode(&once.key));
                events.retain(|event| Some(&event.key) == name.as_ref());
            }
            self.shared.publish(events, judged.last);
        }
    }
}
