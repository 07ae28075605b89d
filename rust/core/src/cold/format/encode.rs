//! A record becomes bytes: its parts first, and its place once that is known.

use crate::entry::Seq;

use crate::cold::format::bytes::{Fields, Slots, narrow, wide};
use crate::cold::format::frame::{HEADER, MAGIC, TRAILER, record_len};
use crate::cold::format::header::Identity;
use crate::cold::format::links::Links;
use crate::cold::record::content_hash;

/// Where a header has the lengths of key and meta, the checksum over them, the length of the payload with its
/// hash, and the number of sources.
const KEY_LEN: usize = 36;
const BODY_CRC: usize = 44;
const PAYLOAD_LEN: usize = 48;
const SOURCES: usize = 72;

/// What the writer knows about a record and its parts do not.
#[derive(Clone, Copy, Debug)]
pub(in crate::cold) struct Stamp {
    pub(in crate::cold) seq: u64,
    pub(in crate::cold) durable: u64,
    pub(in crate::cold) batch_first: u64,
    pub(in crate::cold) batch_count: u32,
}

/// The parts of a record as they lie on disk; the key is encoded.
#[derive(Clone, Copy, Debug)]
pub(in crate::cold) struct Parts<'a> {
    pub(in crate::cold) kind: u16,
    pub(in crate::cold) flags: u16,
    pub(in crate::cold) key: &'a [u8],
    pub(in crate::cold) meta: &'a [u8],
    pub(in crate::cold) sources: &'a [Seq],
    pub(in crate::cold) links: Option<&'a Links>,
    pub(in crate::cold) payload: &'a [u8],
}

/// Appends a record that still lacks its stamp, and gives its length; `None` if a part does not fit
/// its field.
pub(in crate::cold) fn encode(out: &mut Vec<u8>, parts: &Parts<'_>) -> Option<u64> {
    let key_len = u32::try_from(parts.key.len()).ok()?;
    let meta_len = u32::try_from(parts.meta.len()).ok()?;
    let links = parts.links.map(Links::words).unwrap_or_default();
    let sources = u32::try_from(parts.sources.len().checked_add(links.len())?).ok()?;
    let body = u64::from(key_len) + u64::from(meta_len) + u64::from(sources) * 8;
    let len = record_len(body, wide(parts.payload.len()))?;
    let start = out.len();
    out.reserve(narrow(len));
    out.resize(start + HEADER, 0);
    out.extend_from_slice(parts.key);
    out.extend_from_slice(parts.meta);
    for source in parts.sources {
        out.extend(source.0.to_le_bytes());
    }
    for word in links {
        out.extend(word.to_le_bytes());
    }
    let body_crc = crc32c::crc32c(out.get(start + HEADER..)?);
    out.extend_from_slice(parts.payload);
    out.resize(start.checked_add(narrow(len))? - TRAILER, 0);
    out.extend(len.to_le_bytes());

    let mut header = Slots::new(out.get_mut(start..start + HEADER)?);
    header.put(&MAGIC.to_le_bytes())?;
    header.put(&parts.kind.to_le_bytes())?;
    header.put(&parts.flags.to_le_bytes())?;
    // The stamp's place.
    header.put(&[0; 28])?;
    header.put(&key_len.to_le_bytes())?;
    header.put(&meta_len.to_le_bytes())?;
    header.put(&body_crc.to_le_bytes())?;
    header.put(&wide(parts.payload.len()).to_le_bytes())?;
    header.put(&content_hash(parts.payload).to_le_bytes())?;
    header.put(&sources.to_le_bytes())?;
    Some(len)
}

/// Fills in what the record at the beginning of these bytes is tied to, where it has a place for that;
/// `None` if the record is not whole. Its own place is given afterwards, because the header covers both.
pub(in crate::cold) fn tie(record: &mut [u8], links: &Links) -> Option<()> {
    let known = links.words();
    if known.is_empty() {
        return Some(());
    }
    let (start, end) = sources_of(record)?;
    let (words, _) = record.get_mut(start..end)?.as_chunks_mut::<8>();
    // Several words may say the same thing: those that are known of it take their places in order.
    let mut known = known;
    for slot in words {
        let word = u64::from_le_bytes(*slot);
        let same = |one: &u64| !Links::is_id(word) && Links::says_the_same(word, *one);
        if let Some(at) = known.iter().position(same) {
            *slot = known.remove(at).to_le_bytes();
        }
    }
    let crc = crc32c::crc32c(record.get(HEADER..end)?);
    let slot = record.get_mut(BODY_CRC..)?.first_chunk_mut()?;
    *slot = crc.to_le_bytes();
    Some(())
}

/// Appends a record that still lacks its stamp with another payload, and gives its length; `None` if the
/// record is not whole, or the payload does not fit its field.
pub(in crate::cold) fn with_payload(
    out: &mut Vec<u8>,
    record: &[u8],
    payload: &[u8],
) -> Option<u64> {
    let (_, front) = sources_of(record)?;
    let len = record_len(wide(front - HEADER), wide(payload.len()))?;
    let start = out.len();
    out.extend_from_slice(record.get(..front)?);
    out.extend_from_slice(payload);
    out.resize(start.checked_add(narrow(len))? - TRAILER, 0);
    out.extend(len.to_le_bytes());
    let mut slots = Slots::new(out.get_mut(start + PAYLOAD_LEN..start + SOURCES)?);
    slots.put(&wide(payload.len()).to_le_bytes())?;
    slots.put(&content_hash(payload).to_le_bytes())?;
    Some(len)
}

/// Where the sources of the record at the beginning of these bytes begin and end.
fn sources_of(record: &[u8]) -> Option<(usize, usize)> {
    let mut fields = Fields::new(record.get(KEY_LEN..HEADER)?);
    let (key, meta) = (fields.u32()?, fields.u32()?);
    let mut fields = Fields::new(record.get(SOURCES..HEADER)?);
    let start = HEADER.checked_add(narrow(u64::from(key) + u64::from(meta)))?;
    let end = start.checked_add(narrow(u64::from(fields.u32()?) * 8))?;
    Some((start, end))
}

/// Gives the record at the beginning of these bytes its place in a segment; a later stamp replaces an
/// earlier one. `None` if there is no record.
pub(in crate::cold) fn stamp(
    record: &mut [u8],
    identity: &Identity,
    offset: u64,
    stamp: Stamp,
) -> Option<()> {
    let header = record.get_mut(..HEADER)?;
    let mut slots = Slots::new(header.get_mut(8..36)?);
    slots.put(&stamp.seq.to_le_bytes())?;
    slots.put(&stamp.durable.to_le_bytes())?;
    slots.put(&stamp.batch_first.to_le_bytes())?;
    slots.put(&stamp.batch_count.to_le_bytes())?;
    let (covered, crc) = header.split_last_chunk_mut()?;
    *crc = identity.crc(offset, covered).to_le_bytes();
    Some(())
}
