//! A batch as bytes: everything that can be done before its place is known is done before the lock.

use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use super::bytes::{narrow, wide};
use super::cipher::{overhead, seal_record};
use super::erasures::Erasures;
use super::footer::Entry;
use super::format::MAX_BATCH;
use super::frame::{ENCRYPTED, Parts, Stamp, encode, stamp};
use super::header::Identity;
use super::key;
use super::keyring::Keyring;
use super::record::Draft;

/// How many parts of a record's key name whose it is.
pub(super) const SCOPE: usize = 2;

/// What a batch is made with.
#[derive(Clone, Debug)]
pub(super) struct Press<'a> {
    pub(super) keyring: &'a Keyring,
    /// The longest payload, and the longest key and meta.
    pub(super) limit: u64,
    /// The id that the next record gets, as far as is known.
    pub(super) next_seq: u64,
    /// What is known to be erased: keys that were read before another erasure may be gone.
    pub(super) erasures: Arc<Erasures>,
    /// Whether keys are made for this batch alone.
    pub(super) for_spool: bool,
}

/// An encoded batch that still lacks its place.
#[derive(Debug)]
pub(super) struct Packet {
    bytes: Vec<u8>,
    records: Vec<(u64, u16)>,
    /// How many erasures were known when it was made.
    pub(super) erasures: u64,
}

impl Packet {
    /// Encodes a batch.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`]; [`Error::Argument`] for one of the store's own kinds; what the keyring
    /// answers.
    pub(super) fn new(press: &Press<'_>, batch: &[Draft<'_>]) -> Result<Self> {
        for draft in batch {
            if draft.kind.is_own() {
                return Err(Error::Argument {
                    name: "kind",
                    expected: "a kind that callers may write".into(),
                    found: draft.kind.name().into(),
                });
            }
        }
        Self::own(press, batch)
    }

    /// As [`new`](Self::new), for the store's own kinds too.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`]; what the keyring answers.
    pub(super) fn own(press: &Press<'_>, batch: &[Draft<'_>]) -> Result<Self> {
        let size = measure(batch, press.limit)?;
        let mut packet = Self {
            bytes: Vec::with_capacity(narrow(size)),
            records: Vec::with_capacity(batch.len()),
            erasures: press.erasures.count(),
        };
        for draft in batch {
            packet.push(press, draft)?;
        }
        Ok(packet)
    }

    fn push(&mut self, press: &Press<'_>, draft: &Draft<'_>) -> Result<()> {
        let too_large = || Error::TooLarge {
            size: wide(draft.payload.len()),
            limit: press.limit,
        };
        let mut encoded = Vec::new();
        key::encode(&mut encoded, draft.key).ok_or_else(too_large)?;
        let mut parts = Parts {
            kind: draft.kind.code(),
            flags: 0,
            key: &encoded,
            meta: draft.meta,
            sources: draft.sources,
            payload: draft.payload,
        };
        let sealed;
        if press.keyring.is_on() && !draft.kind.is_own() {
            let mut scope = Vec::new();
            let whose = draft.key.get(..SCOPE).unwrap_or(draft.key);
            key::encode(&mut scope, whose).ok_or_else(too_large)?;
            let (id, secret) = if press.for_spool {
                press.keyring.key_for_spool(&scope)?
            } else {
                let gone = |born| press.erasures.covers_scope(&scope, born);
                press.keyring.key_for(&scope, press.next_seq, gone)?
            };
            sealed = seal_record(id, &secret, parts.kind, &encoded, parts.meta, parts.payload)
                .ok_or_else(too_large)?;
            parts.flags = ENCRYPTED;
            (parts.meta, parts.payload) = (&sealed.0, &sealed.1);
        }
        let len = encode(&mut self.bytes, &parts).ok_or_else(too_large)?;
        self.records.push((len, parts.kind));
        Ok(())
    }

    /// How many bytes it takes.
    pub(super) fn len(&self) -> u64 {
        wide(self.bytes.len())
    }

    /// How many records it holds.
    pub(super) fn count(&self) -> u64 {
        wide(self.records.len())
    }

    /// The bytes; valid in a segment once they were stamped for it.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives each record its id and its place, the first at `offset`.
    pub(super) fn stamp(
        &mut self,
        identity: &Identity,
        mut offset: u64,
        first: u64,
        durable: u64,
    ) -> Vec<Entry> {
        let batch_count = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let mut rest = self.bytes.as_mut_slice();
        let mut entries = Vec::with_capacity(self.records.len());
        for (seq, (len, kind)) in (first..).zip(&self.records) {
            let place = Stamp {
                seq,
                durable,
                batch_first: first,
                batch_count,
            };
            let taken = std::mem::take(&mut rest);
            let Some((record, behind)) = taken.split_at_mut_checked(narrow(*len)) else {
                break;
            };
            stamp(record, identity, offset, place);
            entries.push(Entry {
                seq,
                offset,
                len: *len,
                kind: *kind,
            });
            offset = offset.saturating_add(*len);
            rest = behind;
        }
        entries
    }
}

/// Checks a batch against the limits, and gives about how many bytes it takes.
fn measure(batch: &[Draft<'_>], limit: u64) -> Result<u64> {
    let mut total = 0_u64;
    for draft in batch {
        let key = draft.key.iter().map(|part| wide(part.len())).sum();
        let sources = wide(draft.sources.len()).saturating_mul(8);
        let sizes = [
            wide(draft.payload.len()),
            wide(draft.meta.len()),
            key,
            sources,
        ];
        if let Some(size) = sizes.into_iter().find(|size| *size > limit) {
            return Err(Error::TooLarge { size, limit });
        }
        let parts = wide(draft.key.len()).saturating_mul(4);
        let around = 160_u64.saturating_add(parts).saturating_add(overhead());
        total = sizes.into_iter().fold(total, u64::saturating_add);
        total = total.saturating_add(around);
    }
    if total > MAX_BATCH || u32::try_from(batch.len()).is_err() {
        return Err(Error::TooLarge {
            size: total,
            limit: MAX_BATCH,
        });
    }
    Ok(total)
}

/// What the store's own bookkeeping looks like as a draft.
pub(super) fn bookkeeping<'a>(kind: Kind, key: &'a [&'a [u8]], payload: &'a [u8]) -> Draft<'a> {
    const NONE: &[Seq] = &[];
    Draft {
        kind,
        key,
        meta: &[],
        sources: NONE,
        payload,
    }
}
