//! The spool: a batch that finds the lock busy is left here, durably, and the next writer takes it up
//! once.
//!
//! ```text
//! leave    write spool/<token>.spl, sync, rename, sync the directory ─▶ ring the bell
//! take up  append the batch behind a record that names the token, sync ─▶ remove the file
//!          ─▶ sync the directory; nothing else is appended before
//! ```
//!
//! A batch with conditions says them in its first record. Only a handle with a log takes it up: it judges them
//! behind the record that names the token, whose payload says what became of each row.
//!
//! So where a crash left both, the batch is one of the last in the store, and is known by its token.
//! The bell is a file that grows: looking at its length is all that an append pays for the spool.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::crypt::cipher::KeyId;
use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{Fields, narrow, wide};
use crate::cold::format::frame::HEADER;
use crate::cold::format::header::Header;
use crate::cold::format::links::Links;
use crate::cold::format::{BELL, MAX_BATCH, SPOOL};
use crate::cold::medium::{
    Access, Medium, MediumFile, put_file, read_file, read_full, refused, remove_if_there,
};
use crate::cold::open::aside;
use crate::cold::options::Read;
use crate::cold::read::source::Source;
use crate::cold::record::Record;
use crate::cold::report::{Damage, DamageKind};
use crate::cold::shelf::Shelf;
use crate::cold::write::commit::removed_source;
use crate::cold::write::leave::{
    For, HEAD, MAGIC, UNDER_WAY, again, identity, ring, token_of, waiting, whom,
};
use crate::cold::write::packet::{Packet, Press, Row, Verdict, bookkeeping};
use crate::cold::write::queue::Judge;
use crate::cold::write::writer::Writer;

/// Writes the rows of a batch as their judge decides.
pub(crate) type Write<'a> = dyn FnMut(&[Row<'_>], &dyn Judge) -> Result<()> + 'a;

/// Who takes up batches with conditions.
pub(crate) trait Taker: fmt::Debug + Send + Sync {
    /// Has the records of a batch written that are still wanted, each with its place in the batch, as its
    /// conditions decide: `write` is given its rows and their judge.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if they make no sense; what `write` answers.
    fn take_up(
        self: Arc<Self>,
        conditions: &[u8],
        records: &[(usize, &Record)],
        write: &mut Write<'_>,
    ) -> Result<()>;
}

/// The bell as one handle hears it.
#[derive(Debug)]
pub(in crate::cold) struct Bell {
    file: Arc<dyn MediumFile>,
    /// How long it was when the spool was last taken up to its end.
    heard: Option<u64>,
    /// Whether batches with conditions were taken up, too.
    judged: bool,
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
            judged: false,
        },
    };
    let taker = if writer.alone { None } else { common.taker() };
    let heard = bell.heard.filter(|_| bell.judged || taker.is_none());
    let file = Arc::clone(&writer.bell.insert(bell).file);
    // Before the names are read: whoever rings later is heard later.
    let len = file.len().map_err(trouble)?;
    if heard != Some(len) {
        drain(writer, common, &*file, taker.as_ref())?;
        writer.bell = Some(Bell {
            file,
            heard: Some(len),
            judged: taker.is_some(),
        });
    }
    Ok(())
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

