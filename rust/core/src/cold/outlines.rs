//! What the log follows: the records of its kinds, in order, and what is gone.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use super::erase::erasures::Erasures;
use super::format::footer::Why;
use super::format::words::Words;
use super::record::Outline;
use super::store::Store;

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
}

impl Gone {
    /// A number that grows with each erasure.
    pub(crate) fn version(&self) -> u64 {
        self.erasures.version()
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

    /// Whether nothing came after an id, no erasure after one of that version, and nothing went that had
    /// been read when records had been found to be gone so often.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::Closed`].
    pub(crate) fn is_followed(
        &self,
        seen: Seq,
        erased: u64,
        rewound: u64,
        fresh: bool,
    ) -> Result<bool> {
        let index = if fresh {
            self.shelf.fresh()?
        } else {
            self.shelf.known()?
        };
        let next = index.next_seq() == seen.0.saturating_add(1);
        Ok(next && index.erasures.version() == erased && index.rewound == rewound)
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

    /// The records of the log and the turns among the next ones from an id on, and the id after them; none
    /// and the same id at the end. Erased ones are left out, and what is damaged is told as gone.
    ///
    /// With `fresh`, other handles' records are looked for first; whoever holds the writer's lock has
    /// them already.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::Interrupted`]; [`Error::Closed`].
    pub(crate) fn outlines(&self, from: Seq, fresh: bool) -> Result<(Vec<Outline>, Seq, Gone)> {
        let (places, mut gone, end) = {
            let index = if fresh {
                self.shelf.fresh()?
            } else {
                self.shelf.known()?
            };
            let lost = index.all_damages().filter_map(|damage| damage.seqs.clone());
            let mut gone = Gone {
                erasures: Arc::clone(&index.erasures),
                lost: lost.map(|seqs| seqs.start().0..=seqs.end().0).collect(),
                rewound: index.rewound,
            };
            for segment in &index.segments {
                if segment.source.header.words != Words::default() && segment.last() >= from.0 {
                    let gaps = segment.listing()?.contents.gaps.iter();
                    let damaged = gaps.filter(|gap| gap.why == Why::Damaged);
                    gone.lost.extend(damaged.map(|gap| gap.seqs.clone()));
                }
            }
            (index.range(from.0, PAGE)?, gone, index.next_seq())
        };
        let after = places
            .last()
            .map_or(end, |(_, last)| last.seq.saturating_add(1));
        let mut out = Vec::with_capacity(places.len());
        for (source, entry) in places {
            let kind = Kind::from_code(entry.kind);
            if !(kind.is_of_log() || kind == Kind::Turn) || gone.erasures.covers_seq(entry.seq) {
                continue;
            }
            interrupt::check()?;
            match source.outline(entry, &self.shelf.keyring) {
                Ok(found) if gone.covers(found.seq, &found.key) => {}
                Ok(found) => out.push(found),
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => {
                    gone.lost.push(entry.seq..=entry.seq);
                }
                Err(other) => return Err(other),
            }
        }
        Ok((out, Seq(after.max(from.0)), gone))
    }
}
