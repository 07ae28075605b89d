//! One segment as readers see it: bytes leave it as copies, and records leave it verified.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::entry::{Kind, Seq};
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::crypt::cipher::{KeyId, key_of_record, open_record};
use crate::cold::crypt::keyring::Keyring;
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::footer::Entry;
use crate::cold::format::frame::{COPY, ENCRYPTED, HEADER, RecordHeader, depth_of};
use crate::cold::format::header::Header;
use crate::cold::map::Map;
use crate::cold::medium::{MediumFile, read_full, refused};
use crate::cold::options::Read;
use crate::cold::read::window::Window;
use crate::cold::record::{Outline, Record, content_hash};
use crate::cold::report::{Damage, DamageKind};

/// What a record is tied to.
#[derive(Debug)]
pub(crate) struct Ties {
    pub(crate) kind: Kind,
    pub(crate) key: Vec<Vec<u8>>,
    /// Ids of the records that it was made from.
    pub(crate) sources: Vec<Seq>,
    /// The record that it changes, replaces or is the second copy of.
    pub(crate) of: Option<Seq>,
}

/// An open segment file.
#[derive(Debug)]
pub(in crate::cold) struct Source {
    pub(in crate::cold) header: Header,
    pub(in crate::cold) path: PathBuf,
    pub(in crate::cold) file: Arc<dyn MediumFile>,
    read: Read,
    /// The final length, once the segment is sealed: only then may it be mapped.
    sealed: OnceLock<u64>,
    map: OnceLock<Option<Map>>,
}

impl Source {
    pub(in crate::cold) fn new(
        header: Header,
        path: PathBuf,
        file: Arc<dyn MediumFile>,
        read: Read,
    ) -> Self {
        Self {
            header,
            path,
            file,
            read,
            sealed: OnceLock::new(),
            map: OnceLock::new(),
        }
    }

    /// Declares that the file has this length from now on and is never written again.
    pub(in crate::cold) fn seal(&self, len: u64) {
        let _ = self.sealed.set(len);
    }

