//! The spool: a batch that finds the lock busy is left here, durably, and the next writer takes it up
//! once.
//!
//! ```text
//! leave    write spool/<token>.spl, sync, rename, sync the directory ─▶ ring the bell
//! take up  append the batch behind a record that names the token, sync ─▶ remove the file
//!          ─▶ sync the directory; nothing else is appended before
//! ```
//!
//! So where a crash left both, the batch is one of the last in the store, and is known by its token.
//! The bell is a file that grows: looking at its length is all that an append pays for the spool.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::crypt::cipher::KeyId;
use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{Fields, narrow, wide};
use crate::cold::format::frame::HEADER;
use crate::cold::format::header::{Header, Identity, random};
use crate::cold::format::{BELL, MAX_BATCH, SPOOL};
use crate::cold::medium::{
    Access, Medium, MediumFile, put_file, read_file, refused, remove_if_there,
};
use crate::cold::options::Read;
use crate::cold::read::source::Source;
use crate::cold::record::{Draft, Record};
use crate::cold::report::Cut;
use crate::cold::shelf::Shelf;
use crate::cold::write::packet::{Packet, bookkeeping};
use crate::cold::write::writer::Writer;

const MAGIC: [u8; 8] = *b"wsspool\0";
const HEAD: usize = 64;
const SUFFIX: &str = ".spl";
/// Behind the name of a file that is not complete yet.
const UNDER_WAY: &str = ".new";

/// Leaves a batch for the next writer; gives its token.
///
/// # Errors
///
/// As [`Packet::new`]; what the operating system answers.
pub(in crate::cold) fn leave(common: &Shelf, batch: &[Draft<'_>]) -> Result<[u8; 16]> {
    let mut packet = Packet::new(&common.press(true)?, batch)?;
    let token = random();
    packet.stamp(&identity(common, token), wide(HEAD), 1, 0, &mut Vec::new());
    let mut bytes = Vec::with_capacity(HEAD.saturating_add(packet.bytes().len()));
    bytes.extend(MAGIC);
    bytes.extend(common.uuid);
    bytes.extend(token);
    bytes.extend(packet.count().to_le_bytes());
    bytes.extend(packet.len().to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(packet.bytes());
    let name = format!("{SPOOL}/{:032x}{SUFFIX}", u128::from_be_bytes(token));
    let medium = &*common.medium;
    let put = || {
        medium.make_dir(SPOOL)?;
        medium.sync_dir("")?;
        put_file(medium, SPOOL, &format!("{name}{UNDER_WAY}"), &name, &bytes)
    };
    match put() {
        // Whoever erases sweeps away what is not complete yet: once more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => put(),
        other => other,
    }
    .map_err(|error| refused("write", &medium.path(&name), error))?;
    // If nobody hears it, the next open finds the file all the same.
    let _ = medium
        .open(BELL, Access::Write)
        .and_then(|bell| ring(&*bell));
    Ok(token)
}

/// The bell as one handle hears it.
#[derive(Debug)]
pub(in crate::cold) struct Bell {
    file: Arc<dyn MediumFile>,
    /// How long it was when the spool was last taken up to its end.
    heard: Option<u64>,
}

/// Takes up what was spooled since this handle did so last; the first time it always looks.
///
/// # Errors
///
/// As [`drain`]; then the next call tries again.
pub(in crate::cold) fn answer(writer: &mut Writer, common: &Shelf) -> Result<()> {
    let trouble = |error| refused("open", &common.medium.path(BELL), error);
    let bell = match writer.bell.take() {
        Some(bell) => bell,
        None => Bell {
            file: find_bell(&*common.medium).map_err(trouble)?,
            heard: None,
        },
    };
    let heard = bell.heard;
    let file = Arc::clone(&writer.bell.insert(bell).file);
    // Before the names are read: whoever rings later is heard later.
    let len = file.len().map_err(trouble)?;
    if heard != Some(len) {
        drain(writer, common, &*file)?;
        writer.bell = Some(Bell {
            file,
            heard: Some(len),
        });
    }
    Ok(())
}

fn ring(bell: &dyn MediumFile) -> io::Result<()> {
    bell.write_at(&[1], bell.len()?).map(drop)
}

fn find_bell(medium: &dyn Medium) -> io::Result<Arc<dyn MediumFile>> {
    match medium.open(BELL, Access::Write) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            medium.make_dir(SPOOL)?;
            medium.create(BELL)
        }
        other => other,
    }
}

/// How many batches wait.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn waiting(common: &Shelf) -> Result<Vec<String>> {
    let names = common.medium.list(SPOOL);
    let names = names.map_err(|error| refused("list", &common.medium.path(SPOOL), error))?;
    let mut names: Vec<String> = names.into_iter().filter(|n| n.ends_with(SUFFIX)).collect();
    names.sort_unstable();
    Ok(names)
}

/// Removes what is left of batches whose writers ended before they were acknowledged.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn sweep(common: &Shelf) -> Result<()> {
    let medium = &*common.medium;
    let trouble = |error| refused("remove", &medium.path(SPOOL), error);
    let names = medium.list(SPOOL).map_err(trouble)?;
    let left: Vec<&String> = names.iter().filter(|n| n.ends_with(UNDER_WAY)).collect();
    for name in &left {
        remove_if_there(medium, &format!("{SPOOL}/{name}")).map_err(trouble)?;
    }
    if left.is_empty() {
        return Ok(());
    }
    medium.sync_dir(SPOOL).map_err(trouble)
}

