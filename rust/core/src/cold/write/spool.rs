//! The spool: a batch that finds the lock busy is left here, durably, and the next writer takes it up
//! once.
//!
//! ```text
//! leave    write spool/<token>.spl, sync, rename, sync the directory ─▶ ring the bell
//! take up  ring, if the next batch is the first of this round ─▶ append the batch behind a record that names
//!          the token, sync ─▶ remove the file ─▶ sync the directory; nothing else is appended before
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
use crate::cold::format::links::Links;
use crate::cold::format::{BELL, SPOOL};
use crate::cold::medium::{Access, Medium, MediumFile, put_file, refused, remove_if_there};
use crate::cold::open::aside;
use crate::cold::record::Record;
use crate::cold::report::{Damage, DamageKind};
use crate::cold::shelf::Shelf;
use crate::cold::write::commit::removed_source;
use crate::cold::write::leave::{For, UNDER_WAY, again, ring, token_of, waiting, whom};
use crate::cold::write::left::{Left, decode, fetch};
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
    let known = if names.is_empty() {
        BTreeSet::new()
    } else {
        already(common)?
    };
    // What was taken up is removed by whoever comes next: later nobody could tell any more.
    let ours = |name: &String| log.is_some() || whom(name) == Some(For::Anybody);
    names.retain(|name| ours(name) || is_among(&known, name));
    if names.is_empty() {
        // Somebody may have removed the last one and come no further.
        return medium.sync_dir(SPOOL).map_err(trouble);
    }
    let mut round = Round {
        writer,
        common,
        bell,
        log,
        known,
        used: BTreeSet::new(),
        has_rung: false,
    };
    let taken = names.iter().try_for_each(|name| round.one(name));
    let used = round.used;
    let synced = medium.sync_dir(SPOOL).map_err(trouble);
    // Also after an error: the files that named these keys are gone.
    taken.and(synced).and(common.keyring.clear_spool(&used))
}

/// Whether the batch of a file is among those that were taken up.
fn is_among(known: &BTreeSet<[u8; 16]>, name: &str) -> bool {
    token_of(name).is_some_and(|token| known.contains(&token))
}

/// One time of taking up what waits.
struct Round<'a> {
    writer: &'a mut Writer,
    common: &'a Shelf,
    bell: &'a dyn MediumFile,
    log: Option<&'a Arc<dyn Taker>>,
    /// What was taken up, by whomever.
    known: BTreeSet<[u8; 16]>,
    /// The keys of what is gone from the spool.
    used: BTreeSet<KeyId>,
    has_rung: bool,
}

