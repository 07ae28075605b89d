//! Following a log: what happened after a position, in the order of commits, for whoever keeps something
//! derived from it, in this process or elsewhere.

use std::ops::RangeInclusive;

use crate::cold::removal::Target;
use crate::cold::{Outline, Scrubbed};
use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::batch::Key;
use super::event::{Event, What};
use super::handle::Log;
use super::once;
use super::order;
use super::records::check_prefix;

/// About how many bytes a record takes.
const RECORD: u64 = 512;

/// How far somebody has followed a log. Its bytes are meant for the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    uuid: [u8; 16],
    /// Up to this id.
    seq: Seq,
    /// The generation of segments of which all up to there was followed.
    generation: u64,
}

impl Position {
    /// The bytes, to be kept.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut out = [0; 32];
        let (uuid, rest) = out.split_at_mut(16);
        let (seq, generation) = rest.split_at_mut(8);
        uuid.copy_from_slice(&self.uuid);
        seq.copy_from_slice(&self.seq.0.to_le_bytes());
        generation.copy_from_slice(&self.generation.to_le_bytes());
        out
    }

    /// The position of these bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] unless they are 32.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let parts = || {
            let (uuid, rest) = bytes.split_first_chunk()?;
            let (seq, rest) = rest.split_first_chunk()?;
            let generation = rest.try_into().ok()?;
            Some(Self {
                uuid: *uuid,
                seq: Seq(u64::from_le_bytes(*seq)),
                generation: u64::from_le_bytes(generation),
            })
        };
        parts().ok_or_else(|| Error::Argument {
            name: "position",
            expected: "32 bytes that the log gave".into(),
            found: format!("{} bytes", bytes.len()),
        })
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The id of the record that says so.
    pub seq: Seq,
    /// The key of the cell, the list or the prefix; none for an erasure.
    pub key: Vec<Vec<u8>>,
    /// What it is.
    pub what: Happened,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A cell has this version now.
    Put,
    /// A list has this entry, behind another one; id 0 for none.
    Added {
        /// The entry before it.
        parent: Option<Seq>,
        /// The entry of its name that made way for it.
        replaces: Option<Seq>,
    },
    /// Columns and expiry of a record changed.
    Patched {
        /// The version or the entry.
        of: Seq,
    },
    /// The path of a list ends at an entry; id 0 for none.
    Head {
        /// The entry.
        at: Seq,
    },
    /// The cell of the key was removed.
    Removed {
        /// Records that went with it, because they were made from it.
        with: Vec<RangeInclusive<u64>>,
    },
    /// All below the prefix was removed.
    RemovedBelow {
        /// Records that went with it, because they were made from it.
        with: Vec<RangeInclusive<u64>>,
    },
    /// Entries of the list were removed.
    RemovedEntries {
        /// Which, as far as they were there.
        entries: Vec<RangeInclusive<u64>>,
        /// Records that went with them, because they were made from them.
        with: Vec<RangeInclusive<u64>>,
    },
    /// Records were erased, cells and entries among them, and what was removed before.
    Erased(Scrubbed),
}

impl Change {
    /// Whether a cell or an entry is gone by this change, by its id and the key of its cell or list; never,
    /// unless it is a removal or an erasure.
    #[must_use]
    pub fn covers(&self, seq: Seq, key: Key<'_>) -> bool {
        let (is_before, own) = (seq < self.seq, &self.key);
        let is_key = key.iter().eq(own.iter());
        let is_below = key.len() >= own.len() && key.iter().zip(own).all(|(part, own)| part == own);
        let within = |all: &[RangeInclusive<u64>]| all.iter().any(|one| one.contains(&seq.0));
        match &self.what {
            Happened::Erased(scrubbed) => scrubbed.covers(seq, key),
            Happened::Removed { with } => is_before && (is_key || within(with)),
            Happened::RemovedBelow { with } => is_before && (is_below || within(with)),
            Happened::RemovedEntries { entries, with } => {
                is_before && ((is_key && within(entries)) || within(with))
            }
            _ => false,
        }
    }
}

