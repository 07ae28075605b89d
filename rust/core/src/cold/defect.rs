//! Classic mistakes that can be switched on in a build for that purpose, to see that a test catches
//! each. Without the feature `defects` nothing of them is in the program.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "defects"),
    expect(
        unreachable_pub,
        reason = "public for the tests with the feature alone"
    )
)]
pub enum Defect {
    /// The directory is not synced after a segment was created.
    NoDirectorySync,
    /// A batch is acknowledged before its sync.
    AckBeforeSync,
    /// A failed sync is tried again.
    SyncRetried,
    /// After a failed sync the writer goes on.
    FailedSyncForgotten,
    /// A write that failed half way is not taken back.
    NoTruncate,
    /// Checksums cover neither salt nor place, so that a stored store is taken for records.
    UnsaltedChecksum,
    /// The parts of a key are joined with a delimiter.
    JoinedKeys,
    /// The mark says that a batch is durable before it was synced.
    MarkBeforeSync,
    /// A file is renamed into place before it was synced.
    RenameBeforeSync,
    /// A batch is taken out of the spool before it is in the store.
    SpoolRemovedFirst,
    /// Of the two copies of a tombstone one is not synced, and the other is not written.
    TombstoneUnsynced,
    /// What was made from an erased record stays.
    NoCascade,
    /// A reader looks further than the mark.
    ReadBeyondMark,
    /// A record's header is believed without its checksum.
    HeaderUnchecked,
    /// A payload is believed without its hash.
    PayloadUnchecked,
    /// Recovery keeps the whole records of a torn batch.
    HalfBatch,
    /// A compaction does not sync what makes records dead.
    FoldUnsynced,
    /// Conditions are judged on what this handle knew before.
    StaleConditions,
    /// A batch is judged without those before it in its group.
    GroupUnseen,
    /// What was drafted of a refused batch counts for the next one.
    RefusedDraftKept,
    /// The directory shows a batch whose write failed.
    PublishedThoughFailed,
    /// A batch with a name is remembered though its write failed.
    OnceThoughFailed,
    /// A removal is written once.
    OneCopy,
    /// A compaction drops a removal while something that it covers is left.
    RemovalDroppedFirst,
    /// What was made from something that is removed stays.
    DerivedKept,
    /// Erasing a cell leaves its older versions.
    EraseNewestOnly,
    /// An own id is taken if any entry of the list has it, on the path or not.
    UidAnywhere,
    /// A condition takes what has expired for there.
    ExpiredCounts,
}

#[cfg(feature = "defects")]
static ACTIVE: std::sync::RwLock<Option<Defect>> = std::sync::RwLock::new(None);

/// Makes this mistake from now on, in the whole process, or none.
#[cfg(feature = "defects")]
pub fn seed(defect: Option<Defect>) {
    let active = ACTIVE.write();
    *active.unwrap_or_else(std::sync::PoisonError::into_inner) = defect;
}

/// Whether this mistake is to be made.
#[cfg(feature = "defects")]
pub(crate) fn on(defect: Defect) -> bool {
    let active = ACTIVE.read();
    *active.unwrap_or_else(std::sync::PoisonError::into_inner) == Some(defect)
}

/// Whether this mistake is to be made: never.
#[cfg(not(feature = "defects"))]
pub(crate) const fn on(_defect: Defect) -> bool {
    false
}
