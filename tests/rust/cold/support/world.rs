//! What a workload handed to a store, and what became of it: the oracle.

use std::ops::Range;

use warmset_core::cold::Draft;
use warmset_core::{Kind, Seq};

/// A record that was handed to the store.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) payload: Vec<u8>,
    pub(crate) conversation: usize,
    /// `None` for one that went to the spool.
    pub(crate) seq: Option<u64>,
    pub(crate) source: Option<u64>,
    /// Whether the store was asked to sync it.
    pub(crate) synced: bool,
    pub(crate) erased: bool,
    /// Whether an erasure that failed may have reached it.
    pub(crate) doubtful: bool,
}

/// What was acknowledged so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) records: Vec<Known>,
    /// Ranges of `records` that are all or nothing.
    pub(crate) batches: Vec<Range<usize>>,
    /// What `durable_seq` said.
    pub(crate) floor: u64,
}

pub(crate) const CONVERSATIONS: [&[u8]; 2] = [b"one", b"two"];

impl World {
    /// The first record that is left and whose id is known.
    pub(crate) fn first(&self) -> Option<&Known> {
        let mut known = self.records.iter();
        known.find(|record| record.seq.is_some() && !record.erased && !record.doubtful)
    }

    pub(crate) fn highest(&self) -> u64 {
        let seqs = self.records.iter().filter_map(|record| record.seq);
        seqs.max().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, seqs: Option<&[Seq]>, drafts: &[New]) {
        let start = self.records.len();
        for (at, new) in drafts.iter().enumerate() {
            self.records.push(Known {
                payload: new.payload.clone(),
                conversation: new.conversation,
                seq: seqs.map(|seqs| seqs[at].0),
                source: new.source,
                synced: true,
                erased: false,
                doubtful: false,
            });
        }
        self.batches.push(start..self.records.len());
    }

    /// Takes the last batch as one that nobody asked to sync.
    pub(crate) fn last_is_unsynced(&mut self) {
        let last = self.batches.last().cloned().unwrap_or_default();
        self.records[last]
            .iter_mut()
            .for_each(|record| record.synced = false);
    }

    /// Whether the record of an id is erased, perhaps at least.
    pub(crate) fn is_gone(&self, seq: Option<u64>) -> bool {
        let gone = |record: &Known| record.erased || record.doubtful;
        let mut records = self.records.iter();
        seq.is_some() && records.any(|record| record.seq == seq && gone(record))
    }

    /// Takes up other batches, and everything that may be erased as erased.
    pub(crate) fn extend(&mut self, other: &Self) {
        let start = self.records.len();
        for batch in &other.batches {
            self.batches.push(batch.start + start..batch.end + start);
        }
        for record in &other.records {
            let mut record = record.clone();
            record.erased |= record.doubtful;
            self.records.push(record);
        }
    }

    /// Erases what `hit` says, and what was made from it; perhaps, where the erasure failed.
    pub(crate) fn erase(&mut self, perhaps: bool, hit: impl Fn(&Known) -> bool) {
        let mut gone = Vec::new();
        for record in &mut self.records {
            let derived = record.source.is_some() && gone.contains(&record.source);
            if hit(record) || derived || record.erased {
                gone.push(record.seq);
                record.doubtful |= perhaps && !record.erased;
                record.erased |= !perhaps;
            }
        }
    }
}

/// A record to be handed in.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) payload: Vec<u8>,
    pub(crate) conversation: usize,
    pub(crate) source: Option<u64>,
}

/// The drafts of records.
pub(crate) fn with<T>(drafts: &[New], act: impl FnOnce(&[Draft<'_>]) -> T) -> T {
    let keys: Vec<[&[u8]; 2]> = drafts
        .iter()
        .map(|new| [&b"tenant"[..], CONVERSATIONS[new.conversation]])
        .collect();
    let sources: Vec<Vec<Seq>> = drafts
        .iter()
        .map(|new| new.source.into_iter().map(Seq).collect())
        .collect();
    let batch: Vec<Draft<'_>> = drafts
        .iter()
        .enumerate()
        .map(|(at, new)| Draft {
            kind: Kind::Turn,
            key: &keys[at],
            meta: b"meta",
            sources: &sources[at],
            payload: &new.payload,
        })
        .collect();
    act(&batch)
}
