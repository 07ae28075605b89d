//! The end of a sealed segment: where each record lies, so that opening reads no sealed record.
//!
//! The footer is the payload of an ordinary record of kind `seal`, so it is verified as every payload
//! is. The end block has a fixed length and points back to it. Both are bound to salt and offset: a
//! payload that ends in a copy of them does not seal its segment.

use std::ops::RangeInclusive;

use crate::entry::Kind;

use crate::cold::format::PREAMBLE;
use crate::cold::format::bytes::{Fields, wide};
use crate::cold::format::encode::{Parts, Stamp, encode, stamp};
use crate::cold::format::entries::Entries;
use crate::cold::format::header::Identity;

const MAGIC: [u8; 8] = *b"wsegend\0";
/// The end block's length.
pub(in crate::cold) const END: u64 = 64;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) struct Entry {
    pub(in crate::cold) seq: u64,
    pub(in crate::cold) offset: u64,
    pub(in crate::cold) len: u64,
    pub(in crate::cold) kind: u16,
}

/// Why ids of a rewritten segment are no longer in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) enum Why {
    Erased,
    Damaged,
    /// Nothing showed them any more, and what made them so is among them.
    Dropped,
}

/// Ids that a rewritten segment no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cold) struct Gap {
    pub(in crate::cold) seqs: RangeInclusive<u64>,
    pub(in crate::cold) why: Why,
}

/// Everything that a segment holds, and what it held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cold) struct Contents {
    pub(in crate::cold) entries: Entries,
    pub(in crate::cold) gaps: Vec<Gap>,
}

/// What an end block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) struct End {
    /// Where the seal record lies, and how long it is.
    pub(in crate::cold) seal: u64,
    pub(in crate::cold) len: u64,
    pub(in crate::cold) count: u64,
    pub(in crate::cold) first: u64,
    pub(in crate::cold) last: u64,
    pub(in crate::cold) tombstones: u32,
    /// How many records of kind `removed` there are; 0 in a segment of version 1.0.
    pub(in crate::cold) removed: u32,
}

impl End {
    /// Whether there are records that take others away.
    pub(in crate::cold) fn takes_away(&self) -> bool {
        self.tombstones > 0 || self.removed > 0
    }
}

impl Contents {
    /// The ids that the segment has or had: from its first one to the last.
    fn last(&self, first_seq: u64) -> u64 {
        let entry = self.entries.last().map(|entry| entry.seq);
        let gap = self.gaps.last().map(|gap| *gap.seqs.end());
        let none = first_seq.saturating_sub(1);
        entry.max(gap).map_or(none, |last| last.max(none))
    }

    /// The gap that an id lies in.
    pub(in crate::cold) fn gap(&self, seq: u64) -> Option<Why> {
        let after = self.gaps.partition_point(|gap| *gap.seqs.start() <= seq);
        let gap = self.gaps.get(after.checked_sub(1)?)?;
        gap.seqs.contains(&seq).then_some(gap.why)
    }
}

/// The bytes that seal a segment whose records end at `offset`; `None` if they exceed the format.
pub(in crate::cold) fn seal(
    identity: &Identity,
    offset: u64,
    first_seq: u64,
    contents: &Contents,
) -> Option<Vec<u8>> {
    let last = contents.last(first_seq);
    let count = contents.entries.len();
    let size = count.saturating_add(contents.gaps.len()).saturating_mul(24);
    let mut footer = Vec::with_capacity(size.saturating_add(32));
    for field in [wide(count), first_seq, last, wide(contents.gaps.len())] {
        footer.extend(field.to_le_bytes());
    }
    for entry in contents.entries.iter() {
        footer.extend(entry.seq.to_le_bytes());
        footer.extend(entry.offset.to_le_bytes());
        footer.extend(u64::from(entry.kind).to_le_bytes());
    }
    for gap in &contents.gaps {
        let why = match gap.why {
            Why::Erased => 1_u64,
            Why::Damaged => 2,
            Why::Dropped => 3,
        };
        for field in [*gap.seqs.start(), *gap.seqs.end(), why] {
            footer.extend(field.to_le_bytes());
        }
    }
    let parts = Parts {
        kind: Kind::Seal.code(),
        flags: 0,
        key: &0_u32.to_le_bytes(),
        meta: &[],
        sources: &[],
        links: None,
        payload: &footer,
    };
    // Everything before a seal was synced before it is written.
    let place = Stamp {
        seq: last,
        durable: last,
        batch_first: last,
        batch_count: 1,
    };
    let mut out = Vec::with_capacity(footer.len().saturating_add(160));
    let len = encode(&mut out, &parts)?;
    stamp(&mut out, identity, offset, place)?;
    let start = out.len();
    let of = |kind: Kind| {
        contents
            .entries
            .iter()
            .filter(move |e| e.kind == kind.code())
    };
    out.extend(MAGIC);
    for field in [offset, len, wide(count), first_seq, last] {
        out.extend(field.to_le_bytes());
    }
    for kind in [Kind::Tombstone, Kind::Removed] {
        out.extend(u32::try_from(of(kind).count()).ok()?.to_le_bytes());
    }
    out.extend([0; 4]);
    let crc = identity.crc(offset.checked_add(len)?, out.get(start..)?);
    out.extend(crc.to_le_bytes());
    Some(out)
}

