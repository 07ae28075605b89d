//! Committing: what waits in the queue becomes one write and one sync, and each batch is answered.

use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::narrow;
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::RecordHeader;
use crate::cold::format::header::Identity;
use crate::cold::format::words::Words;
use crate::cold::medium::{refused, write_full};
use crate::cold::options::{Ack, Durability, Mode};
use crate::cold::read::source::Source;
use crate::cold::removal::Removal;
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
    pub(in crate::cold) fn commit(&mut self, common: &Shelf, mut tickets: Vec<Arc<Ticket>>) {
        match self.begin(common) {
            Err(error) => {
                let copies: Vec<Error> = tickets.iter().skip(1).map(|_| error.copy()).collect();
                let errors = std::iter::once(error).chain(copies);
                for (ticket, error) in tickets.into_iter().zip(errors) {
                    ticket.answer(Answer::Done(Err(error)));
                }
            }
            Ok(_hold) => {
                Self::admit(common, &mut tickets);
                self.commit_all(common, &tickets);
            }
        }
    }

    /// Leaves the tickets whose packets may be written as they are.
    fn admit(common: &Shelf, tickets: &mut Vec<Arc<Ticket>>) {
        let index = common.peek();
        let (erased, next) = (index.erasures.version(), index.next_seq());
        tickets.retain(|ticket| {
            let packet = ticket.packet();
            let stale = common.keyring.is_on() && packet.erasures != erased;
            let mut sources = packet.sources.iter().copied();
            let gone = sources.find(|seq| index.erasures.covers_seq(seq.0));
            let known = packet.check_sources(next);
            drop(packet);
            if stale {
                ticket.answer(Answer::Stale);
            } else if let Err(error) = known {
                ticket.answer(Answer::Done(Err(error)));
                return false;
            } else if let Some(seq) = gone {
                ticket.answer(Answer::Done(Err(Error::Erased { seq })));
            }
            !stale && gone.is_none()
        });
    }

    fn commit_all(&mut self, common: &Shelf, tickets: &[Arc<Ticket>]) {
        let mut rest = tickets;
        while let Some(first) = rest.first() {
            let limit = common.options.segment_bytes.min(GROUP);
            let mut size = first.packet().len();
            let mut count = 1;
            for ticket in rest.iter().skip(1) {
                let more = size.saturating_add(ticket.packet().len());
                // A judge knows what is published, and what those of its circle let pass.
                if more > limit || ticket.circle() != first.circle() {
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
                    for alone in group.chunks(1) {
                        if let (Err(error), [ticket]) = (self.commit_group(common, alone), alone) {
                            ticket.answer(Answer::Done(Err(error)));
                        }
                    }
                }
            }
        }
    }

    /// Commits several batches with one write, and one sync if any of them asks for it, and answers
    /// them unless it fails. One whose conditions do not hold is answered, and left out.
    fn commit_group(&mut self, common: &Shelf, group: &[Arc<Ticket>]) -> Result<()> {
        let group = self.judge(common, group)?;
        let synced = common.options.durability == Durability::Fsync
            && group.iter().any(|ticket| ticket.ack == Ack::Durable);
        let written = match group.as_slice() {
            [] => return Ok(()),
            [alone] => self.write(common, &mut [&mut alone.packet()], synced),
            _ => {
                let mut packets: Vec<_> = group.iter().map(|ticket| ticket.packet()).collect();
                let mut bare: Vec<&mut Packet> = packets.iter_mut().map(|one| &mut **one).collect();
                self.write(common, &mut bare, synced)
            }
        };
        for judge in group.iter().filter_map(|ticket| ticket.judge.as_ref()) {
            judge.settle(written.is_ok());
        }
        let mut first = written?;
        for ticket in group {
            let next = first.saturating_add(ticket.packet().count());
            ticket.answer(Answer::Done(Ok(first..next)));
            first = next;
        }
        Ok(())
    }

    /// The tickets whose conditions hold, with what is left of their packets; the others are answered.
    fn judge<'a>(&self, common: &Shelf, group: &'a [Arc<Ticket>]) -> Result<Vec<&'a Arc<Ticket>>> {
        if let Some(detail) = &self.stopped {
            return Err(poisoned(common, detail));
        }
        let mut next = common.peek().next_seq();
        let mut held = Vec::with_capacity(group.len());
        for ticket in group {
            if let Some(seq) = removed_source(common, &ticket.packet().sources)? {
                ticket.answer(Answer::Done(Err(Error::NotFound { seq })));
                continue;
            }
            if let Some(judge) = &ticket.judge {
                match judge.judge(Seq(next)) {
                    Ok(verdicts) => ticket.packet().choose(verdicts),
                    Err(error) => {
                        ticket.answer(Answer::Done(Err(error)));
                        continue;
                    }
                }
            }
            next = next.saturating_add(ticket.packet().count());
            held.push(ticket);
        }
        Ok(held)
    }

    /// Writes packets at the end of the store, and gives the id of the first record. Only after
    /// [`begin`](Self::begin), while its answer lives.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::Io`] after it was taken back; [`Error::Poisoned`].
    pub(in crate::cold) fn write(
        &mut self,
        common: &Shelf,
        packets: &mut [&mut Packet],
        synced: bool,
    ) -> Result<u64> {
        if let Some(detail) = &self.stopped {
            return Err(poisoned(common, detail));
        }
        if packets.iter().all(|packet| packet.count() == 0) {
            // Whatever there was is there already.
            return Ok(common.peek().next_seq());
        }
        let size = packets.iter().map(|packet| packet.len()).sum();
        let words = packets.iter().map(|packet| packet.words);
        let words = words.fold(Words::default(), |all, one| all | one);
        let (source, start) = self.room_for(common, size, words)?;
        let (first, durable) = {
            let index = common.peek();
            (index.next_seq(), index.mark.durable)
        };
        let (mut seq, mut offset) = (first, start);
        let (mut entries, mut removed) = (Vec::new(), Vec::new());
        for packet in &mut *packets {
            let known = entries.len();
            let identity = &source.header.identity;
            packet.stamp(identity, offset, seq, durable, &mut entries);
            let own = entries.get(known..).unwrap_or_default();
            removed.extend(removals(identity, offset, packet.bytes(), own));
            seq = seq.saturating_add(packet.count());
            offset = offset.saturating_add(packet.len());
        }
        self.used = true;
        self.put(common, &source, start, packets)?;
        if on(Defect::MarkBeforeSync) {
            let mut index = common.write();
            index.mark.durable = seq.saturating_sub(1);
            index.tell();
        }
        if synced && !on(Defect::AckBeforeSync) {
            self.sync_at(common, &source, start)?;
        }
        let mut index = common.write();
        if !removed.is_empty() {
            let all = Arc::make_mut(&mut index.removals);
            for (seq, key, said) in &removed {
                all.add(*seq, key, said);
            }
        }
        index.publish(&entries, offset);
        if synced {
            index.mark.durable = seq.saturating_sub(1);
        }
        if common.options.mode == Mode::Shared || synced {
            index.tell();
        }
        Ok(first)
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

/// The removals among stamped records that begin at an offset: the id that counts, the key, and what is said.
/// They are looked at before they are written: afterwards nothing may go wrong any more.
fn removals<'a>(
    identity: &'a Identity,
    start: u64,
    bytes: &'a [u8],
    entries: &'a [Entry],
) -> impl Iterator<Item = (u64, Vec<Vec<u8>>, Removal)> + 'a {
    let code = Kind::Removed.code();
    let entries = entries.iter().filter(move |entry| entry.kind == code);
    entries.filter_map(move |entry| {
        let record = bytes.get(narrow(entry.offset.checked_sub(start)?)..)?;
        let body = RecordHeader::decode(identity, entry.offset, record)?.body(record);
        let body = body.ok()?;
        let said = Removal::decode(record.get(body.payload)?)?;
        // A second copy says what the first one did, of that time.
        let first = body.front.links.and_then(|links| links.of);
        let first = first.filter(|first| *first != Seq(0));
        let seq = first.map_or(entry.seq, |first| first.0.min(entry.seq));
        Some((seq, body.front.key, said))
    })
}

