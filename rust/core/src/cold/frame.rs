//! A record on disk: its header is believed only here and now, its body only with its hash.

use super::bytes::{Fields, align, narrow, wide};
use super::format::MAX_BATCH;
use super::header::Identity;
use super::key;
use super::record::{Draft, content_hash};

const MAGIC: u32 = u32::from_le_bytes(*b"rcrd");
/// The header's length.
pub(super) const HEADER: usize = 80;
const TRAILER: usize = 8;

/// What the writer knows about a record and its draft does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) seq: u64,
    pub(super) durable: u64,
    pub(super) batch_first: u64,
    pub(super) batch_count: u32,
}

/// A record's header whose checksum holds; its lengths may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) kind: u16,
    pub(super) seq: u64,
    /// The highest id that was known to be synced when this was written.
    pub(super) durable: u64,
    pub(super) batch_first: u64,
    pub(super) batch_count: u32,
    key_len: u32,
    meta_len: u32,
    body_crc: u32,
    payload_len: u64,
    pub(super) hash: u128,
}

impl RecordHeader {
    /// The header at this offset of this segment; `None` if there is none, or not a whole one.
    pub(super) fn decode(identity: &Identity, offset: u64, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let (covered, crc) = bytes.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        // The magic is no proof, but it spares most checksums of a forward scan.
        if fields.u32()? != MAGIC || u32::from_le_bytes(*crc) != identity.crc(offset, covered) {
            return None;
        }
        let kind = fields.u16()?;
        let _flags = fields.u16()?;
        let header = Self {
            kind,
            seq: fields.u64()?,
            durable: fields.u64()?,
            batch_first: fields.u64()?,
            batch_count: fields.u32()?,
            key_len: fields.u32()?,
            meta_len: fields.u32()?,
            body_crc: fields.u32()?,
            payload_len: fields.u64()?,
            hash: fields.u128()?,
        };
        (header.len() <= MAX_BATCH).then_some(header)
    }

    fn payload_start(&self) -> u64 {
        wide(HEADER) + u64::from(self.key_len) + u64::from(self.meta_len)
    }

    /// The length of the whole record, trailer included.
    pub(super) fn len(&self) -> u64 {
        let body = self.payload_start().checked_add(self.payload_len);
        let end = body.and_then(align);
        end.and_then(|end| end.checked_add(wide(TRAILER)))
            .unwrap_or(u64::MAX)
    }

    /// The last id of the batch.
    pub(super) fn batch_last(&self) -> u64 {
        let members = u64::from(self.batch_count.saturating_sub(1));
        self.batch_first.saturating_add(members)
    }

    /// The parts of a whole record, verified.
    ///
    /// # Errors
    ///
    /// What did not agree, in words.
    pub(super) fn body<'a>(&self, record: &'a [u8]) -> Result<Body<'a>, &'static str> {
        let parts = self.split(record).ok_or("the record is cut short")?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(parts.key), parts.meta);
        if crc != self.body_crc {
            return Err("the checksum of key and meta differs");
        }
        if content_hash(parts.payload) != self.hash {
            return Err("the hash of the payload differs");
        }
        if parts.padding.iter().any(|byte| *byte != 0) || parts.trailer != self.len().to_le_bytes()
        {
            return Err("the end of the record differs");
        }
        let key = key::decode(parts.key).ok_or("the key is malformed")?;
        let start = narrow(self.payload_start());
        Ok(Body {
            key,
            meta: parts.meta,
            payload: start..start.saturating_add(parts.payload.len()),
        })
    }

    fn split<'a>(&self, record: &'a [u8]) -> Option<Parts<'a>> {
        let mut fields = Fields::new(record.get(..narrow(self.len()))?);
        fields.slice(HEADER)?;
        let key = fields.slice(narrow(self.key_len.into()))?;
        let meta = fields.slice(narrow(self.meta_len.into()))?;
        let payload = fields.slice(narrow(self.payload_len))?;
        let end = self.payload_start().checked_add(self.payload_len)?;
        let padding = fields.slice(narrow(align(end)?.checked_sub(end)?))?;
        Some(Parts {
            key,
            meta,
            payload,
            padding,
            trailer: fields.array()?,
        })
    }
}

struct Parts<'a> {
    key: &'a [u8],
    meta: &'a [u8],
    payload: &'a [u8],
    padding: &'a [u8],
    trailer: [u8; TRAILER],
}

/// The verified parts of a record; the payload as its place, so that it can be kept without a copy.
#[derive(Debug)]
pub(super) struct Body<'a> {
    pub(super) key: Vec<Vec<u8>>,
    pub(super) meta: &'a [u8],
    pub(super) payload: std::ops::Range<usize>,
}

/// The length of the encoded record; `None` if a part does not fit its field.
pub(super) fn encoded_len(draft: &Draft<'_>) -> Option<u64> {
    u32::try_from(draft.meta.len()).ok()?;
    let key = draft.key.iter().try_fold(4_u64, |sum, part| {
        sum.checked_add(4)?.checked_add(wide(part.len()))
    })?;
    u32::try_from(key).ok()?;
    let body = wide(HEADER)
        .checked_add(key)?
        .checked_add(wide(draft.meta.len()))?;
    align(body.checked_add(wide(draft.payload.len()))?)?.checked_add(wide(TRAILER))
}

