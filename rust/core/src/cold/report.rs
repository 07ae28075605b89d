//! What the store has to say about itself: nothing that was lost or cut goes unreported.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use crate::entry::Seq;
use crate::error::Error;

use super::erase::erasures::Tombstone;

/// A torn tail that opening cut off: the bytes of writes that were never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment's number.
    pub segment: u64,
    /// Where the segment ends now; 0 if the whole file was set aside.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
    /// Where the cut bytes lie now.
    pub aside: PathBuf,
}

/// How a part of a segment is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes are there, and are not what was written.
    Corrupt,
    /// The file ends too early.
    Truncated,
    /// The file is gone.
    Missing,
}

/// A part of a segment that is not as it was written. It stays in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment's number; 0 where it is no segment, but a batch that was left in the spool.
    pub segment: u64,
    /// The file.
    pub path: PathBuf,
    /// The bytes concerned; empty where they are gone.
    pub bytes: Range<u64>,
    /// The ids that cannot be read because of it, if any.
    pub seqs: Option<RangeInclusive<Seq>>,
    /// How it is damaged.
    pub kind: DamageKind,
    /// What did not agree.
    pub detail: String,
}

impl Damage {
    /// Whether that id is lost by it.
    pub(super) fn covers(&self, seq: Seq) -> bool {
        self.seqs.as_ref().is_some_and(|seqs| seqs.contains(&seq))
    }

    /// The error that a reader of a lost id gets.
    pub(super) fn to_error(&self) -> Error {
        match self.kind {
            DamageKind::Corrupt => Error::Corrupt {
                path: self.path.clone(),
                offset: self.bytes.start,
                seqs: self.seqs.as_ref().map_or_else(
                    || "no record is lost".into(),
                    |seqs| format!("lost: {} to {}", seqs.start(), seqs.end()),
                ),
                detail: self.detail.clone(),
            },
            DamageKind::Truncated | DamageKind::Missing => Error::Truncated {
                path: self.path.clone(),
                expected: self.bytes.end.saturating_add(1),
                found: self.bytes.start,
            },
        }
    }
}

/// What opening found: both lists are empty for a store that was left in good order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Torn tails that were cut.
    pub cuts: Vec<Cut>,
    /// Damage that was found at open and by reads since then.
    pub damages: Vec<Damage>,
}

/// What a complete check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Records that are intact.
    pub records: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Everything that is not as it was written.
    pub damages: Vec<Damage>,
}

/// Figures of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Records that can be asked for.
    pub records: u64,
    /// The length of all segments.
    pub bytes: u64,
    /// The number of segments.
    pub segments: u64,
    /// The id that the next record gets.
    pub next_seq: Seq,
    /// The store's directory.
    pub path: PathBuf,
}

/// One erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// When, in nanoseconds since 1970.
    pub at: u64,
    /// Ids up to this one were concerned.
    pub upto: Seq,
    /// How many parts of keys named the scope; `None` if ids did.
    pub depth: Option<u64>,
    /// How many ids it lists: those of the scope as it was found, and of what was made from them.
    pub records: u64,
}

impl From<&Tombstone> for Erasure {
    fn from(tombstone: &Tombstone) -> Self {
        let sizes = tombstone.seqs.iter();
        let sizes = sizes.map(|range| range.end().saturating_sub(*range.start()).saturating_add(1));
        Self {
            at: tombstone.at,
            upto: Seq(tombstone.upto),
            depth: tombstone.prefix.map(|(depth, _)| depth),
            records: sizes.sum(),
        }
    }
}

/// What was erased from a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureReport {
    /// The erasures that tombstones tell of, in order; compaction folds old ones into one.
    pub erasures: Vec<Erasure>,
    /// Erased records whose bytes still lie in the segments.
    pub pending: u64,
}