/// The first of these ids whose record was removed: nothing is made from it any more.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn removed_source(common: &Shelf, sources: &[Seq]) -> Result<Option<Seq>> {
    let index = common.peek();
    if !index.removals.any() {
        return Ok(None);
    }
    for seq in sources {
        let (source, entry) = match index.find(seq.0) {
            Err(Error::NotFound { .. } | Error::Erased { .. } | Error::Corrupt { .. }) => continue,
            other => other?,
        };
        let key = match source.ties(entry) {
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) => continue,
            other => other?.key,
        };
        let kind = Kind::from_code(entry.kind);
        if index.removals.covers(seq.0, kind, &key) {
            return Ok(Some(*seq));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::write::queue::Queue;
    use crate::cold::{Draft, Options, Store};

    #[test]
    fn a_writer_that_stops_in_a_group_writes_none_of_it_alone() {
        let draft = Draft {
            kind: Kind::Turn,
            key: &[b"k"],
            meta: &[],
            sources: &[],
            payload: b"x",
        };
        let store = Store::in_memory(Options::default()).unwrap();
        let (shelf, queue) = (&store.shelf, Queue::default());
        for _ in 0..3 {
            let packet = Packet::new(&shelf.press(false).unwrap(), &[draft]).unwrap();
            queue.push(packet, Ack::Durable, None);
        }
        let mut writer = Writer::new(None);
        writer.begin(shelf).unwrap();
        writer.stopped = Some("as after a sync that failed".into());
        let tickets = queue.take_all();
        writer.commit_all(shelf, &tickets);
        for ticket in tickets {
            let answer = ticket.take_answer();
            assert!(matches!(
                answer,
                Some(Answer::Done(Err(Error::Poisoned { .. })))
            ));
        }
        assert_eq!(store.stats().unwrap().records, 0);
    }

    #[test]
    fn a_group_is_synced_if_one_of_it_asks_for_it() {
        let draft = Draft {
            kind: Kind::Turn,
            key: &[b"k"],
            meta: &[],
            sources: &[],
            payload: b"x",
        };
        let groups: [(&[Ack], u64); 4] = [
            (&[Ack::Written], 0),
            (&[Ack::Written, Ack::Written], 0),
            (&[Ack::Written, Ack::Durable], 2),
            (&[Ack::Durable, Ack::Written], 2),
        ];
        for (group, durable) in groups {
            let store = Store::in_memory(Options::default()).unwrap();
            let (shelf, queue) = (&store.shelf, Queue::default());
            for ack in group {
                let packet = Packet::new(&shelf.press(false).unwrap(), &[draft]).unwrap();
                queue.push(packet, *ack, None);
            }
            Writer::new(None).commit(shelf, queue.take_all());
            assert_eq!(store.durable_seq().unwrap().0, durable, "{group:?}");
        }
    }
}
