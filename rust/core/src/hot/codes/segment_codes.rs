//! The codes of a segment's rows, all of one model.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::hot::codes::coarse::Coarse;
use crate::hot::codes::error_bound::Slack;
use crate::hot::codes::fine::Fine;
use crate::hot::codes::head::Model;
use crate::simd::codes::{BLOCK, Packing};
use crate::simd::quantise::{Quad, TOGETHER};
use crate::simd::{Lanes, Scanner};

/// The codes of a segment.
#[derive(Debug)]
pub(in crate::hot) struct Codes {
    pub(in crate::hot) model: Model,
    pub(in crate::hot) coarse: Coarse,
    pub(in crate::hot) fine: Option<Fine>,
    /// The squares of the rows that were projected, and what of them was unseen.
    pub(in crate::hot) square: f64,
    pub(in crate::hot) unseen: f64,
    scratch: Scratch,
    /// Whether the next search reads them from the end.
    backwards: AtomicBool,
}

#[derive(Debug, Default)]
struct Scratch {
    projected: Vec<[Quad; TOGETHER]>,
    seen: Vec<Lanes>,
    coarse: Vec<u8>,
    fine: Vec<u8>,
}

impl Codes {
    pub(in crate::hot) fn new(model: Model, dim: usize) -> Self {
        let (packing, values) = match &model {
            Model::Plain | Model::Int8 => (Packing::Eight, dim),
            Model::Int4 => (Packing::Four, dim),
            Model::Projected(basis) => (Packing::Eight, basis.count()),
        };
        let fine = matches!(model, Model::Int4 | Model::Projected(_)).then(|| Fine::new(dim));
        Self {
            model,
            coarse: Coarse::new(packing, values),
            fine,
            square: 0.0,
            unseen: 0.0,
            scratch: Scratch::default(),
            backwards: AtomicBool::new(false),
        }
    }

    /// Bytes that a search reads of every row.
    pub(in crate::hot) fn bytes(&self) -> usize {
        self.coarse.bytes()
    }

    /// Whether to read them from the end: every other search does, and so begins with what the one before
    /// it has left in the cache. Codes that are twice as large as the cache are read in half the time.
    pub(in crate::hot) fn turned(&self) -> bool {
        self.backwards.fetch_xor(true, Ordering::Relaxed)
    }

    pub(in crate::hot) fn reserve(&mut self, rows: usize) {
        if !matches!(self.model, Model::Plain) {
            let rows = rows.next_multiple_of(BLOCK);
            self.coarse.reserve(rows);
            if let Some(fine) = &mut self.fine {
                fine.reserve(rows);
            }
        }
    }

    /// Writes the codes of up to four rows that lie side by side; where there are fewer, others stand for
    /// them.
    pub(in crate::hot) fn put(
        &mut self,
        at: Range<usize>,
        rows: [&[Lanes]; TOGETHER],
        dim: usize,
        slack: &Slack,
        scanner: Scanner,
    ) {
        let (packing, scratch) = (self.coarse.packing(), &mut self.scratch);
        if let Model::Projected(basis) = &self.model {
            basis.project(scanner, rows, &mut scratch.projected);
        }
        for ((at, row), which) in at.zip(rows).zip(0..) {
            let fine = self.fine.as_mut().map(|fine| {
                scratch.fine.resize(size_of_val(row) / 4, 0);
                let fit = scanner.fit(Packing::Eight, dim, row, &mut scratch.fine);
                fine.put(at, &scratch.fine, &fit, slack);
                fit
            });
            let (fit, factors) = if let (Model::Projected(basis), Some(fine)) = (&self.model, fine)
            {
                let quads = scratch
                    .projected
                    .iter()
                    .filter_map(|quads| quads.get(which));
                scratch.seen.clear();
                scratch.seen.extend(quads.flatten());
                scratch.coarse.resize(size_of_val(&scratch.seen[..]) / 4, 0);
                let (seen, codes) = (&scratch.seen, &mut scratch.coarse);
                let fit = scanner.fit(packing, basis.count(), seen, codes);
                self.square += fine.norm * fine.norm;
                self.unseen += (fine.norm * fine.norm - fit.norm * fit.norm).max(0.0);
                (fit, slack.projected_row(&basis.skew, &fit, fine.norm))
            } else {
                scratch.coarse.resize(size_of_val(row) / 4, 0);
                let fit = scanner.fit(packing, dim, row, &mut scratch.coarse);
                (fit, slack.row(&fit))
            };
            self.coarse.put(at, &scratch.coarse, &fit, factors);
        }
    }
}