/// What follows a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// What happened, in the order of commits, and how far that goes; nothing at the end.
    Changes(Vec<Change>, Position),
    /// The position is of another store or of another time of this one, or something went since that had to
    /// be followed: begin anew, without a position.
    Rebuild,
}

impl Log {
    /// What happened after a position, or from the beginning, to keys below a prefix, at most `limit` things.
    /// Records that nothing shows any more may be left out.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a prefix over a limit; as reading the store.
    pub fn follow(
        &self,
        position: Option<&Position>,
        prefix: Key<'_>,
        limit: usize,
    ) -> Result<Followed> {
        check_prefix(prefix)?;
        let uuid = self.store().uuid();
        if position.is_some_and(|one| one.uuid != uuid) {
            return Ok(Followed::Rebuild);
        }
        let mut at = position.copied().unwrap_or(Position {
            uuid,
            seq: Seq(0),
            generation: 0,
        });
        let mut changes = Vec::new();
        while changes.len() < limit {
            let from = Seq(at.seq.0.saturating_add(1));
            let bytes = RECORD.saturating_mul(limit.try_into().unwrap_or(u64::MAX));
            let (outlines, next, gone) = self.store().outlines_within(bytes, from, true)?;
            let anew = at.generation != gone.generation && gone.has_dropped;
            if at.seq != Seq(0) && (anew || at.seq > gone.last) {
                return Ok(Followed::Rebuild);
            }
            at.generation = gone.generation;
            for outline in &outlines {
                if changes.len() == limit {
                    break;
                }
                at.seq = outline.seq;
                let of = outline.links.as_deref().and_then(|links| links.of);
                let first = of.unwrap_or_default().0;
                // A second copy counts where the first one is damaged.
                let is_lost = gone.lost.iter().any(|range| range.contains(&first));
                if !outline.is_copy || is_lost {
                    changes.extend(change(uuid, outline).filter(|one| concerns(one, prefix)));
                }
            }
            if changes.len() < limit {
                at.seq = at.seq.max(Seq(next.0.saturating_sub(1)));
            }
            if next == from {
                break;
            }
        }
        Ok(Followed::Changes(changes, at))
    }
}

/// What a record says.
fn change(uuid: [u8; 16], outline: &Outline) -> Option<Change> {
    let key = outline.key.clone();
    let first = outline.links.as_deref().and_then(|links| links.of);
    let seq = if outline.is_copy { first? } else { outline.seq };
    if once::is_place(&order::encode(&key)) {
        return None;
    }
    if outline.kind == Kind::Tombstone {
        let what = Happened::Erased(Scrubbed::of(uuid, &outline.payload)?);
        return Some(Change { seq, key, what });
    }
    let what = match Event::of(outline, |_| 0)?.what {
        What::Put { .. } => Happened::Put,
        What::Added {
            parent, replaces, ..
        } => Happened::Added { parent, replaces },
        What::Patched { of, .. } => Happened::Patched { of },
        What::Head(at) => Happened::Head { at },
        What::Linked(links) => Happened::Head { at: links.end()? },
        What::Removed(removal) => {
            let with = removal.derived;
            match removal.target {
                Target::Cell => Happened::Removed { with },
                Target::Prefix => Happened::RemovedBelow { with },
                Target::Entries => Happened::RemovedEntries {
                    entries: removal.seqs,
                    with,
                },
            }
        }
        What::Other => return None,
    };
    Some(Change { seq, key, what })
}

/// Whether something below a prefix may be concerned.
fn concerns(change: &Change, prefix: Key<'_>) -> bool {
    let with = match &change.what {
        Happened::Erased(_) => return true,
        Happened::Removed { with }
        | Happened::RemovedBelow { with }
        | Happened::RemovedEntries { with, .. } => !with.is_empty(),
        _ => false,
    };
    let is_prefix = matches!(change.what, Happened::RemovedBelow { .. });
    let mut parts = change.key.iter().zip(prefix);
    let agrees = parts.all(|(own, part)| own == part);
    with || (agrees && (is_prefix || change.key.len() >= prefix.len()))
}
