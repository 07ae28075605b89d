//! The best k of a stream, in a total order: score descending, then id ascending.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One result. Scores are finite: the edge of the index refuses what could overflow.
#[derive(Clone, Copy, Debug)]
pub(in crate::hot) struct Ranked {
    pub(in crate::hot) score: f32,
    pub(in crate::hot) id: u64,
}

impl Ord for Ranked {
    /// Greater is worse, so that a heap's top is the first to leave.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .partial_cmp(&self.score)
            .unwrap_or(Ordering::Equal)
            .then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// Keeps the best `k` of what is pushed.
#[derive(Debug)]
pub(in crate::hot) struct TopK {
    k: usize,
    heap: BinaryHeap<Ranked>,
    /// The score below which nothing gets in; `-inf` until there are k.
    floor: f32,
}

impl TopK {
    pub(in crate::hot) fn new(k: usize, most: usize) -> Self {
        Self {
            k,
            heap: BinaryHeap::with_capacity(k.min(most) + 1),
            floor: f32::NEG_INFINITY,
        }
    }

    pub(in crate::hot) fn push(&mut self, score: f32, id: u64) {
        // A score that equals the floor may still win by its id.
        if score < self.floor || self.k == 0 {
            return;
        }
        let new = Ranked { score, id };
        if self.heap.len() < self.k {
            self.heap.push(new);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && new < *worst
        {
            *worst = new;
        }
        if self.heap.len() == self.k {
            self.floor = self
                .heap
                .peek()
                .map_or(f32::NEG_INFINITY, |worst| worst.score);
        }
    }

    /// [`TopK::push`] where an id may come again: its best score counts.
    pub(in crate::hot) fn push_best(&mut self, score: f32, id: u64) {
        if score < self.floor {
            return;
        }
        match self.heap.iter().find(|hit| hit.id == id) {
            Some(known) if known.score >= score => {}
            Some(_) => {
                self.heap.retain(|hit| hit.id != id);
                self.push(score, id);
            }
            None => self.push(score, id),
        }
    }

    /// How many are kept at most.
    pub(in crate::hot) fn k(&self) -> usize {
        self.k
    }

    /// The score below which nothing gets in; `-inf` until there are k.
    pub(in crate::hot) fn floor(&self) -> f32 {
        self.floor
    }

    /// In no order.
    pub(in crate::hot) fn into_iter(self) -> impl Iterator<Item = Ranked> {
        self.heap.into_iter()
    }

    /// Best first.
    pub(in crate::hot) fn into_sorted(self) -> Vec<Ranked> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_full_sort(scores in prop::collection::vec(-3_i8..3, 0..60), k in 0_usize..70) {
            let mut top = TopK::new(k, scores.len());
            let mut all: Vec<(f32, u64)> = scores.iter().map(|s| f32::from(*s)).zip(0..).collect();
            // Pushed backwards, so that order of arrival cannot stand in for the order of ids.
            for (score, id) in all.iter().rev() {
                top.push(*score, *id);
            }
            all.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
            all.truncate(k);
            let got: Vec<(f32, u64)> = top.into_sorted().iter().map(|r| (r.score, r.id)).collect();
            prop_assert_eq!(got, all);
        }
    }
}
