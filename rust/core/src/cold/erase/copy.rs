//! The second copy of what was erased: one file beside the segments, replaced with each erasure.
//!
//! A tombstone that is damaged, cut off or lost with its segment would make erased records readable
//! again. What either copy covers is erased. A store of another version may lack the file, or not know
//! it: whoever opens the store to write brings it up to date.

use std::io;

use crate::error::Result;

use crate::cold::erase::erasures::{Erasures, Tombstone};
use crate::cold::format::bytes::{Fields, wide};
use crate::cold::format::{ERASED, ERASED_NEW};
use crate::cold::medium::{Medium, put_file, read_file, refused};

const MAGIC: [u8; 8] = *b"wserase\0";
/// The longest copy that is read; 64 million ranges.
const LIMIT: u64 = 1 << 30;

/// What the copy covers; nothing if there is none, or not a whole one of this store.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn read(medium: &dyn Medium, uuid: [u8; 16]) -> Result<Erasures> {
    let bytes = match read_file(medium, ERASED, LIMIT) {
        // Somebody's directory of that name: no copy.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => None,
        other => other.map_err(|error| refused("read", &medium.path(ERASED), error))?,
    };
    let mut out = Erasures::new(uuid);
    let found = bytes.and_then(|bytes| decode(&bytes, uuid));
    for tombstone in found.unwrap_or_default() {
        out.cover(&tombstone);
    }
    Ok(out)
}

/// Replaces the copy, durably. Only who holds the lock may.
///
/// # Errors
///
/// What the operating system answers; then the old copy is there, or the new one.
pub(in crate::cold) fn write(medium: &dyn Medium, all: &Erasures, uuid: [u8; 16]) -> Result<()> {
    let bytes = encode(&all.folded(&std::collections::BTreeSet::new(), true), uuid);
    put_file(medium, "", ERASED_NEW, ERASED, &bytes)
        .map_err(|error| refused("write", &medium.path(ERASED), error))
}

fn encode(folded: &[Tombstone], uuid: [u8; 16]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(uuid);
    let Some((ids, prefixes)) = folded.split_first() else {
        return out;
    };
    for field in [ids.upto, ids.at, wide(prefixes.len()), wide(ids.seqs.len())] {
        out.extend(field.to_le_bytes());
    }
    for one in prefixes {
        let (depth, hash) = one.prefix.unwrap_or_default();
        out.extend(depth.to_le_bytes());
        out.extend(hash.to_le_bytes());
        out.extend(one.upto.to_le_bytes());
    }
    for range in &ids.seqs {
        out.extend(range.start().to_le_bytes());
        out.extend(range.end().to_le_bytes());
    }
    out.extend([0; 4]);
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    out
}

fn decode(bytes: &[u8], uuid: [u8; 16]) -> Option<Vec<Tombstone>> {
    let (covered, crc) = bytes.split_last_chunk()?;
    if u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
        return None;
    }
    let mut fields = Fields::new(covered);
    if fields.array()? != MAGIC || fields.array()? != uuid {
        return None;
    }
    let (upto, at) = (fields.u64()?, fields.u64()?);
    let (prefixes, ranges) = (fields.u64()?, fields.u64()?);
    let mut out = Vec::new();
    for _ in 0..prefixes {
        let prefix = Some((fields.u64()?, fields.u128()?));
        out.push(Tombstone {
            upto: fields.u64()?,
            at,
            prefix,
            seqs: Vec::new(),
        });
    }
    let mut seqs = Vec::new();
    for _ in 0..ranges {
        seqs.push(fields.u64()?..=fields.u64()?);
    }
    out.push(Tombstone {
        upto,
        at,
        prefix: None,
        seqs,
    });
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cold::Ram;
    use crate::cold::erase::erasures::hash_of;

    #[test]
    fn a_copy_that_is_not_whole_covers_nothing() {
        let (ram, uuid) = (Ram::new(), [7; 16]);
        let mut all = Erasures::new(uuid);
        let prefix = hash_of(&uuid, &[b"t".to_vec()]).map(|hash| (1, hash));
        all.add(&Tombstone::new(9, prefix, &BTreeSet::from([2, 3, 8])));
        write(&ram, &all, uuid).unwrap();
        assert!(read(&ram, uuid).unwrap().agrees(&all));
        assert_eq!(read(&ram, [8; 16]).unwrap().version(), 0);
        let healthy = ram.read(ERASED).unwrap();
        for at in 0..healthy.len() {
            let mut bytes = healthy.clone();
            bytes[at] ^= 4;
            ram.write(ERASED, bytes);
            assert_eq!(read(&ram, uuid).unwrap().version(), 0, "{at}");
            ram.write(ERASED, healthy[..at].to_vec());
            assert_eq!(read(&ram, uuid).unwrap().version(), 0, "cut at {at}");
        }
    }
}
