//! A segment without what nothing shows any more, made while others go on writing.
//!
//! ```text
//! without the lock   which records of a sealed segment are dead ─▶ the segment anew without them, in a file
//!                    of its own name, synced
//! with the lock      everything that was written is durable ─▶ it is the same segment still, and these
//!                    records are dead still ─▶ rename, sync the directory ─▶ mark, with a new generation
//! ```
//!
//! Whoever opens or compacts the store under the lock removes such files: a rename that finds none is no
//! error, and what was erased in between stays in no file.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::defect::{Defect, on};
use crate::cold::erase::compact::Compacted;
use crate::cold::erase::rewrite::{End, Fate, Rewritten, show, without};
use crate::cold::format::bytes::wide;
use crate::cold::format::header::Header;
use crate::cold::format::links::Born;
use crate::cold::format::{rewritten_name, segment_name};
use crate::cold::medium::{Access, Medium, refused, remove_if_there, write_full};
use crate::cold::options::Mode;
use crate::cold::read::index::Index;
use crate::cold::read::segment::Segment;
use crate::cold::read::source::Source;
use crate::cold::record::Outline;
use crate::cold::shelf::Shelf;

/// A record of a segment that may be dead.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) outline: Outline,
    /// Whether it was removed.
    pub(crate) is_removed: bool,
}

/// What replacing a segment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// There is no sealed segment at that place.
    Nothing,
    /// It is done; no segment was written anew if nothing in it is dead.
    Done(Compacted),
    /// Others changed something that matters in between; it can be tried again.
    Stale,
}

/// A segment that was written anew and has no place yet; its file goes with it.
#[derive(Debug)]
pub(in crate::cold) struct Replacement {
    at: usize,
    /// The segment that it was made from, and its length.
    old: (Arc<Source>, u64),
    /// The version of erasures that it was made with.
    erasures: u64,
    /// What is dead of it.
    dead: Vec<Shown>,
    /// The new header and length, and the file; `None` if nothing is dead.
    new: Option<(Header, u64, Scratch)>,
}

impl Replacement {
    /// Makes one for the segment at a place, without the records that `dead` names; `None` if that is not
    /// sealed.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Interrupted`]; as reading; [`Error::Full`]; what `dead` answers.
    pub(in crate::cold) fn draft(
        shelf: &Shelf,
        at: usize,
        dead: impl FnOnce(&[Shown]) -> Result<BTreeSet<u64>>,
    ) -> Result<Option<Self>> {
        if shelf.options.mode == Mode::Read {
            let path = shelf.medium.path("");
            return Err(Error::ReadOnly { path });
        }
        let (segment, erasures) = {
            let index = shelf.fresh()?;
            let Some(segment) = index.segments.get(at).filter(|one| one.is_sealed()) else {
                return Ok(None);
            };
            (segment.clone(), index.erasures.version())
        };
        let (shown, fillers) = shown(shelf, &segment)?;
        let gone = dead(&shown)?;
        let mut dead = shown;
        dead.retain(|one| gone.contains(&one.outline.seq.0));
        let mut made = Self {
            at,
            old: (Arc::clone(&segment.source), segment.len),
            erasures,
            dead,
            new: None,
        };
        if !made.dead.is_empty() {
            let fate = made.fates(gone, fillers);
            let Rewritten { header, bytes, .. } = without(&segment, &fate, End::Sealed)?;
            let file = Scratch::new(shelf, &header)?;
            // Somebody who erased or compacted since may have looked for such files before this one was
            // there.
            if made.is_current(&*shelf.fresh()?) {
                file.fill(&bytes)?;
            }
            made.new = Some((header, wide(bytes.len()), file));
        }
        Ok(Some(made))
    }

    /// Whether anything in the segment is dead.
    pub(in crate::cold) fn is_needed(&self) -> bool {
        self.new.is_some()
    }

    /// Whether the segment is the one that it was made from, and nothing was erased since.
    fn is_current(&self, index: &Index) -> bool {
        let here = index.segments.get(self.at);
        here.is_some_and(|here| Arc::ptr_eq(&here.source, &self.old.0))
            && index.erasures.version() == self.erasures
    }

    /// What becomes of each record.
    fn fates(&self, mut dead: BTreeSet<u64>, fillers: Fillers) -> impl Fn(u64) -> Fate + use<> {
        // What lies between two copies is needed as long as one of them is there.
        for (filler, copies) in fillers {
            if copies.iter().all(|copy| dead.contains(copy)) {
                dead.insert(filler);
            }
        }
        let mut outlines = self.dead.iter().map(|one| &one.outline);
        let why = if outlines.any(says_of_others) {
            Fate::Dropped
        } else {
            Fate::Dead
        };
        move |seq| {
            if dead.contains(&seq) { why } else { Fate::Kept }
        }
    }

