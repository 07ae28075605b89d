//! A batch as bytes: everything that can be done before its place is known is done before the lock.

use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::crypt::cipher::{overhead, seal_record};
use crate::cold::crypt::keyring::Keyring;
use crate::cold::erase::erasures::Erasures;
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::encode::{Parts, Stamp, encode, stamp};
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::ENCRYPTED;
use crate::cold::format::header::Identity;
use crate::cold::format::{MAX_BATCH, key};
use crate::cold::record::Draft;

/// How many parts of a record's key name whose it is.
pub(in crate::cold) const SCOPE: usize = 2;
/// How many bytes less a batch in the spool may have.
const SPOOL_MARGIN: u64 = 4096;

/// Room for most encoded keys.
const KEY: usize = 256;

/// What a batch is made with.
#[derive(Clone, Debug)]
pub(in crate::cold) struct Press<'a> {
    pub(in crate::cold) keyring: &'a Keyring,
    /// The longest payload, and the longest key and meta.
    pub(in crate::cold) limit: u64,
    /// The id that the next record gets, as far as is known.
    pub(in crate::cold) next_seq: u64,
    /// What is known to be erased: keys that were read before another erasure may be gone.
    pub(in crate::cold) erasures: Arc<Erasures>,
    /// Whether keys are made for this batch alone.
    pub(in crate::cold) for_spool: bool,
}

/// An encoded batch that still lacks its place.
#[derive(Debug)]
pub(in crate::cold) struct Packet {
    bytes: Vec<u8>,
    records: Vec<(u64, u16)>,
    /// What its records were made from.
    pub(in crate::cold) sources: Vec<Seq>,
    /// Up to which erasure it was made; see `Erasures::version`.
    pub(in crate::cold) erasures: u64,
}

impl Packet {
    /// Encodes a batch.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`]; [`Error::Argument`] for one of the store's own kinds; what the keyring
    /// answers.
    pub(in crate::cold) fn new(press: &Press<'_>, batch: &[Draft<'_>]) -> Result<Self> {
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
    pub(in crate::cold) fn own(press: &Press<'_>, batch: &[Draft<'_>]) -> Result<Self> {
        // The record that names a batch of the spool comes beside it.
        let most = MAX_BATCH - if press.for_spool { SPOOL_MARGIN } else { 0 };
        let size = measure(batch, press.limit, most)?;
        let mut packet = Self {
            bytes: Vec::with_capacity(narrow(size)),
            records: Vec::with_capacity(batch.len()),
            sources: batch.iter().flat_map(|d| d.sources).copied().collect(),
            erasures: press.erasures.version(),
        };
        let mut key = Vec::with_capacity(KEY);
        for draft in batch {
            key.clear();
            packet.push(press, draft, &mut key)?;
        }
        Ok(packet)
    }

    /// Encodes a record; its key goes through `encoded`, which is empty.
    fn push(&mut self, press: &Press<'_>, draft: &Draft<'_>, encoded: &mut Vec<u8>) -> Result<()> {
        let too_large = || Error::TooLarge {
            size: wide(draft.payload.len()),
            limit: press.limit,
        };
        key::encode(encoded, draft.key).ok_or_else(too_large)?;
        let mut parts = Parts {
            kind: draft.kind.code(),
            flags: 0,
            key: encoded,
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
            sealed = seal_record(id, &secret, parts.kind, encoded, parts.meta, parts.payload)
                .ok_or_else(too_large)?;
            parts.flags = ENCRYPTED;
            (parts.meta, parts.payload) = (&sealed.0, &sealed.1);
        }
        let len = encode(&mut self.bytes, &parts).ok_or_else(too_large)?;
        self.records.push((len, parts.kind));
        Ok(())
    }

    /// Refuses what its records cannot have been made from: `next` is the id that comes next. Erasing a
    /// record goes on to what comes after it, never to what came before.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub(in crate::cold) fn check_sources(&self, next: u64) -> Result<()> {
        match self.sources.iter().find(|source| source.0 >= next) {
            None => Ok(()),
            Some(source) => Err(Error::Argument {
                name: "sources",
                expected: format!("ids of records in the store, which are below {next}"),
                found: source.0.to_string(),
            }),
        }
    }

    /// How many bytes it takes.
    pub(in crate::cold) fn len(&self) -> u64 {
        wide(self.bytes.len())
    }

    /// How many records it holds.
    pub(in crate::cold) fn count(&self) -> u64 {
        wide(self.records.len())
    }

    /// The bytes; valid in a segment once they were stamped for it.
    pub(in crate::cold) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives each record its id and its place, the first at `offset`, and lists them.
    pub(in crate::cold) fn stamp(
        &mut self,
        identity: &Identity,
        mut offset: u64,
        first: u64,
        durable: u64,
        entries: &mut Vec<Entry>,
    ) {
        let batch_count = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let mut rest = self.bytes.as_mut_slice();
        entries.reserve(self.records.len());
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
    }
}

/// Checks a batch against the limits, and gives about how many bytes it takes.
fn measure(batch: &[Draft<'_>], limit: u64, most: u64) -> Result<u64> {
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
    if total > most || u32::try_from(batch.len()).is_err() {
        return Err(Error::TooLarge {
            size: total,
            limit: most,
        });
    }
    Ok(total)
}

/// What the store's own bookkeeping looks like as a draft.
pub(in crate::cold) fn bookkeeping<'a>(
    kind: Kind,
    key: &'a [&'a [u8]],
    payload: &'a [u8],
) -> Draft<'a> {
    const NONE: &[Seq] = &[];
    Draft {
        kind,
        key,
        meta: &[],
        sources: NONE,
        payload,
    }
}
