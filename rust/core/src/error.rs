//! One error for the whole core. Each variant carries what a caller needs to tell it apart and to
//! mend it: path, offset, what was expected, what was found.

use std::path::PathBuf;

use crate::entry::Seq;

/// Every way in which the core can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another handle, of this process or of another one, owns the store.
    #[error("{path} is in use by {owner}; close it there, or wait for it")]
    Locked {
        /// The store's directory.
        path: PathBuf,
        /// Who holds the lock, as that process wrote it down.
        owner: String,
    },
    /// An earlier write or sync failed, so no further write is acknowledged.
    #[error("the writer of {path} stopped after {detail}; reopen the store")]
    Poisoned {
        /// The store's directory.
        path: PathBuf,
        /// The failure that stopped it.
        detail: String,
    },
    /// The medium has no room left.
    #[error("no space left for {path}; free some and reopen the store")]
    Full {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The operating system refused an operation.
    #[error("{op} {path}: {source}")]
    Io {
        /// The operation's name.
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Bytes that were durable are not what was written.
    #[error("{path} is damaged at byte {offset} ({detail}); {seqs}")]
    Corrupt {
        /// The segment's file.
        path: PathBuf,
        /// Where the damage begins.
        offset: u64,
        /// The ids concerned, in words.
        seqs: String,
        /// What did not agree.
        detail: String,
    },
    /// The store was written by a version with another major format.
    #[error("{path} has format {found}, this version reads {supported}; upgrade warmset")]
    NewerFormat {
        /// The segment's file.
        path: PathBuf,
        /// The format that was found.
        found: String,
        /// The format that this version reads.
        supported: String,
    },
    /// The path is not a store, and is left as it was.
    #[error("{path} is not a warmset store: {detail}; name an empty or a new directory")]
    NotAStore {
        /// The path that was given.
        path: PathBuf,
        /// What was found there.
        detail: String,
    },
    /// A segment of another store lies in this one's directory.
    #[error("{path} belongs to another store; move it out of this directory")]
    ForeignSegment {
        /// The segment's file.
        path: PathBuf,
    },
    /// A file ends before what it promised.
    #[error("{path} ends at byte {found}, expected at least {expected}; restore it from a copy")]
    Truncated {
        /// The segment's file.
        path: PathBuf,
        /// The length that was needed.
        expected: u64,
        /// The length that was found.
        found: u64,
    },
    /// A record is over the store's size limit.
    #[error("a record of {size} bytes is over the limit of {limit}; split it or store a reference")]
    TooLarge {
        /// The payload's size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// No record has that id.
    #[error("no record has id {seq}")]
    NotFound {
        /// The id that was asked for.
        seq: Seq,
    },
    /// A condition of a batch did not hold: nothing of it was written.
    #[error("{}: {reason}, found {}; read it again and decide anew", shown(key), current.map_or_else(|| "none".to_owned(), |id| id.to_string()))]
    Conflict {
        /// The row of the batch; `None` for what the batch as a whole expected.
        row: Option<usize>,
        /// The key of the cell or the list.
        key: Vec<Vec<u8>>,
        /// What did not hold: "present", for a cell of that key or an entry of that own id, "version", "tail"
        /// or "once".
        reason: &'static str,
        /// The id of what is there.
        current: Option<Seq>,
    },
    /// A record that may have changed this is damaged, so that nobody knows whether it is the newest.
    #[error(
        "record {seq} is damaged and may have changed this; {version} is what was known before it"
    )]
    Uncertain {
        /// The damaged record.
        seq: Seq,
        /// The newest version that is known; id 0 for none.
        version: Seq,
    },
    /// The record was erased.
    #[error("record {seq} was erased")]
    Erased {
        /// The id that was asked for.
        seq: Seq,
    },
    /// The record is encrypted, and its key is not here.
    #[error("record {seq} is encrypted and its key is not here; open the store with its keys")]
    NoKey {
        /// The id that was asked for.
        seq: Seq,
    },
    /// The handle only reads.
    #[error("{path} was opened to read only; open it in another mode to write")]
    ReadOnly {
        /// The store's directory.
        path: PathBuf,
    },
    /// The caller asked a long call to stop.
    #[error("interrupted; nothing was left half done")]
    Interrupted,
    /// The handle was made by the parent of this process.
    #[error("this handle was opened before a fork; open the store again in the child")]
    Forked,
    /// The handle was closed.
    #[error("the store is closed; open it again")]
    Closed,
    /// A saved index is of another kind or version, or its bytes are not what was written.
    #[error(
        "the saved index cannot be used at byte {offset}: {detail}; make it anew from the store"
    )]
    SavedIndex {
        /// Where it was noticed.
        offset: u64,
        /// What did not agree.
        detail: String,
    },
    /// A vector has another dimension than the index.
    #[error("expected vectors of dimension {expected}, found {found}")]
    Dimension {
        /// The index's dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// A vector holds a NaN or an infinity.
    #[error("vector {row} holds a NaN or an infinity; clean the input")]
    NotFinite {
        /// The row in the input.
        row: usize,
    },
    /// A vector without direction cannot be ranked by cosine.
    #[error("vector {row} has zero norm, so it has no cosine; leave it out or use metric=\"ip\"")]
    ZeroNorm {
        /// The row in the input.
        row: usize,
    },
    /// A vector is so long that inner products could overflow.
    #[error(
        "vector {row} has norm {norm:e}; inner products need norms up to {limit:e}, so rescale"
    )]
    NormTooLarge {
        /// The row in the input.
        row: usize,
        /// Its norm.
        norm: f64,
        /// The largest norm that is accepted.
        limit: f64,
    },
    /// The id is in the index already, or twice in one batch.
    #[error("id {id} is in the index already, or twice in the batch; remove it first")]
    DuplicateId {
        /// The id.
        id: u64,
    },
    /// The index has no such id.
    #[error("id {id} is not in the index")]
    UnknownId {
        /// The id.
        id: u64,
    },
    /// Bytes of a saved index are not what was written.
    #[error(
        "{path} is damaged at byte {offset} ({detail}); delete it and rebuild it from the store \
         or the vectors that it was made of"
    )]
    IndexDamaged {
        /// The saved index.
        path: PathBuf,
        /// Where the damage begins.
        offset: u64,
        /// What did not agree.
        detail: String,
    },
    /// The file is no saved index.
    #[error("{path} is not a saved index; rebuild it from the store or name another file")]
    NotAnIndex {
        /// The file that was given.
        path: PathBuf,
    },
    /// A saved index was written by a version with another major format.
    #[error(
        "{path} has index format {found}, this version reads {supported}; upgrade warmset, or \
         rebuild it from the store or the vectors that it was made of"
    )]
    NewerIndex {
        /// The saved index.
        path: PathBuf,
        /// The format that was found.
        found: String,
        /// The format that this version reads.
        supported: String,
    },
    /// The vectors of a saved index were made by another embedder.
    #[error("the vectors were made by {stored}, not by {given}; make them anew with one of them")]
    EmbedderMismatch {
        /// The embedder that the index names.
        stored: String,
        /// The embedder that was given.
        given: String,
    },
    /// An argument is outside of its range.
    #[error("{name}: expected {expected}, found {found}")]
    Argument {
        /// The argument's name in the public API.
        name: &'static str,
        /// What would be right.
        expected: String,
        /// What was given.
        found: String,
    },
    /// What must stay is larger than the budget.
    #[error("what must stay needs {need} tokens, the budget has {have}; raise it or protect less")]
    BudgetTooSmall {
        /// Tokens that are needed.
        need: u64,
        /// Tokens that there are.
        have: u64,
    },
}

