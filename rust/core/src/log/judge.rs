//! Judging a batch under the writer's lock: every condition against what is written by then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cold::removal::{Removal, Target};
use crate::cold::{Born, Judge, Links, Verdict};
use crate::entry::Seq;
use crate::error::{Error, Result};

use super::attributes::Attributes;
use super::batch::{Batch, Expect, IfPresent, Outcome};
use super::directory::Directory;
use super::draft::{Draft, Version};
use super::event::{Event, What};
use super::order;
use super::records::{Change, Step};
use super::shared::Shared;

/// One batch that is on its way.
#[derive(Debug)]
pub(super) struct Pending {
    shared: Arc<Shared>,
    steps: Vec<Step>,
    expect: Vec<(Expected, Vec<u8>, Seq)>,
    now: i64,
    /// How many rows it has.
    rows: usize,
    judged: Mutex<Judged>,
}

/// What an expectation is about.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Version,
    Tail,
}

/// What the last judgement came to.
#[derive(Debug, Default)]
struct Judged {
    outcomes: Vec<Outcome>,
    events: Vec<Event>,
    /// The id of the last record.
    last: Seq,
}

impl Pending {
    pub(super) fn new(shared: Arc<Shared>, steps: Vec<Step>, batch: &Batch<'_>) -> Self {
        let expect = batch.expect.iter().map(|one| match one {
            Expect::Version(key, seq) => (Expected::Version, order::encode(key), *seq),
            Expect::Tail(key, seq) => (Expected::Tail, order::encode(key), *seq),
        });
        Self {
            shared,
            steps,
            expect: expect.collect(),
            now: batch.now,
            rows: batch.rows.len(),
            judged: Mutex::default(),
        }
    }

    /// What became of each row.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        self.judged().outcomes.clone()
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
        let mut bench = Bench {
            base: &base,
            shared: &self.shared,
            draft: &mut draft,
            now: self.now,
            next: first,
            verdicts: Vec::with_capacity(self.steps.len()),
            judged: Judged {
                outcomes: vec![Outcome::Nothing; self.rows],
                ..Judged::default()
            },
            seqs: Vec::with_capacity(self.steps.len()),
        };
        for (what, key, seq) in &self.expect {
            bench.expect(*what, key, *seq)?;
        }
        for step in &self.steps {
            bench.step(step)?;
        }
        let Bench {
            verdicts, judged, ..
        } = bench;
        *pending = draft;
        *self.judged() = judged;
        Ok(verdicts)
    }

    fn circle(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    fn settle(&self, written: bool) {
        *self.shared.pending() = Draft::default();
        if written {
            let mut judged = self.judged();
            let events = std::mem::take(&mut judged.events);
            self.shared.publish(events, judged.last);
        }
    }
}

/// One judgement under way.
struct Bench<'a> {
    base: &'a Directory,
    shared: &'a Shared,
    draft: &'a mut Draft,
    now: i64,
    next: Seq,
    verdicts: Vec<Verdict>,
    judged: Judged,
    /// The id of each step's record, if it is written.
    seqs: Vec<Option<Seq>>,
}

