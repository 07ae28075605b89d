//! Items in the order of their times.

/// So many at once are put in one by one; more are sorted with the rest.
const ONE_BY_ONE: usize = 32;

/// Times, in microseconds since 1970 UTC, with ids; ascending.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<(i64, u64)>);

impl Times {
    pub(super) fn insert(&mut self, fresh: Vec<(i64, u64)>) {
        if fresh.len() > ONE_BY_ONE {
            self.0.extend(fresh);
            self.0.sort_unstable();
            return;
        }
        for one in fresh {
            let at = self.0.partition_point(|other| *other < one);
            self.0.insert(at, one);
        }
    }

    pub(super) fn remove(&mut self, mut gone: Vec<(i64, u64)>) {
        if gone.len() > ONE_BY_ONE {
            gone.sort_unstable();
            self.0.retain(|one| gone.binary_search(one).is_err());
            return;
        }
        for one in gone {
            if let Ok(at) = self.0.binary_search(&one) {
                self.0.remove(at);
            }
        }
    }

    /// Those of a span, ascending; each end in milliseconds since 1970 UTC, the second one not within.
    pub(super) fn span(&self, since: Option<i64>, before: Option<i64>) -> &[(i64, u64)] {
        let micros = |at: i64| i128::from(at) * 1_000;
        let below = |end: i128| self.0.partition_point(|one| i128::from(one.0) < end);
        let first = since.map_or(0, |at| below(micros(at)));
        let last = before.map_or(self.0.len(), |at| below(micros(at)));
        self.0.get(first..last).unwrap_or_default()
    }
}
