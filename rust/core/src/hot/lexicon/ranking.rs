//! The best documents for weighted terms, without scoring all that have one of them.
//!
//! ```text
//! terms in order of weight, the heaviest (the rarest) first; a score is summed in that order
//! rest(i) = what a document of one word could get from terms i, i + 1 … if it had each as often as any
//!           document has: nobody gets more
//!
//! for each window of documents, small ones first:
//!     e = the first term whose rest is below the k-th best score so far
//!     terms before e: walk their postings, add to an accumulator for each document
//!     each document met: add the terms from e on, one after the other, and leave it as soon as
//!                        what it has and what is left are below the k-th best
//! ```
//!
//! This is `MaxScore` (Turtle and Flood, 1995) by windows. The order of the terms is the same for every
//! document, and the light ones come last, so a score that is finished is the sum that the plain
//! formula gives in this order, bit for bit; one that is not could not have been among the best.

use super::bm25::Norm;
use super::postings::{self, Marks, Posting, doc, times};
use super::saved::Saved;
use super::{Slot, position};
use crate::error::Result;
use crate::hot::scan::topk::Ranked;

/// Documents in one window: as many accumulators as a fast cache holds.
const WINDOW: u32 = 4096;

/// Documents in the first window; each is twice the one before, since a floor is worth having early.
const FIRST_WINDOW: u32 = 512;

/// More than sums of weights can be off by.
const SLACK: f64 = 1e-9;

/// Less than the next smaller f32 is off by.
const ROUNDING: f64 = 1e-6;

/// What the query asks for.
pub(super) struct Asked {
    /// `idf · (k1 + 1)` of the terms that some document has, descending.
    pub(super) weights: Vec<f64>,
    /// What a document could reach at most.
    pub(super) most: f64,
    /// How often a document has each of these terms at most.
    pub(super) peaks: Vec<u16>,
    /// How length counts.
    pub(super) norm: Norm,
}

/// Documents that are numbered together, with the postings of the asked terms among them.
pub(super) struct Side<'a> {
    pub(super) source: Source<'a>,
    pub(super) dead: &'a Marks,
    pub(super) first: u32,
    pub(super) end: u32,
    /// One for each weight.
    pub(super) lists: Vec<&'a [Posting]>,
}

/// Where slots and lengths are.
pub(super) enum Source<'a> {
    /// In saved bytes.
    Saved(&'a Saved),
    /// In memory.
    Added {
        slots: &'a [[u8; 4]],
        lengths: &'a [[u8; 4]],
    },
}

impl<'a> Source<'a> {
    fn lengths(&self, from: u32, to: u32) -> Result<&'a [[u8; 4]]> {
        match self {
            Self::Saved(saved) => saved.lengths(from, to),
            Self::Added { lengths, .. } => {
                let span = position(from)..position(to);
                Ok(lengths.get(span).unwrap_or_default())
            }
        }
    }

    fn slot(&self, doc: u32) -> Result<Option<Slot>> {
        match self {
            Self::Saved(saved) => saved.slot(doc).map(Some),
            Self::Added { slots, .. } => {
                let slot = slots.get(position(doc)).copied();
                Ok(slot.map(u32::from_le_bytes))
            }
        }
    }
}

/// The best `width` documents, in no order; `admit` says by which number ties go, or that a slot is not wanted.
pub(super) fn best(
    asked: &Asked,
    sides: Vec<Side<'_>>,
    width: usize,
    admit: impl FnMut(Slot) -> Option<u64>,
) -> Result<Vec<Ranked>> {
    let documents = sides.iter().map(|side| side.end.saturating_sub(side.first));
    let room = documents.max().unwrap_or(0).min(WINDOW);
    let mut rest: Vec<f64> = Vec::with_capacity(asked.weights.len() + 1);
    rest.push(0.0);
    for (weight, peak) in asked.weights.iter().zip(&asked.peaks).rev() {
        let most = asked.norm.part(*weight, *peak, 1);
        rest.push(rest.last().copied().unwrap_or(0.0) + most);
    }
    rest.reverse();
    let mut ranking = Ranking {
        asked,
        rest,
        best: Best::new(width),
        floor: f64::NEG_INFINITY,
        admit,
        window: FIRST_WINDOW,
        sums: vec![0.0; position(room)],
        met: vec![0; position(room.div_ceil(64))],
    };
    for side in sides {
        ranking.side(side)?;
    }
    Ok(ranking.best.into_kept())
}

struct Ranking<'a, F> {
    asked: &'a Asked,
    rest: Vec<f64>,
    best: Best,
    /// A sum below this is not among the best.
    floor: f64,
    admit: F,
    /// Documents in the next window.
    window: u32,
    /// Of the window's documents.
    sums: Vec<f64>,
    /// Which of them have a sum, one bit each.
    met: Vec<u64>,
}

