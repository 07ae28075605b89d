//! What the fuzz targets reach for and nobody else: the parsers behind the checksums.
//!
//! Random bytes hardly ever have the right checksums, so they get them here. Then every length in them
//! is believed, and must still lead to nothing but an answer.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a fuzz target may panic"
)]

use std::ops::Range;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::Result;

use super::crypt::keyfile::KeyFile;
use super::erase::erasures::Tombstone;
use super::format::bytes::{narrow, wide};
use super::format::encode::{Parts, Stamp, encode, stamp};
use super::format::footer::{contents, end_block};
use super::format::frame::{Body, HEADER, MAGIC, RecordHeader};
use super::format::header::{Identity, Preamble};
use super::format::key;
use super::format::links::Links;
use super::mark::Mark;
use super::options::{Ack, Encryption};
use super::record::{Draft, content_hash};
use super::removal::Removal;
use super::store::Store;
use super::write::packet::{Row, Verdict};
use super::write::queue::Judge;

const IDENTITY: Identity = Identity {
    uuid: [7; 16],
    salt: [9; 16],
};

/// Parses bytes as a record at an offset: as they are, with the right header checksum, and with all
/// checksums right. A record that is whole must be the one encoding of its parts.
pub fn record(bytes: &[u8], offset: u64) {
    look(bytes, offset);
    if bytes.len() < HEADER {
        return;
    }
    let mut bytes = bytes.to_vec();
    bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
    seal(&mut bytes, offset);
    look(&bytes, offset);
    if mend(&mut bytes).is_some() {
        seal(&mut bytes, offset);
        look(&bytes, offset);
    }
}

/// Parses bytes as everything else that a store keeps, and is no record.
pub fn parts(bytes: &[u8], offset: u64) {
    let _ = Preamble::decode(bytes);
    let mut block = bytes.to_vec();
    if let Some((covered, crc)) = block.split_last_chunk_mut() {
        *crc = IDENTITY.crc(offset, covered).to_le_bytes();
    }
    for bytes in [bytes, &block] {
        if let Some(end) = end_block(&IDENTITY, offset, bytes) {
            assert_eq!(end.seal + end.len, offset);
        }
    }
    if let Some(found) = contents(bytes, offset) {
        let ordered = found
            .entries
            .iter()
            .is_sorted_by(|a, b| a.seq < b.seq && a.offset < b.offset);
        assert!(ordered, "a footer out of order was believed");
        assert!(found.entries.iter().all(|e| e.offset + e.len <= offset));
    }
    if let Some(tombstone) = Tombstone::decode(bytes) {
        assert_eq!(Tombstone::decode(&tombstone.encode()), Some(tombstone));
    }
    if let Some(removal) = Removal::decode(bytes) {
        assert_eq!(removal.encode(), bytes);
    }
    let mut file = bytes.to_vec();
    if let Some((covered, crc)) = file.split_last_chunk_mut() {
        *crc = crc32c::crc32c(covered).to_le_bytes();
    }
    for encryption in [Encryption::Keys, Encryption::Master([3; 32])] {
        for bytes in [bytes, &file] {
            let _ = KeyFile::decode(bytes, &encryption);
        }
    }
    let _ = Mark::decode(bytes, IDENTITY.uuid);
}

/// Gives a record's header the checksum of what it says.
fn seal(bytes: &mut [u8], offset: u64) {
    let (covered, crc) = bytes[..HEADER].split_last_chunk_mut().unwrap();
    *crc = IDENTITY.crc(offset, covered).to_le_bytes();
}

