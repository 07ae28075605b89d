//! The words that every stage shares: ids, record kinds, keys.

use std::fmt;

/// A store's sequence number: the id of everything that warmset keeps.
///
/// Unique in its store, growing, never reused; gaps are allowed. It is never a position in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What a record of the cold store holds. The numbers are on disk: they never change meaning.
///
/// A number that this version does not know is kept as [`Kind::Other`], so that a store written by
/// a newer minor version loses nothing when an older one reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One message of a conversation, verbatim.
    Turn,
    /// Reserved: a member of a batch that is committed by a record of its own.
    BatchMember,
    /// Reserved: the commit of such a batch.
    BatchCommit,
    /// A summary with its provenance.
    Summary,
    /// Vectors of one turn under one embedder, of 32 bits a value.
    Embedding,
    /// One run of a compaction with its figures.
    Episode,
    /// A memory that was distilled out of turns.
    Distilled,
    /// A summary that was made before it was needed.
    Prepared,
    /// An item of the typed memory.
    Item,
    /// The erasure of records.
    Tombstone,
    /// A small fact about the store or a conversation: its embedder, a moved head.
    Checkpoint,
    /// The last record of a sealed segment.
    Seal,
    /// The head of a batch that came through the spool.
    Spooled,
    /// A version of a cell of the log: the newest one of a key wins.
    Cell,
    /// An entry of a list of the log that is no message.
    Entry,
    /// A change of the columns or the expiry of a cell or an entry, without its payload.
    Patch,
    /// The removal of cells, entries or whole prefixes: they count as absent at once.
    Removed,
    /// Where the path of a list ends, if that is not its newest entry.
    Head,
    /// Facts that were worked out of a batch of turns, and can be worked out again.
    Facts,
    /// Bytes between two copies of one record, so that no sector holds both.
    Filler,
    /// Vectors of one turn under one embedder, in half precision.
    HalfEmbedding,
    /// A kind of a newer version: kept, never interpreted.
    Other(u16),
}

impl Kind {
    const TABLE: [(Self, u16, &'static str); 21] = [
        (Self::Turn, 1, "turn"),
        (Self::BatchMember, 2, "batch_member"),
        (Self::BatchCommit, 3, "batch_commit"),
        (Self::Summary, 4, "summary"),
        (Self::Embedding, 5, "embedding"),
        (Self::Episode, 6, "episode"),
        (Self::Distilled, 7, "distilled"),
        (Self::Prepared, 8, "prepared"),
        (Self::Item, 9, "item"),
        (Self::Tombstone, 10, "tombstone"),
        (Self::Checkpoint, 11, "checkpoint"),
        (Self::Seal, 12, "seal"),
        (Self::Spooled, 13, "spooled"),
        (Self::Cell, 14, "cell"),
        (Self::Entry, 15, "entry"),
        (Self::Patch, 16, "patch"),
        (Self::Removed, 17, "removed"),
        (Self::Head, 18, "head"),
        (Self::Facts, 19, "facts"),
        (Self::Filler, 20, "filler"),
        (Self::HalfEmbedding, 21, "half_embedding"),
    ];

    /// Whether records of this kind are the store's own bookkeeping: nobody else writes them, they are
    /// never encrypted, and no erasure concerns them.
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(
            self.known(),
            Self::Tombstone | Self::Seal | Self::Spooled | Self::Filler
        )
    }

    /// Whether only the log writes records of this kind.
    #[must_use]
    pub fn is_of_log(self) -> bool {
        matches!(
            self.known(),
            Self::Cell | Self::Entry | Self::Patch | Self::Removed | Self::Head
        )
    }

    /// Whether a record of this kind says nothing but what ids and keys say, and is never encrypted.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self.is_own() || matches!(self.known(), Self::Removed | Self::Head)
    }

    /// The kind that its number has in this version.
    fn known(self) -> Self {
        match self {
            Self::Other(code) => Self::from_code(code),
            known => known,
        }
    }

    /// The number on disk.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Other(code) => code,
            known => Self::TABLE
                .iter()
                .find(|row| row.0 == known)
                .map_or(0, |row| row.1),
        }
    }

    /// The kind of a number on disk; an unknown number is kept, not refused.
    #[must_use]
    pub fn from_code(code: u16) -> Self {
        Self::TABLE
            .iter()
            .find(|row| row.1 == code)
            .map_or(Self::Other(code), |row| row.0)
    }

    /// The kind's name in the Python API; `"other"` for a kind of a newer version.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE
            .iter()
            .find(|row| row.0 == self)
            .map_or("other", |row| row.2)
    }

    /// The kind of that name, if this version knows it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|row| row.2 == name)
            .map(|row| row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_round_trip_by_code_and_name() {
        for code in 0..40 {
            assert_eq!(Kind::from_code(code).code(), code);
        }
        for (kind, code, name) in Kind::TABLE {
            assert_eq!(Kind::from_name(name), Some(kind));
            assert_eq!(Kind::from_code(code), kind);
        }
        assert_eq!(Kind::from_name("other"), None);
    }

    #[test]
    fn who_may_write_a_kind_is_told_by_its_number() {
        for (kind, code, _) in Kind::TABLE {
            let other = Kind::Other(code);
            let told = |kind: Kind| (kind.is_own(), kind.is_of_log(), kind.is_plain());
            assert_eq!(told(other), told(kind), "{kind:?}");
            assert!(kind.is_plain() || !kind.is_own());
        }
        assert!(Kind::Head.is_plain() && !Kind::Cell.is_plain());
    }
}
