//! Fused search over entries that have labels, terms and, sooner or later, vectors.
//!
//! ```text
//! pool     = best 256 by vector  ∪  best 256 by BM25          both exact, within the filter
//!            ∪  what stands close to the best of these
//! score    = the pool's entries by all signals, see `fusion`
//! ```

use crate::error::{Error, Result};
use crate::hot::catalog::{Catalog, Selection, Slot, Ties};
use crate::hot::codes::head::POOL;
use crate::hot::file::Saved;
use crate::hot::filter::{Filter, Labels};
use crate::hot::fused::fusion::{Candidate, Fusion};
use crate::hot::fused::signals::{Cue, Scored, Weights};
use crate::hot::fused::traits::{TraitBook, Traits};
use crate::hot::lexicon::{Bm25, Lexicon};
use crate::hot::scan::row_sets::count;
use crate::hot::scan::search_state::SearchState;
use crate::hot::scan::topk::Ranked;
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::metric::Metric;
use crate::hot::vectors::rows::Rows;
use crate::simd::{Lanes, Scanner, Tier};

/// Slots, ascending, each with what one search gave it.
type Hits = Vec<(Slot, f32)>;

/// Entries with labels, terms and vectors under one roof.
#[derive(Debug)]
pub struct Retriever {
    pub(in crate::hot) scanner: Scanner,
    pub(in crate::hot) catalog: Catalog,
    pub(in crate::hot) lexicon: Lexicon,
    pub(in crate::hot) traits: TraitBook,
    pub(in crate::hot) rows: Option<Rows>,
    pub(in crate::hot) precision: Precision,
    /// The file that it was opened from.
    pub(in crate::hot) saved: Option<Saved>,
}