/// Gives a record's body the checksums and the end that its lengths ask for, if it has room.
fn mend(bytes: &mut Vec<u8>) -> Option<()> {
    let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let (key, meta, sources) = (word(36), word(40), word(72));
    let payload = u64::from_le_bytes(*bytes[48..].first_chunk().unwrap());
    let before = u64::from(key) + u64::from(meta) + u64::from(sources) * 8;
    let start = HEADER.checked_add(narrow(before))?;
    let end = start.checked_add(narrow(payload))?;
    let crc = crc32c::crc32c(bytes.get(HEADER..start)?);
    let hash = content_hash(bytes.get(start..end)?);
    bytes[44..48].copy_from_slice(&crc.to_le_bytes());
    bytes[56..72].copy_from_slice(&hash.to_le_bytes());
    bytes.truncate(end);
    bytes.resize(end.next_multiple_of(8), 0);
    let total = wide(bytes.len() + 8);
    bytes.extend(total.to_le_bytes());
    Some(())
}

fn look(bytes: &[u8], offset: u64) {
    let Some(header) = RecordHeader::decode(&IDENTITY, offset, bytes) else {
        return;
    };
    if let Ok(body) = header.body(bytes) {
        again(bytes, offset, &header, &body);
    }
}

/// The parts of a whole record give the same bytes again.
fn again(bytes: &[u8], offset: u64, header: &RecordHeader, body: &Body<'_>) {
    let mut encoded = Vec::new();
    let key: Vec<&[u8]> = body.front.key.iter().map(Vec::as_slice).collect();
    key::encode(&mut encoded, &key).unwrap();
    assert_eq!(encoded, body.front.encoded_key);
    let parts = Parts {
        kind: header.kind,
        flags: header.flags,
        key: &encoded,
        meta: body.front.meta,
        sources: &body.front.sources,
        links: body.front.links.as_deref(),
        payload: &bytes[body.payload.clone()],
    };
    let mut out = Vec::new();
    let len = encode(&mut out, &parts).unwrap();
    if len != header.len() {
        // A link of a newer version, or one that is there twice.
        return;
    }
    let place = Stamp {
        seq: header.seq,
        durable: header.durable,
        batch_first: header.batch_first,
        batch_count: header.batch_count,
    };
    stamp(&mut out, &IDENTITY, offset, place).unwrap();
    let start = HEADER + body.front.encoded_key.len() + body.front.meta.len();
    let ordered = out[start..body.payload.start] == bytes[start..body.payload.start];
    assert!(out == bytes[..narrow(len)] || !ordered);
}

/// A record that nobody checked, of whatever kind.
#[derive(Clone, Debug)]
pub struct Loose<'a> {
    /// What it claims to be.
    pub kind: Kind,
    /// Its key.
    pub key: &'a [&'a [u8]],
    /// Its meta.
    pub meta: &'a [u8],
    /// What it claims to be made from.
    pub sources: &'a [Seq],
    /// Its payload.
    pub payload: &'a [u8],
    /// What it claims to be tied to.
    pub links: Links,
    /// The place in the batch of what it claims to be the second copy of.
    pub copy_of: Option<usize>,
}

/// Whoever lets everything pass.
#[derive(Debug)]
struct Anything(Vec<Links>);

impl Judge for Anything {
    fn judge(&self, _first: Seq) -> Result<Vec<Verdict>> {
        Ok(self.0.iter().cloned().map(Verdict::Written).collect())
    }
    fn verdict(&self) -> Vec<u8> {
        Vec::new()
    }
    fn settle(&self, _written: bool) {}
    fn circle(&self) -> usize {
        0
    }
}

/// Appends records as they are, of kinds that only the log writes among them.
///
/// # Errors
///
/// As [`Store::append`].
pub fn append(store: &Store, batch: &[Loose<'_>]) -> Result<Range<u64>> {
    let rows: Vec<Row<'_>> = batch
        .iter()
        .map(|one| Row {
            draft: Draft {
                kind: one.kind,
                key: one.key,
                meta: one.meta,
                sources: one.sources,
                payload: one.payload,
            },
            links: Some(&one.links),
            depth: 0,
            copy_of: one.copy_of,
        })
        .collect();
    let links = batch.iter().map(|one| one.links.clone()).collect();
    let judge: Arc<dyn Judge> = Arc::new(Anything(links));
    store.append_judged(&rows, Ack::Durable, &judge)
}
