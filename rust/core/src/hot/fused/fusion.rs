//! From two lists of candidates to one order: the signals that are neither dense nor lexical.
//!
//! ```text
//! said   = dense · w.dense + lexical · w.lexical + date · w.date + when · w.when
//!          + number · w.number + asking · w.asking
//! reply  = said of the entry before, if that one ends with a question
//! base   = said + reply · w.reply + speaker · w.speaker
//! near   = the best base at most REACH entries away in the session
//! score  = base + near · w.near + (the best base in the session) · w.session
//! ```
//!
//! All of it is over the pool: what is not in it counts as not found. So that a turn beside a good one
//! is not missing because it was weak alone, the surroundings of the best by base score join the pool
//! before it is scored. A signal that has nothing to say adds nothing.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::hot::catalog::{Beside, Catalog, Slot};
use crate::hot::filter::Labels;
use crate::hot::fused::signals::{Cue, Scored, Weights};
use crate::hot::fused::traits::TraitBook;

/// Entries to either side whose base score speaks for an entry: two questions and their answers.
const REACH: usize = 4;

/// Entries by base score whose surroundings join the pool.
const GROWING: usize = 32;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// An entry that a search considers.
#[derive(Clone, Copy, Debug)]
pub(in crate::hot) struct Candidate {
    pub(in crate::hot) slot: Slot,
    labels: Labels,
    /// What it says by itself, of the score.
    said: f32,
    pub(in crate::hot) scored: Scored,
}

impl Candidate {
    /// An entry by its slot, its id and its labels, with what is known of it so far.
    pub(in crate::hot) fn new(
        (slot, id, labels): (Slot, u64, Labels),
        dense: f32,
        lexical: f32,
    ) -> Self {
        let scored = Scored {
            id,
            dense,
            lexical,
            ..Scored::default()
        };
        Self {
            slot,
            labels,
            said: 0.0,
            scored,
        }
    }
}

/// What fusion looks up, and the candidates by slot, each once.
#[derive(Debug)]
pub(in crate::hot) struct Fusion<'a> {
    catalog: &'a Catalog,
    traits: &'a TraitBook,
    cue: &'a Cue,
    weights: Weights,
    pool: Vec<Candidate>,
}

impl<'a> Fusion<'a> {
    /// Takes up candidates, each once, in the order of slots.
    pub(in crate::hot) fn new(
        catalog: &'a Catalog,
        traits: &'a TraitBook,
        cue: &'a Cue,
        weights: Weights,
        pool: Vec<Candidate>,
    ) -> Self {
        let mut made = Self {
            catalog,
            traits,
            cue,
            weights,
            pool: Vec::new(),
        };
        made.pool = made.said(pool);
        made.answer();
        made
    }

    /// Takes up further candidates, which are none of the others, in the order of slots.
    pub(in crate::hot) fn join(&mut self, more: Vec<Candidate>) {
        if more.is_empty() {
            return;
        }
        let mut merged = Vec::with_capacity(self.pool.len() + more.len());
        let mut known = std::mem::take(&mut self.pool).into_iter().peekable();
        for one in self.said(more) {
            while let Some(earlier) = known.next_if(|other| other.slot < one.slot) {
                merged.push(earlier);
            }
            merged.push(one);
        }
        merged.extend(known);
        self.pool = merged;
        self.answer();
    }

    /// What stands close to the best and is not among the candidates, ascending.
    pub(in crate::hot) fn surroundings(&self) -> Vec<Slot> {
        if self.weights.near == 0.0 {
            return Vec::new();
        }
        let mut best: Vec<&Candidate> = self.pool.iter().collect();
        if best.len() > GROWING {
            best.select_nth_unstable_by(GROWING, |a, b| order(&a.scored, &b.scored));
            best.truncate(GROWING);
        }
        let (mut slots, mut beside) = (Vec::new(), Beside::new(self.catalog));
        for one in best {
            slots.extend(beside.preceding(one.slot, &one.labels, REACH));
            slots.extend(beside.following(one.slot, &one.labels, REACH));
        }
        slots.sort_unstable();
        slots.dedup();
        slots.retain(|slot| {
            self.pool
                .binary_search_by_key(slot, |one| one.slot)
                .is_err()
        });
        slots
    }

    /// The best `k`, in a total order.
    pub(in crate::hot) fn best(mut self, k: usize) -> Vec<Scored> {
        self.surround();
        let mut best: Vec<Scored> = self.pool.into_iter().map(|one| one.scored).collect();
        if best.len() > k {
            best.select_nth_unstable_by(k, order);
            best.truncate(k);
        }
        best.sort_unstable_by(order);
        best
    }