impl Round<'_> {
    /// Takes up one batch, if that can be done now.
    fn one(&mut self, name: &str) -> Result<()> {
        let (medium, common) = (&*self.common.medium, self.common);
        let is_known = is_among(&self.known, name);
        let name = format!("{SPOOL}/{name}");
        let bytes = fetch(medium, &name);
        if is_known {
            // Whoever did so came no further, and nothing of it need be readable now.
            if let Ok(Some(bytes)) = bytes
                && let Ok(left) = decode(common, &bytes)
            {
                self.used.extend(left.keys);
            }
            return self.remove(&name);
        }
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                leave_alone(common, &name, &error.to_string());
                return Ok(());
            }
        };
        match bytes.as_deref().map(|bytes| decode(common, bytes)) {
            Some(Ok(left)) => {
                if on(Defect::SpoolRemovedFirst) {
                    self.remove(&name)?;
                    let synced = medium.sync_dir(SPOOL);
                    synced.map_err(|error| refused("sync", &medium.path(SPOOL), error))?;
                }
                if self.known.insert(left.token) {
                    let judges = self.log.filter(|_| whom(&name) == Some(For::Log));
                    let waits = match judges {
                        Some(log) => self.judge(&left, Arc::clone(log))?,
                        None => self.take_up(&left).map(|()| None)?,
                    };
                    if let Some(why) = waits {
                        leave_alone(common, &name, &why);
                        return Ok(());
                    }
                    common.counters.take_up();
                }
                self.remove(&name)?;
                self.used.extend(left.keys);
            }
            Some(Err(Error::Corrupt { .. })) | None => set_aside(common, &name),
            // It waits for whoever has its key.
            Some(Err(Error::NoKey { .. })) => {}
            Some(Err(other)) => leave_alone(common, &name, &other.to_string()),
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let medium = &*self.common.medium;
        let removed = remove_if_there(medium, name);
        removed.map_err(|error| refused("take up", &medium.path(SPOOL), error))
    }

    /// Takes up a batch without conditions.
    fn take_up(&mut self, left: &Left) -> Result<()> {
        let is_wanted = left.wanted(self.common)?;
        let keys: Vec<(&Record, Vec<&[u8]>)> = left
            .records
            .iter()
            .filter(|record| is_wanted(record))
            .map(|record| (record, record.key.iter().map(Vec::as_slice).collect()))
            .collect();
        let named: [&[u8]; 1] = [&left.token];
        let mut batch = vec![bookkeeping(Kind::Spooled, &named, &[])];
        batch.extend(keys.iter().map(|(record, key)| Row::of(record, key)));
        let mut packet = Packet::own(&press(self.common)?, &batch)?;
        self.write(&mut packet)
    }

    /// Takes up a batch as its conditions decide; the answer says why it waits, if nobody can judge them now.
    fn judge(&mut self, left: &Left, log: Arc<dyn Taker>) -> Result<Option<String>> {
        let common = self.common;
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
            let written = self.write(&mut packet);
            judge.settle(written.is_ok());
            written
        });
        match taken {
            // It stops nobody: a later version may have other limits.
            Err(
                error @ (Error::Corrupt { .. } | Error::Argument { .. } | Error::TooLarge { .. }),
            ) => Ok(Some(error.to_string())),
            other => other.map(|()| why),
        }
    }

    /// Appends a batch. This process may end between that and the removal of the file: every other handle is
    /// to look here before it appends, also where whoever left it ended before it rang. What merely waits
    /// rings for nobody.
    fn write(&mut self, packet: &mut Packet) -> Result<()> {
        if !self.has_rung {
            let path = self.common.medium.path(SPOOL);
            ring(self.bell).map_err(|error| refused("take up", &path, error))?;
            self.has_rung = true;
        }
        self.writer
            .write(self.common, &mut [packet], true)
            .map(drop)
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
        let bytes = match fetch(medium, &name) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => continue,
            other => other.map_err(trouble)?,
        };
        let left = match bytes.map(|bytes| decode(common, &bytes)) {
            Some(Ok(left)) => left,
            // Nobody takes it up; what of it can be read goes with what was set aside.
            Some(Err(Error::Corrupt { .. })) => {
                set_aside(common, &name);
                continue;
            }
            // Nobody reads it without its key.
            Some(Err(Error::NoKey { .. })) | None => continue,
            Some(Err(other)) => return Err(other),
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
    common.keyring.clear_spool(&used)
}

/// The keys of the batches that wait; `None` if one cannot be read. The lock is held.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn keys_in_use(common: &Shelf) -> Result<Option<BTreeSet<KeyId>>> {
    let mut keys = BTreeSet::new();
    for name in waiting(common)? {
        let bytes = fetch(&*common.medium, &format!("{SPOOL}/{name}"));
        match bytes.ok().flatten().map(|bytes| decode(common, &bytes)) {
            Some(Ok(left)) => keys.extend(left.keys),
            _ => return Ok(None),
        }
    }
    Ok(Some(keys))
}

/// What a batch that was acknowledged is made with, whatever limits hold by now.
fn press(common: &Shelf) -> Result<Press<'_>> {
    let mut press = common.press(false)?;
    press.limit = u64::MAX;
    Ok(press)
}

/// The tokens of the batches at the very end of the store. Ids may have been left out between them.
fn already(common: &Shelf) -> Result<BTreeSet<[u8; 16]>> {
    let index = common.known()?;
    let mut tokens = BTreeSet::new();
    for segment in index.segments.iter().rev() {
        let entries = &segment.listing()?.contents.entries;
        let mut rest = entries.len();
        while let Some(last) = rest.checked_sub(1).and_then(|at| entries.get(at)) {
            let first = match segment.source.batch_first(last) {
                // Nothing behind a damaged record can be known; rather twice than not at all.
                Err(Error::Corrupt { .. } | Error::Truncated { .. }) => return Ok(tokens),
                other => other?,
            };
            let before = entries.position(first).min(rest);
            let head = entries.get(before).filter(|_| before < rest);
            let head = head.filter(|e| e.kind == Kind::Spooled.code());
            let Some(head) = head else {
                return Ok(tokens);
            };
            let key = match segment.source.ties(head) {
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
