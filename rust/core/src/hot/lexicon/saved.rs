//! The saved part of a lexicon: never changed, read where its bytes lie.
//!
//! ```text
//! column     an entry
//! postings   6   document 4, how often 2; of the first term, then of the second …
//! terms      24  where the term's text ends 8, where its postings end 8, how often a document has it
//!                at most 8; terms in order of bytes
//! text       1   UTF-8 of the terms, without anything between them
//! forward    4   numbers of the terms of the first document, ascending, then of the second …
//! ends       8   where a document's terms end
//! lengths    4   how many terms a document has, repeats counted
//! slots      4   the slot of a document, ascending within a conversation
//! parts      24  tenant 4, conversation 4, first document 4, documents 4, sum of their lengths 8;
//!                in order of tenant and conversation
//! ```
//!
//! Documents are numbered by conversation, so the postings of a term in a conversation, or in all
//! conversations of a tenant, lie side by side.

use std::ops::Range;

use super::postings::{Posting, doc};
use super::{Key, Slot, position};
use crate::error::Result;
use crate::packed::{Packed, SharedBytes};

pub(super) const MAGIC: [u8; 8] = *b"wslexic\0";
pub(super) const COLUMNS: usize = 8;
const POSTINGS: usize = 0;
const TERMS: usize = 1;
const TEXT: usize = 2;
const FORWARD: usize = 3;
const ENDS: usize = 4;
const LENGTHS: usize = 5;
const SLOTS: usize = 6;
const PARTS: usize = 7;

/// One conversation's share of the saved documents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) length: u64,
}

impl Share {
    pub(super) fn end(&self) -> u32 {
        self.first.saturating_add(self.count)
    }
}

/// An opened lexicon.
#[derive(Debug)]
pub(super) struct Saved {
    section: Packed,
}

impl Saved {
    /// Opens the lexicon that ends at `end`; nothing of it is read but its foot.
    pub(super) fn open(bytes: SharedBytes, end: usize) -> Result<Self> {
        let section = Packed::open(bytes, end, MAGIC, COLUMNS)?;
        Ok(Self { section })
    }

    pub(super) fn section(&self) -> &Packed {
        &self.section
    }

    /// The number of terms.
    pub(super) fn terms(&self) -> u32 {
        u32::try_from(self.section.len(TERMS, 24)).unwrap_or(u32::MAX)
    }

    /// The number of documents.
    pub(super) fn documents(&self) -> u32 {
        u32::try_from(self.section.len(LENGTHS, 4)).unwrap_or(u32::MAX)
    }

    /// The number of conversations.
    pub(super) fn parts(&self) -> usize {
        self.section.len(PARTS, 24)
    }

    /// The text of a term, as bytes.
    pub(super) fn text(&self, term: u32) -> Result<&[u8]> {
        let (from, to) = self.ends_of(term, 0)?;
        self.section.read(TEXT, from..to)
    }

    /// The number of a term.
    pub(super) fn number(&self, term: &str) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, self.terms());
        while low < high {
            let middle = low.midpoint(high);
            match self.text(middle)?.cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// The postings of a term in documents `from..to`.
    pub(super) fn postings(&self, term: u32, from: u32, to: u32) -> Result<&[Posting]> {
        if term >= self.terms() {
            return Ok(&[]);
        }
        let (begin, end) = self.ends_of(term, 8)?;
        let below = |limit: u32| move |posting: Posting| doc(posting) < limit;
        let begin = if from == 0 {
            begin
        } else {
            self.section.partition(POSTINGS, begin..end, below(from))?
        };
        let end = if to >= self.documents() {
            end
        } else {
            self.section.partition(POSTINGS, begin..end, below(to))?
        };
        self.section.entries(POSTINGS, begin..end)
    }

    /// How often a document has a term at most.
    pub(super) fn peak(&self, term: u32) -> Result<u16> {
        if term >= self.terms() {
            return Ok(0);
        }
        let entry: [u8; 24] = self.section.entry(TERMS, position(term))?;
        Ok(u16::try_from(word(&entry, 4)).unwrap_or(u16::MAX))
    }

    /// What a conversation has here.
    pub(super) fn share(&self, key: Key) -> Result<Option<Share>> {
        let at = self
            .section
            .partition(PARTS, 0..self.parts(), |entry| key_of(entry) < key)?;
        if at == self.parts() {
            return Ok(None);
        }
        let (found, share) = self.part(at)?;
        Ok((found == key).then_some(share))
    }

    /// The conversation at a place.
    pub(super) fn part(&self, at: usize) -> Result<(Key, Share)> {
        let entry: [u8; 24] = self.section.entry(PARTS, at)?;
        let share = Share {
            first: word(&entry, 2),
            count: word(&entry, 3),
            length: u64::from(word(&entry, 4)) | u64::from(word(&entry, 5)) << 32,
        };
        Ok((key_of(entry), share))
    }

    /// The document of a slot among those of a conversation.
    pub(super) fn find(&self, share: Share, slot: Slot) -> Result<Option<u32>> {
        let range = position(share.first)..position(share.end());
        let below = |entry| u32::from_le_bytes(entry) < slot;
        let at = self.section.partition(SLOTS, range, below)?;
        let doc = u32::try_from(at).unwrap_or(u32::MAX);
        Ok((doc < share.end() && self.slot(doc)? == slot).then_some(doc))
    }

    pub(super) fn slot(&self, doc: u32) -> Result<Slot> {
        let slot = self.section.entry(SLOTS, position(doc))?;
        Ok(u32::from_le_bytes(slot))
    }

    /// The lengths of documents `from..to`.
    pub(super) fn lengths(&self, from: u32, to: u32) -> Result<&[[u8; 4]]> {
        self.section.entries(LENGTHS, position(from)..position(to))
    }

    /// The numbers of a document's terms.
    pub(super) fn terms_of(&self, doc: u32) -> Result<impl Iterator<Item = u32> + '_> {
        let range = self.span(ENDS, 8, 0, doc)?;
        let terms: &[[u8; 4]] = self.section.entries(FORWARD, range)?;
        Ok(terms.iter().map(|number| u32::from_le_bytes(*number)))
    }

    /// Where the text (0) or the postings (8) of a term lie.
    fn ends_of(&self, term: u32, field: usize) -> Result<(usize, usize)> {
        let range = self.span(TERMS, 24, field, term)?;
        Ok((range.start, range.end))
    }

    /// From where the entry before ends to where an entry ends.
    fn span(&self, column: usize, width: usize, field: usize, at: u32) -> Result<Range<usize>> {
        let end = |at: usize| -> Result<usize> {
            let begin = at.saturating_mul(width).saturating_add(field);
            let bytes = self.section.read(column, begin..begin.saturating_add(8))?;
            let long = bytes
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            Ok(usize::try_from(long).unwrap_or(usize::MAX))
        };
        let at = position(at);
        let begin = at.checked_sub(1).map_or(Ok(0), end)?;
        Ok(begin..end(at)?)
    }
}

fn key_of(entry: [u8; 24]) -> Key {
    (word(&entry, 0), word(&entry, 1))
}

fn word(entry: &[u8; 24], at: usize) -> u32 {
    let words = entry.as_chunks::<4>().0;
    words.get(at).map_or(0, |word| u32::from_le_bytes(*word))
}
