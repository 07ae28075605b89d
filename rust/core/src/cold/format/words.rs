//! The feature words of a segment: what a version must know to read it, or to write beside it.
//!
//! They stand in the header, so a record that needs one begins a segment that bears it. Whoever does not
//! know a word meets it before any record that it is about.

use std::ops::BitOr;

use crate::entry::Kind;

/// The words of one segment, or those that a batch needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cold) struct Words {
    /// Who does not know one of these may read, and not write.
    pub(in crate::cold) read_only: u64,
    /// Who does not know one of these may not read.
    pub(in crate::cold) incompatible: u64,
}

/// There are records of the log: keys have newest versions, lists have heads, and entries have names. (The
/// lowest bit is that of no version: the stores of tests that are too new for every version have it.)
const LOG: u64 = 1 << 1;
/// Turns were removed, or left out of a conversation's path: who does not know that would show them.
const REMOVED_TURNS: u64 = 1 << 1;

impl Words {
    /// All that this version knows.
    pub(in crate::cold) const KNOWN: Self = Self {
        read_only: LOG,
        incompatible: REMOVED_TURNS,
    };

    /// What a record of this kind and key needs; `tied` is whether it has links or a scope of its own.
    pub(in crate::cold) fn of(kind: Kind, key: &[&[u8]], tied: bool) -> Self {
        let concerns_turns = matches!(kind, Kind::Removed | Kind::Head) && !is_space(key);
        Self {
            read_only: if tied || kind.is_of_log() { LOG } else { 0 },
            incompatible: if concerns_turns { REMOVED_TURNS } else { 0 },
        }
    }

    /// Whether these are among those of a segment.
    pub(in crate::cold) fn are_in(self, segment: Self) -> bool {
        (self | segment) == segment
    }
}

impl BitOr for Words {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            read_only: self.read_only | other.read_only,
            incompatible: self.incompatible | other.incompatible,
        }
    }
}

/// The first byte of the second part of a key that is no conversation's: no UTF-8 text begins so.
pub const SPACE: u8 = 0xff;

/// Whether a key is of a space, and not of a conversation; one of fewer parts may cover conversations.
pub(crate) fn is_space(key: &[&[u8]]) -> bool {
    key.get(1).is_some_and(|part| part.first() == Some(&SPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_needs_the_words_of_what_an_older_version_would_get_wrong() {
        let (talk, space): ([&[u8]; 2], [&[u8]; 2]) = ([b"t", b"talk"], [b"t", b"\xffitems"]);
        let of = |kind, key: &[&[u8]], tied| {
            let words = Words::of(kind, key, tied);
            (words.read_only == LOG, words.incompatible == REMOVED_TURNS)
        };
        assert_eq!(of(Kind::Turn, &talk, false), (false, false));
        assert_eq!(of(Kind::Turn, &talk, true), (true, false));
        for kind in [Kind::Cell, Kind::Entry, Kind::Patch] {
            assert_eq!(of(kind, &talk, false), (true, false), "{kind:?}");
        }
        for kind in [Kind::Removed, Kind::Head] {
            assert_eq!(of(kind, &talk, false), (true, true), "{kind:?}");
            assert_eq!(of(kind, &space, false), (true, false), "{kind:?}");
            assert_eq!(of(kind, &[b"t"], false), (true, true), "{kind:?}");
        }
        for kind in [Kind::Embedding, Kind::Facts, Kind::Tombstone] {
            assert_eq!(Words::of(kind, &talk, false), Words::default(), "{kind:?}");
        }
    }

    #[test]
    fn words_add_up() {
        let (none, all) = (Words::default(), Words::KNOWN);
        assert!(none.are_in(none) && none.are_in(all) && all.are_in(all));
        assert!(!all.are_in(none));
        let half = Words {
            incompatible: 0,
            ..all
        };
        assert!(half.are_in(all) && !all.are_in(half));
        assert_eq!(half | none, half);
    }
}
