//! A batch as bytes: everything that can be done before its place is known is done before the lock.

use std::sync::Arc;

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};

use crate::cold::crypt::cipher::{Key, KeyId, overhead, seal_record};
use crate::cold::crypt::keyring::Keyring;
use crate::cold::erase::erasures::Erasures;
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::encode::{Parts, Stamp, encode, stamp, tie, with_payload};
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::{COPY, ENCRYPTED, depth_flags};
use crate::cold::format::header::Identity;
use crate::cold::format::links::Links;
use crate::cold::format::words::Words;
use crate::cold::format::{MAX_BATCH, key};
use crate::cold::record::{Draft, Record};

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
    /// The last id that is known: what is erased later concerns a key that is made now.
    pub(in crate::cold) last: u64,
    /// What is known to be erased: keys that were read before another erasure may be gone.
    pub(in crate::cold) erasures: Arc<Erasures>,
    /// Whether keys are made for this batch alone.
    pub(in crate::cold) for_spool: bool,
}

impl Press<'_> {
    /// The encryption key of a record of this key, and its name; `None` where nothing is encrypted.
    ///
    /// # Errors
    ///
    /// What the keyring answers.
    pub(in crate::cold) fn secret(&self, key: &[&[u8]], depth: u8) -> Result<Option<(KeyId, Key)>> {
        if !self.keyring.is_on() {
            return Ok(None);
        }
        let depth = match depth {
            0 => SCOPE,
            own => own.into(),
        };
        let mut scope = Vec::new();
        let whose = key.get(..depth).unwrap_or(key);
        key::encode(&mut scope, whose).ok_or(Error::TooLarge {
            size: wide(scope.len()),
            limit: self.limit,
        })?;
        if self.for_spool {
            return self.keyring.key_for_spool(&scope).map(Some);
        }
        let gone = |born| self.erasures.covers_scope(&scope, born);
        self.keyring
            .key_for(&scope, self.last.saturating_add(1), gone)
            .map(Some)
    }
}

/// A record to encode, with what only the store and the log say of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) links: Option<&'a Links>,
    /// How many parts of the key name whose it is; 0 for the usual number.
    pub(crate) depth: u8,
    /// The place in the batch of the record that this one is the second copy of.
    pub(crate) copy_of: Option<usize>,
}

/// What becomes of a record of a batch whose conditions were judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is written, tied so where it has a place for that.
    Written(Links),
    /// So, and with another payload; of a kind that is never encrypted.
    Rewritten(Links, Vec<u8>),
    /// It is left out.
    LeftOut,
}

/// What the conditions of a batch came to.
#[derive(Debug)]
struct Chosen {
    verdicts: Vec<Verdict>,
    /// The records that are written, with their lengths, if they are not all as they were.
    bytes: Option<(Vec<u8>, Vec<u64>)>,
}

impl<'a> Row<'a> {
    /// A record as it was written, under the same key.
    pub(in crate::cold) fn of(record: &'a Record, key: &'a [&'a [u8]]) -> Self {
        Self {
            draft: Draft {
                kind: record.kind,
                key,
                meta: &record.meta,
                sources: &record.sources,
                payload: &record.payload,
            },
            links: record.links.as_deref(),
            depth: record.depth,
            copy_of: None,
        }
    }
}

impl<'a> From<Draft<'a>> for Row<'a> {
    fn from(draft: Draft<'a>) -> Self {
        Self {
            draft,
            links: None,
            depth: 0,
            copy_of: None,
        }
    }
}

