//! Lexical search alone, by ids of one's own.
//!
//! ```text
//! bytes     the lexicon's section, slots from 0 up in it (see `lexicon/saved.rs`)
//!           a section "wslexid\0" of two columns: 8 bytes a slot, its id
//!                                                 4 bytes a slot, the slots in order of their ids
//! ```

use std::collections::HashMap;
use std::io::Write;

use crate::error::{Error, Result};
use crate::hot::catalog::{Slot, position};
use crate::hot::lexicon::{Bm25, Lexicon};
use crate::packed::{Packed, SharedBytes, Stream};

const MAGIC: [u8; 8] = *b"wslexid\0";
const IDS: usize = 0;
const ORDER: usize = 1;

/// All entries are of one conversation.
const KEY: (u32, u32) = (0, 0);

/// An index of terms, ranked by BM25.
///
/// Scores are those of the plain formula, summed in f64 from the rarest term to the commonest, divided
/// by what the query could reach (`Σ idf · (k1 + 1)`) and rounded to f32 once; order is score
/// descending, then id ascending. An id that was removed may be added again.
#[derive(Debug)]
pub struct LexicalIndex {
    constants: Bm25,
    lexicon: Lexicon,
    /// The ids of saved entries.
    saved: Option<Packed>,
    /// The ids of entries that were added since, by slot from the saved ones on.
    ids: Vec<u64>,
    slots: HashMap<u64, Slot>,
    len: usize,
}

impl LexicalIndex {
    /// An empty index.
    ///
    /// # Errors
    /// [`Error::Argument`] if `k1` is not from 0 to 1,000, or `b` not from 0 to 1.
    pub fn new(constants: Bm25) -> Result<Self> {
        let Bm25 { k1, b } = constants;
        if !(0.0..=1000.0).contains(&k1) {
            return Err(wrong("k1", "a number from 0 to 1,000", &k1));
        }
        if !(0.0..=1.0).contains(&b) {
            return Err(wrong("b", "a number from 0 to 1", &b));
        }
        Ok(Self {
            constants,
            lexicon: Lexicon::default(),
            saved: None,
            ids: Vec::new(),
            slots: HashMap::new(),
            len: 0,
        })
    }

    /// Opens what [`LexicalIndex::write`] wrote. The bytes are read where they lie, when they are
    /// needed; adding and removing leave them as they are.
    ///
    /// # Errors
    /// [`Error::SavedIndex`] if the bytes are something else, of another version, or damaged where
    /// they were read; [`Error::Argument`] as [`LexicalIndex::new`].
    pub fn open(bytes: SharedBytes, constants: Bm25) -> Result<Self> {
        let mut index = Self::new(constants)?;
        let end = (*bytes).as_ref().len();
        let ids = Packed::open(bytes.clone(), end, MAGIC, 2)?;
        index.lexicon = Lexicon::open(bytes, ids.start())?;
        index.len = ids.len(IDS, 8);
        if ids.len(ORDER, 4) != index.len || index.lexicon.saved_documents() != index.len {
            return Err(ids.damaged("its ids are not those of its entries"));
        }
        index.saved = Some(ids);
        Ok(index)
    }