impl Retriever {
    /// An empty retriever that keeps rows in some precision; the first vectors decide the dimension.
    ///
    /// # Errors
    /// [`Error::Argument`] if `WARMSET_SIMD` names no usable tier.
    pub fn new(precision: Precision) -> Result<Self> {
        Ok(Self {
            scanner: Scanner::from_environment()?,
            catalog: Catalog::default(),
            lexicon: Lexicon::default(),
            traits: TraitBook::default(),
            rows: None,
            precision,
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
        let ties = Ties::new(&self.catalog);
        let dense = query.zip(self.rows.as_ref());
        // Long lists of ids are looked through once, not for each entry that has a term. Vectors need the
        // selection: it then serves both.
        let selection =
            (dense.is_some() || filter.ids.is_some()).then(|| self.catalog.selection(filter));
        let by_words = self.lexical(cue, filter, selection.as_ref(), width, ties)?;
        let (by_vector, lanes) = match dense.zip(selection.as_ref()) {
            Some(((query, rows), selection)) => {
                Self::dense(self.scanner, query, rows, selection, width, ties)?
            }
            None => (Hits::new(), None),
        };
        let pool = self.pool(&by_vector, &by_words, lanes.as_deref());
        let mut fusion = Fusion::new(&self.catalog, &self.traits, cue, weights, pool);
        let mut close = fusion.surroundings();
        close.retain(|slot| self.catalog.admits(*slot, filter));
        let scores = self.scores(&close, lanes.as_deref());
        let close = close.into_iter().zip(scores);
        // Of those that have vectors.
        let close = close.filter_map(|(slot, score)| Some(self.candidate(slot, score?, 0.0)));
        fusion.join(close.collect());
        self.intact()?;
        Ok(fusion.best(k))
    }

    /// What either list has, by slot, each with both scores.
    fn pool(
        &self,
        by_vector: &[(Slot, f32)],
        by_words: &[(Slot, f32)],
        lanes: Option<&[Lanes]>,
    ) -> Vec<Candidate> {
        let unknown = both(by_vector, by_words).filter(|(_, dense, _)| dense.is_none());
        let unknown: Vec<Slot> = unknown.map(|(slot, ..)| slot).collect();
        let mut scores = self.scores(&unknown, lanes).into_iter();
        both(by_vector, by_words)
            .map(|(slot, known, lexical)| {
                let dense = known.or_else(|| scores.next().flatten()).unwrap_or(0.0);
                self.candidate(slot, dense, lexical)
            })
            .collect()
    }

    /// The dense scores of entries; none of those that have no vectors.
    fn scores(&self, slots: &[Slot], lanes: Option<&[Lanes]>) -> Vec<Option<f32>> {
        match (&self.rows, lanes) {
            (Some(rows), Some(lanes)) => rows.best_of(slots, lanes),
            _ => vec![None; slots.len()],
        }
    }

    fn candidate(&self, slot: Slot, dense: f32, lexical: f32) -> Candidate {
        let id = self.catalog.id(slot).unwrap_or_default();
        let labels = self.catalog.labels_of(slot).unwrap_or_default();
        Candidate::new((slot, id, labels), dense, lexical)
    }

    /// The best `width` entries by BM25 that pass the filter, by slot.
    fn lexical(
        &self,
        cue: &Cue,
        filter: &Filter,
        selection: Option<&Selection>,
        width: usize,
        ties: Ties<'_>,
    ) -> Result<Hits> {
        if cue.terms.is_empty() {
            return Ok(Vec::new());
        }
        let keys = self.catalog.conversations(filter);
        let number = |slot| ties.number(slot);
        let passes = |slot| match selection {
            Some(selection) => selection.contains(slot),
            None => self.catalog.admits(slot, filter),
        };
        let admit = |slot| number(slot).filter(|_| passes(slot));
        let found = self
            .lexicon
            .search(&cue.terms, &keys, Bm25::default(), width, admit)?;
        let hit = |hit: Ranked| Some((ties.slot(hit.id)?, hit.score));
        let mut hits: Hits = found.into_iter().filter_map(hit).collect();
        hits.sort_unstable_by_key(|(slot, _)| *slot);
        Ok(hits)
    }

    /// The best `width` entries by vector, by slot, and the vector as rows are compared with it.
    fn dense(
        scanner: Scanner,
        query: &[f32],
        rows: &Rows,
        selection: &Selection,
        width: usize,
        ties: Ties<'_>,
    ) -> Result<(Hits, Option<Vec<Lanes>>)> {
        if query.len() != rows.dim() {
            return Err(Error::Dimension {
                expected: rows.dim(),
                found: query.len(),
            });
        }
        let prepared = Metric::Cosine.prepared(query, 0)?;
        let row_sets = rows.selected(selection);
        let admitted = count(&row_sets);
        let mut best = [SearchState::new(scanner, &prepared, width, admitted)];
        let codes = rows.head().pays(admitted, width);
        Self::field(rows, ties).search(&mut best, &row_sets, codes);
        let [mut best] = best;
        let lanes = std::mem::take(&mut best.probe.lanes);
        Ok((Self::found(best, ties), Some(lanes)))
    }
}

/// What is in either list or both, by slot, with what each list says.
fn both(
    by_vector: &[(Slot, f32)],
    by_words: &[(Slot, f32)],
) -> impl Iterator<Item = (Slot, Option<f32>, f32)> {
    let mut vectors = by_vector.iter().copied().peekable();
    let mut words = by_words.iter().copied().peekable();
    std::iter::from_fn(move || {
        let next = |list: Option<&(Slot, f32)>| list.map_or(Slot::MAX, |one| one.0);
        let slot = next(vectors.peek()).min(next(words.peek()));
        let vector = vectors.next_if(|one| one.0 == slot);
        let word = words.next_if(|one| one.0 == slot);
        (vector.is_some() || word.is_some()).then(|| {
            let lexical = word.map_or(0.0, |one| one.1);
            (slot, vector.map(|one| one.1), lexical)
        })
    })
}
