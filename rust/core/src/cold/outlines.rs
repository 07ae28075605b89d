//! What the log follows: the records of its kinds, in order, and what is gone.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use super::erase::erasures::{Erasures, Tombstone, hash_of};
use super::format::bytes::wide;
use super::format::footer::{Entry, Why};
use super::format::frame::HEADER;
use super::format::words::Words;
use super::read::index::Index;
use super::read::source::{Source, Ties};
use super::record::Outline;
use super::store::Store;
use super::write::leave;

/// How many bytes of records are looked at under one lock.
const PAGE: u64 = 8 << 20;

/// What can no longer be read, as of some moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gone {
    erasures: Arc<Erasures>,
    /// Ids whose records are damaged so that nobody knows their keys.
    pub(crate) lost: Vec<RangeInclusive<u64>>,
    /// How often records that were read once were found to be gone.
    pub(crate) rewound: u64,
    /// A number that changes when segments were written anew.
    pub(crate) generation: u64,
    /// Whether something went that had made other records dead, and nobody has followed it who asks.
    pub(crate) has_dropped: bool,
    /// The last id that is known.
    pub(crate) last: Seq,
}

/// What a tombstone covers, for whoever follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// Ids of records, ascending; some may have been erased before.
    pub records: Vec<RangeInclusive<u64>>,
    /// The store's, which the hash begins with.
    pub uuid: [u8; 16],
    /// Up to which id all below a prefix is erased: how many parts it has, and their hash.
    pub prefix: Option<(u64, u128)>,
    /// That id.
    pub upto: u64,
}

impl Scrubbed {
    /// What a tombstone with this payload covers.
    pub(crate) fn of(uuid: [u8; 16], payload: &[u8]) -> Option<Self> {
        let found = Tombstone::decode(payload)?;
        Some(Self {
            records: found.seqs,
            uuid,
            prefix: found.prefix,
            upto: found.upto,
        })
    }

    /// Whether a record with this id and key is erased.
    pub fn covers<P: AsRef<[u8]>>(&self, seq: Seq, key: &[P]) -> bool {
        let after = self.records.partition_point(|one| *one.start() <= seq.0);
        let range = after.checked_sub(1).and_then(|at| self.records.get(at));
        let is_listed = range.is_some_and(|range| range.contains(&seq.0));
        is_listed || (seq.0 <= self.upto && self.is_below(key))
    }

    fn is_below<P: AsRef<[u8]>>(&self, key: &[P]) -> bool {
        self.prefix.is_some_and(|(depth, hash)| {
            let depth = usize::try_from(depth).ok();
            let parts = depth.and_then(|depth| key.get(..depth));
            parts.and_then(|parts| hash_of(&self.uuid, parts)) == Some(hash)
        })
    }
}

/// What somebody who follows has taken up beside records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    /// Up to which erasure.
    pub(crate) erased: u64,
    /// How often records that were read once had been found to be gone.
    pub(crate) rewound: u64,
    /// In which generation of segments.
    pub(crate) generation: u64,
}

impl Followed {
    /// Whether what was read once may be gone, or what made it dead.
    pub(crate) fn is_before(&self, gone: &Gone) -> bool {
        let anew = self.generation != gone.generation && gone.has_dropped;
        self.rewound != gone.rewound || anew
    }
}

impl Gone {
    /// A number that grows with each erasure.
    pub(crate) fn version(&self) -> u64 {
        self.erasures.version()
    }

    /// Whether all records of these ids were erased.
    pub(crate) fn covers_all(&self, seqs: &RangeInclusive<u64>) -> bool {
        self.erasures.covers_all(seqs)
    }

    /// Whether a record was erased.
    pub(crate) fn covers(&self, seq: Seq, key: &[Vec<u8>]) -> bool {
        self.erasures.covers(seq.0, key)
    }
}

impl Store {
    /// Whether another process than the one that opened it asks.
    pub(crate) fn is_forked(&self) -> bool {
        self.shelf.is_forked()
    }