impl<F: FnMut(Slot) -> Option<u64>> Ranking<'_, F> {
    fn side(&mut self, mut side: Side<'_>) -> Result<()> {
        loop {
            let heavy = self.rest.iter().take_while(|rest| self.reaches(**rest));
            let heavy = heavy.count().min(side.lists.len());
            let next = side
                .lists
                .iter()
                .take(heavy)
                .filter_map(|list| list.first());
            let next = next.map(|posting| doc(*posting)).min();
            let Some(start) = next.filter(|start| *start < side.end) else {
                return Ok(());
            };
            let end = side.end.min(start.saturating_add(self.window));
            self.window = WINDOW.min(self.window * 2);
            let lengths = side.source.lengths(start, end)?;
            let (sums, met) = (self.sums.as_mut_slice(), self.met.as_mut_slice());
            let norm = self.asked.norm;
            for (list, weight) in side.lists.iter_mut().zip(&self.asked.weights).take(heavy) {
                let split = list.split_at_checked(postings::before(list, end));
                let (now, later) = split.unwrap_or((list, &[]));
                *list = later;
                for posting in now {
                    let at = position(doc(*posting).wrapping_sub(start));
                    if let Some(sum) = sums.get_mut(at)
                        && let Some(word) = met.get_mut(at / 64)
                    {
                        let length = lengths.get(at).copied().map_or(0, u32::from_le_bytes);
                        *sum += norm.part(*weight, times(*posting), length);
                        *word |= 1 << (at % 64);
                    }
                }
            }
            self.finish(&mut side, heavy, start, lengths)?;
        }
    }

    /// Completes the sums of the documents that were met, and offers them.
    fn finish(
        &mut self,
        side: &mut Side<'_>,
        heavy: usize,
        start: u32,
        lengths: &[[u8; 4]],
    ) -> Result<()> {
        for at_word in 0..self.met.len() {
            let mut bits = self.met.get_mut(at_word).map_or(0, std::mem::take);
            while bits != 0 {
                let at = at_word * 64 + position(bits.trailing_zeros());
                bits &= bits - 1;
                let sum = self.sums.get_mut(at).map_or(0.0, std::mem::take);
                let length = lengths.get(at).copied().map_or(0, u32::from_le_bytes);
                let doc = start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
                if let Some(sum) = self.complete(side, heavy, doc, length, sum) {
                    self.offer(side, doc, sum)?;
                }
            }
        }
        Ok(())
    }

    /// A document's score with its light terms, unless it is not among the best.
    fn complete(
        &self,
        side: &mut Side<'_>,
        heavy: usize,
        document: u32,
        length: u32,
        mut sum: f64,
    ) -> Option<f64> {
        let light = side
            .lists
            .iter_mut()
            .zip(&self.asked.weights)
            .zip(&self.rest);
        for ((list, weight), rest) in light.skip(heavy) {
            if !self.reaches(sum + rest) {
                return None;
            }
            *list = postings::from(list, document);
            if let Some(posting) = list.first()
                && doc(*posting) == document
            {
                sum += self.asked.norm.part(*weight, times(*posting), length);
            }
        }
        self.reaches(sum).then_some(sum)
    }

    fn offer(&mut self, side: &Side<'_>, doc: u32, sum: f64) -> Result<()> {
        if side.dead.has(doc) {
            return Ok(());
        }
        let slot = side.source.slot(doc)?;
        if let Some(tie) = slot.and_then(|slot| (self.admit)(slot)) {
            let score = narrow(sum / self.asked.most);
            if let Some(floor) = self.best.push(Ranked { score, id: tie }) {
                self.floor = f64::from(floor) * self.asked.most * (1.0 - ROUNDING);
            }
        }
        Ok(())
    }

    /// Whether a sum, or a bound of it, may be among the best.
    fn reaches(&self, sum: f64) -> bool {
        sum * (1.0 + SLACK) >= self.floor
    }
}

/// Keeps the best `k` of what is pushed, and somewhat more, so that a push rarely costs anything.
struct Best {
    k: usize,
    kept: Vec<Ranked>,
}

impl Best {
    fn new(k: usize) -> Self {
        let kept = Vec::new();
        Self { k, kept }
    }

    /// Gives back the k-th best score when it was found anew.
    fn push(&mut self, new: Ranked) -> Option<f32> {
        self.kept.push(new);
        if self.kept.len() < self.k.saturating_mul(2).max(32) {
            return None;
        }
        let (_, last, _) = self.kept.select_nth_unstable(self.k - 1);
        let floor = last.score;
        self.kept.truncate(self.k);
        Some(floor)
    }

    /// The best `k`, in no order.
    fn into_kept(mut self) -> Vec<Ranked> {
        if self.kept.len() > self.k {
            self.kept.select_nth_unstable(self.k);
            self.kept.truncate(self.k);
        }
        self.kept
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the one rounding of a score to f32"
)]
fn narrow(score: f64) -> f32 {
    score as f32
}
