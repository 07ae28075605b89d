//! A record on disk: its header is believed only here and now, its body only with its hash.

pub(in crate::cold) const MAGIC: u32 = u32::from_le_bytes(*b"rcrd");

use std::ops::Range;

use crate::entry::Seq;

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{Fields, align, narrow, wide};
use crate::cold::format::header::Identity;
use crate::cold::format::links::Links;
use crate::cold::format::{MAX_BATCH, key};
use crate::cold::record::content_hash;

/// The header's length.
pub(in crate::cold) const HEADER: usize = 80;
pub(super) const TRAILER: usize = 8;
/// The flag of a record whose meta and payload are encrypted.
pub(in crate::cold) const ENCRYPTED: u16 = 1;
/// The flag of the second copy of a record that is written twice.
pub(in crate::cold) const COPY: u16 = 2;
/// Where the flags have how many parts of the key name whose the record is, four bits; 0 means two.
const DEPTH: u16 = 8;
/// The most parts of a key that can name whose a record is.
pub const MAX_DEPTH: u8 = 15;

/// The flags that say how many parts of the key name whose a record is.
pub(in crate::cold) fn depth_flags(depth: u8) -> u16 {
    u16::from(depth.min(MAX_DEPTH)) << DEPTH
}

/// How many parts of the key name whose a record of these flags is; 0 for the usual number.
pub(in crate::cold) fn depth_of(flags: u16) -> u8 {
    (flags >> DEPTH & u16::from(MAX_DEPTH)).to_le_bytes()[0]
}

/// A record's header whose checksum holds; its lengths may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) struct RecordHeader {
    pub(in crate::cold) kind: u16,
    pub(in crate::cold) flags: u16,
    pub(in crate::cold) seq: u64,
    /// The highest id that was known to be synced when this was written.
    pub(in crate::cold) durable: u64,
    pub(in crate::cold) batch_first: u64,
    pub(in crate::cold) batch_count: u32,
    key_len: u32,
    meta_len: u32,
    body_crc: u32,
    payload_len: u64,
    pub(in crate::cold) hash: u128,
    sources: u32,
}

impl RecordHeader {
    /// The header at this offset of this segment; `None` if there is none, or not a whole one.
    pub(in crate::cold) fn decode(identity: &Identity, offset: u64, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let (covered, crc) = bytes.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        // The magic is no proof, but it spares most checksums of a forward scan.
        let checked = !on(Defect::HeaderUnchecked);
        if fields.u32()? != MAGIC
            || (checked && u32::from_le_bytes(*crc) != identity.crc(offset, covered))
        {
            return None;
        }
        let header = Self {
            kind: fields.u16()?,
            flags: fields.u16()?,
            seq: fields.u64()?,
            durable: fields.u64()?,
            batch_first: fields.u64()?,
            batch_count: fields.u32()?,
            key_len: fields.u32()?,
            meta_len: fields.u32()?,
            body_crc: fields.u32()?,
            payload_len: fields.u64()?,
            hash: fields.u128()?,
            sources: fields.u32()?,
        };
        (header.len() <= MAX_BATCH).then_some(header)
    }

    /// The length of the whole record, trailer included.
    pub(in crate::cold) fn len(&self) -> u64 {
        let sources = u64::from(self.sources) * 8;
        let body = u64::from(self.key_len) + u64::from(self.meta_len) + sources;
        record_len(body, self.payload_len).unwrap_or(u64::MAX)
    }

    /// The last id of the batch.
    pub(in crate::cold) fn batch_last(&self) -> u64 {
        let members = u64::from(self.batch_count.saturating_sub(1));
        self.batch_first.saturating_add(members)
    }

    /// How many bytes key, meta, sources and links take, behind the header.
    pub(in crate::cold) fn front_len(&self) -> u64 {
        u64::from(self.key_len) + u64::from(self.meta_len) + u64::from(self.sources) * 8
    }

    /// What lies before the payload, verified; the payload itself need not be there.
    ///
    /// # Errors
    ///
    /// What did not agree, in words.
    pub(in crate::cold) fn front<'a>(&self, record: &'a [u8]) -> Result<Front<'a>, &'static str> {
        let cut = "the record is cut short";
        let end = wide(HEADER).saturating_add(self.front_len());
        let whole = record.get(..narrow(end)).ok_or(cut)?;
        let mut fields = Fields::new(whole);
        let mut part = |len: u64| fields.slice(narrow(len)).ok_or(cut);
        part(wide(HEADER))?;
        let key = part(self.key_len.into())?;
        let meta = part(self.meta_len.into())?;
        let words = part(u64::from(self.sources) * 8)?;
        let covered = whole.get(HEADER..).ok_or(cut)?;
        if crc32c::crc32c(covered) != self.body_crc {
            return Err("the checksum of key, meta and sources differs");
        }
        let (sources, links) = Links::split(Fields::new(words).all_u64());
        Ok(Front {
            encoded_key: key,
            key: key::decode(key).ok_or("the key is malformed")?,
            meta,
            sources,
            links,
        })
    }

    /// The parts of a whole record, verified.
    ///
    /// # Errors
    ///
    /// What did not agree, in words.
    pub(in crate::cold) fn body<'a>(&self, record: &'a [u8]) -> Result<Body<'a>, &'static str> {
        let cut = "the record is cut short";
        let whole = record.get(..narrow(self.len())).ok_or(cut)?;
        let front = self.front(whole)?;
        let start = narrow(wide(HEADER).saturating_add(self.front_len()));
        let end = start.saturating_add(narrow(self.payload_len));
        let payload = whole.get(start..end).ok_or(cut)?;
        if content_hash(payload) != self.hash && !on(Defect::PayloadUnchecked) {
            return Err("the hash of the payload differs");
        }
        let rest = whole.get(end..).ok_or(cut)?;
        let (padding, trailer) = rest.split_last_chunk::<TRAILER>().ok_or(cut)?;
        if padding.iter().any(|byte| *byte != 0) || *trailer != self.len().to_le_bytes() {
            return Err("the end of the record differs");
        }
        Ok(Body {
            front,
            payload: start..end,
        })
    }
}

