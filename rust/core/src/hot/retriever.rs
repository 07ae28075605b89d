//! Fused search over entries that have labels, terms and, sooner or later, vectors.
//!
//! ```text
//! pool     = best 256 by vector  ∪  best 256 by BM25          both exact, within the filter
//!            ∪  what stands close to the best of these
//! score    = the pool's entries by all signals, see `fusion`
//! ```

use super::catalog::{Catalog, Slot};
use super::filter::{Filter, Labels};
use super::fusion::{Candidate, Fusion};
use super::hunt::Hunt;
use super::lexicon::{Bm25, Lexicon};
use super::pieces::count;
use super::rows::Rows;
use super::saved::Saved;
use super::signals::{Cue, Scored, Weights};
use super::topk::Ranked;
use super::traits::{TraitBook, Traits};
use super::vectors::Metric;
use crate::error::{Error, Result};
use crate::simd::{Lanes, Scanner, Tier};

/// Entries that each of the two searches brings into the pool.
const POOL: usize = 256;

/// One entry that shares terms with the query, with its normalised score.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LexicalHit {
    slot: Slot,
    /// BM25 over the most that the query could reach, 0 to 1.
    score: f32,
}

/// Entries with labels, terms and vectors under one roof.
#[derive(Debug)]
pub struct Retriever {
    pub(super) scanner: Scanner,
    pub(super) catalog: Catalog,
    pub(super) lexicon: Lexicon,
    pub(super) traits: TraitBook,
    pub(super) rows: Option<Rows>,
    /// The file that it was opened from.
    pub(super) saved: Option<Saved>,
}

impl Retriever {
    /// An empty retriever; the first vectors decide the dimension.
    ///
    /// # Errors
    /// [`Error::Argument`] if `WARMSET_SIMD` names no usable tier.
    pub fn new() -> Result<Self> {
        Ok(Self {
            scanner: Scanner::from_environment()?,
            catalog: Catalog::default(),
            lexicon: Lexicon::default(),
            traits: TraitBook::default(),
            rows: None,
            saved: None,
        })
    }

    /// The instruction set in use.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.scanner.tier()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.catalog.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry with its text; its vectors may follow.
    ///
    /// # Errors
    /// [`Error::DuplicateId`].
    pub fn add(&mut self, id: u64, labels: Labels, terms: &[String]) -> Result<()> {
        let slot = self.catalog.add(id, labels)?;
        self.lexicon
            .add((labels.tenant, labels.conversation), [(slot, terms)])
    }

    /// Gives an entry what was read out of its text beside its terms.
    ///
    /// # Errors
    /// [`Error::UnknownId`].
    pub fn describe(&mut self, id: u64, traits: Traits) -> Result<()> {
        let slot = self.catalog.slot(id)?;
        self.traits.put(slot, traits);
        Ok(())
    }

