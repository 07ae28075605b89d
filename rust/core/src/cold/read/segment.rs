//! A segment with its records. Of a sealed one only the end block is read at open; where its records
//! lie is read when one of them is asked for first.

use std::sync::{Arc, OnceLock};

use crate::entry::Kind;
use crate::error::Result;

use crate::cold::format::footer::{Contents, End, Entry, contents};
use crate::cold::format::frame::RecordHeader;
use crate::cold::open::scan::{Place, Scan, scan};
use crate::cold::read::source::Source;
use crate::cold::report::Damage;

/// What is known of a segment's inside.
#[derive(Clone, Debug, Default)]
pub(in crate::cold) struct Listing {
    pub(in crate::cold) contents: Contents,
    pub(in crate::cold) damages: Vec<Damage>,
}

impl From<Scan> for Listing {
    fn from(found: Scan) -> Self {
        Self {
            contents: Contents {
                entries: found.entries.into_iter().collect(),
                gaps: Vec::new(),
            },
            damages: found.damages,
        }
    }
}

/// A readable segment.
#[derive(Clone, Debug)]
pub(in crate::cold) struct Segment {
    pub(in crate::cold) source: Arc<Source>,
    /// How far the file is acknowledged.
    pub(in crate::cold) len: u64,
    sealed: Option<End>,
    listing: OnceLock<Listing>,
}

impl Segment {
    /// A segment whose end block is whole.
    pub(in crate::cold) fn sealed(source: Arc<Source>, len: u64, end: End) -> Self {
        source.seal(len);
        Self {
            source,
            len,
            sealed: Some(end),
            listing: OnceLock::new(),
        }
    }

    /// A segment whose records are known.
    pub(in crate::cold) fn listed(source: Arc<Source>, len: u64, listing: Listing) -> Self {
        Self {
            source,
            len,
            sealed: None,
            listing: OnceLock::from(listing),
        }
    }

    /// The same, now that its seal was written.
    pub(in crate::cold) fn close(&mut self, len: u64, end: End) {
        self.len = len;
        self.sealed = Some(end);
        self.source.seal(len);
    }

    pub(in crate::cold) fn is_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// How many records it holds.
    pub(in crate::cold) fn count(&self) -> u64 {
        let listed = self.listing.get().map(|l| l.contents.entries.len());
        match (self.sealed, listed) {
            (_, Some(count)) => crate::cold::format::bytes::wide(count),
            (Some(end), None) => end.count,
            (None, None) => 0,
        }
    }

    /// The highest id that it has or had.
    pub(in crate::cold) fn last(&self) -> u64 {
        let none = self.source.header.first_seq.saturating_sub(1);
        let sealed = self.sealed.map_or(none, |end| end.last);
        let listed = self.listing.get().and_then(|l| l.contents.entries.last());
        let damaged = self.damages().iter().filter_map(|one| one.seqs.as_ref());
        let damaged = damaged.map(|seqs| seqs.end().0).max().unwrap_or(none);
        listed
            .map_or(none, |entry| entry.seq)
            .max(sealed)
            .max(damaged)
    }

    /// Whether it may hold tombstones, or removals.
    pub(in crate::cold) fn takes_away(&self) -> bool {
        match (self.sealed, self.listing.get()) {
            (Some(end), None) => end.takes_away(),
            (_, Some(listing)) => {
                let codes = [Kind::Tombstone.code(), Kind::Removed.code()];
                let mut entries = listing.contents.entries.iter();
                entries.any(|entry| codes.contains(&entry.kind))
            }
            (None, None) => false,
        }
    }

    /// Its records, in the order of their ids.
    ///
    /// # Errors
    ///
    /// What the operating system answers; a broken footer is no error, the records are looked for then.
    pub(in crate::cold) fn listing(&self) -> Result<&Listing> {
        if let Some(listing) = self.listing.get() {
            return Ok(listing);
        }
        let listing = match self.sealed.and_then(|end| footer(&self.source, end)) {
            Some(contents) => Listing {
                contents,
                damages: Vec::new(),
            },
            None => self.search()?,
        };
        Ok(self.listing.get_or_init(|| listing))
    }

    /// What was found to be damaged, as far as anybody looked.
    pub(in crate::cold) fn damages(&self) -> &[Damage] {
        self.listing.get().map_or(&[], |l| l.damages.as_slice())
    }

    /// Takes up records that were written at its end.
    pub(in crate::cold) fn extend(&mut self, entries: &[Entry], len: u64) {
        if let Some(listing) = self.listing.get_mut() {
            listing.contents.entries.extend(entries.iter().copied());
        }
        self.len = len;
    }

    fn search(&self) -> Result<Listing> {
        let next = self.sealed.map_or(0, |end| end.last.saturating_add(1));
        let present = self.source.len()?.min(self.len);
        scan(&self.source, present, Place::Inner(next)).map(Listing::from)
    }
}

/// What the footer of a sealed segment says; `None` if it is not as it was written.
pub(in crate::cold) fn footer(source: &Source, end: End) -> Option<Contents> {
    let record = source.bytes(end.seal, end.len).ok()?;
    let header = RecordHeader::decode(&source.header.identity, end.seal, &record)?;
    if header.kind != Kind::Seal.code() || header.len() != end.len {
        return None;
    }
    let footer = header.body(&record).ok()?.payload;
    contents(record.get(footer)?, end.seal)
}
