//! A batch as it lies in the spool: what its file holds, and what of it is still wanted.

use std::io;
use std::sync::Arc;

use crate::cold::crypt::cipher::KeyId;
use crate::cold::format::bytes::{Fields, narrow, wide};
use crate::cold::format::frame::HEADER;
use crate::cold::format::header::Header;
use crate::cold::format::{MAX_BATCH, SPOOL};
use crate::cold::medium::ram::RamFile;
use crate::cold::medium::{Access, Medium, read_file, read_full};
use crate::cold::options::Read;
use crate::cold::read::source::Source;
use crate::cold::record::Record;
use crate::cold::shelf::Shelf;
use crate::cold::write::leave::{HEAD, MAGIC, identity};
use crate::entry::Kind;
use crate::error::{Error, Result};

/// A batch as it was left.
pub(super) struct Left {
    pub token: [u8; 16],
    /// The id that was next then, as far as whoever left it knew.
    pub next: u64,
    pub records: Vec<Record>,
    /// The names of their keys.
    pub keys: Vec<KeyId>,
}

impl Left {
    /// Tells of a record whether it is to be written; fillers are in the places of what was erased.
    pub(super) fn wanted(&self, common: &Shelf) -> Result<impl Fn(&Record) -> bool + use<>> {
        let gone = self.gone(common)?;
        Ok(move |record: &Record| record.kind != Kind::Filler && !gone(record))
    }

    /// Tells of a record whether it is not wanted any more.
    pub(super) fn gone(&self, common: &Shelf) -> Result<impl Fn(&Record) -> bool + use<>> {
        let index = common.known()?;
        let (erasures, removals) = (Arc::clone(&index.erasures), Arc::clone(&index.removals));
        // What was erased or removed since then got that id itself, or a later one, and covers all below it.
        let before = self.next.saturating_sub(1);
        Ok(move |record: &Record| {
            let made_from = record.sources.iter().any(|seq| erasures.covers_seq(seq.0));
            let gone = erasures.covers_key(before, &record.key);
            made_from || gone || removals.covers_key(before, record.kind, &record.key)
        })
    }
}

/// What a file in the spool holds.
pub(super) fn decode(common: &Shelf, bytes: &[u8]) -> Result<Left> {
    let broken = || Error::Corrupt {
        path: common.medium.path(SPOOL),
        offset: 0,
        seqs: "a batch in the spool".into(),
        detail: "it is not what was written".into(),
    };
    let head = bytes.get(..HEAD).ok_or_else(broken)?;
    let (covered, crc) = head.split_last_chunk().ok_or_else(broken)?;
    let mut fields = Fields::new(covered);
    let magic = fields.array() == Some(MAGIC) && fields.array() == Some(common.uuid);
    if !magic || u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
        return Err(broken());
    }
    let token: [u8; 16] = fields.array().ok_or_else(broken)?;
    let count = fields.u64().ok_or_else(broken)?;
    let next = fields.u64().and_then(|_| fields.u64());
    let next = next.ok_or_else(broken)?;
    let file = RamFile::new(bytes.to_vec());
    let header = Header::bound(identity(common, token));
    let path = common.medium.path(SPOOL);
    let source = Source::new(header, path, Arc::new(file), Read::Positional);
    let (mut records, mut keys) = (Vec::new(), Vec::new());
    let mut at = wide(HEAD);
    for seq in 1..=count {
        let rest = bytes.get(narrow(at)..).unwrap_or_default();
        let entry = source.entry_at(at, rest.get(..HEADER).unwrap_or_default());
        let entry = entry.filter(|e| e.seq == seq).ok_or_else(broken)?;
        let record = source
            .record(entry, &common.keyring)
            .map_err(|error| match error {
                Error::Truncated { .. } => broken(),
                other => other,
            })?;
        at = at.saturating_add(entry.len);
        keys.extend(source.key_id(entry)?);
        records.push(record);
    }
    Ok(Left {
        token,
        next,
        records,
        keys,
    })
}

/// The bytes of a batch that waits; `None` if it is longer than any.
pub(super) fn fetch(medium: &dyn Medium, name: &str) -> io::Result<Option<Vec<u8>>> {
    // Reading tells a directory, whose length may be anything.
    read_full(&*medium.open(name, Access::Read)?, &mut [0], 0)?;
    read_file(medium, name, MAX_BATCH)
}