    /// Moves entries onto the current branch of their conversation or off it.
    ///
    /// # Errors
    /// [`Error::UnknownId`].
    pub fn set_live(&mut self, ids: &[u64], live: bool) -> Result<()> {
        ids.iter()
            .try_for_each(|id| self.catalog.set_live(*id, live))
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// [`Error::UnknownId`].
    pub fn remove(&mut self, id: u64) -> Result<()> {
        let slot = self.catalog.remove(id)?;
        if let Some(Labels {
            tenant,
            conversation,
            ..
        }) = self.catalog.labels_of(slot)
        {
            self.lexicon.remove((tenant, conversation), &[slot])?;
        }
        self.traits.remove(slot);
        if let Some(rows) = &mut self.rows {
            rows.clear(slot);
        }
        Ok(())
    }

    /// The best `k` entries that pass the filter, in a total order, each with its terms.
    ///
    /// # Errors
    /// [`Error::Argument`] if `k` is 0; vector errors for the query.
    pub fn search(
        &self,
        query: Option<&[f32]>,
        cue: &Cue,
        filter: &Filter,
        k: usize,
        weights: Weights,
    ) -> Result<Vec<Scored>> {
        if k == 0 {
            return Err(Error::Argument {
                name: "k",
                expected: "at least 1".into(),
                found: "0".into(),
            });
        }
        let width = POOL.max(k);
        let lexical = self.lexical(cue, filter, width)?;
        let dense = self.dense(query, filter, width, &lexical)?;
        let found = |slot, dense, lexical| {
            let id = self.catalog.id(slot).unwrap_or_default();
            Candidate::new(slot, id, dense, lexical)
        };
        let by_vector = dense
            .into_iter()
            .map(|(slot, score)| found(slot, score, 0.0));
        let by_words = lexical.iter().map(|hit| found(hit.slot, 0.0, hit.score));
        let pool = by_vector.chain(by_words).collect();
        let mut fusion = Fusion::new(&self.catalog, &self.traits, cue, weights, pool);
        let mut close = fusion.surroundings();
        close.retain(|slot| self.catalog.admits(*slot, filter));
        let near = self.near(query, &close)?;
        if !near.is_empty() {
            let near = near
                .into_iter()
                .map(|(slot, score)| found(slot, score, 0.0));
            fusion.join(near.collect());
        }
        self.intact()?;
        Ok(fusion.best(k))
    }

    /// The dense scores of entries that are known by where they stand; of those that have vectors.
    fn near(&self, query: Option<&[f32]>, slots: &[Slot]) -> Result<Vec<(Slot, f32)>> {
        let (Some(query), Some(rows)) = (query, &self.rows) else {
            return Ok(Vec::new());
        };
        let mut lanes = Vec::new();
        Lanes::extend(&mut lanes, &Metric::Cosine.prepared(query, 0)?);
        let scored = |slot: &Slot| Some((*slot, rows.score(*slot, &lanes)?));
        Ok(slots.iter().filter_map(scored).collect())
    }

    /// The best `width` entries by BM25 that pass the filter.
    fn lexical(&self, cue: &Cue, filter: &Filter, width: usize) -> Result<Vec<LexicalHit>> {
        if cue.terms.is_empty() {
            return Ok(Vec::new());
        }
        let keys = self.catalog.conversations(filter);
        let id = |slot| self.catalog.id(slot);
        let admit = |slot| id(slot).filter(|_| self.catalog.admits(slot, filter));
        let found = self
            .lexicon
            .search(&cue.terms, &keys, Bm25::default(), width, admit)?;
        let hit = |Ranked { score, id }| {
            let slot = self.catalog.slot(id).ok()?;
            Some(LexicalHit { slot, score })
        };
        Ok(found.into_iter().filter_map(hit).collect())
    }

    /// The best `width` entries by vector, and the dense scores of what BM25 found.
    fn dense(
        &self,
        query: Option<&[f32]>,
        filter: &Filter,
        width: usize,
        lexical: &[LexicalHit],
    ) -> Result<Vec<(Slot, f32)>> {
        let (Some(query), Some(rows)) = (query, &self.rows) else {
            return Ok(Vec::new());
        };
        if query.len() != rows.dim() {
            return Err(Error::Dimension {
                expected: rows.dim(),
                found: query.len(),
            });
        }
        let prepared = Metric::Cosine.prepared(query, 0)?;
        let pieces = rows.selected(&self.catalog.selection(filter));
        let admitted = count(&pieces);
        let mut best = [Hunt::new(self.scanner, &prepared, width, admitted)];
        let codes = rows.head().pays(admitted, width);
        self.field(rows).search(&mut best, &pieces, codes);
        let [mut best] = best;
        let lanes = std::mem::take(&mut best.probe.lanes);
        let mut scores: Vec<(Slot, f32)> = self.ranked(best).collect();
        scores.sort_unstable_by_key(|(slot, _)| *slot);
        let ranked = scores.len();
        for hit in lexical {
            let known = scores.get(..ranked).unwrap_or_default();
            if known.binary_search_by_key(&hit.slot, |one| one.0).is_err() {
                scores.push((hit.slot, rows.score(hit.slot, &lanes).unwrap_or(0.0)));
            }
        }
        Ok(scores)
    }
}
