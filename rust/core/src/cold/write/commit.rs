//! Committing: what waits in the queue becomes one write and one sync, and each batch is answered.

use std::sync::Arc;

use crate::entry::Seq;
use crate::error::{Error, Result};

use crate::cold::defect::{Defect, on};
use crate::cold::medium::{refused, write_full};
use crate::cold::options::{Durability, Mode};
use crate::cold::read::source::Source;
use crate::cold::shelf::Shelf;
use crate::cold::write::packet::Packet;
use crate::cold::write::queue::{Answer, Ticket};
use crate::cold::write::writer::{Writer, poisoned};

/// How much of the buffer is kept from one group to the next.
const BUFFER: usize = 1 << 20;
/// How many bytes are written at once for several batches.
const GROUP: u64 = 64 << 20;

impl Writer {
    /// Commits what waits, all of each batch or nothing, and answers every ticket.
    pub(in crate::cold) fn commit(&mut self, common: &Shelf, tickets: &[Arc<Ticket>]) {
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
        let index = common.peek();
        let mut group = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            let packet = ticket.packet();
            let stale = common.keyring.is_on() && packet.erasures != index.erasures.count();
            let gone = packet.sources.iter().copied();
            let gone = gone
                .into_iter()
                .find(|seq| index.erasures.covers_seq(seq.0));
            drop(packet);
            if stale {
                ticket.answer(Answer::Stale);
            } else if let Some(seq) = gone {
                ticket.answer(Answer::Done(Err(Error::Erased { seq })));
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
    pub(in crate::cold) fn write(
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
}
