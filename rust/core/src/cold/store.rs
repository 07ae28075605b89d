//! The store: one handle for a directory, shared by threads.
//!
//! Appends queue for the writer. Reads never wait for a write or a sync: they look a place up under a
//! short lock and read the file without one.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, absolute};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::defect::{Defect, on};
use super::erase::compact::{Compacted, compact};
use super::erase::find::Found;
use super::erase::replace::{Replaced, Replacement, Shown};
use super::erase::{Erased, Scope, erase, erase_found};
use super::medium::disk::Disk;
use super::medium::ram::Ram;
use super::medium::{Medium, lock, refused};
use super::notices::Counters;
use super::open::load::Repair;
use super::open::survey::survey;
use super::options::{Ack, Durability, Mode, OnBusy, Options};
use super::record::{Appended, Draft};
use super::shelf::Shelf;
use super::write::leave::{For, leave};
use super::write::packet::{Packet, Row, bookkeeping};
use super::write::queue::{Answer, Judge, Queue};
use super::write::spool::Taker;
use super::write::syncer::Syncer;
use super::write::writer::Writer;

/// A durable sequence of records: what was acknowledged is never lost.
pub struct Store {
    pub(super) shelf: Arc<Shelf>,
    queue: Queue,
    /// Dropped at closing; a closed store keeps no file open.
    writer: Arc<Mutex<Option<Writer>>>,
    syncer: Mutex<Option<Syncer>>,
}

impl Store {
    /// Opens the store in a directory, and makes a new one if there is none, or nothing in it.
    ///
    /// Opening cuts a torn tail; see [`report`](Self::report).
    ///
    /// # Errors
    ///
    /// [`Error::NotAStore`], [`Error::NewerFormat`] and [`Error::ForeignSegment`], with the directory
    /// left as it was; [`Error::Locked`]; [`Error::Full`]; [`Error::Io`].
    pub fn open(dir: &Path, options: Options) -> Result<Self> {
        let not_a_store = |detail: &str| Error::NotAStore {
            path: dir.to_path_buf(),
            detail: detail.into(),
        };
        if dir.as_os_str().is_empty() {
            return Err(not_a_store("the path is empty"));
        }
        if dir.exists() && !dir.is_dir() {
            return Err(not_a_store("it is a file"));
        }
        if !dir.exists() && options.mode == Mode::Read {
            return Err(not_a_store("there is nothing"));
        }
        // The handle must mean the same directory after the process moved to another one.
        let root = absolute(dir).map_err(|error| refused("resolve", dir, error))?;
        Disk::make_root(&root).map_err(|error| refused("create", &root, error))?;
        Self::on(Arc::new(Disk::new(root)), options)
    }

    /// A new store in memory. It ends with the handle.
    ///
    /// # Errors
    ///
    /// None today; the type is that of [`with_medium`](Self::with_medium).
    pub fn in_memory(options: Options) -> Result<Self> {
        Self::with_medium(Box::new(Ram::new()), options)
    }

