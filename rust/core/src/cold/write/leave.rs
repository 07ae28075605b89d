//! Leaving a batch in the spool, and what lies there.

pub(super) const MAGIC: [u8; 8] = *b"wsspool\0";
pub(super) const HEAD: usize = 72;

use std::io;
use std::sync::PoisonError;

use crate::error::{Error, Result};

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::wide;
use crate::cold::format::header::{Identity, now, random};
use crate::cold::format::{BELL, SPOOL};
use crate::cold::medium::{Access, MediumFile, refused, remove_if_there, write_full};
use crate::cold::record::Record;
use crate::cold::shelf::Shelf;
use crate::cold::write::packet::{Packet, Row, bookkeeping};
use crate::entry::Kind;

const SUFFIX: &str = ".spl";
/// As [`SUFFIX`], of a batch whose conditions are judged when it is taken up: whoever has no log leaves it alone.
const JUDGED: &str = ".spc";
/// Behind the name of a file that is not complete yet.
pub(super) const UNDER_WAY: &str = ".new";

/// How often a batch is begun anew that somebody who erases swept away.
const TRIES: u32 = 16;

/// Who can take a batch up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cold) enum For {
    /// Every writer.
    Anybody,
    /// A writer with a log, who judges its conditions; its first record says them.
    Log,
}