/// What lies before the payload of a record, verified.
#[derive(Debug)]
pub(in crate::cold) struct Front<'a> {
    pub(in crate::cold) encoded_key: &'a [u8],
    pub(in crate::cold) key: Vec<Vec<u8>>,
    pub(in crate::cold) meta: &'a [u8],
    pub(in crate::cold) sources: Vec<Seq>,
    pub(in crate::cold) links: Option<Box<Links>>,
}

/// The verified parts of a record; the payload as its place, so that it can be kept without a copy.
#[derive(Debug)]
pub(in crate::cold) struct Body<'a> {
    pub(in crate::cold) front: Front<'a>,
    pub(in crate::cold) payload: Range<usize>,
}

/// The length of a record with so many bytes of key, meta and sources, and of payload.
pub(super) fn record_len(body: u64, payload: u64) -> Option<u64> {
    let end = wide(HEADER).checked_add(body)?.checked_add(payload)?;
    align(end)?.checked_add(wide(TRAILER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::format::MIN_RECORD;
    use crate::cold::format::encode::{Parts, Stamp, encode, stamp, tie};
    use crate::cold::format::header::random;
    use crate::cold::format::links::Born;

    const STAMP: Stamp = Stamp {
        seq: 9,
        durable: 7,
        batch_first: 8,
        batch_count: 3,
    };

    /// An encoded record with key ("tenant", ""), meta, a source and this payload, and its place.
    fn sample(identity: &Identity, offset: u64, payload: &[u8]) -> Vec<u8> {
        let mut encoded = vec![];
        key::encode(&mut encoded, &[b"tenant", b""]).unwrap();
        let parts = Parts {
            kind: 4,
            flags: 0,
            key: &encoded,
            meta: b"meta",
            sources: &[Seq(3)],
            links: None,
            payload,
        };
        let mut out = vec![];
        let len = encode(&mut out, &parts).unwrap();
        assert_eq!(len, wide(out.len()));
        assert_eq!(RecordHeader::decode(identity, offset, &out), None);
        stamp(&mut out, identity, offset, STAMP).unwrap();
        out
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
            let out = sample(&here, 640, &payload);
            let total = wide(out.len());
            assert_eq!(total % 8, 0);
            let header = RecordHeader::decode(&here, 640, &out).unwrap();
            assert_eq!(
                (header.seq, header.durable, header.batch_last()),
                (9, 7, 10)
            );
            assert_eq!(header.len(), total);
            let body = header.body(&out).unwrap();
            assert_eq!(body.front.key, [b"tenant".to_vec(), vec![]]);
            assert_eq!(body.front.sources, [Seq(3)]);
            assert_eq!(
                (body.front.meta, &out[body.payload]),
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
        let out = sample(&identity, 0, b"payload");
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
        let empty = Parts {
            kind: 1,
            flags: 0,
            key: &0_u32.to_le_bytes(),
            meta: &[],
            sources: &[],
            links: None,
            payload: &[],
        };
        assert_eq!(encode(&mut vec![], &empty), Some(MIN_RECORD));
    }

    #[test]
    fn ties_are_filled_in_where_there_is_a_place_for_them() {
        let identity = Identity {
            uuid: random(),
            salt: random(),
        };
        let mut key = vec![];
        key::encode(&mut key, &[b"tenant", b"talk"]).unwrap();
        let born = |seq, at| Some(Born { seq: Seq(seq), at });
        let (parent, of) = (Some(Links::AT_COMMIT), Some(Seq(5)));
        let links = Links {
            parent,
            of,
            born: born(0, 0),
            answers: vec![0, 0],
        };
        let parts = Parts {
            kind: 1,
            flags: depth_flags(3),
            key: &key,
            meta: b"meta",
            sources: &[Seq(3), Seq(4)],
            links: Some(&links),
            payload: b"payload",
        };
        let mut out = vec![];
        encode(&mut out, &parts).unwrap();
        let known = Links {
            parent: Some(Seq(8)),
            born: born(6, 7),
            of: None,
            answers: vec![9, 8],
        };
        tie(&mut out, &known).unwrap();
        stamp(&mut out, &identity, 640, STAMP).unwrap();
        let header = RecordHeader::decode(&identity, 640, &out).unwrap();
        assert_eq!(depth_of(header.flags), 3);
        let front = header.body(&out).unwrap().front;
        assert_eq!(front.sources, [Seq(3), Seq(4)]);
        assert_eq!(
            front.links,
            Some(Box::new(Links {
                of,
                ..known.clone()
            }))
        );
        let mut none = vec![];
        let parts = Parts {
            links: None,
            ..parts
        };
        encode(&mut none, &parts).unwrap();
        let before = none.clone();
        tie(&mut none, &known).unwrap();
        assert_eq!(none, before);
        for cut in [0, HEADER - 1, HEADER + 20] {
            assert_eq!(tie(&mut out[..cut], &known), None, "{cut}");
        }
    }
}