    /// What each entry says by itself.
    fn said(&self, mut entries: Vec<Candidate>) -> Vec<Candidate> {
        let (cue, weights) = (self.cue, self.weights);
        for one in &mut entries {
            let traits = self.traits.of(one.slot);
            let entry = &mut one.scored;
            entry.date = flag(!cue.days.is_empty() && traits.meets(day(one.labels.at), &cue.days));
            entry.when = flag(cue.when && traits.tells_time);
            entry.number = flag(cue.number && traits.tells_number);
            entry.asking = 0.0 - traits.asking;
            one.said = weights.dense * entry.dense
                + weights.lexical * entry.lexical
                + weights.date * entry.date
                + weights.when * entry.when
                + weights.number * entry.number
                + weights.asking * entry.asking;
        }
        entries
    }

    /// Adds what an entry answers and who says it: the base score.
    fn answer(&mut self) {
        let mut beside = Beside::new(self.catalog);
        let mut rest = self.pool.as_mut_slice();
        while let Some((one, later)) = rest.split_first_mut() {
            if self.traits.of(one.slot).ends_asking
                && let Some(next) = beside.following(one.slot, &one.labels, 1).next()
                && let Some(answer) = find(later, next)
            {
                answer.scored.reply = one.said.max(0.0);
            }
            rest = later;
        }
        for one in &mut self.pool {
            let labels = &one.labels;
            let named = if labels.speaker == 0 {
                self.cue.roles.contains(&labels.role)
            } else {
                self.cue.speakers.contains(&labels.speaker)
            };
            let entry = &mut one.scored;
            entry.speaker = flag(named);
            entry.score =
                one.said + self.weights.reply * entry.reply + self.weights.speaker * entry.speaker;
        }
    }

    /// Adds the best base scores around each entry.
    fn surround(&mut self) {
        let mut near: Vec<f32> = self.pool.iter().map(|one| one.scored.score).collect();
        if self.weights.near != 0.0 {
            self.come_near(&mut near);
        }
        // Neighbours in the pool mostly are of one session: what was looked up last serves again.
        let mut places: HashMap<(u32, u32), usize> = HashMap::new();
        let mut sessions: Vec<f32> = Vec::new();
        let mut last = None;
        let homes: Vec<usize> = self
            .pool
            .iter()
            .map(|one| {
                let key = (one.labels.conversation, one.labels.session);
                let place = match last {
                    Some((same, place)) if same == key => place,
                    _ => *places.entry(key).or_insert(sessions.len()),
                };
                last = Some((key, place));
                match sessions.get_mut(place) {
                    Some(best) => *best = best.max(one.scored.score),
                    None => sessions.push(one.scored.score),
                }
                place
            })
            .collect();
        for ((one, near), home) in self.pool.iter_mut().zip(near).zip(homes) {
            let session = sessions.get(home).copied().unwrap_or_default();
            let entry = &mut one.scored;
            entry.near = near;
            entry.session = session;
            entry.score += self.weights.near * near + self.weights.session * session;
        }
    }

    /// Raises the score of each entry's surroundings to the best at most `REACH` entries away.
    fn come_near(&self, near: &mut [f32]) {
        let mut beside = Beside::new(self.catalog);
        for (place, one) in self.pool.iter().enumerate() {
            let mut ahead = place + 1;
            // Candidates and entries are both in the order of slots: neither goes back.
            for other in beside.following(one.slot, &one.labels, REACH) {
                while self.pool.get(ahead).is_some_and(|later| later.slot < other) {
                    ahead += 1;
                }
                let Some(later) = self.pool.get(ahead) else {
                    break;
                };
                if later.slot == other {
                    raise(near.get_mut(place), later.scored.score);
                    raise(near.get_mut(ahead), one.scored.score);
                }
            }
        }
    }
}

/// Score descending, then id ascending.
fn order(a: &Scored, b: &Scored) -> Ordering {
    let scores = b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal);
    scores.then(a.id.cmp(&b.id))
}

/// A slot's candidate among those that come later.
fn find(later: &mut [Candidate], slot: Slot) -> Option<&mut Candidate> {
    let at = later.binary_search_by_key(&slot, |one| one.slot).ok()?;
    later.get_mut(at)
}

/// The day since 1970 of a time in milliseconds.
fn day(at: i64) -> i32 {
    i32::try_from(at.div_euclid(DAY)).unwrap_or(i32::MAX)
}

fn flag(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}

fn raise(best: Option<&mut f32>, score: f32) {
    if let Some(best) = best {
        *best = best.max(score);
    }
}
