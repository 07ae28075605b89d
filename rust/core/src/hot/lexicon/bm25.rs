//! The formula.

/// The two constants of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How soon repeats of a term stop counting.
    pub k1: f64,
    /// How much length is held against a turn, 0 to 1.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6 }
    }
}

impl Bm25 {
    /// What a term can add to a score at most: `idf · (k1 + 1)`, of documents and those that have it.
    pub(super) fn weight(self, documents: f64, holders: u32) -> f64 {
        let holders = f64::from(holders);
        let idf = (1.0 + ((documents - holders).max(0.0) + 0.5) / (holders + 0.5)).ln();
        idf * (self.k1 + 1.0)
    }

    /// How length counts among documents with a sum of lengths.
    pub(super) fn norm(self, documents: f64, length: f64) -> Norm {
        let average = (length / documents.max(1.0)).max(1.0);
        Norm {
            base: self.k1 * (1.0 - self.b),
            slope: self.k1 * self.b / average,
        }
    }
}

/// `k1 · (1 − b + b · length / average)`, as a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Norm {
    base: f64,
    slope: f64,
}

impl Norm {
    /// What one term adds to the score of a document that has it so often and is so long.
    #[inline]
    pub(super) fn part(self, weight: f64, times: u16, length: u32) -> f64 {
        let times = f64::from(times);
        weight * times / (times + (self.base + self.slope * f64::from(length)))
    }
}