impl Error {
    /// The same error once more, for another one who waits for the same thing.
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Locked { path, owner } => Self::Locked {
                path: path.clone(),
                owner: owner.clone(),
            },
            Self::Poisoned { path, detail } => Self::Poisoned {
                path: path.clone(),
                detail: detail.clone(),
            },
            Self::Full { path } => Self::Full { path: path.clone() },
            Self::ReadOnly { path } => Self::ReadOnly { path: path.clone() },
            Self::Io { op, path, source } => Self::Io {
                op,
                path: path.clone(),
                source: std::io::Error::new(source.kind(), source.to_string()),
            },
            Self::Closed => Self::Closed,
            Self::Interrupted => Self::Interrupted,
            other => Self::Io {
                op: "append",
                path: PathBuf::new(),
                source: std::io::Error::other(other.to_string()),
            },
        }
    }
}

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What is left of a budget when something is taken from it.
pub(crate) fn remaining(budget: u64, need: u128) -> Result<u64> {
    let need = u64::try_from(need).unwrap_or(u64::MAX);
    budget
        .checked_sub(need)
        .ok_or(Error::BudgetTooSmall { need, have: budget })
}

/// A key in words.
fn shown(key: &[Vec<u8>]) -> String {
    let parts: Vec<_> = key
        .iter()
        .map(|part| String::from_utf8_lossy(part))
        .collect();
    format!("({})", parts.join(", "))
}
