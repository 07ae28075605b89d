//! A segment's header: written twice, so that one lost sector costs no record.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{Fields, narrow, wide};
use crate::cold::format::words::Words;
use crate::cold::format::{MAJOR, MINOR, PREAMBLE};

const MAGIC: [u8; 8] = *b"warmset\0";
const LEN: usize = 128;
/// Where the second copy lies: in another 512-byte sector than the first.
const COPY: usize = 512;
/// The longest header that a newer version may write and still be recognised.
const LEN_LIMIT: usize = 512;

/// What every checksum of a segment is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) struct Identity {
    pub(in crate::cold) uuid: [u8; 16],
    pub(in crate::cold) salt: [u8; 16],
}

impl Identity {
    /// The checksum of bytes that are valid in this segment, at this offset, and nowhere else.
    pub(in crate::cold) fn crc(&self, offset: u64, bytes: &[u8]) -> u32 {
        if on(Defect::UnsaltedChecksum) {
            return crc32c::crc32c(bytes);
        }
        // In one piece: a checksum of few bytes costs as much to begin as to make.
        let mut place = [0; 40];
        let (names, end) = place.split_at_mut(32);
        for (slot, name) in names.chunks_mut(16).zip([self.salt, self.uuid]) {
            slot.copy_from_slice(&name);
        }
        end.copy_from_slice(&offset.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
    }
}

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) struct Header {
    pub(in crate::cold) identity: Identity,
    pub(in crate::cold) number: u64,
    pub(in crate::cold) first_seq: u64,
    /// Where the segment before ends, if it was left without a seal; 0 if it has one.
    pub(in crate::cold) left_at: u64,
    /// What a version must know to read the segment, or to write beside it.
    pub(in crate::cold) words: Words,
    /// The salt that the segment was begun with: rewriting gives it another one, and leaves this.
    pub(in crate::cold) lineage: [u8; 16],
    created: u64,
}

/// What the first bytes of a file turned out to be.
#[derive(Debug)]
pub(in crate::cold) enum Preamble {
    /// A segment; the ranges are the parts of the preamble that are damaged.
    Valid(Header, Vec<Range<u64>>),
    /// A segment of a newer format, named in words.
    Newer(String),
    /// A segment of format 0, which was a preview.
    Older,
    /// Neither copy of the header is whole.
    Invalid {
        /// Whether the bytes begin as a segment does, as far as there are any.
        ours: bool,
    },
}

impl Header {
    /// A header with a fresh salt and the present time.
    pub(in crate::cold) fn new(
        uuid: [u8; 16],
        number: u64,
        first_seq: u64,
        left_at: u64,
        words: Words,
    ) -> Self {
        let salt = random();
        Self {
            identity: Identity { uuid, salt },
            number,
            first_seq,
            left_at,
            words,
            lineage: salt,
            created: now(),
        }
    }

    /// The header of the same segment when it is written anew: another salt, and the present time.
    pub(in crate::cold) fn again(&self) -> Self {
        Self {
            identity: Identity {
                salt: random(),
                ..self.identity
            },
            created: now(),
            ..*self
        }
    }

    /// Whether this version knows every feature that a writer must know.
    pub(in crate::cold) fn is_writable(&self) -> bool {
        self.words.read_only & !Words::KNOWN.read_only == 0
    }

    /// What stands in for a header where records lie outside of a segment.
    pub(in crate::cold) fn bound(identity: Identity) -> Self {
        Self {
            identity,
            number: 0,
            first_seq: 1,
            left_at: 0,
            words: Words::default(),
            lineage: identity.salt,
            created: 0,
        }
    }

    /// The preamble of a new segment: header, zeros, header.
    pub(in crate::cold) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(narrow(PREAMBLE));
        for start in [0, COPY] {
            out.resize(start, 0);
            out.extend(MAGIC);
            out.extend(MAJOR.to_le_bytes());
            out.extend(MINOR.to_le_bytes());
            out.extend([128, 0, 0, 0]);
            out.extend([0; 8]);
            out.extend(self.words.read_only.to_le_bytes());
            out.extend(self.words.incompatible.to_le_bytes());
            out.extend(self.identity.uuid);
            out.extend(self.number.to_le_bytes());
            out.extend(self.first_seq.to_le_bytes());
            out.extend(self.identity.salt);
            out.extend(self.created.to_le_bytes());
            out.extend(self.left_at.to_le_bytes());
            out.extend(self.lineage);
            out.resize(start + LEN - 4, 0);
            let crc = crc32c::crc32c(out.get(start..).unwrap_or_default());
            out.extend(crc.to_le_bytes());
        }
        out
    }
}

impl Preamble {
    /// Reads the first [`PREAMBLE`] bytes of a file, or fewer where the file is shorter.
    ///
    /// A checksum that holds comes before the version: a flipped bit in a version field is damage,
    /// not news. Only if both copies are broken is a larger major believed, because nothing else
    /// could be done with the file, and refusing leaves it alone.
    pub(in crate::cold) fn decode(bytes: &[u8]) -> Self {
        let copy = bytes.get(COPY..).unwrap_or_default();
        let (header, bad) = match (copy_at(bytes), copy_at(copy)) {
            (Copy::Newer(found), _) | (_, Copy::Newer(found)) => return Self::Newer(found),
            (Copy::Older, _) | (_, Copy::Older) => return Self::Older,
            (Copy::Valid(first), Copy::Valid(second)) if first == second => (first, None),
            (Copy::Valid(first), _) => (first, Some(wide(COPY)..PREAMBLE)),
            (Copy::Invalid, Copy::Valid(second)) => (second, Some(0..wide(LEN))),
            (Copy::Invalid, Copy::Invalid) => {
                return match claimed_major(bytes) {
                    Some(major) if major > MAJOR => Self::Newer(format!("{major}.x")),
                    _ => Self::Invalid {
                        ours: bytes.starts_with(&MAGIC) || MAGIC.starts_with(bytes),
                    },
                };
            }
        };
        let zeros = bytes.get(LEN..COPY).unwrap_or_default();
        let stained = zeros.iter().any(|byte| *byte != 0);
        let between = stained.then_some(wide(LEN)..wide(COPY));
        let damaged = bad.into_iter().chain(between).collect();
        Self::Valid(header, damaged)
    }
}

