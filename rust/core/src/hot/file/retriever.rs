//! A retriever in a saved file.
//!
//! ```text
//! retriever     8 bytes each: what it covers, the number of entries, the dimension (0 without vectors)
//! store         16 bytes: whose entries they are
//! fingerprint   text that tells whose vectors they are
//! note          bytes of the caller's own
//! traits        4 bytes each: slot, asking (f32), flags (1 ends asking, 2 time, 4 number), days
//! traits.days   4 bytes each: the first and the last day of a range, slot after slot
//! lexicon       the terms of all entries: the bytes of a saved lexicon
//! ```
//!
//! The catalogue and the rows have the sections that an index has.

use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::hot::catalog::{Catalog, Kept, Slot, position};
use crate::hot::codes::head::Head;
use crate::hot::file::{Saved, Writer};
use crate::hot::fused::retriever::Retriever;
use crate::hot::fused::traits::TraitBook;
use crate::hot::lexicon::Lexicon;
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::rows::Rows;
use crate::packed::SharedBytes;

/// What a saved retriever says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The store that the entries are of.
    pub store: [u8; 16],
    /// The highest id of that store that was known.
    pub covers: u64,
    /// Whose vectors they are.
    pub fingerprint: String,
    /// Bytes of the caller's own.
    pub note: Vec<u8>,
}

impl Retriever {
    /// Writes all entries. What was removed is not in the file.
    ///
    /// # Errors
    /// [`Error::Io`] with what `out` says; [`Error::Interrupted`]; [`Error::IndexDamaged`] or
    /// [`Error::SavedIndex`] if the retriever was opened from bytes that turn out to be damaged: what
    /// was written is then worth nothing.
    pub fn save(&self, out: impl Write, path: &Path, coverage: &Coverage) -> Result<()> {
        let written = self.write(out, coverage);
        self.intact()?;
        written.map_err(|source| match source.downcast::<Error>() {
            Ok(own) => own,
            Err(source) => Error::Io {
                op: "save",
                path: path.into(),
                source,
            },
        })
    }

    fn write(&self, out: impl Write, coverage: &Coverage) -> io::Result<()> {
        let kept = self.catalog.kept();
        let mut out = Writer::new(out)?;
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let rows = self.rows.as_ref().filter(|rows| rows.len() > 0);
        let fields = [
            coverage.covers,
            wide(kept.len()),
            wide(rows.map_or(0, Rows::dim)),
        ];
        out.section("retriever", |section| section.values(&fields))?;
        out.section("store", |section| section.values(&coverage.store))?;
        out.section("fingerprint", |section| {
            section.values(coverage.fingerprint.as_bytes())
        })?;
        out.section("note", |section| section.values(&coverage.note))?;
        let numbers = numbers(&kept);
        out.section("lexicon", |section| {
            let number = |slot| numbers.get(position(slot)).copied().flatten();
            let written = self.lexicon.write(section, &number);
            written.map(|_length| ()).map_err(io::Error::other)
        })?;
        self.catalog.save(&mut out, &kept)?;
        self.traits.save(&mut out, &kept)?;
        if let Some(rows) = rows {
            rows.save(&mut out, &kept)?;
        }
        out.finish()?;
        Ok(())
    }

    /// Opens a saved retriever over bytes that nobody writes as long as it lives. It may be changed
    /// like any other; the bytes never are. One whose rows are of another precision is refused.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::NewerIndex`], [`Error::IndexDamaged`], [`Error::SavedIndex`];
    /// [`Error::Argument`] if `WARMSET_SIMD` names no usable tier.
    pub fn open(
        bytes: &SharedBytes,
        path: &Path,
        precision: Precision,
    ) -> Result<(Self, Coverage)> {
        let saved = Saved::open(bytes, path)?;
        let fields = saved.column_of::<u64>("retriever", 3)?;
        let field = |at| fields.get(at).and_then(|field| usize::try_from(field).ok());
        let (covers, entries, dim) = (fields.get(0), field(1), field(2));
        saved.damage().check()?;
        let (Some(covers), Some(entries), Some(dim @ 0..=65_536)) = (covers, entries, dim) else {
            return Err(saved.lacks("retriever"));
        };
        let store = saved.column_of::<u8>("store", 16)?.all();
        let coverage = Coverage {
            store: store.try_into().unwrap_or_default(),
            covers,
            fingerprint: String::from_utf8(saved.column("fingerprint")?.all())
                .map_err(|_| saved.lacks("fingerprint"))?,
            note: saved.column("note")?.all(),
        };
        saved.damage().check()?;
        let mut opened = Self::new(precision)?;
        let lexicon = saved
            .find("lexicon")
            .ok_or_else(|| saved.lacks("lexicon"))?;
        let (bytes, span) = lexicon.shared();
        opened.lexicon = Lexicon::open(bytes, span.end)?;
        if opened.lexicon.saved_documents() != entries {
            return Err(lexicon.refuse("its entries are not those of the catalogue"));
        }
        opened.catalog = Catalog::open(&saved, entries)?;
        opened.traits = TraitBook::open(&saved, entries)?;
        if dim > 0 {
            let scanner = opened.scanner;
            let head = Head::Pool;
            opened.rows = Some(Rows::open(&saved, dim, precision, head, scanner, entries)?);
        }
        opened.saved = Some(saved);
        Ok((opened, coverage))
    }

    /// Checks every byte that the retriever was opened from; one that was not opened is right.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`], [`Error::Interrupted`].
    pub fn verify(&self) -> Result<()> {
        self.saved.as_ref().map_or(Ok(()), Saved::verify)
    }

    /// Whether nothing that was read so far is damaged.
    pub(in crate::hot) fn intact(&self) -> Result<()> {
        let saved = self.saved.as_ref();
        saved.map_or(Ok(()), |saved| saved.damage().check())
    }
}

/// The slot that each slot will have in the file.
fn numbers(kept: &Kept) -> Vec<Option<Slot>> {
    let mut numbers = Vec::new();
    for (slot, number) in kept.slots().zip(0..) {
        numbers.resize(position(slot), None);
        numbers.push(Some(number));
    }
    numbers
}
