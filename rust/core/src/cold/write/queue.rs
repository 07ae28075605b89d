//! Group commit: whoever gets the writer commits for everybody who waits.
//!
//! ```text
//! append   put a ticket into the queue ─▶ wait for the writer ─▶ answered already? then done
//!                                                               else commit all tickets there are
//! ```
//!
//! So one write and one sync serve as many threads as came while the sync before was under way.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::entry::Seq;
use crate::error::Result;

use crate::cold::options::Ack;
use crate::cold::write::packet::{Packet, Verdict};

/// Who judges the conditions of a batch, under the writer's lock.
///
/// Batches are judged in the order in which they are written. What a judge let pass counts for the next
/// one as written, until it is told that it was not.
pub(crate) trait Judge: fmt::Debug + Send + Sync {
    /// What becomes of each record of the batch, if the first that is written gets the id `first`.
    ///
    /// # Errors
    ///
    /// The condition that does not hold: then nothing of the batch is written.
    fn judge(&self, first: Seq) -> Result<Vec<Verdict>>;

    /// What the last judgement came to, as the record that names a batch of the spool keeps it.
    fn verdict(&self) -> Vec<u8>;

    /// What was judged last is in the store, or is not.
    fn settle(&self, written: bool);

    /// A number of those who know what each other judged: only they may judge one group.
    fn circle(&self) -> usize;
}

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
    /// Who judges its conditions, if it has any.
    pub(in crate::cold) judge: Option<Arc<dyn Judge>>,
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

    /// The circle of whoever judges it, if anybody does.
    pub(in crate::cold) fn circle(&self) -> Option<usize> {
        self.judge.as_ref().map(|judge| judge.circle())
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
    pub(in crate::cold) fn push(
        &self,
        packet: Packet,
        ack: Ack,
        judge: Option<Arc<dyn Judge>>,
    ) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket {
            packet: Mutex::new(packet),
            ack,
            judge,
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