    /// How long a segment gets.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.shelf.options.segment_bytes
    }

    /// Whether nothing came after an id, and all else was taken up.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::Closed`].
    pub(crate) fn is_followed(&self, seen: Seq, before: Followed, fresh: bool) -> Result<bool> {
        let index = if fresh {
            self.shelf.fresh()?
        } else {
            self.shelf.known()?
        };
        let next = index.last() == seen.0;
        let now = Followed {
            erased: index.erasures.version(),
            rewound: index.rewound,
            generation: index.mark.generation,
        };
        Ok(next && now == before)
    }

    /// Whether batches wait in the spool.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(crate) fn is_spooling(&self) -> Result<bool> {
        leave::is_used(&self.shelf)
    }

    /// What a record is tied to; `None` if it is erased, or nobody can tell. Only for whoever holds the writer's lock.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::Closed`].
    pub(crate) fn tied(&self, seq: Seq) -> Result<Option<Ties>> {
        let index = self.shelf.known()?;
        let (source, entry) = match index.find(seq.0) {
            Err(Error::NotFound { .. } | Error::Erased { .. } | Error::Corrupt { .. }) => {
                return Ok(None);
            }
            other => other?,
        };
        match source.ties(entry) {
            Ok(ties) if index.erasures.covers(seq.0, &ties.key) => Ok(None),
            Ok(ties) => Ok(Some(ties)),
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The error of a damaged record, in these words if nobody knows more of it.
    pub(crate) fn damage_of(&self, seq: Seq, detail: &str) -> Error {
        let index = self.shelf.peek();
        match index.loss(seq) {
            Some(damage) => damage.to_error(),
            None => Error::Corrupt {
                path: self.shelf.medium.path(""),
                offset: 0,
                seqs: seq.to_string(),
                detail: detail.into(),
            },
        }
    }

    /// The next records from an id on that somebody else than the store wrote, tombstones among them, and the
    /// id after them; none and the same id at the end. Erased ones are left out, and what is damaged so that nobody knows what
    /// it was is told as gone.
    ///
    /// With `fresh`, other handles' records are looked for first; whoever holds the writer's lock has
    /// them already.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::Interrupted`]; [`Error::Closed`].
    pub(crate) fn outlines(&self, from: Seq, fresh: bool) -> Result<(Vec<Outline>, Seq, Gone)> {
        self.outlines_within(PAGE, from, fresh)
    }

    /// As [`outlines`](Self::outlines), of about so many bytes of records.
    ///
    /// # Errors
    ///
    /// As [`outlines`](Self::outlines).
    pub(crate) fn outlines_within(
        &self,
        bytes: u64,
        from: Seq,
        fresh: bool,
    ) -> Result<(Vec<Outline>, Seq, Gone)> {
        let (places, damaged, mut gone, removals, end) = {
            let index = if fresh {
                self.shelf.fresh()?
            } else {
                self.shelf.known()?
            };
            let (damaged, lost) = damaged(&index)?;
            let gone = Gone {
                erasures: Arc::clone(&index.erasures),
                lost,
                rewound: index.rewound,
                generation: index.mark.generation,
                has_dropped: index.erasures.covers_any(from.0)
                    || index.dropped_after(from.0.saturating_sub(1))?,
                last: Seq(index.last()),
            };
            (
                index.range(from.0, bytes.min(PAGE))?,
                damaged,
                gone,
                Arc::clone(&index.removals),
                index.last() + 1,
            )
        };
        let after = places
            .last()
            .map_or(end, |(_, last)| last.seq.saturating_add(1));
        let damaged = damaged.range(from.0..after.max(from.0));
        let damaged = damaged.map(|(_, place)| place.clone());
        let mut places: Vec<_> = places.into_iter().chain(damaged).collect();
        places.sort_by_key(|(_, entry)| entry.seq);
        places.dedup_by_key(|(_, entry)| entry.seq);
        let mut out = Vec::with_capacity(places.len());
        for (source, entry) in places {
            let kind = Kind::from_code(entry.kind);
            let is_own = kind.is_own() && kind != Kind::Tombstone;
            if is_own || gone.erasures.covers_seq(entry.seq) {
                continue;
            }
            interrupt::check()?;
            match source.outline(entry, &self.shelf.keyring) {
                Ok(found) if gone.covers(found.seq, &found.key) => {}
                Ok(found) => out.push(Outline {
                    is_taken: removals.take(found.seq),
                    ..found
                }),
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => {
                    gone.lost.push(entry.seq..=entry.seq);
                }
                Err(other) => return Err(other),
            }
        }
        Ok((out, Seq(after.max(from.0)), gone))
    }
}

/// The damaged records whose headers hold, by id, and the ids of all others.
type Damaged = (
    BTreeMap<u64, (Arc<Source>, Entry)>,
    Vec<RangeInclusive<u64>>,
);

fn damaged(index: &Index) -> Result<Damaged> {
    let (mut known, mut lost) = (BTreeMap::new(), Vec::new());
    for damage in index.all_damages() {
        let Some(seqs) = &damage.seqs else {
            continue;
        };
        let mut segments = index.segments.iter();
        let segment = segments.find(|one| one.source.header.number == damage.segment);
        let entry = segment.and_then(|segment| {
            let head = segment
                .source
                .bytes(damage.bytes.start, wide(HEADER))
                .ok()?;
            let entry = segment.source.entry_at(damage.bytes.start, &head)?;
            (Seq(entry.seq) == *seqs.start() && seqs.start() == seqs.end())
                .then(|| (Arc::clone(&segment.source), entry))
        });
        match entry {
            Some((source, entry)) => drop(known.insert(entry.seq, (source, entry))),
            None => lost.push(seqs.start().0..=seqs.end().0),
        }
    }
    for segment in &index.segments {
        if segment.source.header.words != Words::default() {
            let gaps = segment.listing()?.contents.gaps.iter();
            let damaged = gaps.filter(|gap| gap.why == Why::Damaged);
            lost.extend(damaged.map(|gap| gap.seqs.clone()));
        }
    }
    Ok((known, lost))
}