    /// Writes all entries, which [`LexicalIndex::open`] reads.
    ///
    /// # Errors
    /// [`Error::Io`] from `out`; [`Error::SavedIndex`] if saved bytes are damaged.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let count = self.saved_len() + self.ids.len();
        let mut numbers = vec![None; count];
        let mut ids: Vec<u64> = Vec::with_capacity(self.len);
        for (slot, number) in (0..).zip(&mut numbers) {
            if self.lexicon.contains(KEY, slot)? {
                *number = Slot::try_from(ids.len()).ok();
                ids.extend(self.id(slot)?);
            }
        }
        self.lexicon
            .write(out, &|slot| numbers.get(position(slot)).copied().flatten())?;
        let mut stream = Stream::new(out, MAGIC)?;
        stream.column()?;
        for id in &ids {
            stream.put(&id.to_le_bytes())?;
        }
        stream.column()?;
        let mut order: Vec<(u64, Slot)> = ids.into_iter().zip(0..).collect();
        order.sort_unstable();
        for (_, slot) in order {
            stream.put(&slot.to_le_bytes())?;
        }
        stream.finish()?;
        Ok(())
    }

    /// Checks all saved bytes, not only those that searches come by.
    ///
    /// # Errors
    /// [`Error::SavedIndex`] if they are not what was written.
    pub fn verify(&self) -> Result<()> {
        self.lexicon.verify()?;
        self.saved.as_ref().map_or(Ok(()), Packed::verify)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an id is present.
    ///
    /// # Errors
    /// [`Error::SavedIndex`] if saved bytes are damaged.
    pub fn contains(&self, id: u64) -> Result<bool> {
        Ok(self.slot(id)?.is_some())
    }

    /// Adds entries with their terms: all of them, or none.
    ///
    /// # Errors
    /// [`Error::DuplicateId`] if an id is there already, or twice in the batch; [`Error::SavedIndex`]
    /// if saved bytes are damaged.
    pub fn add(&mut self, entries: &[(u64, Vec<String>)]) -> Result<()> {
        let mut ids: Vec<u64> = entries.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        for pair in ids.windows(2) {
            if let [one, other] = pair
                && one == other
            {
                return Err(Error::DuplicateId { id: *one });
            }
        }
        for id in ids {
            if self.contains(id)? {
                return Err(Error::DuplicateId { id });
            }
        }
        let next = self.saved_len() + self.ids.len();
        if Slot::try_from(next + entries.len()).is_err() {
            return Err(wrong("ids", "at most 2^32 entries in one index", &"more"));
        }
        let terms = entries.iter().map(|(_, terms)| terms.as_slice());
        self.lexicon.add(KEY, (0..).skip(next).zip(terms))?;
        for ((id, _), slot) in entries.iter().zip((0..).skip(next)) {
            self.ids.push(*id);
            self.slots.insert(*id, slot);
        }
        self.len += entries.len();
        Ok(())
    }

    /// Removes entries: all of them, or none.
    ///
    /// # Errors
    /// [`Error::UnknownId`] if an id is not there, or twice in the batch; [`Error::SavedIndex`] if
    /// saved bytes are damaged.
    pub fn remove(&mut self, ids: &[u64]) -> Result<()> {
        let mut slots = Vec::with_capacity(ids.len());
        for id in ids {
            let slot = self.slot(*id)?.ok_or(Error::UnknownId { id: *id })?;
            slots.push((slot, *id));
        }
        slots.sort_unstable();
        for pair in slots.windows(2) {
            if let [(one, id), (other, _)] = pair
                && one == other
            {
                return Err(Error::UnknownId { id: *id });
            }
        }
        let gone: Vec<Slot> = slots.iter().map(|(slot, _)| *slot).collect();
        self.lexicon.remove(KEY, &gone)?;
        for (_, id) in slots {
            self.slots.remove(&id);
            self.len -= 1;
        }
        Ok(())
    }

    /// The best `k` entries that share a term with the query, with their scores.
    ///
    /// # Errors
    /// [`Error::Argument`] if `k` is 0; [`Error::SavedIndex`] if saved bytes are damaged.
    pub fn search(&self, terms: &[String], k: usize) -> Result<Vec<(u64, f32)>> {
        if k == 0 {
            return Err(wrong("k", "at least 1", &0));
        }
        let mut broken = None;
        let tie = |slot| {
            self.id(slot).unwrap_or_else(|error| {
                broken = Some(error);
                None
            })
        };
        let mut found = self.lexicon.search(terms, &[KEY], self.constants, k, tie)?;
        broken.map_or(Ok(()), Err)?;
        found.sort_unstable();
        Ok(found.into_iter().map(|hit| (hit.id, hit.score)).collect())
    }

    fn saved_len(&self) -> usize {
        self.saved.as_ref().map_or(0, |saved| saved.len(IDS, 8))
    }

    /// The id that a slot has or had.
    fn id(&self, slot: Slot) -> Result<Option<u64>> {
        if let Some(at) = position(slot).checked_sub(self.saved_len()) {
            return Ok(self.ids.get(at).copied());
        }
        let saved = self.saved.as_ref();
        let id = saved.map(|saved| saved.entry(IDS, position(slot)));
        Ok(id.transpose()?.map(u64::from_le_bytes))
    }

    /// The slot of an id that is present.
    fn slot(&self, id: u64) -> Result<Option<Slot>> {
        if let Some(slot) = self.slots.get(&id) {
            return Ok(Some(*slot));
        }
        let Some(saved) = &self.saved else {
            return Ok(None);
        };
        let (mut low, mut high) = (0, saved.len(ORDER, 4));
        while low < high {
            let middle = low.midpoint(high);
            let slot = u32::from_le_bytes(saved.entry(ORDER, middle)?);
            match u64::from_le_bytes(saved.entry(IDS, position(slot))?).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    return Ok(self.lexicon.contains(KEY, slot)?.then_some(slot));
                }
            }
        }
        Ok(None)
    }
}

fn wrong(name: &'static str, expected: &str, found: &dyn ToString) -> Error {
    Error::Argument {
        name,
        expected: expected.into(),
        found: found.to_string(),
    }
}