    /// Opens the store on a medium of the caller's.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn with_medium(medium: Box<dyn Medium>, options: Options) -> Result<Self> {
        Self::on(medium.into(), options)
    }

    fn on(medium: Arc<dyn Medium>, options: Options) -> Result<Self> {
        // What is refused is refused before the lock file is written.
        let found = survey(&*medium, Repair::Forbidden, options.access())?;
        let counters = Counters::default();
        let (shelf, writer) = if options.mode == Mode::Read {
            if found.is_empty() {
                return Err(Error::NotAStore {
                    path: medium.path(""),
                    detail: "there is nothing".into(),
                });
            }
            (
                Shelf::new(medium, options, Repair::Forbidden, counters)?,
                Writer::new(None),
            )
        } else {
            drop(found);
            match lock::acquire(&*medium, options.lock_wait, &counters) {
                // An exclusive handle writes without asking for the lock again: it must have it.
                Err(locked @ Error::Locked { .. })
                    if options.on_busy == OnBusy::Spool && options.mode == Mode::Shared =>
                {
                    let shelf = Shelf::new(medium, options, Repair::Forbidden, counters)?;
                    if shelf.known()?.segments.is_empty() {
                        // Whoever makes the store has not named it yet: a spool would be nobody's.
                        return Err(locked);
                    }
                    (shelf, Writer::new(None))
                }
                Err(error) => return Err(error),
                Ok(hold) => {
                    let shelf = Shelf::new(medium, options, Repair::Allowed, counters)?;
                    let exclusive = options.mode == Mode::Exclusive;
                    let (kept, passing) = if exclusive {
                        (Some(hold), None)
                    } else {
                        (None, Some(hold))
                    };
                    let mut writer = Writer::new(kept);
                    writer.ready(&shelf)?;
                    drop(passing);
                    (shelf, writer)
                }
            }
        };
        let shelf = Arc::new(shelf);
        let writer = Arc::new(Mutex::new(Some(writer)));
        let syncer = match options.durability {
            Durability::Interval(every) if options.mode != Mode::Read => Some(Syncer::start(
                Arc::clone(&shelf),
                Arc::clone(&writer),
                every,
            )),
            _ => None,
        };
        Ok(Self {
            shelf,
            queue: Queue::default(),
            writer,
            syncer: Mutex::new(syncer),
        })
    }

    /// Appends a batch, all or nothing. When it returns, the batch is as durable as the options say,
    /// and its ids are in the order of the drafts. An empty batch writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] and [`Error::Argument`] before anything is written, the latter also for a
    /// source that is no id below the batch's own; [`Error::Full`] and
    /// [`Error::Io`] when the write failed and was taken back, so that the next one may succeed;
    /// [`Error::Erased`] when a record's source was erased; [`Error::Locked`]; [`Error::Poisoned`] when
    /// the state of the disk is unknown; [`Error::ReadOnly`]; [`Error::Forked`]; [`Error::Closed`].
    pub fn append(&self, batch: &[Draft<'_>]) -> Result<Vec<Seq>> {
        self.append_with(batch, Ack::Durable)
    }

    /// As [`append`](Self::append), with what the call waits for; for records that may be lost with the
    /// power, because they can be made again.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub fn append_with(&self, batch: &[Draft<'_>], ack: Ack) -> Result<Vec<Seq>> {
        let ids = self.commit(ack, None, || Packet::new(&self.shelf.press(false)?, batch))?;
        Ok(ids.map(Seq).collect())
    }

    /// Appends what the log makes of a batch, as its judge decides; gives the ids of what was written.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append), and what the judge answers.
    pub(crate) fn append_judged(
        &self,
        rows: &[Row<'_>],
        ack: Ack,
        judge: &Arc<dyn Judge>,
    ) -> Result<Range<u64>> {
        self.commit(ack, Some(judge), || {
            Packet::own(&self.shelf.press(false)?, rows)
        })
    }

    /// Leaves what the log makes of a batch in the spool, durably, if the options say so: the next writer with
    /// a log takes it up and judges the `conditions`. `false` if the options do not.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub(crate) fn leave_judged(&self, rows: &[Row<'_>], conditions: &[u8]) -> Result<bool> {
        if self.shelf.options.on_busy != OnBusy::Spool {
            return Ok(false);
        }
        let head = bookkeeping(Kind::Spooled, &[], conditions);
        let bare = rows.iter().map(|row| Row {
            links: None,
            ..*row
        });
        let all: Vec<Row<'_>> = std::iter::once(head).chain(bare).collect();
        leave(&self.shelf, &all, For::Log).map(|_| true)
    }

    /// Lets a log take up what is left with conditions, for as long as it is there.
    pub(crate) fn take_up_with(&self, log: Weak<dyn Taker>) {
        if self.shelf.is_forked() {
            // A thread of the parent may have held the lock.
            return;
        }
        let takers = self.shelf.takers.lock();
        let mut takers = takers.unwrap_or_else(PoisonError::into_inner);
        takers.retain(|one| one.strong_count() > 0);
        takers.push(log);
    }

    /// Puts a packet into the queue until it is answered; it is made anew where its keys are gone.
    fn commit(
        &self,
        ack: Ack,
        judge: Option<&Arc<dyn Judge>>,
        make: impl Fn() -> Result<Packet>,
    ) -> Result<Range<u64>> {
        // Before any lock: a thread of the parent may have held it when the process forked.
        if self.shelf.is_forked() {
            return Err(Error::Forked);
        }
        loop {
            let packet = make()?;
            if packet.count() == 0 && judge.is_none() {
                return Ok(0..0);
            }
            let ticket = self.queue.push(packet, ack, judge.cloned());
            let mut slot = self.writer()?;
            if ticket.is_open() {
                let writer = slot.as_mut().ok_or(Error::Closed)?;
                writer.commit(&self.shelf, self.queue.take_all());
            }
            drop(slot);
            match ticket.take_answer() {
                Some(Answer::Done(ids)) => return ids,
                Some(Answer::Stale) => self.shelf.keyring.forget(),
                None => return Err(Error::Closed),
            }
        }
    }

    /// As [`append`](Self::append), but a batch that finds the lock busy is left in the spool, durably,
    /// for the next writer, if the options say so.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub fn append_or_spool(&self, batch: &[Draft<'_>]) -> Result<Appended> {
        self.append_or_spool_with(batch, Ack::Durable)
    }

    /// As [`append_or_spool`](Self::append_or_spool), with what the call waits for; what is left in the
    /// spool is durable in any case.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub fn append_or_spool_with(&self, batch: &[Draft<'_>], ack: Ack) -> Result<Appended> {
        match self.append_with(batch, ack) {
            Err(Error::Locked { .. }) if self.shelf.options.on_busy == OnBusy::Spool => {
                let rows: Vec<Row<'_>> = batch.iter().copied().map(Row::from).collect();
                leave(&self.shelf, &rows, For::Anybody).map(Appended::Spooled)
            }
            other => other.map(Appended::Stored),
        }
    }

    /// Makes everything durable that was appended so far, and gives the last id.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub fn sync(&self) -> Result<Seq> {
        self.write(super::write::writer::Writer::sync)?;
        self.durable_seq()
    }

    /// Erases what is in a scope and what was made from it: reads say so at once, in every process.
    /// The bytes go with [`compact`](Self::compact).
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an empty scope; [`Error::Interrupted`]; as [`append`](Self::append).
    pub fn erase(&self, scope: Scope<'_>) -> Result<Erased> {
        self.write(|writer, shelf| erase(writer, shelf, scope))
    }

    /// As [`erase`](Self::erase), of what somebody finds who knows more of the records. `find` is asked under
    /// the lock, and so is `done` told the version of erasures before and after.
    ///
    /// # Errors
    ///
    /// As [`erase`](Self::erase), and what `find` answers.
    pub(crate) fn erase_with<T>(
        &self,
        scope: Scope<'_>,
        find: impl FnOnce() -> Result<(Found, T)>,
        done: impl FnOnce(T, (u64, u64)),
    ) -> Result<Erased> {
        self.write(|writer, shelf| {
            let (found, rest) = find()?;
            let before = shelf.known()?.erasures.version();
            let told = erase_found(writer, shelf, scope, &found)?;
            done(rest, (before, shelf.known()?.erasures.version()));
            Ok(told)
        })
    }

    /// Writes the segments anew that hold erased records, so that no byte of them is left.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`], with some segments done; as [`append`](Self::append).
    pub fn compact(&self) -> Result<Compacted> {
        self.write(compact)
    }

    /// Replaces the sealed segment at a place by one without the records that `dead` names of it, which
    /// nothing shows any more. `still` is asked under the lock whether all of those are dead, before it gets its
    /// place. The lock is held for that alone, or all the time with `held`.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact), and what the two answer.
    pub(crate) fn replace(
        &self,
        at: usize,
        held: bool,
        dead: impl FnOnce(&[Shown]) -> Result<BTreeSet<u64>>,
        still: impl FnOnce(&[Shown]) -> Result<bool>,
    ) -> Result<Replaced> {
        let draft = || Replacement::draft(&self.shelf, at, dead);
        let place = |writer: &mut Writer, made: Replacement| {
            if !on(Defect::FoldUnsynced) {
                writer.sync(&self.shelf)?;
            }
            made.place(&self.shelf, still)
        };
        if held {
            return self.write(|writer, _| match draft()? {
                Some(made) => place(writer, made),
                None => Ok(Replaced::Nothing),
            });
        }
        match draft()? {
            Some(made) if made.is_needed() => self.write(|writer, _| place(writer, made)),
            Some(_) => Ok(Replaced::Done(Compacted::default())),
            None => Ok(Replaced::Nothing),
        }
    }

    /// Gives the store up: waits for an append that is under way, makes durable what is not, closes
    /// the files and releases the lock. Closing twice is allowed; whatever else comes later gets
    /// [`Error::Closed`].
    ///
    /// # Errors
    ///
    /// What could not be made durable.
    pub fn close(&self) -> Result<()> {
        if self.shelf.is_forked() {
            // The locks may have been held when the process forked; dropping the handle needs none.
            self.shelf.close();
            return Ok(());
        }
        let syncer = self
            .syncer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(syncer);
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let finished = match slot.as_mut() {
            Some(writer) if self.shelf.options.mode != Mode::Read => writer.finish(&self.shelf),
            _ => Ok(()),
        };
        *slot = None;
        self.shelf.close();
        finished
    }

    fn write<T>(&self, act: impl FnOnce(&mut Writer, &Shelf) -> Result<T>) -> Result<T> {
        if self.shelf.is_forked() {
            return Err(Error::Forked);
        }
        let mut slot = self.writer()?;
        let writer = slot.as_mut().ok_or(Error::Closed)?;
        let _hold = writer.begin(&self.shelf)?;
        act(writer, &self.shelf)
    }

    fn writer(&self) -> Result<MutexGuard<'_, Option<Writer>>> {
        self.writer.lock().map_err(|_| Error::Poisoned {
            path: self.shelf.medium.path(""),
            detail: "a panic in an earlier append".into(),
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Whoever wants to know closes.
        let _ = self.close();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.shelf.medium.path(""))
            .field("closed", &self.shelf.is_closed())
            .finish_non_exhaustive()
    }
}
