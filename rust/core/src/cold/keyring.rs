//! Keys of an encrypted store: one file a conversation, so that removing the file erases what was
//! said in it wherever a copy of the segments lies.
//!
//! A record names its key, and a key is never given to another conversation. A conversation whose key
//! was erased gets a new one with its next record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::entry::Seq;
use crate::error::{Error, Result};

use super::bytes::{Fields, narrow, wide};
use super::cipher::{Key, KeyId, NONCE};
use super::format::KEYS;
use super::header::random;
use super::medium::{Medium, put_file, read_file, refused};
use super::options::Encryption;

const MAGIC: [u8; 8] = *b"wskey\0\0\0";
/// The longest key file: a scope is the beginning of a record's key.
const LIMIT: u64 = 256 << 20;
const WRAPPED: u64 = 1;
const SUFFIX: &str = ".key";
/// A key of one batch in the spool: it goes when the batch is taken up, not before.
const FOR_SPOOL: u64 = 2;

/// A key as its file has it.
#[derive(Clone, Debug)]
struct Entry {
    secret: Key,
    /// The encoded beginning of the keys of the records that it encrypts.
    scope: Vec<u8>,
    /// The id that the next record had when the key was made.
    born: u64,
    spool: bool,
}

/// The keys of a store.
#[derive(Debug)]
pub(super) struct Keyring {
    medium: Arc<dyn Medium>,
    encryption: Encryption,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<KeyId, Entry>,
    by_scope: HashMap<Vec<u8>, KeyId>,
    listed: bool,
    /// Whether the names of the files that were listed are durable.
    settled: bool,
}

impl Keyring {
    pub(super) fn new(medium: Arc<dyn Medium>, encryption: Encryption) -> Self {
        Self {
            medium,
            encryption,
            known: Mutex::default(),
        }
    }

    /// Whether new records are encrypted.
    pub(super) fn is_on(&self) -> bool {
        self.encryption != Encryption::Off
    }

    /// Refuses a master key that is not the one of this store's keys.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; what the operating system answers.
    pub(super) fn check(&self) -> Result<()> {
        let names = self.medium.list(KEYS);
        let names = names.map_err(|error| refused("list", &self.medium.path(KEYS), error))?;
        let wrong = |found: &str| Error::Argument {
            name: "encryption",
            expected: "the master key that this store was made with".into(),
            found: found.into(),
        };
        let Some(name) = names.iter().find(|name| name.ends_with(SUFFIX)) else {
            return Ok(());
        };
        let name = format!("{KEYS}/{name}");
        let bytes = read_file(&*self.medium, &name, LIMIT)
            .map_err(|error| refused("read", &self.medium.path(&name), error))?;
        let flags = bytes.as_deref().and_then(flags_of).unwrap_or(0);
        if flags & WRAPPED == 0 {
            return Ok(());
        }
        match self.encryption {
            // Whoever asks for no encryption may still read what is plain.
            Encryption::Off => Ok(()),
            Encryption::Keys => Err(wrong("none")),
            Encryption::Master(_) => match self.load(&name)? {
                Some(_) => Ok(()),
                None => Err(wrong("another one")),
            },
        }
    }

    /// The key for new records of a scope: the present one, or a new one, which is durable then. A key
    /// that is `gone`, by the id at its birth, serves no new record: it is removed with what is erased.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::NoKey`] if keys are wrapped with another master.
    pub(super) fn key_for(
        &self,
        scope: &[u8],
        next_seq: u64,
        gone: impl Fn(u64) -> bool,
    ) -> Result<(KeyId, Key)> {
        let mut known = self.known();
        self.read_all(&mut known)?;
        let found = known.by_scope.get(scope).copied();
        let found = found.and_then(|id| Some((id, known.by_id.get(&id)?)));
        if let Some((id, entry)) = found.filter(|(_, entry)| !gone(entry.born)) {
            let found = (id, entry.secret);
            if !known.settled {
                // Whoever made it may have come no further than its name.
                self.sync_dir()?;
                known.settled = true;
            }
            return Ok(found);
        }
        let (id, entry) = self.make(scope, next_seq, false)?;
        let secret = entry.secret;
        known.by_scope.insert(scope.to_vec(), id);
        known.by_id.insert(id, entry);
        Ok((id, secret))
    }