/// Leaves a batch for the next writer; gives its token.
///
/// The file is there before the next id is asked for. So whoever erases finds it and keeps what the
/// batch may need to be told, or sweeps it away: then the batch is made once more, behind the erasure.
///
/// # Errors
///
/// As [`Packet::own`]; [`Error::Argument`] for a source that comes later than the batch; what the operating
/// system answers.
pub(in crate::cold) fn leave(common: &Shelf, batch: &[Row<'_>], whom: For) -> Result<[u8; 16]> {
    if common.is_forked() {
        return Err(Error::Forked);
    }
    drop(common.known()?);
    let token = token(common);
    let suffix = match whom {
        For::Anybody => SUFFIX,
        For::Log => JUDGED,
    };
    let name = format!("{SPOOL}/{:032x}{suffix}", u128::from_be_bytes(token));
    let under_way = format!("{name}{UNDER_WAY}");
    let medium = &*common.medium;
    let trouble = |error| refused("write", &medium.path(&name), error);
    for _ in 0..TRIES {
        let file = medium
            .make_dir(SPOOL)
            .and_then(|()| medium.sync_dir(""))
            .and_then(|()| medium.create(&under_way))
            .map_err(trouble)?;
        let put = encoded(common, batch, token).and_then(|bytes| {
            write_full(&*file, &bytes, 0)
                .and_then(|()| {
                    if on(Defect::RenameBeforeSync) {
                        return Ok(());
                    }
                    file.sync_data()
                })
                .map_err(trouble)
        });
        if let Err(error) = put {
            // Whoever erases next takes it away if this fails.
            let _ = remove_if_there(medium, &under_way);
            return Err(error);
        }
        drop(file);
        match medium.rename(&under_way, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => {
                renamed
                    .and_then(|()| medium.sync_dir(SPOOL))
                    .map_err(trouble)?;
                // If nobody hears it, the next open finds the file all the same.
                let _ = medium
                    .open(BELL, Access::Write)
                    .and_then(|bell| ring(&*bell));
                return Ok(token);
            }
        }
    }
    Err(trouble(io::ErrorKind::NotFound.into()))
}

/// The name of a batch: the time first, so that names are taken up in the order of leaving. A handle's
/// own names grow whatever the clock does.
fn token(common: &Shelf) -> [u8; 16] {
    let mut token: [u8; 16] = random();
    if let Some(slot) = token.first_chunk_mut() {
        let mut last = common.left.lock().unwrap_or_else(PoisonError::into_inner);
        *last = now().max(last.saturating_add(1));
        *slot = last.to_be_bytes();
    }
    token
}

/// The bytes of a batch that is left.
fn encoded(common: &Shelf, batch: &[Row<'_>], token: [u8; 16]) -> Result<Vec<u8>> {
    let next = common.fresh()?.last().saturating_add(1);
    let packet = Packet::own(&common.press(true)?, batch)?;
    packet.check_sources(next)?;
    Ok(sealed(common, packet, token, next))
}

/// The bytes of a batch that is left, without some of its records: fillers are in their places.
///
/// # Errors
///
/// As [`Packet::own`].
pub(super) fn again(
    common: &Shelf,
    token: [u8; 16],
    next: u64,
    records: &[(&Record, bool)],
) -> Result<Vec<u8>> {
    let keys: Vec<Vec<&[u8]>> = records
        .iter()
        .map(|(record, _)| record.key.iter().map(Vec::as_slice).collect())
        .collect();
    let rows: Vec<Row<'_>> = records
        .iter()
        .zip(&keys)
        .map(|((record, stays), key)| {
            if *stays {
                Row::of(record, key)
            } else {
                bookkeeping(Kind::Filler, &[], &[])
            }
        })
        .collect();
    let mut press = common.press(true)?;
    press.limit = u64::MAX;
    Ok(sealed(common, Packet::own(&press, &rows)?, token, next))
}

fn sealed(common: &Shelf, mut packet: Packet, token: [u8; 16], next: u64) -> Vec<u8> {
    packet.stamp(&identity(common, token), wide(HEAD), 1, 0, &mut Vec::new());
    let mut bytes = Vec::with_capacity(HEAD.saturating_add(packet.bytes().len()));
    bytes.extend(MAGIC);
    bytes.extend(common.uuid);
    bytes.extend(token);
    bytes.extend(packet.count().to_le_bytes());
    bytes.extend(packet.len().to_le_bytes());
    // What is erased from now on may concern it; what was erased before did not.
    bytes.extend(next.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(packet.bytes());
    bytes
}

/// Tells every handle that something may lie in the spool.
pub(super) fn ring(bell: &dyn MediumFile) -> io::Result<()> {
    bell.write_at(&[1], bell.len()?).map(drop)
}

/// Whether a batch waits or is on its way, readable or not.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn is_used(common: &Shelf) -> Result<bool> {
    let names = common.medium.list(SPOOL);
    let names = names.map_err(|error| refused("list", &common.medium.path(SPOOL), error))?;
    Ok(names.iter().any(|name| format!("{SPOOL}/{name}") != BELL))
}

/// The names of the batches that wait, in the order in which they were left.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn waiting(common: &Shelf) -> Result<Vec<String>> {
    let names = common.medium.list(SPOOL);
    let names = names.map_err(|error| refused("list", &common.medium.path(SPOOL), error))?;
    let mut names: Vec<String> = names
        .into_iter()
        .filter(|name| whom(name).is_some())
        .collect();
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

/// Who can take up a batch of this name; `None` if it is not one of a batch.
pub(super) fn whom(name: &str) -> Option<For> {
    if name.ends_with(SUFFIX) {
        Some(For::Anybody)
    } else {
        name.ends_with(JUDGED).then_some(For::Log)
    }
}

/// The token that a file's name gives.
pub(super) fn token_of(name: &str) -> Option<[u8; 16]> {
    let digits = name.strip_suffix(SUFFIX).or(name.strip_suffix(JUDGED));
    let digits = digits.filter(|digits| digits.len() == 32)?;
    let token = u128::from_str_radix(digits, 16).ok()?;
    Some(token.to_be_bytes())
}

/// What a batch in the spool is bound to.
pub(super) fn identity(common: &Shelf, token: [u8; 16]) -> Identity {
    Identity {
        uuid: common.uuid,
        salt: token,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::{Options, Store};

    #[test]
    fn names_of_what_a_handle_leaves_grow_whatever_the_clock_does() {
        let store = Store::in_memory(Options::default()).unwrap();
        let time = || u64::from_be_bytes(*token(&store.shelf).first_chunk().unwrap());
        let first = time();
        assert!(first.abs_diff(now()) < 60_000_000_000);
        assert!(time() > first);
        // The clock was a day ahead when the last one was left.
        let ahead = first + 86_400_000_000_000;
        *store.shelf.left.lock().unwrap() = ahead;
        assert_eq!([time(), time()], [ahead + 1, ahead + 2]);
    }
}
