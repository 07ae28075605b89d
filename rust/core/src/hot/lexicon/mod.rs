//! Lexical search: postings of terms and BM25.
//!
//! Statistics are those of the conversations in a search's scope, so that scores speak of what is
//! searched and nothing leaks from one tenant into another's scores. The score is Okapi BM25
//! (Robertson and Zaragoza, 2009) with the idf of Lucene, divided by what a turn could reach at most,
//! `Σ idf · (k1 + 1)` over the query's terms: one weak match is not a 1.0. It is summed in f64 from the
//! rarest term of the scope to the commonest, ties by the term's bytes, and rounded once.
//!
//! ```text
//! saved      bytes of all conversations, never changed      section ◀─ saved
//! parts      a conversation's additions, and what left it   postings ◀─ part
//! search     scope ─▶ statistics, weights ─▶ the best       scope, bm25 ─▶ ranking
//! write      saved + parts ─▶ the bytes of the next saved   stream ◀─ write
//! ```

mod bm25;
pub(in crate::hot) mod index;
mod part;
mod postings;
mod ranking;
mod saved;
mod scope;
mod vocabulary;
mod write;

use std::collections::HashMap;

use super::catalog::{Slot, position};
use crate::error::Result;
use crate::hot::scan::topk::Ranked;
use crate::packed::SharedBytes;
use part::Part;
use postings::Marks;
use ranking::Asked;
use saved::Saved;
use scope::Scope;
use vocabulary::Vocabulary;

pub use bm25::Bm25;

/// A tenant and one of its conversations.
pub(super) type Key = (u32, u32);

/// The terms of every entry.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    saved: Option<Saved>,
    /// Saved documents that left.
    dead: Marks,
    /// Terms that are not saved, numbered on from those that are.
    numbers: Vocabulary,
    parts: HashMap<Key, Part>,
}

impl Lexicon {
    /// Opens what [`Lexicon::write`] wrote; the bytes stay where they are. Costs the same whatever
    /// the number of entries, but for 4 bytes of checks for each 16 KiB.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] if the bytes are something else, or damaged where they were read.
    pub(super) fn open(bytes: SharedBytes, end: usize) -> Result<Self> {
        let saved = Saved::open(bytes, end)?;
        Ok(Self {
            numbers: Vocabulary::after(saved.terms()),
            saved: Some(saved),
            ..Self::default()
        })
    }

    /// Checks all saved bytes.
    pub(super) fn verify(&self) -> Result<()> {
        let saved = self.saved.as_ref();
        saved.map_or(Ok(()), |saved| saved.section().verify())
    }

    /// The number of saved entries, those that left among them.
    pub(super) fn saved_documents(&self) -> usize {
        let saved = self.saved.as_ref();
        saved.map_or(0, |saved| position(saved.documents()))
    }

    /// Adds the terms of entries to their conversation: all of them, or none. Slots come in ascending
    /// order.
    pub(super) fn add<'t>(
        &mut self,
        key: Key,
        entries: impl IntoIterator<Item = (Slot, &'t [String])>,
    ) -> Result<()> {
        let mut numbered = Vec::new();
        for (slot, terms) in entries {
            let numbers: Result<Vec<u32>> =
                terms.iter().map(|term| self.number_or_new(term)).collect();
            numbered.push((slot, numbers?));
        }
        let part = self.parts.entry(key).or_default();
        for (slot, mut numbers) in numbered {
            part.add(slot, &mut numbers);
            numbers.dedup();
            self.numbers.take(&numbers);
        }
        Ok(())
    }

    /// Takes the terms of entries out again, where they are there: all of them, or none.
    pub(super) fn remove(&mut self, key: Key, slots: &[Slot]) -> Result<()> {
        let mut lost = Vec::new();
        for slot in slots {
            if let Some((saved, doc)) = self.find_saved(key, *slot)? {
                let length = saved.lengths(doc, doc.saturating_add(1))?.first().copied();
                let terms: Vec<u32> = saved.terms_of(doc)?.collect();
                lost.push((doc, length.map_or(0, u32::from_le_bytes), terms));
            }
        }
        if let Some(part) = self.parts.get_mut(&key) {
            for slot in slots {
                if let Some(doc) = part.find(*slot) {
                    self.numbers.release(part.terms_of(doc));
                    part.remove(doc);
                }
            }
            if part.is_empty() {
                self.parts.remove(&key);
            }
        }
        for (doc, length, terms) in lost {
            self.parts.entry(key).or_default().lose(length, terms);
            self.dead.set(doc);
        }
        Ok(())
    }

    /// Whether a slot has an entry.
    pub(super) fn contains(&self, key: Key, slot: Slot) -> Result<bool> {
        let added = self.parts.get(&key).and_then(|part| part.find(slot));
        Ok(added.is_some() || self.find_saved(key, slot)?.is_some())
    }

    /// The best `width` entries of `scope` that share a term with the query, in no order. `admit` says
    /// by which number an entry's ties go, or that it may not be returned; no other is ranked.
    pub(super) fn search(
        &self,
        query: &[String],
        scope: &[Key],
        constants: Bm25,
        width: usize,
        admit: impl FnMut(Slot) -> Option<u64>,
    ) -> Result<Vec<Ranked>> {
        let mut scope = Scope::new(self.saved.as_ref(), &self.parts, scope)?;
        let mut terms: Vec<&str> = query.iter().map(String::as_str).collect();
        terms.sort_unstable();
        terms.dedup();
        let mut held = Vec::with_capacity(terms.len());
        for term in terms {
            held.push(scope.held(self.number(term)?)?);
        }
        held.sort_by_key(|held| held.documents);
        let weights: Vec<f64> = held
            .iter()
            .map(|held| constants.weight(scope.documents, held.documents))
            .collect();
        let mut asked = Asked {
            most: weights.iter().sum(),
            weights: weights
                .into_iter()
                .zip(&held)
                .filter_map(|(weight, held)| (held.documents > 0).then_some(weight))
                .collect(),
            norm: constants.norm(scope.documents, scope.length),
            peaks: Vec::new(),
        };
        held.retain(|held| held.documents > 0);
        asked.peaks = held.iter().map(|held| held.peak).collect();
        ranking::best(&asked, scope.sides(&self.dead, &held), width, admit)
    }

    /// The number of a term that is known.
    fn number(&self, term: &str) -> Result<Option<u32>> {
        let saved = match &self.saved {
            Some(saved) => saved.number(term)?,
            None => None,
        };
        Ok(saved.or_else(|| self.numbers.number(term)))
    }

    fn number_or_new(&mut self, term: &str) -> Result<u32> {
        if let Some(number) = self.number(term)? {
            return Ok(number);
        }
        Ok(self.numbers.number_or_new(term))
    }

    /// The saved document of a slot, if it is there and did not leave.
    fn find_saved(&self, key: Key, slot: Slot) -> Result<Option<(&Saved, u32)>> {
        let Some(saved) = &self.saved else {
            return Ok(None);
        };
        let Some(share) = saved.share(key)? else {
            return Ok(None);
        };
        let doc = saved.find(share, slot)?;
        Ok(doc
            .filter(|doc| !self.dead.has(*doc))
            .map(|doc| (saved, doc)))
    }
}

#[cfg(test)]
mod tests;
