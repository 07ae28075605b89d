//! Which rows may still be among the best k, from bounds of their scores alone.

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
    kept: Vec<(f32, usize)>,
    room: usize,
    pub(super) steps: Steps,
}

impl Sieve {
    pub(super) fn new(k: usize, rows: usize) -> Self {
        Self {
            lowest: TopK::new(k, rows),
            kept: Vec::new(),
            room: MANY,
            steps: Steps::default(),
        }
    }

    pub(super) fn offer(&mut self, row: usize, (lower, upper): (f32, f32)) {
        self.raise(row, lower);
        self.kept.push((upper, row));
        if self.kept.len() >= self.room {
            self.shed();
            self.room = MANY.max(2 * self.kept.len());
        }
    }

    /// Takes note that a row scores at least so much.
    pub(super) fn raise(&mut self, row: usize, lower: f32) {
        self.lowest
            .push(lower, u64::try_from(row).unwrap_or(u64::MAX));
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
        self.shed();
        self.steps.kept = self.kept.len();
        if self.kept.len() <= MANY {
            self.kept
                .sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        (self.kept, self.steps)
    }
}
