//! Reading from a store: a place is looked up under a short lock, and the file is read without one.

use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::erase::pending;
use super::format::bytes::wide;
use super::format::footer::Entry;
use super::notices::Notices;
use super::read::source::Source;
use super::read::verify::{NO_KEY, Subject, check, subjects, unreadable};
use super::record::Record;
use super::report::{DamageKind, ErasureReport, OpenReport, Stats, VerifyReport};
use super::store::Store;
use super::write::leave;

impl Store {
    /// The number that no other store has.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        self.shelf.uuid
    }

    /// The id up to which everything is known to survive a loss of power.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`]; what the operating system answers.
    pub fn durable_seq(&self) -> Result<Seq> {
        Ok(Seq(self.shelf.fresh()?.mark.durable))
    }

    /// The record of an id, verified.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Erased`]; [`Error::NoKey`]; [`Error::Corrupt`] and
    /// [`Error::Truncated`] if it is damaged; [`Error::Io`]; [`Error::Closed`].
    pub fn get(&self, seq: Seq) -> Result<Record> {
        let (source, entry) = self.place(seq)?;
        self.visible(&source, entry)
    }

    /// The [`content_hash`](super::content_hash) of a record's payload, from its verified header where
    /// that is enough.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn hash_of(&self, seq: Seq) -> Result<u128> {
        let (source, entry) = self.place(seq)?;
        let all_visible = {
            let index = self.shelf.known()?;
            index.erasures.version() == 0 && !index.removals.any()
        };
        if all_visible && let Some(hash) = source.hash(entry)? {
            return Ok(hash);
        }
        self.get(seq).map(|record| record.hash)
    }

    /// Which of some records with one key were erased or removed, in the order given. One that cannot be
    /// read for another reason is not, and neither is an id that was never given. No record is read.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`]; what the operating system answers.
    pub fn gone<P: AsRef<[u8]>>(&self, key: &[P], seqs: &[Seq]) -> Result<Vec<Seq>> {
        let index = self.shelf.fresh()?;
        let next = index.next_seq();
        let is_gone = |seq: &Seq| {
            index.erasures.covers(seq.0, key)
                || match index.find(seq.0) {
                    Ok((_, entry)) => {
                        let kind = Kind::from_code(entry.kind);
                        index.removals.covers(seq.0, kind, key)
                    }
                    Err(Error::Erased { .. }) => true,
                    Err(Error::NotFound { .. }) => seq.0 < next,
                    Err(_) => false,
                }
        };
        Ok(seqs.iter().copied().filter(is_gone).collect())
    }

    /// The next records from an id on, in order, verified: as many as fit in `max_bytes`, and one at
    /// least. Empty only at the end. Damaged records are left out and reported, and so are those whose
    /// key is gone, where this handle has the store's other keys; erased and removed ones are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::NoKey`] where the handle was opened without encryption;
    /// [`Error::Interrupted`]; [`Error::Closed`].
    pub fn page(&self, from: Seq, max_bytes: usize) -> Result<Vec<Record>> {
        let mut from = from.0;
        loop {
            let places = self.shelf.fresh()?.range(from, wide(max_bytes))?;
            let Some((_, last)) = places.last() else {
                return Ok(Vec::new());
            };
            from = last.seq.saturating_add(1);
            let mut records = Vec::with_capacity(places.len());
            for (source, entry) in places {
                crate::interrupt::check()?;
                match self.visible(&source, entry) {
                    Ok(record) => records.push(record),
                    Err(Error::Erased { .. } | Error::NotFound { .. }) => {}
                    Err(error) => self.skip(&source, entry, error)?,
                }
            }
            if !records.is_empty() {
                return Ok(records);
            }
        }
    }

    /// What was erased, and what still waits for [`compact`](Self::compact).
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Closed`].
    pub fn erasure_report(&self) -> Result<ErasureReport> {
        // One after the other: a writer that waits would come between two reads of the index.
        let erasures = self.shelf.fresh()?.erasures.listed.clone();
        let pending = pending(&self.shelf)?;
        Ok(ErasureReport { erasures, pending })
    }

    /// The batches that wait in the spool.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Forked`]; [`Error::Closed`].
    pub fn spooled(&self) -> Result<Vec<String>> {
        drop(self.shelf.fresh()?);
        leave::waiting(&self.shelf)
    }

    /// What opening cut, and what is known to be damaged by now; nothing in the child of a fork, which
    /// may not wait for a lock that its parent held.
    #[must_use]
    pub fn report(&self) -> OpenReport {
        if self.shelf.is_forked() {
            return OpenReport::default();
        }
        OpenReport {
            cuts: self.shelf.cuts(),
            damages: self.shelf.peek().all_damages().cloned().collect(),
        }
    }

    /// What was noticed since the store was opened, of a closed one too; it costs next to nothing, so
    /// that it can be asked for with every call.
    #[must_use]
    pub fn notices(&self) -> Notices {
        self.shelf.counters.now()
    }

    /// Reads and checks every byte that is acknowledged.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Interrupted`]; [`Error::Closed`]. Damage is in the report.
    pub fn verify(&self) -> Result<VerifyReport> {
        self.verify_telling(&|_, _| Ok(()))
    }

    /// As [`verify`](Self::verify), and says how far it has come.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify), and what `told` answers.
    pub fn verify_telling(&self, told: &dyn Fn(u64, u64) -> Result<()>) -> Result<VerifyReport> {
        let (mut report, subjects) = {
            let index = self.shelf.fresh()?;
            (unreadable(&index), subjects(&index)?)
        };
        // What is checked is what the files say, not what this handle remembers of them.
        self.shelf.keyring.forget();
        let all = subjects.iter().map(Subject::len).sum();
        let mut done = 0;
        told(done, all)?;
        for subject in &subjects {
            check(subject, &self.shelf, &mut report)?;
            done += subject.len();
            told(done, all)?;
        }
        Ok(report)
    }

    /// Figures of the store as it is now.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`].
    pub fn stats(&self) -> Result<Stats> {
        let index = self.shelf.fresh()?;
        Ok(Stats {
            records: index
                .segments
                .iter()
                .map(super::read::segment::Segment::count)
                .sum(),
            bytes: index.segments.iter().map(|s| s.len).sum(),
            segments: wide(index.segments.len()),
            next_seq: Seq(index.next_seq()),
            path: self.shelf.medium.path(""),
        })
    }

    /// A record, unless it was erased or removed.
    fn visible(&self, source: &Source, entry: Entry) -> Result<Record> {
        let record = source.record(entry, &self.shelf.keyring);
        let index = match &record {
            // Another process may have erased it since: its tombstone came before the key went.
            Err(Error::NoKey { .. }) => self.shelf.fresh()?,
            _ => self.shelf.known()?,
        };
        let (seq, kind) = (Seq(entry.seq), Kind::from_code(entry.kind));
        if index.erasures.covers_seq(entry.seq) {
            return Err(Error::Erased { seq });
        }
        let hidden = |key: &[Vec<u8>]| {
            if index.erasures.covers(entry.seq, key) {
                return Some(Error::Erased { seq });
            }
            let removed = index.removals.covers(entry.seq, kind, key);
            removed.then_some(Error::NotFound { seq })
        };
        let hidden = match &record {
            Ok(record) => hidden(&record.key),
            // The key may be gone because the record was erased.
            Err(Error::NoKey { .. }) => hidden(&source.ties(entry)?.key),
            Err(_) => None,
        };
        match hidden {
            Some(error) => Err(error),
            None => record,
        }
    }

    fn place(&self, seq: Seq) -> Result<(Arc<Source>, Entry)> {
        let index = self.shelf.fresh()?;
        if index.erasures.covers_seq(seq.0) {
            return Err(Error::Erased { seq });
        }
        index.find(seq.0)
    }

    /// Notes a damaged record; any other error is the caller's.
    fn skip(&self, source: &Source, entry: Entry, error: Error) -> Result<()> {
        let (kind, detail) = match error {
            Error::Corrupt { detail, .. } => (DamageKind::Corrupt, detail),
            Error::Truncated { .. } => (DamageKind::Truncated, "the file ends too early".into()),
            // A handle that opened the store without its keys is told so; one that has the others goes on.
            Error::NoKey { .. } if self.shelf.keyring.is_on() => {
                (DamageKind::Missing, NO_KEY.into())
            }
            other => return Err(other),
        };
        let bytes = entry.offset..entry.offset.saturating_add(entry.len);
        let damage = source.damage(bytes, entry.seq..=entry.seq, kind, &detail);
        self.shelf.note(damage);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::cold::{Ack, Draft, Options, Scope};

    #[test]
    fn the_child_of_a_fork_waits_for_no_lock_of_its_parent() {
        let mut store = Store::in_memory(Options::default()).unwrap();
        let draft = draft();
        let seq = store.append(&[draft]).unwrap()[0];
        let shelf = Arc::get_mut(&mut store.shelf).unwrap();
        shelf.pid = shelf.pid.wrapping_add(1);
        // As a thread of the parent may have held it; no thread of the child ever gives it back.
        let held = store.shelf.write();
        let told = [
            store.get(seq).err(),
            store.hash_of(seq).err(),
            store.page(seq, 1).err(),
            store.durable_seq().err(),
            store.stats().err(),
            store.verify().err(),
            store.erasure_report().err(),
            store.append(&[draft]).err(),
            store.append_with(&[draft], Ack::Written).err(),
            store.append_or_spool(&[draft]).err(),
            store.sync().err(),
            store.erase(Scope::Records(&[seq])).err(),
            store.compact().err(),
        ];
        for (at, error) in told.iter().enumerate() {
            assert!(matches!(error, Some(Error::Forked)), "{at}: {error:?}");
        }
        assert_eq!(store.report(), OpenReport::default());
        store.close().unwrap();
        drop(held);
    }

    #[test]
    fn a_report_of_erasures_goes_on_beside_writers() {
        let store = Arc::new(Store::in_memory(Options::default()).unwrap());
        let (tell, told) = mpsc::channel();
        for writes in [true, true, false, false] {
            let (store, tell) = (Arc::clone(&store), tell.clone());
            thread::spawn(move || {
                for _ in 0..2_000 {
                    if writes {
                        store.append_with(&[draft()], Ack::Written).unwrap();
                    } else {
                        store.erasure_report().unwrap();
                    }
                }
                tell.send(()).unwrap();
            });
        }
        for _ in 0..4 {
            let end = told.recv_timeout(Duration::from_mins(1));
            assert!(end.is_ok(), "readers and writers wait for each other");
        }
    }

    fn draft() -> Draft<'static> {
        Draft {
            kind: Kind::Turn,
            key: &[b"t"],
            meta: &[],
            sources: &[],
            payload: b"x",
        }
    }
}
