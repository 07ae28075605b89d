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
//! All of it is over the pool: what is not in it counts as not found. A signal that has nothing to
//! say adds nothing.

use std::collections::{BTreeMap, HashMap};

use super::catalog::{Catalog, Slot};
use super::filter::Labels;
use super::signals::{Cue, Scored, Weights};
use super::topk::TopK;
use super::traits::TraitBook;

/// Entries to either side whose base score speaks for an entry: two questions and their answers.
const REACH: usize = 4;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The entries that a search considers, by slot.
pub(super) type Pool = BTreeMap<Slot, Scored>;

/// What fusion looks up.
#[derive(Debug)]
pub(super) struct Fusion<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) traits: &'a TraitBook,
    pub(super) cue: &'a Cue,
    pub(super) weights: Weights,
}

impl Fusion<'_> {
    /// The best `k` of a pool whose dense and lexical scores are known, in a total order.
    pub(super) fn best(&self, mut pool: Pool, k: usize) -> Vec<Scored> {
        self.say(&mut pool);
        let before = self.before(&pool);
        self.answer(&mut pool, &before);
        self.surround(&mut pool);
        let mut top = TopK::new(k, pool.len());
        let mut by_id: HashMap<u64, Scored> = HashMap::with_capacity(pool.len());
        for entry in pool.into_values() {
            top.push(entry.score, entry.id);
            by_id.insert(entry.id, entry);
        }
        top.into_sorted()
            .into_iter()
            .filter_map(|hit| by_id.get(&hit.id).copied())
            .collect()
    }

    /// What each entry says by itself.
    fn say(&self, pool: &mut Pool) {
        let (cue, weights) = (self.cue, self.weights);
        for (slot, entry) in pool {
            let traits = self.traits.of(*slot);
            entry.date = flag(traits.meets(day(self.labels(*slot).at), &cue.days));
            entry.when = flag(cue.when && traits.tells_time);
            entry.number = flag(cue.number && traits.tells_number);
            entry.asking = if traits.asking > 0.0 {
                -traits.asking
            } else {
                0.0
            };
            entry.score = weights.dense * entry.dense
                + weights.lexical * entry.lexical
                + weights.date * entry.date
                + weights.when * entry.when
                + weights.number * entry.number
                + weights.asking * entry.asking;
        }
    }

    /// The score of the question that each entry answers, where it is in the pool.
    fn before(&self, pool: &Pool) -> HashMap<Slot, f32> {
        if self.weights.reply == 0.0 {
            return HashMap::new();
        }
        pool.iter()
            .filter(|(slot, _)| self.traits.of(**slot).ends_asking)
            .filter_map(|(slot, entry)| {
                let next = self.catalog.following(*slot, 1).next()?;
                Some((next, entry.score.max(0.0)))
            })
            .collect()
    }

    /// Adds what an entry answers and who says it: the base score.
    fn answer(&self, pool: &mut Pool, before: &HashMap<Slot, f32>) {
        for (slot, entry) in pool {
            let labels = self.labels(*slot);
            let named = if labels.speaker == 0 {
                self.cue.roles.contains(&labels.role)
            } else {
                self.cue.speakers.contains(&labels.speaker)
            };
            entry.speaker = flag(named);
            entry.reply = before.get(slot).copied().unwrap_or(0.0);
            entry.score += self.weights.reply * entry.reply + self.weights.speaker * entry.speaker;
        }
    }

    /// Adds the best base scores around each entry.
    fn surround(&self, pool: &mut Pool) {
        let mut sessions: HashMap<(u32, u32), f32> = HashMap::new();
        let mut near: HashMap<Slot, f32> = HashMap::with_capacity(pool.len());
        for (slot, entry) in &*pool {
            raise(&mut sessions, self.session(*slot), entry.score);
            raise(&mut near, *slot, entry.score);
            if self.weights.near != 0.0 {
                for other in self.catalog.following(*slot, REACH) {
                    if let Some(later) = pool.get(&other) {
                        raise(&mut near, *slot, later.score);
                        raise(&mut near, other, entry.score);
                    }
                }
            }
        }
        for (slot, entry) in pool {
            entry.near = near.get(slot).copied().unwrap_or(0.0);
            let session = self.session(*slot);
            entry.session = sessions.get(&session).copied().unwrap_or(0.0);
            entry.score += self.weights.near * entry.near + self.weights.session * entry.session;
        }
    }

    fn labels(&self, slot: Slot) -> Labels {
        self.catalog.labels_of(slot).copied().unwrap_or_default()
    }

    fn session(&self, slot: Slot) -> (u32, u32) {
        let labels = self.labels(slot);
        (labels.conversation, labels.session)
    }
}

/// The day since 1970 of a time in milliseconds.
fn day(at: i64) -> i32 {
    i32::try_from(at.div_euclid(DAY)).unwrap_or(i32::MAX)
}

fn flag(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}

/// Keeps the higher of two scores.
fn raise<K: std::hash::Hash + Eq>(best: &mut HashMap<K, f32>, key: K, score: f32) {
    best.entry(key)
        .and_modify(|known| *known = known.max(score))
        .or_insert(score);
}
