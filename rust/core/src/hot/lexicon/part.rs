//! What was added to one conversation since the lexicon was saved, and what left it.
//!
//! A document is appended to the lists of its terms. One that leaves is marked, and taken off the
//! counts of its terms; when more are marked than alive, all lists are written anew without them, so
//! adding and removing cost a constant time a term, however long a list is.

use std::collections::HashMap;

use super::postings::{List, Marks, Posting, doc, posting, times};
use super::{Slot, position};

/// Fewer marked documents than this are never worth a rewrite.
const FEW: u32 = 64;

/// One conversation's share of what is not saved.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Document ─▶ slot, ascending.
    pub(super) slots: Vec<[u8; 4]>,
    /// Document ─▶ its number of terms.
    pub(super) lengths: Vec<[u8; 4]>,
    /// Document ─▶ where its terms end in `forward`.
    ends: Vec<usize>,
    forward: Vec<u32>,
    pub(super) lists: HashMap<u32, List>,
    pub(super) dead: Marks,
    marked: u32,
    /// Term ─▶ how many marked documents its list has.
    pub(super) gone: HashMap<u32, u32>,
    /// Living documents, and their terms.
    pub(super) living: u32,
    pub(super) length: u64,
    /// What left the saved documents of the conversation: how many, their terms, and by term.
    pub(super) lost: u32,
    pub(super) lost_length: u64,
    pub(super) lost_terms: HashMap<u32, u32>,
}

impl Part {
    /// Adds a document whose terms have these numbers; slots come in ascending order.
    pub(super) fn add(&mut self, slot: Slot, numbers: &mut [u32]) {
        debug_assert!(
            self.slots
                .last()
                .is_none_or(|last| u32::from_le_bytes(*last) < slot),
            "slots come in ascending order"
        );
        numbers.sort_unstable();
        let new = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        for run in numbers.chunk_by(|a, b| a == b) {
            let Some(number) = run.first() else { continue };
            self.forward.push(*number);
            self.list(*number, posting(new, whole(run.len())));
        }
        self.ends.push(self.forward.len());
        self.slots.push(slot.to_le_bytes());
        self.lengths.push(whole(numbers.len()).to_le_bytes());
        self.living += 1;
        self.length += u64::from(whole(numbers.len()));
    }

    fn list(&mut self, number: u32, new: Posting) {
        self.lists
            .entry(number)
            .and_modify(|list| list.push(new))
            .or_insert(List::One(new));
    }

    /// The document of a slot, if it was added here and lives.
    pub(super) fn find(&self, slot: Slot) -> Option<u32> {
        let at = self
            .slots
            .binary_search_by_key(&slot, |known| u32::from_le_bytes(*known))
            .ok()?;
        u32::try_from(at).ok().filter(|doc| !self.dead.has(*doc))
    }

    /// Takes a document out that lives.
    pub(super) fn remove(&mut self, doc: u32) {
        for number in self.forward.get(self.span(doc)).unwrap_or_default() {
            *self.gone.entry(*number).or_default() += 1;
        }
        self.dead.set(doc);
        self.marked += 1;
        self.living -= 1;
        self.length -= u64::from(self.length_of(doc));
        if self.living == 0 || self.marked > FEW.max(self.living) {
            self.rewrite();
        }
    }

    /// Whether nothing was added that lives, and nothing saved left.
    pub(super) fn is_empty(&self) -> bool {
        self.living == 0 && self.lost == 0
    }

    /// Notes that a saved document left, with its terms.
    pub(super) fn lose(&mut self, length: u32, numbers: Vec<u32>) {
        self.lost += 1;
        self.lost_length += u64::from(length);
        for number in numbers {
            *self.lost_terms.entry(number).or_default() += 1;
        }
    }

    /// The numbers of a document's terms.
    pub(super) fn terms_of(&self, doc: u32) -> &[u32] {
        self.forward.get(self.span(doc)).unwrap_or_default()
    }

    pub(super) fn length_of(&self, doc: u32) -> u32 {
        let length = self.lengths.get(position(doc)).copied();
        length.map_or(0, u32::from_le_bytes)
    }

    fn span(&self, doc: u32) -> std::ops::Range<usize> {
        let end = |at: Option<usize>| at.and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        let at = position(doc);
        end(at.checked_sub(1))..end(Some(at))
    }

    /// The living documents alone, numbered anew.
    fn rewrite(&mut self) {
        let mut new = Self {
            lost: self.lost,
            lost_length: self.lost_length,
            lost_terms: std::mem::take(&mut self.lost_terms),
            living: self.living,
            length: self.length,
            ..Self::default()
        };
        let mut renumbered = vec![u32::MAX; self.slots.len()];
        for ((old, slot), length) in (0..).zip(&self.slots).zip(&self.lengths) {
            if self.dead.has(old) {
                continue;
            }
            if let Some(number) = renumbered.get_mut(position(old)) {
                *number = whole(new.slots.len());
            }
            new.forward.extend_from_slice(self.terms_of(old));
            new.ends.push(new.forward.len());
            new.slots.push(*slot);
            new.lengths.push(*length);
        }
        for (number, list) in self.lists.drain() {
            for old in list.as_slice() {
                if let Some(doc) = renumbered.get(position(doc(*old)))
                    && *doc != u32::MAX
                {
                    new.list(number, posting(*doc, u32::from(times(*old))));
                }
            }
        }
        *self = new;
    }
}

/// A count that no conversation goes beyond.
fn whole(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
