//! Saving an index, and opening one that was saved.
//!
//! What was removed is not in the file. Opening reads the file's edges and its small sections; the rest
//! is read where it lies when it is needed. Whatever is damaged is found at the latest when it is
//! touched: the call that touched it fails, and every later one does.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::hot::catalog::Catalog;
use crate::hot::codes::head::Head;
use crate::hot::file::{Saved, Writer};
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::index::Index;
use crate::hot::vectors::metric::Metric;
use crate::hot::vectors::rows::Rows;
use crate::packed::SharedBytes;
use crate::simd::Scanner;

/// How to open a saved index.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// What the file is called in errors.
    pub path: PathBuf,
    /// The embedder that the caller uses; an index that does not name the same one is refused.
    pub fingerprint: Option<&'a str>,
    /// What is kept beside the rows.
    pub head: Head,
    /// The instruction set.
    pub scanner: Scanner,
}

impl<'a> Opening<'a> {
    /// The usual way to open the file of that name.
    ///
    /// # Errors
    /// [`Error::Argument`] if `WARMSET_SIMD` names no usable tier.
    pub fn new(path: &Path, fingerprint: Option<&'a str>) -> Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            fingerprint,
            head: Head::Auto,
            scanner: Scanner::from_environment()?,
        })
    }
}

impl Index {
    /// Writes the index: the same entries always give the same bytes.
    ///
    /// # Errors
    /// [`Error::Io`] with what `out` says; [`Error::Interrupted`]; [`Error::IndexDamaged`] if the index was opened from a file
    /// that turns out to be damaged: what was written is then worth nothing.
    pub fn save(&self, out: impl Write, path: &Path) -> Result<()> {
        let written = self.write(out);
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

    fn write(&self, out: impl Write) -> io::Result<()> {
        let kept = self.catalog.kept();
        let mut out = Writer::new(out)?;
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let metric = match self.metric {
            Metric::Cosine => 0,
            Metric::InnerProduct => 1,
        };
        let index = [wide(self.dim()), metric, wide(kept.len())];
        out.section("index", |section| section.values(&index))?;
        if let Some(fingerprint) = self.fingerprint() {
            out.section("fingerprint", |section| {
                section.values(fingerprint.as_bytes())
            })?;
        }
        self.catalog.save(&mut out, &kept)?;
        self.rows.save(&mut out, &kept)?;
        out.finish()?;
        Ok(())
    }

    /// Opens a saved index over bytes that nobody writes as long as it lives. It may be changed like
    /// any other; the bytes never are.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::NewerIndex`], [`Error::IndexDamaged`];
    /// [`Error::EmbedderMismatch`] if a fingerprint is given and the index has another one, or none.
    pub fn open(bytes: &SharedBytes, how: &Opening<'_>) -> Result<Self> {
        let saved = Saved::open(bytes, &how.path)?;
        let fields = saved.column_of::<u64>("index", 3)?;
        let field = |at| fields.get(at).and_then(|field| usize::try_from(field).ok());
        let (dim, metric, entries) = (field(0), fields.get(1), field(2));
        saved.damage().check()?;
        let metric = match metric {
            Some(0) => Metric::Cosine,
            Some(1) => Metric::InnerProduct,
            _ => return Err(saved.lacks("index")),
        };
        let (Some(dim), Some(entries)) = (dim.filter(|dim| (1..=65_536).contains(dim)), entries)
        else {
            return Err(saved.lacks("index"));
        };
        let stored = fingerprint(&saved)?;
        if let Some(given) = how.fingerprint
            && stored.as_deref() != Some(given)
        {
            return Err(Error::EmbedderMismatch {
                stored: stored.unwrap_or_else(|| "an embedder that nobody named".into()),
                given: given.into(),
            });
        }
        let mut index = Self::with_head(dim, metric, how.head, how.scanner)?;
        index.catalog = Catalog::open(&saved, entries)?;
        index.rows = Rows::open(&saved, dim, Precision::Full, how.head, how.scanner, entries)?;
        index.fingerprint = stored;
        index.saved = Some(saved);
        Ok(index)
    }

    /// Checks every byte that the index was opened from; an index that was not opened is right.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`], [`Error::Interrupted`].
    pub fn verify(&self) -> Result<()> {
        self.saved.as_ref().map_or(Ok(()), Saved::verify)
    }

    /// Names the embedder that made the vectors; it is saved with them.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: Option<String>) -> Self {
        self.fingerprint = fingerprint;
        self
    }

    /// The embedder that made the vectors, where one was named.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Whether nothing that was touched so far is damaged.
    pub(in crate::hot) fn intact(&self) -> Result<()> {
        self.saved
            .as_ref()
            .map_or(Ok(()), |saved| saved.damage().check())
    }
}

fn fingerprint(saved: &Saved) -> Result<Option<String>> {
    let Some(section) = saved.find("fingerprint") else {
        return Ok(None);
    };
    let bytes = section.get(0..section.len());
    saved.damage().check()?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    text.map(Some).ok_or_else(|| saved.lacks("fingerprint"))
}
