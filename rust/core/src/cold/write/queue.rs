//! Group commit: whoever gets the writer commits for everybody who waits.
//!
//! ```text
//! append   put a ticket into the queue ─▶ wait for the writer ─▶ answered already? then done
//!                                                               else commit all tickets there are
//! ```
//!
//! So one write and one sync serve as many threads as came while the sync before was under way.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;

use crate::cold::options::Ack;
use crate::cold::write::packet::Packet;

/// What became of a packet.
#[derive(Debug)]
pub(in crate::cold) enum Answer {
    /// The ids that it got.
    Done(Result<Range<u64>>),
    /// Something was erased since it was made: its keys may be gone.
    Stale,
}

/// A batch on its way.
#[derive(Debug)]
pub(in crate::cold) struct Ticket {
    pub(in crate::cold) packet: Mutex<Packet>,
    /// What it is answered after.
    pub(in crate::cold) ack: Ack,
    answer: Mutex<Option<Answer>>,
}

impl Ticket {
    pub(in crate::cold) fn answer(&self, answer: Answer) {
        *self.slot() = Some(answer);
    }

    pub(in crate::cold) fn take_answer(&self) -> Option<Answer> {
        self.slot().take()
    }

    pub(in crate::cold) fn is_open(&self) -> bool {
        self.slot().is_none()
    }

    pub(in crate::cold) fn packet(&self) -> MutexGuard<'_, Packet> {
        self.packet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Answer>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batches that wait for the writer.
#[derive(Debug, Default)]
pub(in crate::cold) struct Queue(Mutex<Vec<Arc<Ticket>>>);

impl Queue {
    pub(in crate::cold) fn push(&self, packet: Packet, ack: Ack) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket {
            packet: Mutex::new(packet),
            ack,
            answer: Mutex::new(None),
        });
        self.waiting().push(Arc::clone(&ticket));
        ticket
    }

    pub(in crate::cold) fn take_all(&self) -> Vec<Arc<Ticket>> {
        std::mem::take(&mut *self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Ticket>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
