//! Fused search over entries that have labels, terms and, sooner or later, vectors.
//!
//! ```text
//! pool     = best 256 by vector  ∪  best 256 by BM25          both exact, within the filter
//! base     = dense · w.dense + lexical · w.lexical + speaker · w.speaker
//! score    = base + w.session · (best base of the pool in the same session)
//! ```
//!
//! A signal that has nothing to say (no query vector, no shared term, nobody named) adds nothing.

use std::collections::{BTreeMap, HashMap};

use super::cascade::Field;
use super::catalog::{Catalog, Slot};
use super::filter::{Filter, Labels};
use super::head::Head;
use super::hunt::Hunt;
use super::lexicon::{Bm25, Lexicon};
use super::pieces::count;
use super::rows::Rows;
use super::saved::Saved;
use super::signals::{Cue, Scored, Weights};
use super::topk::{Ranked, TopK};
use super::vectors::Metric;
use crate::error::{Error, Result};
use crate::simd::{Scanner, Tier};

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

    /// The number of rows of vectors.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::len)
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

    /// Gives an entry its rows, or new ones; `vectors` is row-major.
    ///
    /// # Errors
    /// [`Error::UnknownId`], [`Error::Dimension`], [`Error::NotFinite`], [`Error::NormTooLarge`].
    pub fn put_vectors(&mut self, id: u64, vectors: &[f32], dim: usize) -> Result<()> {
        let slot = self.catalog.slot(id)?;
        let expected = self.rows.as_ref().map_or(dim, Rows::dim);
        if dim == 0 || expected != dim {
            return Err(Error::Dimension {
                expected,
                found: dim,
            });
        }
        let mut row = Vec::with_capacity(dim);
        for (at, vector) in vectors.chunks(dim).enumerate() {
            Metric::InnerProduct.prepare(vector, at, &mut row)?;
        }
        let rows = self
            .rows
            .get_or_insert_with(|| Rows::new(dim, Head::Auto, self.scanner));
        rows.put(slot, vectors)
    }

    /// Forgets all vectors; entries and terms stay.
    pub fn clear_vectors(&mut self) {
        self.rows = None;
    }

    /// Whether an entry has vectors.
    #[must_use]
    pub fn has_vectors(&self, id: u64) -> bool {
        self.catalog
            .slot(id)
            .is_ok_and(|slot| self.rows.as_ref().is_some_and(|rows| rows.has(slot)))
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
        let mut pool: BTreeMap<Slot, Scored> = BTreeMap::new();
        for (slot, score) in dense {
            self.pooled(&mut pool, slot).dense = score;
        }
        for hit in lexical {
            self.pooled(&mut pool, hit.slot).lexical = hit.score;
        }
        let mut sessions: HashMap<(u32, u32), f32> = HashMap::new();
        for (slot, entry) in &mut pool {
            let labels = self.catalog.labels_of(*slot).unwrap_or_default();
            entry.speaker = f32::from(u8::from(cue.speakers.contains(&labels.speaker)));
            entry.score = weights.dense * entry.dense
                + weights.lexical * entry.lexical
                + weights.speaker * entry.speaker;
            let best = sessions
                .entry((labels.conversation, labels.session))
                .or_insert(entry.score);
            *best = best.max(entry.score);
        }
        let mut top = TopK::new(k, pool.len());
        let mut by_id: HashMap<u64, Scored> = HashMap::with_capacity(pool.len());
        for (slot, mut entry) in pool {
            let labels = self.catalog.labels_of(slot).unwrap_or_default();
            entry.session = sessions
                .get(&(labels.conversation, labels.session))
                .copied()
                .unwrap_or(0.0);
            entry.score += weights.session * entry.session;
            top.push(entry.score, entry.id);
            by_id.insert(entry.id, entry);
        }
        self.intact()?;
        Ok(top
            .into_sorted()
            .into_iter()
            .filter_map(|hit| by_id.get(&hit.id).copied())
            .collect())
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
        let mut prepared = Vec::with_capacity(query.len());
        Metric::Cosine.prepare(query, 0, &mut prepared)?;
        let pieces = rows.selected(&self.catalog.selection(filter));
        let admitted = count(&pieces);
        let field = Field {
            rows,
            id: |slot| self.catalog.id(slot),
        };
        let mut best = [Hunt::new(self.scanner, &prepared, width, admitted)];
        field.search(&mut best, &pieces, rows.head().pays(admitted, width));
        let found: Vec<Slot> = lexical.iter().map(|hit| hit.slot).collect();
        let mut others = [Hunt::new(self.scanner, &prepared, found.len(), found.len())];
        field.search(&mut others, &rows.of_slots(&found), false);
        let mut scores: HashMap<Slot, f32> = lexical.iter().map(|hit| (hit.slot, 0.0)).collect();
        for hit in best
            .into_iter()
            .chain(others)
            .flat_map(|hunt| hunt.top.into_sorted())
        {
            if let Ok(slot) = self.catalog.slot(hit.id) {
                scores.insert(slot, hit.score);
            }
        }
        let mut scores: Vec<(Slot, f32)> = scores.into_iter().collect();
        scores.sort_unstable_by_key(|(slot, _)| *slot);
        Ok(scores)
    }

    /// The pool's entry of a slot, made if it is new.
    fn pooled<'p>(&self, pool: &'p mut BTreeMap<Slot, Scored>, slot: Slot) -> &'p mut Scored {
        pool.entry(slot).or_insert_with(|| Scored {
            id: self.catalog.id(slot).unwrap_or_default(),
            score: 0.0,
            dense: 0.0,
            lexical: 0.0,
            speaker: 0.0,
            session: 0.0,
        })
    }
}