    /// The present length of the file.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn len(&self) -> Result<u64> {
        self.file
            .len()
            .map_err(|error| refused("stat", &self.path, error))
    }

    /// The present length of the file, if it has a name.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn named_len(&self) -> Result<Option<u64>> {
        self.file
            .named_len()
            .map_err(|error| refused("stat", &self.path, error))
    }

    /// A copy of bytes of the file.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] if the file does not hold them all; what the operating system answers.
    pub(in crate::cold) fn bytes(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        if let Some(map) = self.map() {
            self.expect(offset.saturating_add(len), self.len()?)?;
            if let Some(bytes) = map.copy(offset, len) {
                return Ok(bytes);
            }
        }
        let mut bytes = vec![0; narrow(len)];
        let read = read_full(&*self.file, &mut bytes, offset)
            .map_err(|error| refused("read", &self.path, error))?;
        self.expect(
            offset.saturating_add(len),
            offset.saturating_add(wide(read)),
        )?;
        Ok(bytes)
    }

    /// The record of an entry, verified and in plain.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] or [`Error::Truncated`]; [`Error::NoKey`]; what the operating system
    /// answers.
    pub(in crate::cold) fn record(&self, entry: Entry, keyring: &Keyring) -> Result<Record> {
        let mut bytes = self.bytes(entry.offset, entry.len)?;
        let header = self.header_in(entry, &bytes)?;
        let body = header.body(&bytes);
        let body = body.map_err(|detail| self.corrupt(entry, detail))?;
        let mut record = Record {
            seq: Seq(entry.seq),
            kind: Kind::from_code(header.kind),
            key: body.front.key,
            meta: body.front.meta.to_vec(),
            sources: body.front.sources,
            links: body.front.links,
            depth: depth_of(header.flags),
            payload: Vec::new(),
            hash: header.hash,
        };
        let place = body.payload;
        if header.flags & ENCRYPTED != 0 {
            let sealed = bytes.get(place).unwrap_or_default();
            let id = key_of_record(&record.meta);
            let id = id.ok_or_else(|| self.corrupt(entry, "it does not name its key"))?;
            let secret = keyring.find(id, entry.seq)?;
            let plain = open_record(
                &secret,
                header.kind,
                body.front.encoded_key,
                body.front.meta,
                sealed,
            );
            let wrong = || self.corrupt(entry, "it cannot be decrypted with its key");
            (record.meta, record.payload) = plain.ok_or_else(wrong)?;
            record.hash = content_hash(&record.payload);
            return Ok(record);
        }
        bytes.truncate(place.end);
        bytes.drain(..place.start);
        record.payload = bytes;
        Ok(record)
    }

    /// The name of the key of an entry's record, if it is encrypted.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] or [`Error::Truncated`]; what the operating system answers.
    pub(in crate::cold) fn key_id(&self, entry: Entry) -> Result<Option<KeyId>> {
        let bytes = self.bytes(entry.offset, entry.len)?;
        let header = self.header_in(entry, &bytes)?;
        let body = header.body(&bytes);
        let body = body.map_err(|detail| self.corrupt(entry, detail))?;
        let encrypted = header.flags & ENCRYPTED != 0;
        Ok(encrypted.then(|| key_of_record(body.front.meta)).flatten())
    }

    /// The record whose header these bytes are, if they are one at that offset.
    pub(in crate::cold) fn entry_at(&self, offset: u64, bytes: &[u8]) -> Option<Entry> {
        let header = RecordHeader::decode(&self.header.identity, offset, bytes)?;
        Some(Entry {
            seq: header.seq,
            offset,
            len: header.len(),
            kind: header.kind,
        })
    }

    /// The first id of the batch that an entry's record belongs to.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub(in crate::cold) fn batch_first(&self, entry: Entry) -> Result<u64> {
        let bytes = self.bytes(entry.offset, wide(HEADER))?;
        Ok(self.header_in(entry, &bytes)?.batch_first)
    }

    /// What an entry's record is tied to, verified; its payload is not looked at.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub(in crate::cold) fn ties(&self, entry: Entry) -> Result<Ties> {
        let bytes = self.bytes(entry.offset, wide(HEADER))?;
        let header = self.header_in(entry, &bytes)?;
        let len = wide(HEADER).saturating_add(header.front_len());
        let bytes = self.bytes(entry.offset, len.min(entry.len))?;
        self.ties_in(entry, &header, &bytes)
    }

    /// Tells what the records of many entries are tied to, in their order, as [`ties`](Self::ties) does
    /// for one; those that cannot be read are left out. The file is read front to back, in large pieces.
    ///
    /// # Errors
    ///
    /// What `look` answers; [`Error::Interrupted`]; what the operating system answers.
    pub(in crate::cold) fn each_tied(
        &self,
        entries: impl Iterator<Item = Entry>,
        mut look: impl FnMut(Entry, Ties) -> Result<()>,
    ) -> Result<()> {
        let trouble = |error| refused("read", &self.path, error);
        let mut window = Window::new(&*self.file, self.len()?);
        for entry in entries {
            interrupt::check()?;
            let head = window.get(entry.offset, wide(HEADER)).map_err(trouble)?;
            let header = head.and_then(|bytes| self.header_in(entry, bytes).ok());
            let Some(header) = header else {
                continue;
            };
            let len = wide(HEADER).saturating_add(header.front_len());
            let bytes = window.get(entry.offset, len.min(entry.len));
            let Some(bytes) = bytes.map_err(trouble)? else {
                continue;
            };
            if let Ok(ties) = self.ties_in(entry, &header, bytes) {
                look(entry, ties)?;
            }
        }
        Ok(())
    }

    fn ties_in(&self, entry: Entry, header: &RecordHeader, bytes: &[u8]) -> Result<Ties> {
        let front = header.front(bytes);
        let front = front.map_err(|detail| self.corrupt(entry, detail))?;
        let of = front.links.and_then(|links| links.of);
        Ok(Ties {
            kind: Kind::from_code(header.kind),
            key: front.key,
            sources: front.sources,
            of: of.filter(|of| *of != Seq(0)),
        })
    }

    /// What the log knows a record by, verified; its payload, and what is sealed with it, only where the
    /// kind needs it and both can be read.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record), but for a payload that is damaged or whose key is not here.
    pub(in crate::cold) fn outline(&self, entry: Entry, keyring: &Keyring) -> Result<Outline> {
        let bytes = self.bytes(entry.offset, wide(HEADER))?;
        let header = self.header_in(entry, &bytes)?;
        let sealed = header.flags & ENCRYPTED != 0;
        let kind = Kind::from_code(header.kind);
        let len = wide(HEADER).saturating_add(header.front_len());
        let bytes = self.bytes(entry.offset, len)?;
        let front = header.front(&bytes);
        let front = front.map_err(|detail| self.corrupt(entry, detail))?;
        let mut out = Outline {
            seq: Seq(entry.seq),
            kind,
            key: front.key,
            sources: front.sources,
            links: front.links,
            len: entry.len,
            is_copy: header.flags & COPY != 0,
            is_taken: false,
            meta: Some(front.meta.to_vec()),
            payload: Vec::new(),
        };
        // Any other record is known by its links alone.
        let says = kind.is_of_log() || matches!(kind, Kind::Turn | Kind::Checkpoint);
        if (says && sealed) || kind.is_plain() {
            match self.record(entry, keyring) {
                Ok(record) => (out.meta, out.payload) = (Some(record.meta), record.payload),
                Err(Error::Corrupt { .. } | Error::NoKey { .. }) if !kind.is_plain() => {
                    out.meta = None;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(out)
    }

    /// The payload of an entry as it lies on disk, verified.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub(in crate::cold) fn payload(&self, entry: Entry) -> Result<Vec<u8>> {
        let bytes = self.bytes(entry.offset, entry.len)?;
        let header = self.header_in(entry, &bytes)?;
        let body = header.body(&bytes);
        let body = body.map_err(|detail| self.corrupt(entry, detail))?;
        Ok(bytes.get(body.payload).unwrap_or_default().to_vec())
    }

    /// The payload's hash as the verified header of an entry has it; `None` if the payload is
    /// encrypted.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub(in crate::cold) fn hash(&self, entry: Entry) -> Result<Option<u128>> {
        let bytes = self.bytes(entry.offset, wide(HEADER))?;
        let header = self.header_in(entry, &bytes)?;
        Ok((header.flags & ENCRYPTED == 0).then_some(header.hash))
    }

    /// A description of a part of this segment that is not as it was written.
    pub(in crate::cold) fn damage(
        &self,
        bytes: Range<u64>,
        seqs: RangeInclusive<u64>,
        kind: DamageKind,
        detail: &str,
    ) -> Damage {
        Damage {
            segment: self.header.number,
            path: self.path.clone(),
            bytes,
            seqs: (!seqs.is_empty()).then(|| Seq(*seqs.start())..=Seq(*seqs.end())),
            kind,
            detail: detail.to_owned(),
        }
    }

    /// The damage of a part of the preamble: no record lies there.
    pub(in crate::cold) fn blemish(&self, bytes: Range<u64>) -> Damage {
        let none = RangeInclusive::new(1, 0);
        self.damage(bytes, none, DamageKind::Corrupt, "the preamble differs")
    }

    fn header_in(&self, entry: Entry, bytes: &[u8]) -> Result<RecordHeader> {
        RecordHeader::decode(&self.header.identity, entry.offset, bytes)
            .filter(|header| header.seq == entry.seq && header.len() == entry.len)
            .ok_or_else(|| self.corrupt(entry, "the record's header differs"))
    }

    fn corrupt(&self, entry: Entry, detail: &str) -> Error {
        let bytes = entry.offset..entry.offset.saturating_add(entry.len);
        self.damage(bytes, entry.seq..=entry.seq, DamageKind::Corrupt, detail)
            .to_error()
    }

    fn expect(&self, expected: u64, found: u64) -> Result<()> {
        if expected <= found {
            return Ok(());
        }
        Err(Error::Truncated {
            path: self.path.clone(),
            expected,
            found,
        })
    }

    /// The map, if this segment is read through one; where no map can be had, reads are positional.
    fn map(&self) -> Option<&Map> {
        let len = *self.sealed.get().filter(|_| self.read == Read::Map)?;
        self.map.get_or_init(|| self.file.map(len).ok()).as_ref()
    }
}