/// An encoded batch that still lacks its place.
#[derive(Debug)]
pub(in crate::cold) struct Packet {
    /// All records, those that are left out among them.
    encoded: Vec<u8>,
    /// How long each is, and its kind.
    records: Vec<(u64, u16)>,
    /// The records that are second copies, each with the place of the first.
    copies: Vec<(usize, usize)>,
    chosen: Option<Chosen>,
    /// What its records were made from.
    pub(in crate::cold) sources: Vec<Seq>,
    /// What a segment must bear to hold them.
    pub(in crate::cold) words: Words,
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
            if draft.kind.is_own() || draft.kind.is_of_log() {
                return Err(Error::Argument {
                    name: "kind",
                    expected: "a kind that callers may write".into(),
                    found: draft.kind.name().into(),
                });
            }
        }
        Self::of(press, batch.iter().copied().map(Row::from))
    }

    /// As [`new`](Self::new), for the kinds of the store and of the log too.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`]; [`Error::Argument`] for a source that is no id; what the keyring answers.
    pub(in crate::cold) fn own(press: &Press<'_>, batch: &[Row<'_>]) -> Result<Self> {
        Self::of(press, batch.iter().copied())
    }

    fn of<'a>(
        press: &Press<'_>,
        batch: impl ExactSizeIterator<Item = Row<'a>> + Clone,
    ) -> Result<Self> {
        // The record that names a batch of the spool comes beside it.
        let most = MAX_BATCH - if press.for_spool { SPOOL_MARGIN } else { 0 };
        let size = measure(batch.clone(), press.limit, most)?;
        let mut packet = Self {
            encoded: Vec::with_capacity(narrow(size)),
            records: Vec::with_capacity(batch.len()),
            copies: Vec::new(),
            chosen: None,
            sources: batch
                .clone()
                .flat_map(|row| row.draft.sources)
                .copied()
                .collect(),
            words: Words::default(),
            erasures: press.erasures.version(),
        };
        if let Some(source) = packet.sources.iter().find(|source| !Links::is_id(source.0)) {
            return Err(no_source(*source, "ids of records".into()));
        }
        let mut key = Vec::with_capacity(KEY);
        for row in batch {
            key.clear();
            packet.push(press, &row, &mut key)?;
        }
        Ok(packet)
    }

    /// Encodes a record; its key goes through `encoded`, which is empty.
    fn push(&mut self, press: &Press<'_>, row: &Row<'_>, encoded: &mut Vec<u8>) -> Result<()> {
        let draft = &row.draft;
        let too_large = || Error::TooLarge {
            size: wide(draft.payload.len()),
            limit: press.limit,
        };
        key::encode(encoded, draft.key).ok_or_else(too_large)?;
        let mut parts = Parts {
            kind: draft.kind.code(),
            flags: depth_flags(row.depth) | if row.copy_of.is_some() { COPY } else { 0 },
            key: encoded,
            meta: draft.meta,
            sources: draft.sources,
            links: row.links,
            payload: draft.payload,
        };
        let sealed;
        let secret = if draft.kind.is_plain() {
            None
        } else {
            press.secret(draft.key, row.depth)?
        };
        if let Some((id, secret)) = secret {
            sealed = seal_record(id, &secret, parts.kind, encoded, parts.meta, parts.payload)
                .ok_or_else(too_large)?;
            parts.flags |= ENCRYPTED;
            (parts.meta, parts.payload) = (&sealed.0, &sealed.1);
        }
        let len = encode(&mut self.encoded, &parts).ok_or_else(too_large)?;
        if let Some(first) = row.copy_of {
            self.copies.push((self.records.len(), first));
        }
        self.records.push((len, parts.kind));
        let tied = row.links.is_some() || row.depth > 0;
        self.words = self.words | Words::of(draft.kind, draft.key, tied);
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
            Some(source) => {
                let expected = format!("ids of records in the store, which are below {next}");
                Err(no_source(*source, expected))
            }
        }
    }

    /// Leaves records out and ties the others; a later judgement replaces an earlier one.
    pub(in crate::cold) fn choose(&mut self, verdicts: Vec<Verdict>) {
        let all = verdicts
            .iter()
            .all(|one| matches!(one, Verdict::Written(_)));
        let bytes = (!all).then(|| {
            let (mut kept, mut lens) = (Vec::new(), Vec::new());
            let mut rest = self.encoded.as_slice();
            for ((len, _), verdict) in self.records.iter().zip(&verdicts) {
                let parts = rest.split_at_checked(narrow(*len));
                let (record, behind) = parts.unwrap_or((rest, &[]));
                rest = behind;
                match verdict {
                    Verdict::LeftOut => {}
                    Verdict::Written(_) => {
                        kept.extend_from_slice(record);
                        lens.push(*len);
                    }
                    Verdict::Rewritten(_, payload) => {
                        // Only a record that is not whole has none, and nobody encodes one.
                        lens.push(with_payload(&mut kept, record, payload).unwrap_or_default());
                    }
                }
            }
            (kept, lens)
        });
        self.chosen = Some(Chosen { verdicts, bytes });
    }

    /// How many bytes it takes.
    pub(in crate::cold) fn len(&self) -> u64 {
        wide(self.bytes().len())
    }

    /// How many records it holds.
    pub(in crate::cold) fn count(&self) -> u64 {
        let left_out = self.chosen.iter().flat_map(|chosen| &chosen.verdicts);
        let left_out = left_out.filter(|one| **one == Verdict::LeftOut).count();
        wide(self.records.len().saturating_sub(left_out))
    }

    /// The bytes; valid in a segment once they were stamped for it.
    pub(in crate::cold) fn bytes(&self) -> &[u8] {
        let kept = self
            .chosen
            .as_ref()
            .and_then(|chosen| chosen.bytes.as_ref());
        kept.map_or(&self.encoded, |(bytes, _)| bytes)
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
        let count = self.count();
        let batch_count = u32::try_from(count).unwrap_or(u32::MAX);
        entries.reserve(narrow(count));
        let (verdicts, kept) = match &mut self.chosen {
            Some(chosen) => (chosen.verdicts.as_slice(), chosen.bytes.as_mut()),
            None => (&[][..], None),
        };
        let (bytes, lens) = match kept {
            Some((bytes, lens)) => (bytes, Some(lens.as_slice())),
            None => (&mut self.encoded, None),
        };
        let mut lens = lens.map(|lens| lens.iter().copied());
        let mut rest = bytes.as_mut_slice();
        let mut seq = first;
        // The ids of all records so far, where a second copy must name one of them.
        let mut seqs = Vec::new();
        let mut copies = self.copies.iter().peekable();
        for (at, (len, kind)) in self.records.iter().enumerate() {
            let verdict = verdicts.get(at);
            if !self.copies.is_empty() {
                seqs.push(Seq(seq));
            }
            let copy = copies.next_if(|(copy, _)| *copy == at);
            if verdict == Some(&Verdict::LeftOut) {
                continue;
            }
            let len = lens.as_mut().map_or(Some(*len), Iterator::next);
            let taken = std::mem::take(&mut rest);
            let parts = len.and_then(|len| taken.split_at_mut_checked(narrow(len)));
            let (Some(len), Some((record, behind))) = (len, parts) else {
                break;
            };
            if let Some(Verdict::Written(links) | Verdict::Rewritten(links, _)) = verdict {
                let mut links = links.clone();
                let original = copy.and_then(|(_, original)| seqs.get(*original));
                links.of = original.copied().or(links.of);
                tie(record, &links);
            }
            let place = Stamp {
                seq,
                durable,
                batch_first: first,
                batch_count,
            };
            stamp(record, identity, offset, place);
            entries.push(Entry {
                seq,
                offset,
                len,
                kind: *kind,
            });
            seq = seq.saturating_add(1);
            offset = offset.saturating_add(len);
            rest = behind;
        }
    }
}