impl Bench<'_> {
    fn expect(&mut self, what: Expected, key: &[u8], seq: Seq) -> Result<()> {
        let found = match what {
            Expected::Version => {
                self.certain(key)?;
                let there = self.draft.version(self.base, key, self.now);
                there.map(|there| there.seq).unwrap_or_default()
            }
            Expected::Tail => self.draft.tail(self.base, key),
        };
        if found == seq {
            return Ok(());
        }
        let reason = match what {
            Expected::Version => "version",
            Expected::Tail => "tail",
        };
        Err(conflict(None, key, reason, found))
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let (key, row) = (&step.key, step.row);
        let seq = self.next;
        match &step.what {
            Change::Put {
                if_present,
                attributes,
            } => {
                let there = self.draft.version(self.base, key, self.now);
                if *if_present != IfPresent::Replace {
                    self.certain(key)?;
                    if let Some(there) = there {
                        return self.present(row, key, *if_present, there.seq);
                    }
                }
                let own = Born {
                    seq,
                    at: u64::try_from(attributes.at).unwrap_or(0),
                };
                let born = there.map_or(own, |there| there.born);
                let expires = attributes.expires;
                self.draft.put(key, Version { seq, born, expires });
                let what = What::Put {
                    born: Some(born),
                    attributes: Some(attributes.clone()),
                };
                let links = Links {
                    born: Some(born),
                    ..Links::default()
                };
                self.write(step, links, Some(what));
            }
            Change::Add {
                uid,
                if_present,
                attributes,
            } => {
                let there = uid.and_then(|uid| self.draft.named(self.base, key, uid));
                match (there, if_present) {
                    (Some(there), IfPresent::Replace) => {
                        self.draft.remove_entry(self.base, key, there);
                    }
                    (Some(there), other) => return self.present(row, key, *other, there),
                    (None, _) => {}
                }
                let parent = self.draft.tail(self.base, key);
                self.draft.add(self.base, key, seq, *uid);
                let what = What::Added {
                    parent: Some(parent),
                    uid: *uid,
                    attributes: Some(attributes.clone()),
                };
                let links = Links {
                    parent: Some(parent),
                    ..Links::default()
                };
                self.write(step, links, Some(what));
            }
            Change::Patch { of, attributes } => self.patch(step, *of, attributes)?,
            Change::Cut { after, removes } => {
                if *after != Seq(0) && !self.draft.holds(self.base, key, *after) {
                    let tail = self.draft.tail(self.base, key);
                    return Err(conflict(Some(row), key, "tail", tail));
                }
                if self.draft.tail(self.base, key) == *after {
                    self.leave_out();
                    return Ok(());
                }
                self.draft.cut(self.base, key, *after);
                let what = if *removes {
                    What::Removed(Removal::behind(*after))
                } else {
                    What::Head(*after)
                };
                self.write(step, Links::default(), Some(what));
            }
            Change::Remove(removal) => {
                match removal.target {
                    Target::Cell => self.draft.remove_cell(key),
                    Target::Prefix => self.draft.remove_below(key),
                    Target::Entries => self.draft.remove_entries(self.base, key, removal),
                    Target::Records => {}
                }
                self.write(step, Links::default(), Some(What::Removed(removal.clone())));
            }
            Change::Copy(original) => {
                let needed = match original {
                    Some(at) => self.seqs.get(*at).is_some_and(Option::is_some),
                    None => self.judged.events.iter().any(is_double),
                };
                if !needed {
                    self.leave_out();
                    return Ok(());
                }
                self.write(step, Links::default(), None);
            }
        }
        Ok(())
    }

    fn patch(&mut self, step: &Step, of: Option<Seq>, attributes: &Attributes) -> Result<()> {
        let key = &step.key;
        self.certain(key)?;
        let there = self.draft.version(self.base, key, self.now);
        let Some(version) = there else {
            return Err(Error::NotFound {
                seq: of.unwrap_or_default(),
            });
        };
        if of.is_some_and(|of| of != version.seq) {
            return Err(conflict(Some(step.row), key, "version", version.seq));
        }
        let expires = attributes.expires;
        self.draft.put(key, Version { expires, ..version });
        let what = What::Patched {
            of: version.seq,
            attributes: Some(attributes.clone()),
        };
        let links = Links {
            of: Some(version.seq),
            ..Links::default()
        };
        self.write(step, links, Some(what));
        Ok(())
    }

    /// A row whose name is taken.
    fn present(&mut self, row: usize, key: &[u8], how: IfPresent, there: Seq) -> Result<()> {
        if how == IfPresent::Fail {
            return Err(conflict(Some(row), key, "present", there));
        }
        if let Some(slot) = self.judged.outcomes.get_mut(row) {
            *slot = Outcome::Present(there);
        }
        self.leave_out();
        Ok(())
    }

    fn leave_out(&mut self) {
        self.verdicts.push(Verdict::LeftOut);
        self.seqs.push(None);
    }

    /// Lets a record pass, which gets the next id.
    fn write(&mut self, step: &Step, links: Links, what: Option<What>) {
        let seq = self.next;
        self.next = Seq(seq.0.saturating_add(1));
        self.verdicts.push(Verdict::Written(links));
        self.seqs.push(Some(seq));
        self.judged.last = seq;
        let Some(what) = what else {
            return;
        };
        if let Some(slot) = self.judged.outcomes.get_mut(step.row) {
            *slot = Outcome::Written(seq);
        }
        self.judged.events.push(Event {
            record: seq,
            seq,
            key: step.key.clone(),
            what,
        });
    }

    /// Refuses to judge by what a damaged record may have changed.
    fn certain(&self, key: &[u8]) -> Result<()> {
        let cell = self.base.cells.get(key);
        let known = cell.map(|cell| cell.version).unwrap_or_default();
        match self.base.lost_after(known) {
            None => Ok(()),
            Some(lost) => Err(self.shared.uncertain(lost)),
        }
    }
}

/// Whether a change is written twice.
fn is_double(event: &Event) -> bool {
    matches!(event.what, What::Removed(_) | What::Head(_))
}

fn conflict(row: Option<usize>, key: &[u8], reason: &'static str, current: Seq) -> Error {
    Error::Conflict {
        row,
        key: order::decode(key),
        reason,
        current: (current != Seq(0)).then_some(current),
    }
}
