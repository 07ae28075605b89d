//! One query on its way through the rows: its codes, what it has found, what still waits.

use crate::hot::scan::explain::Steps;
use crate::hot::scan::probe::Probe;
use crate::hot::scan::topk::TopK;
use crate::simd::Scanner;

/// So many rows may wait to be settled before those that no longer can matter are looked for.
const MANY: usize = 1_024;

/// So many rows wait at the end of most searches, or fewer.
const FEW: usize = 64;

/// One query on its way through the rows.
#[derive(Debug)]
pub(in crate::hot) struct SearchState {
    pub(in crate::hot) probe: Probe,
    pub(in crate::hot) top: TopK,
    pub(in crate::hot) steps: Steps,
    /// The best lower bounds.
    pub(in crate::hot) lowest: TopK,
    /// Rows that wait to be settled, each with its upper bound.
    pub(in crate::hot) kept: Vec<(f32, usize)>,
    room: usize,
    /// What no row that was left out can exceed.
    pub(in crate::hot) bound: f32,
}

impl SearchState {
    pub(in crate::hot) fn new(scanner: Scanner, query: &[f32], k: usize, most: usize) -> Self {
        Self {
            probe: Probe::new(scanner, query),
            top: TopK::new(k, most),
            steps: Steps::default(),
            lowest: TopK::new(k, most),
            kept: Vec::with_capacity(FEW),
            room: MANY,
            bound: f32::NEG_INFINITY,
        }
    }

    /// What a row must be able to reach.
    pub(in crate::hot) fn floor(&self) -> f32 {
        self.lowest.floor()
    }

    /// Lets a row wait, if it may still matter.
    pub(in crate::hot) fn keep(&mut self, upper: f32, row: usize) {
        if upper < self.floor() {
            return;
        }
        self.kept.push((upper, row));
        if self.kept.len() > self.room {
            let floor = self.floor();
            self.kept.retain(|(upper, _)| *upper >= floor);
            self.room = MANY.max(2 * self.kept.len());
        }
    }
}