    /// Puts it in its place, if `still` says of all of them that they are dead. The lock is held, and everything that
    /// was written is durable: a loss of power must not take away what made others dead.
    ///
    /// # Errors
    ///
    /// As appending; what `still` answers.
    pub(in crate::cold) fn place(
        self,
        store: &Shelf,
        still: impl FnOnce(&[Shown]) -> Result<bool>,
    ) -> Result<Replaced> {
        let is_current = self.is_current(&*store.known()?);
        let Some((header, len, file)) = self.new else {
            return Ok(Replaced::Done(Compacted::default()));
        };
        if !is_current || !still(&self.dead)? || !file.rename(&header)? {
            return Ok(Replaced::Stale);
        }
        show(store, self.at, header, len, None)?;
        Ok(Replaced::Done(Compacted {
            segments: 1,
            records: wide(self.dead.len()),
            bytes: self.old.1.saturating_sub(len),
        }))
    }
}

/// Whether a record says of others that they are gone: an entry does that of the one that it replaced, and a
/// version of older ones, which only a removal of its key names.
fn says_of_others(record: &Outline) -> bool {
    let links = record.links.as_deref();
    let is_later = |born: Born| born.seq != record.seq;
    match record.kind {
        Kind::Entry => links
            .and_then(|links| links.of)
            .is_some_and(|of| of != Seq(0)),
        Kind::Cell => record.is_taken && links.and_then(|links| links.born).is_some_and(is_later),
        kind => kind.is_plain(),
    }
}

/// Fillers, each with the second copies behind it.
type Fillers = Vec<(u64, Vec<u64>)>;

/// The records of a sealed segment that are neither erased nor damaged, and its fillers.
fn shown(shelf: &Shelf, segment: &Segment) -> Result<(Vec<Shown>, Fillers)> {
    let (erasures, removals) = {
        let index = shelf.known()?;
        (Arc::clone(&index.erasures), Arc::clone(&index.removals))
    };
    let (mut out, mut fillers) = (Vec::new(), Fillers::new());
    for entry in segment.listing()?.contents.entries.iter() {
        interrupt::check()?;
        let kind = Kind::from_code(entry.kind);
        if kind == Kind::Filler {
            fillers.push((entry.seq, Vec::new()));
            continue;
        }
        if kind.is_own() {
            continue;
        }
        let outline = match segment.source.outline(entry, &shelf.keyring) {
            Ok(outline) => outline,
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) => continue,
            Err(other) => return Err(other),
        };
        if outline.is_copy
            && let Some((_, copies)) = fillers.last_mut()
        {
            copies.push(entry.seq);
        }
        if !erasures.covers(entry.seq, &outline.key) {
            let is_removed = removals.covers(entry.seq, kind, &outline.key);
            let is_taken = removals.take(outline.seq);
            out.push(Shown {
                outline: Outline {
                    is_taken,
                    ..outline
                },
                is_removed,
            });
        }
    }
    Ok((out, fillers))
}

/// A file that is removed with its handle, unless it got its place.
#[derive(Debug)]
struct Scratch {
    medium: Arc<dyn Medium>,
    name: String,
}

impl Scratch {
    /// An empty file of a name that nobody else has picked.
    fn new(shelf: &Shelf, header: &Header) -> Result<Self> {
        let number = header.identity.salt.first_chunk().copied();
        let name = rewritten_name(u64::from_le_bytes(number.unwrap_or_default()));
        let medium = Arc::clone(&shelf.medium);
        let made = Self { medium, name };
        let file = made.medium.create(&made.name);
        file.map_err(|error| made.trouble(error))?;
        Ok(made)
    }

    fn fill(&self, bytes: &[u8]) -> Result<()> {
        let filled = self
            .medium
            .open(&self.name, Access::Write)
            .and_then(|file| {
                write_full(&*file, bytes, 0)?;
                if on(Defect::RenameBeforeSync) {
                    return Ok(());
                }
                file.sync_data()
            });
        match filled {
            // Renaming it will find that out.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|error| self.trouble(error)),
        }
    }

    /// Gives it its place, durably; `false` if somebody removed it.
    fn rename(self, header: &Header) -> Result<bool> {
        let name = segment_name(header.number);
        let renamed = match self.medium.rename(&self.name, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.and_then(|()| self.medium.sync_dir("")).map(|()| true),
        };
        renamed.map_err(|error| self.trouble(error))
    }

    fn trouble(&self, error: io::Error) -> Error {
        refused("rewrite", &self.medium.path(&self.name), error)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever opens the store next removes what is left here.
        let _ = remove_if_there(&*self.medium, &self.name);
    }
}