/// One copy of the header.
enum Copy {
    Valid(Header),
    Newer(String),
    Older,
    Invalid,
}

fn copy_at(bytes: &[u8]) -> Copy {
    whole(bytes).unwrap_or(Copy::Invalid)
}

fn claimed_major(bytes: &[u8]) -> Option<u16> {
    let mut fields = Fields::new(bytes);
    (fields.array()? == MAGIC).then_some(())?;
    fields.u16()
}

fn whole(bytes: &[u8]) -> Option<Copy> {
    let mut fields = Fields::new(bytes);
    let magic: [u8; 8] = fields.array()?;
    let (major, minor, len) = (fields.u16()?, fields.u16()?, fields.u32()?);
    let len = usize::try_from(len)
        .ok()
        .filter(|len| (16..=LEN_LIMIT).contains(len))?;
    let (covered, crc) = bytes.get(..len)?.split_last_chunk()?;
    if magic != MAGIC || u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
        return None;
    }
    if major < MAJOR {
        return Some(Copy::Older);
    }
    if major > MAJOR {
        return Some(Copy::Newer(format!("{major}.{minor}")));
    }
    let _compatible = fields.u64()?;
    let words = Words {
        read_only: fields.u64()?,
        incompatible: fields.u64()?,
    };
    let unknown = words.incompatible & !Words::KNOWN.incompatible;
    if unknown != 0 {
        let features = format!("{major}.{minor} with features {unknown:#x}");
        return Some(Copy::Newer(features));
    }
    let (uuid, number, first_seq) = (fields.array()?, fields.u64()?, fields.u64()?);
    let (salt, created, left_at) = (fields.array()?, fields.u64()?, fields.u64()?);
    let lineage: [u8; 16] = fields.array()?;
    Some(Copy::Valid(Header {
        identity: Identity { uuid, salt },
        number,
        first_seq: (first_seq > 0).then_some(first_seq)?,
        left_at,
        words,
        // Version 1.0 left none.
        lineage: if lineage == [0; 16] { salt } else { lineage },
        created,
    }))
}

/// Sixteen bytes that nothing else has.
///
/// Where the operating system has no randomness left to give, the clock and the process id stand in:
/// a salt must be unlike the others, not secret. It guards against accidents, not against somebody
/// who can write the store's files.
pub(in crate::cold) fn random() -> [u8; 16] {
    let mut out = [0; 16];
    if getrandom::fill(&mut out).is_err() {
        let here = u128::from(now()) << 64 | u128::from(std::process::id());
        out = here.to_le_bytes();
    }
    out
}

/// The present time, in nanoseconds since 1970.
pub(in crate::cold) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(bytes: &[u8]) -> (Header, Vec<Range<u64>>) {
        match Preamble::decode(bytes) {
            Preamble::Valid(header, damaged) => (header, damaged),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_header_round_trips_and_survives_every_flipped_bit() {
        let header = Header::new(random(), 7, 19, 0, Words::KNOWN);
        let bytes = header.encode();
        assert_eq!(wide(bytes.len()), PREAMBLE);
        assert_eq!(valid(&bytes), (header, vec![]));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let (read, damaged) = valid(&flipped);
                assert_eq!(read, header);
                assert!(damaged.iter().any(|r| r.contains(&wide(at))), "byte {at}");
            }
        }
    }

    /// The bytes of a header with one byte of the first copy changed, its checksum included.
    fn reworded(at: usize, value: u8) -> Vec<u8> {
        let mut bytes = Header::new(random(), 1, 1, 0, Words::default()).encode();
        bytes[at] = value;
        let crc = crc32c::crc32c(&bytes[..124]);
        bytes[124..128].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn a_newer_major_and_an_unknown_feature_are_newer() {
        for (at, value) in [(8, 2), (32, 1), (32, 3), (39, 128)] {
            let found = Preamble::decode(&reworded(at, value));
            assert!(matches!(found, Preamble::Newer(_)), "{at} {value}");
        }
        let known = Preamble::decode(&reworded(32, 2));
        assert!(matches!(known, Preamble::Valid(..)), "{known:?}");
    }

    #[test]
    fn a_segment_that_is_written_anew_keeps_its_lineage_and_its_words() {
        let first = Header::new(random(), 7, 19, 640, Words::KNOWN);
        assert_eq!(first.lineage, first.identity.salt);
        let again = first.again();
        assert_ne!(again.identity.salt, first.identity.salt);
        let kept = |h: &Header| (h.number, h.first_seq, h.left_at, h.words, h.lineage);
        assert_eq!(kept(&again), kept(&first));
        let (read, _) = valid(&again.encode());
        assert_eq!(read, again);
        // A header of 1.0 has zeros there.
        let mut old = first.encode();
        for start in [0, 512] {
            old[start + 104..start + 120].fill(0);
            let crc = crc32c::crc32c(&old[start..start + 124]);
            old[start + 124..start + 128].copy_from_slice(&crc.to_le_bytes());
        }
        assert_eq!(valid(&old).0.lineage, first.identity.salt);
    }

    #[test]
    fn salts_differ() {
        assert_ne!(random(), random());
    }
}