/// Takes up every batch that waits. The lock is held.
///
/// # Errors
///
/// As appending; what the operating system answers. Nothing may be appended after an error.
fn drain(writer: &mut Writer, common: &Shelf, bell: &dyn MediumFile) -> Result<()> {
    let medium = &*common.medium;
    let trouble = |error| refused("take up", &medium.path(SPOOL), error);
    let names = waiting(common)?;
    if names.is_empty() {
        // Somebody may have removed the last one and come no further.
        return medium.sync_dir(SPOOL).map_err(trouble);
    }
    // This process may end between an append and a removal: every other handle is to look here before
    // it appends, also where whoever spooled ended before it rang.
    ring(bell).map_err(trouble)?;
    let mut known = already(common)?;
    let mut used = BTreeSet::new();
    for name in &names {
        let name = format!("{SPOOL}/{name}");
        let bytes = read_file(medium, &name, MAX_BATCH).map_err(trouble)?;
        match bytes.as_deref().map(|bytes| decode(common, bytes)) {
            Some(Ok((token, records, keys))) => {
                if on(Defect::SpoolRemovedFirst) {
                    remove_if_there(medium, &name).map_err(trouble)?;
                    medium.sync_dir(SPOOL).map_err(trouble)?;
                }
                if known.insert(token) {
                    take_up(writer, common, token, &records)?;
                }
                remove_if_there(medium, &name).map_err(trouble)?;
                used.extend(keys);
            }
            Some(Err(Error::Corrupt { .. })) | None => set_aside(common, &name)?,
            // It waits for whoever has its key.
            Some(Err(Error::NoKey { .. })) => {}
            Some(Err(other)) => return Err(other),
        }
    }
    medium.sync_dir(SPOOL).map_err(trouble)?;
    if used.is_empty() {
        return Ok(());
    }
    common.keyring.clear_spool(&used)
}

fn take_up(writer: &mut Writer, common: &Shelf, token: [u8; 16], records: &[Record]) -> Result<()> {
    let keys: Vec<Vec<&[u8]>> = records
        .iter()
        .map(|record| record.key.iter().map(Vec::as_slice).collect())
        .collect();
    let named: [&[u8]; 1] = [&token];
    let mut batch = vec![bookkeeping(Kind::Spooled, &named, &[])];
    let erasures = common.known()?.erasures.clone();
    let erased = |seq: &Seq| erasures.covers_seq(seq.0);
    let left = records.iter().zip(&keys);
    let left = left.filter(|(record, _)| !record.sources.iter().any(erased));
    batch.extend(left.map(|(record, key)| Draft {
        kind: record.kind,
        key,
        meta: &record.meta,
        sources: &record.sources,
        payload: &record.payload,
    }));
    let mut press = common.press(false)?;
    press.limit = u64::MAX;
    let mut packet = Packet::own(&press, &batch)?;
    writer.write(common, &mut [&mut packet], true).map(drop)
}

/// The tokens of the batches at the very end of the store. Ids may have been left out between them.
fn already(common: &Shelf) -> Result<BTreeSet<[u8; 16]>> {
    let index = common.known()?;
    let mut tokens = BTreeSet::new();
    for segment in index.segments.iter().rev() {
        let entries = &segment.listing()?.contents.entries;
        let mut rest = entries.as_slice();
        while let Some(last) = rest.last() {
            let first = match segment.source.batch_first(*last) {
                // Nothing behind a damaged record can be known; rather twice than not at all.
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => return Ok(tokens),
                other => other?,
            };
            let (before, batch) = rest.split_at(rest.partition_point(|e| e.seq < first));
            let head = batch.first().filter(|e| e.kind == Kind::Spooled.code());
            let Some(head) = head else {
                return Ok(tokens);
            };
            let key = match segment.source.origin(*head) {
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => return Ok(tokens),
                other => other?.0,
            };
            let token = key.first().and_then(|part| part.as_slice().try_into().ok());
            tokens.extend::<Option<[u8; 16]>>(token);
            rest = before;
        }
    }
    Ok(tokens)
}

/// What a batch in the spool is bound to.
fn identity(common: &Shelf, token: [u8; 16]) -> Identity {
    Identity {
        uuid: common.uuid,
        salt: token,
    }
}

/// A batch's token, its records, and the names of their keys.
fn decode(common: &Shelf, bytes: &[u8]) -> Result<([u8; 16], Vec<Record>, Vec<KeyId>)> {
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
    let file = crate::cold::medium::ram::RamFile::new(bytes.to_vec());
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
    Ok((token, records, keys))
}

/// A batch that is not what was written is kept where recovery keeps what it cut.
fn set_aside(common: &Shelf, name: &str) -> Result<()> {
    let cut = crate::cold::open::aside::move_file(&*common.medium, name, 0, 0)?;
    common.note_cut(Cut { bytes: 0, ..cut });
    Ok(())
}
