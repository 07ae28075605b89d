//! The end of a sealed segment: where each record lies, so that opening reads no sealed record.
//!
//! The footer is the payload of an ordinary record of kind `seal`, so it is verified as every payload
//! is. The end block has a fixed length and points back to it. Both are bound to salt and offset: a
//! payload that ends in a copy of them does not seal its segment.

use crate::entry::Kind;

use super::bytes::{Fields, wide};
use super::format::PREAMBLE;
use super::frame::{Stamp, encode};
use super::header::Identity;
use super::record::Draft;

const MAGIC: [u8; 8] = *b"wsegend\0";
/// The end block's length.
pub(super) const END: u64 = 32;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// The bytes that seal a segment whose records end at `offset`; `None` if they exceed the format.
pub(super) fn seal(
    identity: &Identity,
    offset: u64,
    first_seq: u64,
    entries: &[Entry],
) -> Option<Vec<u8>> {
    let last = entries
        .last()
        .map_or(first_seq.saturating_sub(1), |entry| entry.seq);
    let mut footer = Vec::with_capacity(entries.len().saturating_mul(16).saturating_add(24));
    footer.extend(wide(entries.len()).to_le_bytes());
    footer.extend(first_seq.to_le_bytes());
    footer.extend(last.to_le_bytes());
    for entry in entries {
        footer.extend(entry.seq.to_le_bytes());
        footer.extend(entry.offset.to_le_bytes());
    }
    let draft = Draft {
        kind: Kind::Seal,
        key: &[],
        meta: &[],
        payload: &footer,
    };
    // Everything before a seal was synced before it is written.
    let stamp = Stamp {
        seq: last,
        durable: last,
        batch_first: last,
        batch_count: 1,
    };
    let mut out = Vec::with_capacity(footer.len().saturating_add(160));
    let len = encode(&mut out, identity, offset, stamp, &draft)?;
    let start = out.len();
    out.extend(MAGIC);
    out.extend(offset.to_le_bytes());
    out.extend(len.to_le_bytes());
    out.extend([0; 4]);
    let crc = identity.crc(offset.checked_add(len)?, out.get(start..)?);
    out.extend(crc.to_le_bytes());
    Some(out)
}

/// The offset and the length of the seal record, if an intact end block lies at `offset`.
pub(super) fn end_block(identity: &Identity, offset: u64, bytes: &[u8]) -> Option<(u64, u64)> {
    let (covered, crc) = bytes.split_last_chunk()?;
    let mut fields = Fields::new(covered);
    if fields.array()? != MAGIC || u32::from_le_bytes(*crc) != identity.crc(offset, covered) {
        return None;
    }
    let (seal, len) = (fields.u64()?, fields.u64()?);
    (seal >= PREAMBLE && seal.checked_add(len)? == offset).then_some((seal, len))
}

/// The entries of a footer whose seal record lies at `seal`; `None` unless every one makes sense.
pub(super) fn entries(footer: &[u8], seal: u64) -> Option<Vec<Entry>> {
    let mut fields = Fields::new(footer);
    let (count, first, last) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let mut entries: Vec<Entry> = Vec::with_capacity(footer.len() / 16);
    while !fields.is_empty() {
        let (seq, offset) = (fields.u64()?, fields.u64()?);
        if let Some(before) = entries.last_mut() {
            before.len = offset.checked_sub(before.offset).filter(|len| *len > 0)?;
            (before.seq < seq).then_some(())?;
        }
        let len = seal.checked_sub(offset).filter(|len| *len > 0)?;
        entries.push(Entry { seq, offset, len });
    }
    let ends = entries
        .first()
        .zip(entries.last())
        .map(|(a, z)| (a.seq, a.offset, z.seq));
    let whole = match ends {
        Some(ends) => ends == (first, PREAMBLE, last),
        None => last.checked_add(1)? == first,
    };
    (whole && wide(entries.len()) == count).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::frame::RecordHeader;
    use crate::cold::header::random;

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
            })
            .collect();
        for count in 0..all.len() {
            let list = &all[..count];
            let end = PREAMBLE + 104 * wide(count);
            let bytes = seal(&identity, end, 3, list).unwrap();
            let at = bytes.len() - 32;
            let offset = end + wide(at);
            let found = end_block(&identity, offset, &bytes[at..]);
            assert_eq!(found, Some((end, wide(at))));
            assert_eq!(end_block(&identity, offset + 8, &bytes[at..]), None);
            let header = RecordHeader::decode(&identity, end, &bytes).unwrap();
            let body = header.body(&bytes).unwrap();
            assert_eq!(entries(&bytes[body.payload], end).as_deref(), Some(list));
        }
    }
}