/// Appends one record, as it will lie at `offset` of the segment; `None` if [`encoded_len`] is.
pub(super) fn encode(
    out: &mut Vec<u8>,
    identity: &Identity,
    offset: u64,
    stamp: Stamp,
    draft: &Draft<'_>,
) -> Option<u64> {
    let len = encoded_len(draft)?;
    let start = out.len();
    // The key goes where it belongs at once; the header before it needs its checksum and comes last.
    out.resize(start + HEADER, 0);
    key::encode(out, draft.key)?;
    let key_len = out.len() - start - HEADER;
    out.extend_from_slice(draft.meta);
    let body_crc = crc32c::crc32c(out.get(start + HEADER..)?);
    out.extend_from_slice(draft.payload);
    out.resize(start.checked_add(narrow(len))? - TRAILER, 0);
    out.extend(len.to_le_bytes());

    let mut header = Slots(out.get_mut(start..start + HEADER)?);
    header.put(&MAGIC.to_le_bytes())?;
    header.put(&draft.kind.code().to_le_bytes())?;
    header.put(&[0; 2])?;
    header.put(&stamp.seq.to_le_bytes())?;
    header.put(&stamp.durable.to_le_bytes())?;
    header.put(&stamp.batch_first.to_le_bytes())?;
    header.put(&stamp.batch_count.to_le_bytes())?;
    header.put(&u32::try_from(key_len).ok()?.to_le_bytes())?;
    header.put(&u32::try_from(draft.meta.len()).ok()?.to_le_bytes())?;
    header.put(&body_crc.to_le_bytes())?;
    header.put(&wide(draft.payload.len()).to_le_bytes())?;
    header.put(&content_hash(draft.payload).to_le_bytes())?;
    header.put(&[0; 4])?;
    let crc = identity.crc(offset, out.get(start..start + HEADER - 4)?);
    Slots(out.get_mut(start + HEADER - 4..start + HEADER)?).put(&crc.to_le_bytes())?;
    Some(len)
}

/// Fields to fill, one after the other.
struct Slots<'a>(&'a mut [u8]);

impl Slots<'_> {
    fn put(&mut self, field: &[u8]) -> Option<()> {
        let (slot, rest) = std::mem::take(&mut self.0).split_at_mut_checked(field.len())?;
        slot.copy_from_slice(field);
        self.0 = rest;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::format::MIN_RECORD;
    use crate::cold::header::random;
    use crate::entry::Kind;

    const STAMP: Stamp = Stamp {
        seq: 9,
        durable: 7,
        batch_first: 8,
        batch_count: 3,
    };

    fn sample(payload: &[u8]) -> Draft<'_> {
        Draft {
            kind: Kind::Summary,
            key: &[b"tenant", b""],
            meta: b"meta",
            payload,
        }
    }

    #[test]
    fn a_record_round_trips_and_is_bound_to_its_place() {
        let here = Identity {
            uuid: random(),
            salt: random(),
        };
        let other_salt = Identity {
            salt: random(),
            ..here
        };
        let other_store = Identity {
            uuid: random(),
            ..here
        };
        for len in 0..20 {
            let payload = vec![b'x'; len];
            let mut out = vec![];
            let total = encode(&mut out, &here, 640, STAMP, &sample(&payload)).unwrap();
            assert_eq!(total, wide(out.len()));
            assert_eq!(total % 8, 0);
            let header = RecordHeader::decode(&here, 640, &out).unwrap();
            assert_eq!(
                (header.seq, header.durable, header.batch_last()),
                (9, 7, 10)
            );
            assert_eq!(header.len(), total);
            let body = header.body(&out).unwrap();
            assert_eq!(body.key, [b"tenant".to_vec(), vec![]]);
            assert_eq!(
                (body.meta, &out[body.payload]),
                (&b"meta"[..], &payload[..])
            );
            assert_eq!(RecordHeader::decode(&here, 648, &out), None);
            assert_eq!(RecordHeader::decode(&other_salt, 640, &out), None);
            assert_eq!(RecordHeader::decode(&other_store, 640, &out), None);
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let identity = Identity {
            uuid: random(),
            salt: random(),
        };
        let mut out = vec![];
        encode(&mut out, &identity, 0, STAMP, &sample(b"payload")).unwrap();
        for at in 0..out.len() {
            for bit in 0..8 {
                let mut flipped = out.clone();
                flipped[at] ^= 1 << bit;
                let seen = RecordHeader::decode(&identity, 0, &flipped)
                    .is_none_or(|header| header.body(&flipped).is_err());
                assert!(seen, "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn the_shortest_record_is_as_long_as_the_format_says() {
        let empty = Draft {
            key: &[],
            meta: &[],
            ..sample(b"")
        };
        assert_eq!(encoded_len(&empty), Some(MIN_RECORD));
    }
}
