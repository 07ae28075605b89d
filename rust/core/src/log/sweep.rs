//! Expiry: what has expired counts as absent already; a sweep removes it, so that its bytes can go.

use crate::cold::Ack;
use crate::error::Result;

use super::batch::{Batch, Outcome, Row};
use super::handle::Log;
use super::order;

/// How many keys are looked at under one lock.
const ROWS: usize = 256;

impl Log {
    /// Removes the cells that have expired by `now`, in microseconds since 1970 UTC, and such entries of
    /// lists, with what was made from them. What was renewed meanwhile stays. Gives the number of keys
    /// that something was removed of.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn sweep(&self, now: i64) -> Result<usize> {
        let mut removed = 0;
        loop {
            let keys = self.directory()?.expired(now, ROWS);
            if keys.is_empty() {
                return Ok(removed);
            }
            let parts: Vec<Vec<Vec<u8>>> = keys.iter().map(|(_, key)| order::decode(key)).collect();
            let parts: Vec<Vec<&[u8]>> = parts
                .iter()
                .map(|key| key.iter().map(Vec::as_slice).collect())
                .collect();
            let rows: Vec<Row<'_>> = parts.iter().map(|key| Row::RemoveExpired(key)).collect();
            let outcomes = self.write(&Batch {
                now,
                ack: Ack::Written,
                ..Batch::new(&rows)
            })?;
            let written = |outcome: &&Outcome| matches!(outcome, Outcome::Written(_));
            removed += outcomes.iter().filter(written).count();
            self.shared().swept(&keys);
        }
    }
}
