//! The writer: while it holds the lock, the one owner of the end of the last segment.
//!
//! ```text
//! commit   lock ─▶ catch up ─▶ one write at the end ─▶ one sync ─▶ publish ─▶ mark ─▶ unlock
//! rotate   seal, sync ─▶ create the next, exclusively ─▶ its header, sync ─▶ sync the directory
//! ```
//!
//! A failed write is taken back by truncating, and the writer goes on. If that fails too, or if a sync
//! fails, the state of the disk is unknown: the writer stops for good, reads go on over what was
//! acknowledged, and nobody writes on that segment again. A failed sync is never tried again, because
//! the second one may succeed without having written what the first one lost.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::entry::Seq;
use crate::error::{Error, Result};

use super::bytes::wide;
use super::defect::{Defect, on};
use super::footer::seal;
use super::format::{PREAMBLE, segment_name};
use super::header::Header;
use super::load::sealed;
use super::lock;
use super::medium::{Access, Hold, refused, write_full};
use super::options::{Durability, Mode};
use super::packet::Packet;
use super::queue::{Answer, Ticket};
use super::segment::{Listing, Segment};
use super::shelf::Shelf;
use super::source::Source;
use super::spool;

/// How much of the buffer is kept from one group to the next.
const BUFFER: usize = 1 << 20;
/// How many bytes are written at once for several batches.
const GROUP: u64 = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The lock of an exclusive handle.
    #[expect(dead_code, reason = "it is there to be dropped")]
    hold: Option<Box<dyn Hold>>,
    /// Why the writer stopped.
    stopped: Option<String>,
    buffer: Vec<u8>,
    /// Rings when somebody spooled.
    pub(super) bell: Option<spool::Bell>,
    /// Whether this handle has appended anything.
    pub(super) used: bool,
}

/// How many bytes after which a closing handle seals the segment: an eighth of its limit.
fn worth_sealing(common: &Shelf, len: u64) -> bool {
    len.saturating_sub(PREAMBLE) >= common.options.segment_bytes / 8
}

impl Writer {
    /// A writer that keeps the lock it is given, if any.
    pub(super) fn new(hold: Option<Box<dyn Hold>>) -> Self {
        Self {
            hold,
            ..Self::default()
        }
    }

    /// Takes the lock for as long as the answer lives, and brings the handle up to date.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`]; [`Error::ReadOnly`]; [`Error::Locked`]; as opening.
    pub(super) fn begin(&mut self, common: &Shelf) -> Result<Option<Box<dyn Hold>>> {
        if let Some(detail) = &self.stopped {
            return Err(poisoned(common, detail));
        }
        let hold = match common.options.mode {
            Mode::Read => {
                let path = common.medium.path("");
                return Err(Error::ReadOnly { path });
            }
            Mode::Shared => Some(lock::acquire(&*common.medium, common.options.lock_wait)?),
            Mode::Exclusive => None,
        };
        self.ready(common)?;
        Ok(hold)
    }

    /// Whether the end is where this handle believes it to be; else the directory is read anew and
    /// mended. Then what lies in the spool is taken up.
    pub(super) fn ready(&mut self, common: &Shelf) -> Result<()> {
        common.catch_up()?;
        let as_known = {
            let index = common.known()?;
            let next = segment_name(index.mark.segment.saturating_add(1));
            match index.segments.last() {
                Some(_) if index.beyond => false,
                Some(last) if !last.is_sealed() && index.tail => last.source.len()? == last.len,
                // Who began the next one may have been killed before the mark told so.
                Some(_) => {
                    let begun = common.medium.open(&next, Access::Write);
                    let none = begun.is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
                    none && index.file.is_some()
                }
                None => false,
            }
        };
        if !as_known {
            common.repair()?;
            if common.known()?.segments.is_empty() {
                // The lock's name first: beside it a first segment that is cut short is known as ours.
                let trouble = |error| refused("sync", &common.medium.path(""), error);
                common.medium.sync_dir("").map_err(trouble)?;
                self.create(common)?;
                common.settle_mark(&mut common.write())?;
            }
        }
        spool::answer(self, common)
    }

