//! Setting aside: nothing that recovery takes away is gone before its copy is durable.

use std::io;
use std::sync::Arc;

use crate::error::Result;

use crate::cold::format::TORN;
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::medium::{Access, Medium, MediumFile, read_full, refused, write_full};
use crate::cold::read::source::Source;
use crate::cold::report::{Cut, Damage, DamageKind};

/// How much is copied at once.
const CHUNK: u64 = 1 << 20;
/// How the name of a batch begins that came from the spool damaged.
const BATCH: &str = "spool-";

/// Copies the bytes from `cut` to `end` of a segment aside, then cuts them off, both durably.
///
/// # Errors
///
/// What the operating system answers; the segment is untouched unless the copy is complete.
pub(in crate::cold) fn cut_tail(
    medium: &dyn Medium,
    source: &Source,
    cut: u64,
    end: u64,
) -> Result<Cut> {
    let number = source.header.number;
    let (name, copy) = new_file(medium, number, cut)?;
    let path = medium.path(&name);
    copy_range(source, &*copy, cut, end)
        .and_then(|()| copy.sync_data())
        .and_then(|()| medium.sync_dir(TORN))
        .map_err(|error| refused("copy to", &path, error))?;
    source
        .file
        .set_len(cut)
        .and_then(|()| source.file.sync_data())
        .map_err(|error| refused("truncate", &source.path, error))?;
    Ok(Cut {
        segment: number,
        offset: cut,
        bytes: end.saturating_sub(cut),
        aside: path,
    })
}

/// Moves a whole segment file aside: one that was being created and has no valid header.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn move_file(
    medium: &dyn Medium,
    name: &str,
    number: u64,
    len: u64,
) -> Result<Cut> {
    // The new name is reserved first, so that the rename replaces nothing but its own placeholder.
    let (aside, placeholder) = new_file(medium, number, 0)?;
    drop(placeholder);
    medium
        .rename(name, &aside)
        .and_then(|()| medium.sync_dir(TORN))
        .and_then(|()| medium.sync_dir(""))
        .map_err(|error| refused("rename", &medium.path(name), error))?;
    Ok(Cut {
        segment: number,
        offset: 0,
        bytes: len,
        aside: medium.path(&aside),
    })
}

/// Moves a damaged batch out of the spool. Its new name stays for as long as nobody removes it by hand:
/// the batch was acknowledged, so every opening says that it is lost.
///
/// # Errors
///
/// What the operating system answers; the batch is where it was then.
pub(in crate::cold) fn move_batch(medium: &dyn Medium, name: &str) -> Result<Damage> {
    let trouble = |error| refused("set aside", &medium.path(name), error);
    medium
        .make_dir(TORN)
        .and_then(|()| medium.sync_dir(""))
        .map_err(trouble)?;
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    let own = own.split_once('.').map_or(own, |(token, _)| token);
    let mut aside = format!("{TORN}/{BATCH}{own}.bin");
    for suffix in 1_u64.. {
        match medium.open(&aside, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            _ => aside = format!("{TORN}/{BATCH}{own}-{suffix}.bin"),
        }
    }
    medium
        .rename(name, &aside)
        .and_then(|()| medium.sync_dir(TORN))
        .map_err(trouble)?;
    Ok(damaged(medium, &aside))
}

/// Whether that is the name of a damaged batch among what was set aside.
pub(in crate::cold) fn is_batch(name: &str) -> bool {
    name.starts_with(BATCH)
}

/// The batches of the spool that were damaged, as long as their names are there.
pub(in crate::cold) fn damaged_batches(medium: &dyn Medium) -> Vec<Damage> {
    match medium.list(TORN) {
        Ok(names) => {
            let names = names.iter().filter(|name| is_batch(name));
            names
                .map(|name| damaged(medium, &format!("{TORN}/{name}")))
                .collect()
        }
        Err(error) => vec![Damage {
            detail: format!("what was set aside cannot be listed: {error}"),
            ..damaged(medium, TORN)
        }],
    }
}

fn damaged(medium: &dyn Medium, name: &str) -> Damage {
    let len = medium.open(name, Access::Read).and_then(|file| file.len());
    Damage {
        segment: 0,
        path: medium.path(name),
        bytes: 0..len.unwrap_or(0),
        seqs: None,
        kind: DamageKind::Corrupt,
        detail: "a batch that was left in the spool is not what was written".into(),
    }
}

/// A new file for a cut. An earlier cut at the same place keeps its name, this one gets a suffix.
fn new_file(
    medium: &dyn Medium,
    number: u64,
    offset: u64,
) -> Result<(String, Arc<dyn MediumFile>)> {
    medium
        .make_dir(TORN)
        .and_then(|()| medium.sync_dir(""))
        .map_err(|error| refused("create", &medium.path(TORN), error))?;
    let mut name = format!("{TORN}/{number}-{offset}.bin");
    for suffix in 1_u64.. {
        match medium.create(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                name = format!("{TORN}/{number}-{offset}-{suffix}.bin");
            }
            Err(error) => return Err(refused("create", &medium.path(&name), error)),
        }
    }
    Err(refused(
        "create",
        &medium.path(&name),
        io::ErrorKind::AlreadyExists.into(),
    ))
}

fn copy_range(source: &Source, copy: &dyn MediumFile, start: u64, end: u64) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut at = start;
    while at < end {
        buffer.resize(narrow(CHUNK.min(end.saturating_sub(at))), 0);
        let read = read_full(&*source.file, &mut buffer, at)?;
        buffer.truncate(read);
        if buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        write_full(copy, &buffer, at.saturating_sub(start))?;
        at = at.saturating_add(wide(read));
    }
    Ok(())
}
