//! One judgement: the rows of a batch, one after the other, on what is written by then.

mod removing;

use std::collections::HashMap;

use crate::cold::removal::Removal;
use crate::cold::{Born, Links, Verdict};
use crate::entry::Seq;
use crate::error::{Error, Result};

use crate::log::attributes::Attributes;
use crate::log::batch::{IfPresent, Outcome};
use crate::log::directory::Directory;
use crate::log::draft::{Draft, Version};
use crate::log::event::{Event, What};
use crate::log::judge::{Expected, Judged};
use crate::log::once::{Once, decode, encode};
use crate::log::order;
use crate::log::records::{Change, Step};
use crate::log::shared::Shared;

/// One judgement under way.
pub(in crate::log) struct Bench<'a> {
    base: &'a Directory,
    shared: &'a Shared,
    draft: &'a mut Draft,
    now: i64,
    next: Seq,
    verdicts: Vec<Verdict>,
    judged: Judged,
    /// The id of each step's record, if it is written.
    seqs: Vec<Option<Seq>>,
    /// By step: what its record holds, if that was not known before.
    payloads: HashMap<usize, Vec<u8>>,
}

impl<'a> Bench<'a> {
    /// A judgement of a batch of so many rows, whose first record gets the id `next`.
    pub(in crate::log) fn new(
        base: &'a Directory,
        shared: &'a Shared,
        draft: &'a mut Draft,
        now: i64,
        next: Seq,
        rows: usize,
    ) -> Self {
        Self {
            base,
            shared,
            draft,
            now,
            next,
            verdicts: Vec::new(),
            judged: Judged {
                outcomes: vec![Outcome::Nothing; rows],
                ..Judged::default()
            },
            seqs: Vec::new(),
            payloads: HashMap::new(),
        }
    }

    /// What becomes of each record, and what that comes to.
    pub(in crate::log) fn done(self) -> (Vec<Verdict>, Judged) {
        (self.verdicts, self.judged)
    }

    /// Leaves everything out if the batch was written before, and gives the answer of that time.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another batch of that name was written; as reading the store.
    pub(in crate::log) fn repeated(&mut self, once: &Once, steps: usize) -> Result<bool> {
        let key = order::encode(&once.key);
        self.certain(&key)?;
        let Some(there) = self.draft.version(self.base, &key, self.now) else {
            return Ok(false);
        };
        let (same, answers) = if let Some((columns, answers)) = self.draft.answered(&key) {
            (once.is_of(columns), answers.clone())
        } else {
            let columns = self.base.cells.get(&key).map(|cell| &cell.columns);
            let record = self.shared.store.get(there.seq)?;
            let answers = record.links.map(|links| links.answers);
            (
                columns.is_some_and(|one| once.is_of(one)),
                answers.unwrap_or_default(),
            )
        };
        if !same {
            return Err(conflict(None, &key, "once", there.seq));
        }
        self.judged.outcomes = decode(&answers);
        self.verdicts = vec![Verdict::LeftOut; steps];
        Ok(true)
    }

    pub(in crate::log) fn expect(&mut self, what: Expected, key: &[u8], seq: Seq) -> Result<()> {
        let found = match what {
            Expected::Version => {
                self.certain(key)?;
                let there = self.draft.version(self.base, key, self.now);
                there.map(|there| there.seq).unwrap_or_default()
            }
            Expected::Tail => {
                let tail = self.draft.tail(self.base, key);
                self.nothing_lost(tail)?;
                tail
            }
            Expected::Entry => {
                self.nothing_lost(seq)?;
                let holds = self.draft.holds(self.base, key, seq);
                if holds { seq } else { Seq(0) }
            }
            Expected::Nothing => {
                self.nothing_lost(Seq(0))?;
                self.draft
                    .first_below(self.base, key, self.now)
                    .unwrap_or_default()
            }
        };
        if found == seq {
            return Ok(());
        }
        let reason = match what {
            Expected::Version => "version",
            Expected::Tail => "tail",
            Expected::Entry => "entry",
            Expected::Nothing => "present",
        };
        Err(conflict(None, key, reason, found))
    }

    pub(in crate::log) fn step(&mut self, step: &Step) -> Result<()> {
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
                return self.add(step, *uid, *if_present, attributes);
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
                if *removes {
                    let removal = Removal::behind(*after);
                    let cut = self.draft.within(self.base, key, &removal.seqs);
                    self.draft.cut(self.base, key, *after);
                    let cut = self.records_of(key, &cut);
                    self.removed(step, removal, &cut);
                } else {
                    self.draft.cut(self.base, key, *after);
                    self.write(step, Links::default(), Some(What::Head(*after)));
                }
            }
            Change::Remove(removal) => self.remove(step, removal)?,
            Change::Expire(target) => self.expire(step, *target)?,
            Change::Once(attributes) => self.remember(step, attributes),
            Change::Copy(original) => {
                let needed = match original {
                    Some(at) => self.seqs.get(*at).is_some_and(Option::is_some),
                    None => self.judged.events.iter().any(is_double),
                };
                if !needed {
                    self.leave_out();
                    return Ok(());
                }
                let payload = original.and_then(|at| self.payloads.get(&at)).cloned();
                self.write(step, Links::default(), None);
                if let Some(payload) = payload {
                    self.say(payload);
                }
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        step: &Step,
        uid: Option<u128>,
        if_present: IfPresent,
        attributes: &Attributes,
    ) -> Result<()> {
        let (key, row, seq) = (&step.key, step.row, self.next);
        if uid.is_some() && if_present != IfPresent::Replace {
            self.nothing_lost(Seq(0))?;
        }
        let there = uid.and_then(|uid| self.draft.named(self.base, key, uid));
        if let Some(there) = there.filter(|_| if_present != IfPresent::Replace) {
            return self.present(row, key, if_present, there);
        }
        if let Some(there) = there {
            self.draft.replace(self.base, key, there, seq);
        }
        let parent = self.draft.tail(self.base, key);
        self.draft.add(self.base, key, seq, uid);
        let what = What::Added {
            parent: Some(parent),
            replaces: there,
            uid,
            attributes: Some(attributes.clone()),
        };
        let links = Links {
            parent: Some(parent),
            of: Some(there.unwrap_or_default()),
            ..Links::default()
        };
        self.write(step, links, Some(what));
        Ok(())
    }

    fn remember(&mut self, step: &Step, attributes: &Attributes) {
        let (key, seq) = (&step.key, self.next);
        let born = Born {
            seq,
            at: u64::try_from(attributes.at).unwrap_or(0),
        };
        let answers = encode(&self.judged.outcomes);
        let expires = attributes.expires;
        self.draft.put(key, Version { seq, born, expires });
        let columns = attributes.columns.clone();
        self.draft.answer(key, columns, answers.clone());
        let what = What::Put {
            born: Some(born),
            attributes: Some(attributes.clone()),
        };
        let links = Links {
            born: Some(born),
            answers,
            ..Links::default()
        };
        self.write(step, links, Some(what));
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
        self.draft.make(seq, &step.key, &step.sources);
        self.judged.events.push(Event {
            record: seq,
            seq,
            key: step.key.clone(),
            sources: step.sources.clone(),
            len: step.len,
            what,
        });
    }

    /// Refuses to judge by what a damaged record may have changed.
    fn certain(&self, key: &[u8]) -> Result<()> {
        self.nothing_lost(self.base.settled(key))
    }

    /// Refuses to judge if a damaged record came after an id.
    fn nothing_lost(&self, after: Seq) -> Result<()> {
        match self.base.doubts.after(after) {
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