/// Takes up every batch that waits. The lock is held.
///
/// # Errors
///
/// As appending; what the operating system answers. Nothing may be appended after an error.
fn drain(
    writer: &mut Writer,
    common: &Shelf,
    bell: &dyn MediumFile,
    log: Option<&Arc<dyn Taker>>,
) -> Result<()> {
    let medium = &*common.medium;
    let trouble = |error| refused("take up", &medium.path(SPOOL), error);
    let mut names = waiting(common)?;
    let mut known = if names.is_empty() {
        BTreeSet::new()
    } else {
        already(common)?
    };
    let is_known = |known: &BTreeSet<[u8; 16]>, name: &str| {
        token_of(name).is_some_and(|token| known.contains(&token))
    };
    // What was taken up is removed by whoever comes next: later nobody could tell any more.
    let ours = |name: &String| log.is_some() || whom(name) == Some(For::Anybody);
    names.retain(|name| ours(name) || is_known(&known, name));
    if names.is_empty() {
        // Somebody may have removed the last one and come no further.
        return medium.sync_dir(SPOOL).map_err(trouble);
    }
    // This process may end between an append and a removal: every other handle is to look here before
    // it appends, also where whoever spooled ended before it rang.
    ring(bell).map_err(trouble)?;
    let mut used = BTreeSet::new();
    for name in &names {
        let taken_up = is_known(&known, name);
        let name = format!("{SPOOL}/{name}");
        if taken_up {
            // Whoever did so came no further, and nothing of it need be readable now.
            if let Ok(Some(bytes)) = fetch(medium, &name)
                && let Ok(left) = decode(common, &bytes)
            {
                used.extend(left.keys);
            }
            remove_if_there(medium, &name).map_err(trouble)?;
            continue;
        }
        let bytes = match fetch(medium, &name) {
            Ok(bytes) => bytes,
            Err(error) => {
                leave_alone(common, &name, &error.to_string());
                continue;
            }
        };
        match bytes.as_deref().map(|bytes| decode(common, bytes)) {
            Some(Ok(left)) => {
                if on(Defect::SpoolRemovedFirst) {
                    remove_if_there(medium, &name).map_err(trouble)?;
                    medium.sync_dir(SPOOL).map_err(trouble)?;
                }
                if known.insert(left.token) {
                    let judges = log.filter(|_| whom(&name) == Some(For::Log));
                    let waits = match judges {
                        Some(log) => judge(writer, common, &left, Arc::clone(log)),
                        None => take_up(writer, common, &left).map(|()| None),
                    };
                    if let Some(why) = waits? {
                        leave_alone(common, &name, &why);
                        continue;
                    }
                    common.counters.take_up();
                }
                remove_if_there(medium, &name).map_err(trouble)?;
                used.extend(left.keys);
            }
            Some(Err(Error::Corrupt { .. })) | None => set_aside(common, &name),
            // It waits for whoever has its key.
            Some(Err(Error::NoKey { .. })) => {}
            Some(Err(other)) => leave_alone(common, &name, &other.to_string()),
        }
    }
    medium.sync_dir(SPOOL).map_err(trouble)?;
    if used.is_empty() {
        return Ok(());
    }
    common.keyring.clear_spool(&used)
}

/// A batch as it was left.
struct Left {
    token: [u8; 16],
    /// The id that was next then, as far as whoever left it knew.
    next: u64,
    records: Vec<Record>,
    /// The names of their keys.
    keys: Vec<KeyId>,
}

/// Takes up a batch without conditions.
fn take_up(writer: &mut Writer, common: &Shelf, left: &Left) -> Result<()> {
    let is_wanted = left.wanted(common)?;
    let keys: Vec<(&Record, Vec<&[u8]>)> = left
        .records
        .iter()
        .filter(|record| is_wanted(record))
        .map(|record| (record, record.key.iter().map(Vec::as_slice).collect()))
        .collect();
    let named: [&[u8]; 1] = [&left.token];
    let mut batch = vec![bookkeeping(Kind::Spooled, &named, &[])];
    batch.extend(keys.iter().map(|(record, key)| Row::of(record, key)));
    let mut packet = Packet::own(&press(common)?, &batch)?;
    writer.write(common, &mut [&mut packet], true).map(drop)
}

/// Takes up a batch as its conditions decide; the answer says why it waits, if nobody can judge them now.
fn judge(
    writer: &mut Writer,
    common: &Shelf,
    left: &Left,
    log: Arc<dyn Taker>,
) -> Result<Option<String>> {
    let is_wanted = left.wanted(common)?;
    let Some((head, records)) = left.records.split_first() else {
        return Ok(Some("it has no conditions".into()));
    };
    let mut kept = Vec::with_capacity(records.len());
    for (at, record) in records.iter().enumerate() {
        if is_wanted(record) && removed_source(common, &record.sources)?.is_none() {
            kept.push((at, record));
        }
    }
    let named: [&[u8]; 1] = [&left.token];
    let mut why = None;
    let taken = log.take_up(&head.payload, &kept, &mut |rows, judge| {
        let mut batch = vec![bookkeeping(Kind::Spooled, &named, &[])];
        batch.extend_from_slice(rows);
        let mut packet = Packet::own(&press(common)?, &batch)?;
        let first = common.peek().next_seq();
        let judged = match judge.judge(Seq(first.saturating_add(1))) {
            Ok(judged) => judged,
            Err(error @ (Error::Corrupt { .. } | Error::Uncertain { .. })) => {
                why = Some(error.to_string());
                return Ok(());
            }
            Err(other) => return Err(other),
        };
        let said = Verdict::Rewritten(Links::default(), judge.verdict());
        packet.choose(std::iter::once(said).chain(judged).collect());
        let written = writer.write(common, &mut [&mut packet], true);
        judge.settle(written.is_ok());
        written.map(drop)
    });
    match taken {
        // It stops nobody: a later version may have other limits.
        Err(error @ (Error::Corrupt { .. } | Error::Argument { .. } | Error::TooLarge { .. })) => {
            Ok(Some(error.to_string()))
        }
        other => other.map(|()| why),
    }
}