/// The error of what is no source.
fn no_source(source: Seq, expected: String) -> Error {
    Error::Argument {
        name: "sources",
        expected,
        found: source.0.to_string(),
    }
}

/// The most bytes that links take.
const LINKS: u64 = 32;

/// Checks a batch against the limits, and gives about how many bytes it takes.
fn measure<'a>(
    batch: impl ExactSizeIterator<Item = Row<'a>>,
    limit: u64,
    most: u64,
) -> Result<u64> {
    let (mut total, count) = (0_u64, batch.len());
    for Row { draft, links, .. } in batch {
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
        let tied = links.map_or(0, |links| LINKS + 8 * wide(links.answers.len()));
        let around = 160_u64.saturating_add(parts).saturating_add(overhead());
        let around = around.saturating_add(tied);
        total = sizes.into_iter().fold(total, u64::saturating_add);
        total = total.saturating_add(around);
    }
    if total > most || u32::try_from(count).is_err() {
        return Err(Error::TooLarge {
            size: total,
            limit: most,
        });
    }
    Ok(total)
}

/// What the store's own bookkeeping looks like as a record to encode.
pub(in crate::cold) fn bookkeeping<'a>(
    kind: Kind,
    key: &'a [&'a [u8]],
    payload: &'a [u8],
) -> Row<'a> {
    const NONE: &[Seq] = &[];
    let draft = Draft {
        kind,
        key,
        meta: &[],
        sources: NONE,
        payload,
    };
    draft.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_judgement_takes_the_place_of_an_earlier_one() {
        let mut packet = Packet {
            encoded: vec![1, 2, 3, 4, 5],
            records: vec![(2, 0), (3, 0)],
            copies: Vec::new(),
            chosen: None,
            sources: Vec::new(),
            words: Words::default(),
            erasures: 0,
        };
        let written = || Verdict::Written(Links::default());
        assert_eq!((packet.bytes(), packet.count()), (&[1, 2, 3, 4, 5][..], 2));
        packet.choose(vec![Verdict::LeftOut, written()]);
        assert_eq!((packet.bytes(), packet.count()), (&[3, 4, 5][..], 1));
        packet.choose(vec![written(), Verdict::LeftOut]);
        assert_eq!((packet.bytes(), packet.len()), (&[1, 2][..], 2));
        packet.choose(vec![written(), written()]);
        assert_eq!((packet.bytes(), packet.count()), (&[1, 2, 3, 4, 5][..], 2));
    }
}
