//! What the log is asked to write: rows that apply in order, and conditions that all must hold.

use crate::cold::Ack;
use crate::entry::Seq;

use super::value::Columns;

/// The parts of a key.
pub type Key<'a> = &'a [&'a [u8]];

/// What a put or an addition does where there is something by that name already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfPresent {
    /// It takes its place: the newest version of a cell, the newest entry of that name.
    #[default]
    Replace,
    /// It is left out.
    Skip,
    /// Nothing of the batch is written.
    Fail,
}

/// A version of a cell, or an entry of a list, as the caller gives it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The key of the cell, or of the list.
    pub key: Key<'a>,
    /// The bytes that must come back exactly.
    pub payload: &'a [u8],
    /// What lies beside a message, as a JSON object: the entry is a turn of the conversation of this key then,
    /// and this says its own id (`key`), its time (`at`, seconds) and its columns (`meta`).
    pub turn: Option<&'a [u8]>,
    /// Of an entry: the caller's own id, unique on its path.
    pub uid: Option<&'a [u8]>,
    /// The caller's name of the payload's encoding.
    pub codec: Option<&'a str>,
    /// From when on it counts as absent, in microseconds since 1970 UTC.
    pub expires: Option<i64>,
    /// Named values to filter by.
    pub columns: Option<&'a Columns>,
    /// Bytes beside the payload.
    pub own: &'a [u8],
    /// Records that it was made from: when one of them is erased, so is this.
    pub sources: &'a [Seq],
    /// What happens where there is one already.
    pub if_present: IfPresent,
}

impl<'a> Item<'a> {
    /// An item with nothing beside its payload.
    #[must_use]
    pub const fn new(key: Key<'a>, payload: &'a [u8]) -> Self {
        Self {
            key,
            payload,
            turn: None,
            uid: None,
            codec: None,
            expires: None,
            columns: None,
            own: &[],
            sources: &[],
            if_present: IfPresent::Replace,
        }
    }
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// A version of a cell.
    Put(Item<'a>),
    /// An entry at the end of a list.
    Add(Item<'a>),
    /// Other columns and another expiry for a cell, whose payload stays.
    Patch {
        /// The cell's key.
        key: Key<'a>,
        /// The version that is meant; the newest one if not given.
        version: Option<Seq>,
        /// All columns that it has from now on.
        columns: &'a Columns,
        /// From when on it counts as absent; never if not given.
        expires: Option<i64>,
    },
    /// The path of a list ends at an entry, or is empty with id 0; what is added next follows that. What
    /// was behind it is removed from a plain list, and left on a path of its own in a conversation.
    Cut {
        /// The list's key.
        list: Key<'a>,
        /// The entry; 0 for none.
        after: Seq,
    },
    /// A cell counts as absent; it may be so already.
    Remove(Key<'a>),
    /// Every cell and every entry below a prefix counts as absent.
    RemoveBelow(Key<'a>),
    /// What has expired by the batch's clock is removed: the cell of this key, and entries of the list.
    RemoveExpired(Key<'a>),
    /// Entries count as absent, and those behind them follow those before.
    RemoveEntries {
        /// The list's key.
        list: Key<'a>,
        /// The entries.
        entries: &'a [Seq],
    },
}

impl<'a> Row<'a> {
    /// The key of the cell, the list or the prefix that it is about.
    #[must_use]
    pub fn key(&self) -> Key<'a> {
        match *self {
            Self::Put(Item { key, .. })
            | Self::Add(Item { key, .. })
            | Self::Patch { key, .. }
            | Self::Cut { list: key, .. }
            | Self::Remove(key)
            | Self::RemoveBelow(key)
            | Self::RemoveExpired(key)
            | Self::RemoveEntries { list: key, .. } => key,
        }
    }
}

/// What must be so when a batch is written.
#[derive(Clone, Copy, Debug)]
pub enum Expect<'a> {
    /// The newest version of a cell; 0 for none.
    Version(Key<'a>, Seq),
    /// The last entry on the path of a list; 0 for none.
    Tail(Key<'a>, Seq),
    /// An entry on the path of a list.
    Entry(Key<'a>, Seq),
    /// No cell and no entry on the path of a list below a prefix.
    Nothing(Key<'a>),
}

/// Rows and conditions that are written together or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// What changes, in this order: a later row sees what an earlier one did.
    pub rows: &'a [Row<'a>],
    /// What must be so before the first row.
    pub expect: &'a [Expect<'a>],
    /// The caller's clock, in microseconds since 1970 UTC: what expires by then counts as absent.
    pub now: i64,
    /// How many parts of the keys name whose they are: whose encryption key the records have. 0 for two.
    pub depth: u8,
    /// A name by which the batch is known for a day: written again with the same rows, nothing is written,
    /// and the answer is that of the first time; with others, [`Error::Conflict`](crate::Error::Conflict).
    /// It belongs to those whose the first row is. 1 to [`MAX_UID`](super::MAX_UID) bytes.
    pub once: Option<&'a [u8]>,
    /// What is waited for.
    pub ack: Ack,
    /// Whether it may be left in the spool where the lock stays busy and the handle's options say so: it is
    /// durable then, and the next writer with a log judges it. Only puts and additions that replace what is
    /// there or are left out; no expectation, no name.
    pub spools: bool,
}

impl<'a> Batch<'a> {
    /// A batch without conditions, now.
    #[must_use]
    pub fn new(rows: &'a [Row<'a>]) -> Self {
        Self {
            rows,
            expect: &[],
            now: now(),
            depth: 0,
            once: None,
            ack: Ack::Durable,
            spools: false,
        }
    }
}

/// The wall clock, in microseconds since 1970 UTC.
#[must_use]
pub fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |time| {
        i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
    })
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is written, under this id.
    Written(Seq),
    /// It was left out for what is there under this id.
    Present(Seq),
    /// There was nothing to do.
    Nothing,
    /// It waits in the spool for the next writer.
    Spooled,
}