    /// A key for one batch in the spool.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn key_for_spool(&self, scope: &[u8]) -> Result<(KeyId, Key)> {
        let (id, entry) = self.make(scope, 0, true)?;
        Ok((id, entry.secret))
    }

    /// The key of that name.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`] if it is not here, or wrapped with another master key; what the operating
    /// system answers.
    pub(super) fn find(&self, id: KeyId, seq: u64) -> Result<Key> {
        let mut known = self.known();
        if let Some(entry) = known.by_id.get(&id) {
            return Ok(entry.secret);
        }
        let entry = self.load(&file_of(id))?;
        let (_, entry) = entry.ok_or(Error::NoKey { seq: Seq(seq) })?;
        let secret = entry.secret;
        known.by_id.insert(id, entry);
        Ok(secret)
    }

    /// Forgets what was read, because another process may have erased keys.
    pub(super) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Removes the keys of erased scopes, durably, and says how many.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn shred(&self, erased: impl Fn(&[u8], u64) -> bool) -> Result<u64> {
        self.remove(|entry| !entry.spool && erased(&entry.scope, entry.born))
    }

    /// Removes the keys of batches that were taken up.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn clear_spool(&self) -> Result<()> {
        self.remove(|entry| entry.spool).map(drop)
    }

    fn remove(&self, goes: impl Fn(&Entry) -> bool) -> Result<u64> {
        let mut known = self.known();
        *known = Known::default();
        self.read_all(&mut known)?;
        let ids: Vec<KeyId> = known
            .by_id
            .iter()
            .filter_map(|(id, entry)| goes(entry).then_some(*id))
            .collect();
        if ids.is_empty() {
            // Somebody may have removed them and come no further.
            self.sync_dir()?;
            return Ok(0);
        }
        *known = Known::default();
        for id in &ids {
            let name = file_of(*id);
            self.medium
                .remove(&name)
                .map_err(|error| refused("remove", &self.medium.path(&name), error))?;
        }
        self.sync_dir()?;
        Ok(wide(ids.len()))
    }

    fn sync_dir(&self) -> Result<()> {
        match self.medium.sync_dir(KEYS) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(refused("sync", &self.medium.path(KEYS), error))
            }
            _ => Ok(()),
        }
    }

    fn read_all(&self, known: &mut Known) -> Result<()> {
        if known.listed {
            return Ok(());
        }
        let names = self.medium.list(KEYS);
        let names = names.map_err(|error| refused("list", &self.medium.path(KEYS), error))?;
        for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
            // A key that this handle may not read is another master's: records say so.
            if let Some((id, entry)) = self.load(&format!("{KEYS}/{name}"))? {
                let other = known.by_scope.get(&entry.scope);
                let other = other.and_then(|id| known.by_id.get(id));
                if !entry.spool && other.is_none_or(|other| other.born <= entry.born) {
                    known.by_scope.insert(entry.scope.clone(), id);
                }
                known.by_id.insert(id, entry);
            }
        }
        known.listed = true;
        Ok(())
    }

    fn load(&self, name: &str) -> Result<Option<(KeyId, Entry)>> {
        let bytes = read_file(&*self.medium, name, LIMIT)
            .map_err(|error| refused("read", &self.medium.path(name), error))?;
        Ok(bytes.and_then(|bytes| self.decode(&bytes)))
    }

    fn make(&self, scope: &[u8], born: u64, spool: bool) -> Result<(KeyId, Entry)> {
        let id = random();
        let path = self.medium.path(KEYS);
        let none = || refused("make a key in", &path, std::io::ErrorKind::Other.into());
        let entry = Entry {
            secret: Key::new().ok_or_else(none)?,
            scope: scope.to_vec(),
            born,
            spool,
        };
        let bytes = self.encode(id, &entry).ok_or_else(none)?;
        let name = file_of(id);
        self.medium
            .make_dir(KEYS)
            .and_then(|()| self.medium.sync_dir(""))
            .and_then(|()| put_file(&*self.medium, KEYS, &format!("{name}.new"), &name, &bytes))
            .map_err(|error| refused("write", &path, error))?;
        Ok((id, entry))
    }

    fn encode(&self, id: KeyId, entry: &Entry) -> Option<Vec<u8>> {
        let plain = [&entry.secret.0, &entry.scope[..]].concat();
        let (flag, body) = match self.encryption {
            Encryption::Master(master) => {
                let (nonce, sealed) = Key(master).seal(&id, &plain)?;
                (WRAPPED, [&nonce[..], &sealed].concat())
            }
            Encryption::Off | Encryption::Keys => (0, plain),
        };
        let flags = flag | if entry.spool { FOR_SPOOL } else { 0 };
        let mut out = Vec::with_capacity(body.len() + 64);
        out.extend(MAGIC);
        out.extend(id);
        for field in [entry.born, flags, wide(body.len())] {
            out.extend(field.to_le_bytes());
        }
        out.extend(body);
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        Some(out)
    }

    fn decode(&self, bytes: &[u8]) -> Option<(KeyId, Entry)> {
        let (covered, crc) = bytes.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        if fields.array()? != MAGIC || u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
            return None;
        }
        let id: KeyId = fields.array()?;
        let (born, flags, len) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut plain = fields.slice(narrow(len))?.to_vec();
        if flags & WRAPPED != 0 {
            let Encryption::Master(master) = self.encryption else {
                return None;
            };
            let (nonce, sealed) = plain.split_first_chunk::<NONCE>()?;
            plain = Key(master).open(&id, *nonce, sealed)?;
        }
        let (secret, scope) = plain.split_first_chunk()?;
        let entry = Entry {
            secret: Key(*secret),
            scope: scope.to_vec(),
            born,
            spool: flags & FOR_SPOOL != 0,
        };
        Some((id, entry))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flags of a whole key file.
fn flags_of(bytes: &[u8]) -> Option<u64> {
    let (covered, crc) = bytes.split_last_chunk()?;
    let mut fields = Fields::new(covered);
    fields.slice(MAGIC.len() + 16 + 8)?;
    let flags = fields.u64()?;
    (u32::from_le_bytes(*crc) == crc32c::crc32c(covered)).then_some(flags)
}

fn file_of(id: KeyId) -> String {
    format!("{KEYS}/{:032x}{SUFFIX}", u128::from_be_bytes(id))
}