/// What an intact end block at `offset` says.
pub(in crate::cold) fn end_block(identity: &Identity, offset: u64, bytes: &[u8]) -> Option<End> {
    let (covered, crc) = bytes.split_last_chunk()?;
    let mut fields = Fields::new(covered);
    if fields.array()? != MAGIC || u32::from_le_bytes(*crc) != identity.crc(offset, covered) {
        return None;
    }
    let end = End {
        seal: fields.u64()?,
        len: fields.u64()?,
        count: fields.u64()?,
        first: fields.u64()?,
        last: fields.u64()?,
        tombstones: fields.u32()?,
        removed: fields.u32()?,
    };
    let there = end.seal >= PREAMBLE && end.seal.checked_add(end.len)? == offset;
    there.then_some(end)
}

/// The contents by a footer whose seal record lies at `seal`; `None` unless every one makes sense.
pub(in crate::cold) fn contents(footer: &[u8], seal: u64) -> Option<Contents> {
    let mut fields = Fields::new(footer);
    let (count, first, last) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let gaps = fields.u64()?;
    let mut found = Contents::default();
    // The length of a record is known with the next one's place.
    let mut before: Option<Entry> = None;
    for _ in 0..count {
        let (seq, offset, kind) = (fields.u64()?, fields.u64()?, fields.u64()?);
        match before {
            Some(mut before) => {
                before.len = offset.checked_sub(before.offset).filter(|len| *len > 0)?;
                (before.seq < seq).then_some(())?;
                found.entries.push(before);
            }
            None => (offset == PREAMBLE && seq >= first).then_some(())?,
        }
        before = Some(Entry {
            seq,
            offset,
            len: seal.checked_sub(offset).filter(|len| *len > 0)?,
            kind: u16::try_from(kind).ok()?,
        });
    }
    found.entries.extend(before);
    found.entries.shrink();
    for _ in 0..gaps {
        let seqs = fields.u64()?..=fields.u64()?;
        let why = match fields.u64()? {
            1 => Why::Erased,
            2 => Why::Damaged,
            3 => Why::Dropped,
            _ => return None,
        };
        found.gaps.push(Gap { seqs, why });
    }
    (fields.is_empty() && found.last(first) == last).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::format::frame::RecordHeader;
    use crate::cold::format::header::random;

    #[test]
    fn a_seal_leads_back_to_its_entries() {
        let identity = Identity {
            uuid: random(),
            salt: random(),
        };
        let all: Vec<Entry> = (0..5)
            .map(|n| Entry {
                seq: 3 + n,
                offset: PREAMBLE + n * 104,
                len: 104,
                kind: 1,
            })
            .collect();
        for count in 0..all.len() {
            let list = &all[..count];
            let end = PREAMBLE + 104 * wide(count);
            let held = Contents {
                entries: list.iter().copied().collect(),
                gaps: [(8, Why::Erased), (20, Why::Damaged), (30, Why::Dropped)]
                    .map(|(first, why)| Gap {
                        seqs: first..=first + 1,
                        why,
                    })
                    .to_vec(),
            };
            let bytes = seal(&identity, end, 3, &held).unwrap();
            let at = bytes.len() - 64;
            let offset = end + wide(at);
            let found = end_block(&identity, offset, &bytes[at..]).unwrap();
            assert_eq!((found.seal, found.len), (end, wide(at)));
            assert_eq!((found.count, found.last), (wide(count), 31));
            assert_eq!(end_block(&identity, offset + 8, &bytes[at..]), None);
            let header = RecordHeader::decode(&identity, end, &bytes).unwrap();
            let body = header.body(&bytes).unwrap();
            let back = contents(&bytes[body.payload], end).unwrap();
            assert_eq!(back, held);
            assert_eq!(back.gap(8), Some(Why::Erased));
            assert_eq!((back.gap(7), back.gap(10)), (None, None));
        }
    }
}