/// Takes what is erased out of the batches that wait for somebody else. The lock is held.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn forget_erased(common: &Shelf) -> Result<()> {
    let medium = &*common.medium;
    let trouble = |error| refused("write", &medium.path(SPOOL), error);
    let mut used = BTreeSet::new();
    for name in waiting(common)? {
        let name = format!("{SPOOL}/{name}");
        // What cannot be read, nobody reads: its keys are gone, or it is not what was written.
        let Ok(Some(bytes)) = fetch(medium, &name) else {
            continue;
        };
        let Ok(left) = decode(common, &bytes) else {
            continue;
        };
        let gone = left.gone(common)?;
        if left.records.iter().any(&gone) {
            let kept = left.records.iter().map(|record| (record, !gone(record)));
            let kept: Vec<(&Record, bool)> = kept.collect();
            let bytes = again(common, left.token, left.next, &kept)?;
            put_file(medium, SPOOL, &format!("{name}{UNDER_WAY}"), &name, &bytes)
                .map_err(trouble)?;
            used.extend(left.keys);
        }
    }
    if used.is_empty() {
        return Ok(());
    }
    common.keyring.clear_spool(&used)
}

/// What a batch that was acknowledged is made with, whatever limits hold by now.
fn press(common: &Shelf) -> Result<Press<'_>> {
    let mut press = common.press(false)?;
    press.limit = u64::MAX;
    Ok(press)
}

impl Left {
    /// Tells of a record whether it is to be written; fillers are in the places of what was erased.
    fn wanted(&self, common: &Shelf) -> Result<impl Fn(&Record) -> bool + use<>> {
        let gone = self.gone(common)?;
        Ok(move |record: &Record| record.kind != Kind::Filler && !gone(record))
    }

    /// Tells of a record whether it is not wanted any more.
    fn gone(&self, common: &Shelf) -> Result<impl Fn(&Record) -> bool + use<>> {
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
            let key = match segment.source.ties(*head) {
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => return Ok(tokens),
                other => other?.key,
            };
            let token = key.first().and_then(|part| part.as_slice().try_into().ok());
            tokens.extend::<Option<[u8; 16]>>(token);
            rest = before;
        }
    }
    Ok(tokens)
}

/// What a file in the spool holds.
fn decode(common: &Shelf, bytes: &[u8]) -> Result<Left> {
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
    Ok(Left {
        token,
        next,
        records,
        keys,
    })
}

/// The bytes of a batch that waits; `None` if it is longer than any.
fn fetch(medium: &dyn Medium, name: &str) -> io::Result<Option<Vec<u8>>> {
    // Reading tells a directory, whose length may be anything.
    read_full(&*medium.open(name, Access::Read)?, &mut [0], 0)?;
    read_file(medium, name, MAX_BATCH)
}

/// A batch that is not what was written is kept where recovery keeps what it cut, under a name of its
/// own, and is damage from now on.
fn set_aside(common: &Shelf, name: &str) {
    match aside::move_batch(&*common.medium, name) {
        Ok(damage) => common.note(damage),
        Err(error) => leave_alone(common, name, &error.to_string()),
    }
}

/// What is no batch, or cannot be read now, stays where it is, and is reported: it stops nobody.
fn leave_alone(common: &Shelf, name: &str, detail: &str) {
    common.note(Damage {
        segment: 0,
        path: common.medium.path(name),
        bytes: 0..0,
        seqs: None,
        kind: DamageKind::Corrupt,
        detail: format!("a file in the spool that cannot be taken up: {detail}"),
    });
}