    /// Commits what waits, all of each batch or nothing, and answers every ticket.
    pub(super) fn commit(&mut self, common: &Shelf, tickets: &[Arc<Ticket>]) {
        match self.begin(common) {
            Err(error) => {
                let copies: Vec<Error> = tickets.iter().skip(1).map(|_| error.copy()).collect();
                let errors = std::iter::once(error).chain(copies);
                for (ticket, error) in tickets.iter().zip(errors) {
                    ticket.answer(Answer::Done(Err(error)));
                }
            }
            Ok(_hold) => {
                let group = Self::admit(common, tickets);
                self.commit_all(common, &group);
            }
        }
    }

    /// The tickets whose packets may be written as they are.
    fn admit<'a>(common: &Shelf, tickets: &'a [Arc<Ticket>]) -> Vec<&'a Arc<Ticket>> {
        let erasures = common.peek().erasures.count();
        let stale =
            |ticket: &Ticket| common.keyring.is_on() && ticket.packet().erasures != erasures;
        let mut group = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            if stale(ticket) {
                ticket.answer(Answer::Stale);
            } else {
                group.push(ticket);
            }
        }
        group
    }

    fn commit_all(&mut self, common: &Shelf, tickets: &[&Arc<Ticket>]) {
        let mut rest = tickets;
        while let Some(first) = rest.first() {
            let limit = common.options.segment_bytes.min(GROUP);
            let mut size = first.packet().len();
            let mut count = 1;
            for ticket in rest.iter().skip(1) {
                let more = size.saturating_add(ticket.packet().len());
                if more > limit {
                    break;
                }
                (size, count) = (more, count + 1);
            }
            let (group, behind) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = behind;
            match (self.commit_group(common, group), group) {
                (Ok(()), _) => {}
                (Err(error), [alone]) => alone.answer(Answer::Done(Err(error))),
                // What is too much for the medium together may fit alone.
                (Err(_), _) => {
                    for ticket in group {
                        if let Err(error) = self.commit_group(common, &[ticket]) {
                            ticket.answer(Answer::Done(Err(error)));
                        }
                    }
                }
            }
        }
    }

    /// Commits several batches with one write, and answers them unless it fails.
    fn commit_group(&mut self, common: &Shelf, group: &[&Arc<Ticket>]) -> Result<()> {
        let mut packets: Vec<_> = group.iter().map(|ticket| ticket.packet()).collect();
        let mut bare: Vec<&mut Packet> = packets.iter_mut().map(|packet| &mut **packet).collect();
        let ids = self.write(common, &mut bare, false)?;
        drop(packets);
        for (ticket, ids) in group.iter().zip(ids) {
            ticket.answer(Answer::Done(Ok(ids)));
        }
        Ok(())
    }

    /// Writes packets at the end of the store. Only after [`begin`](Self::begin), while its answer
    /// lives.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::Io`] after it was taken back; [`Error::Poisoned`].
    pub(super) fn write(
        &mut self,
        common: &Shelf,
        packets: &mut [&mut Packet],
        synced: bool,
    ) -> Result<Vec<Vec<Seq>>> {
        if let Some(detail) = &self.stopped {
            return Err(poisoned(common, detail));
        }
        let size = packets.iter().map(|packet| packet.len()).sum();
        let (source, start) = self.room_for(common, size)?;
        let (mut seq, durable) = {
            let index = common.peek();
            (index.next_seq(), index.mark.durable)
        };
        let mut offset = start;
        let mut entries = Vec::new();
        let mut ids = Vec::with_capacity(packets.len());
        for packet in &mut *packets {
            let stamped = packet.stamp(&source.header.identity, offset, seq, durable);
            ids.push(stamped.iter().map(|entry| Seq(entry.seq)).collect());
            seq = seq.saturating_add(packet.count());
            offset = offset.saturating_add(packet.len());
            entries.extend(stamped);
        }
        self.used = true;
        self.put(common, &source, start, packets)?;
        let synced = synced || common.options.durability == Durability::Fsync;
        if on(Defect::MarkBeforeSync) {
            let mut index = common.write();
            index.mark.durable = seq.saturating_sub(1);
            index.tell();
        }
        if synced && !on(Defect::AckBeforeSync) {
            self.sync_at(common, &source, start)?;
        }
        let mut index = common.write();
        index.publish(&entries, offset);
        if synced {
            index.mark.durable = seq.saturating_sub(1);
        }
        if common.options.mode == Mode::Shared || synced {
            index.tell();
        }
        Ok(ids)
    }

    /// Writes, or leaves the file as it was, or stops.
    fn put(
        &mut self,
        common: &Shelf,
        source: &Source,
        start: u64,
        packets: &[&mut Packet],
    ) -> Result<()> {
        let written = if let [packet] = packets {
            write_full(&*source.file, packet.bytes(), start)
        } else {
            self.buffer.clear();
            for packet in packets {
                self.buffer.extend_from_slice(packet.bytes());
            }
            let written = write_full(&*source.file, &self.buffer, start);
            self.buffer.clear();
            self.buffer.shrink_to(BUFFER);
            written
        };
        let Err(error) = written else {
            return Ok(());
        };
        if on(Defect::NoTruncate) {
            return Err(refused("write", &source.path, error));
        }
        match source.file.set_len(start) {
            Ok(()) => Err(refused("write", &source.path, error)),
            Err(_) => Err(self.stop(common, source.header.number, "write", &source.path, &error)),
        }
    }

    fn sync_at(&mut self, common: &Shelf, source: &Source, start: u64) -> Result<()> {
        let mut synced = source.file.sync_data();
        if on(Defect::SyncRetried) && synced.is_err() {
            synced = source.file.sync_data();
        }
        synced.map_err(|error| {
            if on(Defect::FailedSyncForgotten) {
                return refused("sync", &source.path, error);
            }
            // What was not acknowledged should not come back at the next open. If it cannot be cut
            // off, it is a torn tail or an unacknowledged batch then: both are allowed.
            let _ = source.file.set_len(start);
            self.stop(common, source.header.number, "sync", &source.path, &error)
        })
    }

    /// Makes everything that was written durable. Only after [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`].
    pub(super) fn sync(&mut self, common: &Shelf) -> Result<()> {
        let (source, end, last, durable) = {
            let index = common.peek();
            let Some(segment) = index.segments.last() else {
                return Ok(());
            };
            let source = Arc::clone(&segment.source);
            (source, segment.len, segment.last(), index.mark.durable)
        };
        if last > durable {
            self.sync_at(common, &source, end)?;
            let mut index = common.write();
            index.mark.durable = last;
            index.tell();
        }
        Ok(())
    }

    /// The segment and the offset for so many bytes.
    fn room_for(&mut self, common: &Shelf, size: u64) -> Result<(Arc<Source>, u64)> {
        let place = {
            let index = common.peek();
            let last = index
                .segments
                .last()
                .filter(|s| index.tail && !s.is_sealed());
            last.map(|last| (Arc::clone(&last.source), last.len))
        };
        if let Some((source, end)) = place {
            let fits = end.saturating_add(size) <= common.options.segment_bytes;
            if end == PREAMBLE || fits {
                return Ok((source, end));
            }
            self.seal(common)?;
        }
        self.create(common)
    }

    /// Ends the last segment with a seal, durably. Only after [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::Io`] after it was taken back; [`Error::Poisoned`].
    pub(super) fn seal(&mut self, common: &Shelf) -> Result<()> {
        // The seal says that all before it was synced, and may arrive before it.
        self.sync(common)?;
        let (source, end, bytes) = {
            let index = common.peek();
            let Some(last) = index
                .segments
                .last()
                .filter(|s| index.tail && !s.is_sealed())
            else {
                return Ok(());
            };
            let header = &last.source.header;
            let contents = &last.listing()?.contents;
            let bytes = seal(&header.identity, last.len, header.first_seq, contents);
            (Arc::clone(&last.source), last.len, bytes)
        };
        // A segment whose footer would exceed the format stays as it is: it is scanned at open.
        let Some(bytes) = bytes else {
            common.write().tail = false;
            return Ok(());
        };
        if let Err(error) = write_full(&*source.file, &bytes, end) {
            return match source.file.set_len(end) {
                Ok(()) => Err(refused("write", &source.path, error)),
                Err(_) => {
                    Err(self.stop(common, source.header.number, "write", &source.path, &error))
                }
            };
        }
        self.sync_at(common, &source, end)?;
        let len = end.saturating_add(wide(bytes.len()));
        let block = sealed(&source, len)?;
        let mut index = common.write();
        if let (Some(last), Some(block)) = (index.segments.last_mut(), block) {
            last.close(len, block);
            let durable = last.last();
            index.mark.end = len;
            index.mark.durable = index.mark.durable.max(durable);
        }
        index.tail = false;
        index.tell();
        Ok(())
    }

    /// Begins the next segment.
    fn create(&mut self, common: &Shelf) -> Result<(Arc<Source>, u64)> {
        let (number, next_seq, left_at) = {
            let index = common.peek();
            let last = index.segments.last();
            let left =
                last.filter(|s| !s.is_sealed() && s.source.header.number == index.mark.segment);
            let number = index.mark.segment.saturating_add(1);
            (number, index.next_seq().max(1), left.map_or(0, |s| s.len))
        };
        let name = segment_name(number);
        let path = common.medium.path(&name);
        let file = common
            .medium
            .create(&name)
            .map_err(|error| refused("create", &path, error))?;
        let header = Header::new(common.uuid, number, next_seq, left_at);
        if let Err(error) = write_full(&*file, &header.encode(), 0) {
            return match common.medium.remove(&name) {
                Ok(()) => Err(refused("write", &path, error)),
                Err(_) => Err(self.stop(common, number, "write", &path, &error)),
            };
        }
        file.sync_data()
            .and_then(|()| {
                if on(Defect::NoDirectorySync) {
                    return Ok(());
                }
                common.medium.sync_dir("")
            })
            .map_err(|error| {
                // Later syncs may succeed without what this one lost: nobody may find the file.
                let _ = common.medium.remove(&name);
                self.stop(common, number, "sync", &path, &error)
            })?;
        let source = Arc::new(Source::new(header, path, file, common.options.read));
        let mut index = common.write();
        let listing = Listing::default();
        index
            .segments
            .push(Segment::listed(Arc::clone(&source), PREAMBLE, listing));
        index.mark.segment = number;
        index.mark.end = PREAMBLE;
        index.mark.next_seq = next_seq;
        index.tail = true;
        index.tell();
        Ok((source, PREAMBLE))
    }

    /// Leaves the store so that the next open has little to do: the last segment is sealed if it is
    /// long, and what was written is durable.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin) and [`sync`](Self::sync).
    pub(super) fn finish(&mut self, common: &Shelf) -> Result<()> {
        if !self.used || self.stopped.is_some() {
            return Ok(());
        }
        let _hold = self.begin(common)?;
        let long = {
            let index = common.peek();
            index
                .segments
                .last()
                .is_some_and(|s| worth_sealing(common, s.len))
        };
        if long {
            self.seal(common)?;
        }
        self.sync(common)?;
        let mut index = common.write();
        index.tell();
        if let Some(file) = &index.file {
            // The mark is a hint: a store whose mark is behind loses nothing.
            let _ = file.sync();
        }
        Ok(())
    }

    /// Stops for good, and keeps everybody off the segment.
    fn stop(
        &mut self,
        common: &Shelf,
        segment: u64,
        op: &str,
        path: &Path,
        error: &io::Error,
    ) -> Error {
        let detail = format!("{op} {}: {error}", path.display());
        let mut index = common.write();
        index.tail = false;
        index.mark.tainted = segment;
        index.tell();
        let answer = poisoned(common, &detail);
        self.stopped = Some(detail);
        answer
    }
}

fn poisoned(common: &Shelf, detail: &str) -> Error {
    Error::Poisoned {
        path: common.medium.path(""),
        detail: detail.to_owned(),
    }
}
