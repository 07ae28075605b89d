//! Which rows may still be among the best k, from bounds of their scores alone.

use super::catalog::Slot;
use super::topk::TopK;

/// More kept rows than this are settled in their order: to sort them would cost more than it saves.
const MANY: usize = 8_192;

/// How many rows were scored, by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Rows whose codes were scored.
    pub screened: usize,
    /// Rows whose upper bound reached the final floor of the screening.
    pub kept: usize,
    /// Rows whose canonical sum was computed.
    pub exact: usize,
}

/// What the screening of one query has found so far.
pub(super) struct Sieve {
    lowest: TopK,
    /// The slot whose rows are coming in, and its best lower bound so far.
    last: Option<(Slot, f32)>,
    kept: Vec<(f32, usize)>,
    room: usize,
    pub(super) steps: Steps,
}

impl Sieve {
    pub(super) fn new(k: usize, rows: usize) -> Self {
        Self {
            lowest: TopK::new(k, rows),
            last: None,
            kept: Vec::new(),
            room: MANY,
            steps: Steps::default(),
        }
    }

    /// Takes a row into account; the rows of a slot come one after the other.
    pub(super) fn offer(&mut self, row: usize, slot: Slot, (lower, upper): (f32, f32)) {
        self.raise(slot, lower);
        self.kept.push((upper, row));
        if self.kept.len() >= self.room {
            self.shed();
            self.room = MANY.max(2 * self.kept.len());
        }
    }

    /// Takes note that a slot scores at least so much. Only one row of a slot counts for the floor.
    pub(super) fn raise(&mut self, slot: Slot, lower: f32) {
        self.last = match self.last {
            Some((last, best)) if last == slot => Some((slot, best.max(lower))),
            last => {
                if let Some((slot, best)) = last {
                    self.lowest.push(best, u64::from(slot));
                }
                Some((slot, lower))
            }
        };
    }

    /// What a row's upper bound must reach; nothing does for a query that is not there.
    pub(super) fn floor(&self) -> f32 {
        if self.lowest.k() == 0 {
            f32::INFINITY
        } else {
            self.lowest.floor()
        }
    }

    /// Forgets rows that the floor has risen above.
    fn shed(&mut self) {
        let floor = self.lowest.floor();
        self.kept.retain(|(upper, _)| *upper >= floor);
    }

    /// What is left, the best upper bound first if that is worth it.
    pub(super) fn finish(mut self) -> (Vec<(f32, usize)>, Steps) {
        self.raise(Slot::MAX, f32::NEG_INFINITY);
        self.shed();
        self.steps.kept = self.kept.len();
        if self.kept.len() <= MANY {
            self.kept
                .sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        (self.kept, self.steps)
    }
}

/// The best slots, from sums of their rows.
pub(super) struct Best<'a, I> {
    pub(super) top: &'a mut TopK,
    pub(super) id: I,
    /// Sums that wait for others of the same slot, where a slot may have several rows.
    pub(super) waiting: Option<Vec<(Slot, f32)>>,
}

impl<I: Fn(Slot) -> Option<u64>> Best<'_, I> {
    pub(super) fn see(&mut self, slot: Slot, score: f32) {
        match &mut self.waiting {
            Some(waiting) => waiting.push((slot, score)),
            None => self.push(slot, score),
        }
    }

    /// The score below which nothing matters any more.
    pub(super) fn floor(&self) -> f32 {
        self.top.floor()
    }

    /// Brings what waits into the ranking, the best of each slot.
    pub(super) fn finish(mut self) {
        let mut waiting = self.waiting.take().unwrap_or_default();
        waiting.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        waiting.dedup_by_key(|(slot, _)| *slot);
        for (slot, score) in waiting {
            self.push(slot, score);
        }
    }

    fn push(&mut self, slot: Slot, score: f32) {
        if let Some(id) = (self.id)(slot) {
            self.top.push(score, id);
        }
    }
}
