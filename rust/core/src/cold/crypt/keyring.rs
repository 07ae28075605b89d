//! Keys of an encrypted store: one file a conversation, so that removing the file erases what was
//! said in it wherever a copy of the segments lies.
//!
//! A record names its key, and a key is never given to another conversation. A conversation whose key
//! was erased gets a new one with its next record.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::entry::Seq;
use crate::error::{Error, Result};

use crate::cold::crypt::cipher::{Key, KeyId};
use crate::cold::crypt::keyfile::{KeyFile, WRAPPED, flags_of};
use crate::cold::format::KEYS;
use crate::cold::format::bytes::wide;
use crate::cold::format::header::random;
use crate::cold::medium::{Medium, put_file, read_file, refused, remove_if_there};
use crate::cold::options::Encryption;

/// The longest key file: a scope is the beginning of a record's key.
const LIMIT: u64 = 256 << 20;
const SUFFIX: &str = ".key";
/// The keys of a store.
#[derive(Debug)]
pub(in crate::cold) struct Keyring {
    medium: Arc<dyn Medium>,
    encryption: Encryption,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<KeyId, KeyFile>,
    by_scope: HashMap<Vec<u8>, KeyId>,
    listed: bool,
    /// Whether the names of the files that were listed are durable.
    settled: bool,
    /// Up to which version of erasures all keys that are covered are gone, while nobody else can have made
    /// one that is in use since the files were listed.
    cleared: Option<u64>,
}

impl Known {
    /// Lets a key serve new records of its scope, unless a newer one does.
    fn serve(&mut self, id: KeyId) {
        let Some(entry) = self.by_id.get(&id).filter(|entry| !entry.spool) else {
            return;
        };
        let other = self.by_scope.get(&entry.scope);
        let other = other.and_then(|id| self.by_id.get(id));
        if other.is_none_or(|other| other.born <= entry.born) {
            self.by_scope.insert(entry.scope.clone(), id);
        }
    }

    /// The keys of scopes; a key for the spool is of a batch, not of a scope.
    fn of_scopes(&self, goes: impl Fn(&[u8], u64) -> bool) -> Vec<KeyId> {
        let own = self.by_id.iter().filter(|(_, entry)| !entry.spool);
        let own = own.filter(|(_, entry)| goes(&entry.scope, entry.born));
        own.map(|(id, _)| *id).collect()
    }

    /// Forgets a key that is gone, or is about to be. An older one of its scope goes with it.
    fn lose(&mut self, id: &KeyId) {
        if let Some(entry) = self.by_id.remove(id)
            && self.by_scope.get(&entry.scope) == Some(id)
        {
            self.by_scope.remove(&entry.scope);
        }
    }
}

impl Keyring {
    pub(in crate::cold) fn new(medium: Arc<dyn Medium>, encryption: Encryption) -> Self {
        Self {
            medium,
            encryption,
            known: Mutex::default(),
        }
    }

    /// Whether new records are encrypted.
    pub(in crate::cold) fn is_on(&self) -> bool {
        self.encryption != Encryption::Off
    }

    /// Refuses a master key that is not the one of this store's keys; and a handle that `writes`, where
    /// there are key files and none can be read, so that no key tells which master is right.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; what the operating system answers.
    pub(in crate::cold) fn check(&self) -> Result<()> {
        let names = self.medium.list(KEYS);
        let names = names.map_err(|error| refused("list", &self.medium.path(KEYS), error))?;
        let wrong = |found: &str| Error::Argument {
            name: "encryption",
            expected: "the master key that this store was made with".into(),
            found: found.into(),
        };
        if !self.is_on() {
            // Whoever asks for no encryption may still read what is plain.
            return Ok(());
        }
        // One broken key, or one of another store, says nothing about the others; where all are broken,
        // nothing is left to compare with, and the store opens without what they opened.
        let mut foreign = false;
        for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
            let Some(bytes) = self.read(&format!("{KEYS}/{name}"))? else {
                continue;
            };
            let wrapped = flags_of(&bytes).is_some_and(|flags| flags & WRAPPED != 0);
            match KeyFile::decode(&bytes, &self.encryption) {
                // A key in plain says nothing about the master.
                Some(_) if !wrapped && self.encryption != Encryption::Keys => {}
                Some(_) => return Ok(()),
                None => foreign |= wrapped,
            }
        }
        match self.encryption {
            Encryption::Master(_) if foreign => Err(wrong("another one")),
            Encryption::Keys if foreign => Err(wrong("none")),
            _ => Ok(()),
        }
    }

    /// The key for new records of a scope: the present one, or a new one, which is durable then. A key
    /// that is `gone`, by the id at its birth, serves no new record: it is removed with what is erased.
    ///
    /// # Errors
    ///
    /// What the operating system answers; [`Error::NoKey`] if keys are wrapped with another master.
    pub(in crate::cold) fn key_for(
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
    pub(in crate::cold) fn key_for_spool(&self, scope: &[u8]) -> Result<(KeyId, Key)> {
        let (id, entry) = self.make(scope, 0, true)?;
        Ok((id, entry.secret))
    }

    /// The key of that name.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`] if it is not here, or wrapped with another master key; what the operating
    /// system answers.
    pub(in crate::cold) fn find(&self, id: KeyId, seq: u64) -> Result<Key> {
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
    pub(in crate::cold) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Others wrote since this handle looked last: there may be keys of theirs.
    pub(in crate::cold) fn others_wrote(&self) {
        self.known().cleared = None;
    }

    /// Removes the keys of erased scopes, durably, and says how many. `newest` tells of the last erasure
    /// alone, which is enough where this handle removed what all earlier ones covered and nobody else wrote
    /// since: the files are not listed then. `versions` are those of erasures before and with it. The lock is
    /// held.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn shred(
        &self,
        versions: (u64, u64),
        erased: impl Fn(&[u8], u64) -> bool,
        newest: impl Fn(&[u8], u64) -> bool,
    ) -> Result<u64> {
        let mut known = self.known();
        let ids = if known.cleared == Some(versions.0) {
            known.of_scopes(newest)
        } else {
            // Another process may have made keys, or removed some.
            (known.listed, known.settled) = (false, false);
            self.read_all(&mut known)?;
            known.of_scopes(erased)
        };
        known.cleared = None;
        self.remove(&mut known, &ids)?;
        known.cleared = Some(versions.1);
        Ok(wide(ids.len()))
    }

    /// Removes these keys, of batches that were taken up. Another one may be of a batch that is on its
    /// way into the spool.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn clear_spool(&self, used: &BTreeSet<KeyId>) -> Result<()> {
        if used.is_empty() {
            return Ok(());
        }
        let mut known = self.known();
        let mut ids = Vec::new();
        for id in used {
            let is_spool = match known.by_id.get(id) {
                Some(entry) => entry.spool,
                None => self
                    .load(&file_of(*id))?
                    .is_some_and(|(_, entry)| entry.spool),
            };
            if is_spool {
                ids.push(*id);
            }
        }
        self.remove(&mut known, &ids)
    }

    /// All keys of batches in the spool, on their way there, or taken up by somebody who ended before their
    /// keys were removed.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn spool_keys(&self) -> Result<BTreeSet<KeyId>> {
        let mut known = self.known();
        (known.listed, known.settled) = (false, false);
        self.read_all(&mut known)?;
        let own = known.by_id.iter().filter(|(_, entry)| entry.spool);
        Ok(own.map(|(id, _)| *id).collect())
    }

    fn remove(&self, known: &mut Known, ids: &[KeyId]) -> Result<()> {
        for id in ids {
            known.lose(id);
        }
        for id in ids {
            let name = file_of(*id);
            remove_if_there(&*self.medium, &name)
                .map_err(|error| refused("remove", &self.medium.path(&name), error))?;
        }
        // Also where none is left: somebody may have removed them and come no further.
        self.sync_dir()
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
        let mut there = HashSet::with_capacity(names.len());
        for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
            // What lies under a name never changes. A key that this handle may not read is another
            // master's: records say so.
            let own = id_of(name).filter(|id| known.by_id.contains_key(id));
            let id = match own {
                Some(id) => id,
                None => match self.load(&format!("{KEYS}/{name}"))? {
                    Some((id, entry)) => {
                        known.by_id.insert(id, entry);
                        id
                    }
                    None => continue,
                },
            };
            there.insert(id);
            known.serve(id);
        }
        let gone: Vec<KeyId> = known.by_id.keys().copied().collect();
        for id in gone.iter().filter(|id| !there.contains(*id)) {
            known.lose(id);
        }
        known.listed = true;
        Ok(())
    }

    fn load(&self, name: &str) -> Result<Option<(KeyId, KeyFile)>> {
        let bytes = self.read(name)?;
        Ok(bytes.and_then(|bytes| KeyFile::decode(&bytes, &self.encryption)))
    }

    /// The bytes of a key file; `None` for what is no file.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match read_file(&*self.medium, name, LIMIT) {
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => Ok(None),
            other => other.map_err(|error| refused("read", &self.medium.path(name), error)),
        }
    }

    fn make(&self, scope: &[u8], born: u64, spool: bool) -> Result<(KeyId, KeyFile)> {
        let id = random();
        let path = self.medium.path(KEYS);
        let none = || refused("make a key in", &path, std::io::ErrorKind::Other.into());
        let entry = KeyFile {
            secret: Key::new().ok_or_else(none)?,
            scope: scope.to_vec(),
            born,
            spool,
        };
        let bytes = entry.encode(id, &self.encryption).ok_or_else(none)?;
        let name = file_of(id);
        self.medium
            .make_dir(KEYS)
            .and_then(|()| self.medium.sync_dir(""))
            .and_then(|()| put_file(&*self.medium, KEYS, &format!("{name}.new"), &name, &bytes))
            .map_err(|error| refused("write", &path, error))?;
        Ok((id, entry))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of a key by the name of its file.
fn id_of(name: &str) -> Option<KeyId> {
    let hex = name.strip_suffix(SUFFIX).filter(|hex| hex.len() == 32)?;
    u128::from_str_radix(hex, 16).ok().map(u128::to_be_bytes)
}

fn file_of(id: KeyId) -> String {
    format!("{KEYS}/{:032x}{SUFFIX}", u128::from_be_bytes(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::medium::ram::Ram;

    fn ring(ram: &Ram) -> Keyring {
        Keyring::new(Arc::new(ram.clone()), Encryption::Keys)
    }

    /// Removes the keys of a scope, which others may have made meanwhile.
    fn shred(ring: &Keyring, scope: &[u8]) -> u64 {
        ring.others_wrote();
        let is_it = |one: &[u8], _| one == scope;
        ring.shred((0, 0), is_it, is_it).unwrap()
    }

    fn key(ring: &Keyring, scope: &[u8]) -> KeyId {
        ring.key_for(scope, 1, |_| false).unwrap().0
    }

    #[test]
    fn removing_a_key_looks_at_new_files_alone() {
        let ram = Ram::new();
        let (one, other) = (ring(&ram), ring(&ram));
        let [a, b, c] = [b"a", b"b", b"c"].map(|scope| key(&one, scope));
        // A file that was read is not read again.
        ram.write(&file_of(a), b"torn".to_vec());
        // Another handle makes a key, and removes one.
        let d = key(&other, b"d");
        assert_eq!(shred(&other, b"b"), 1);
        assert_eq!(shred(&one, b"c"), 1);
        assert_eq!(shred(&one, b"b"), 0);
        assert_eq!((key(&one, b"a"), key(&one, b"d")), (a, d));
        assert_ne!(key(&one, b"b"), b);
        assert_ne!(key(&one, b"c"), c);
        // A key that only a record named so far is removed, too.
        assert_eq!(shred(&one, b"d"), 1);
        assert!(ram.read(&file_of(d)).is_none());
    }

    #[test]
    fn after_a_first_time_only_the_newest_erasure_is_looked_at() {
        let ram = Ram::new();
        let ring = ring(&ram);
        let [a, b, c] = [b"a", b"b", b"c"].map(|scope| key(&ring, scope));
        let never = |_: &[u8], _| -> bool { panic!("it is not asked") };
        assert_eq!(
            ring.shred((0, 1), |scope, _| scope == b"a", never).unwrap(),
            1
        );
        assert_eq!(
            ring.shred((1, 2), never, |scope, _| scope == b"b").unwrap(),
            1
        );
        // A key that this handle made since.
        let d = key(&ring, b"d");
        assert_eq!(
            ring.shred((2, 3), never, |scope, _| scope == b"d").unwrap(),
            1
        );
        for (id, is_there) in [(a, false), (b, false), (c, true), (d, false)] {
            assert_eq!(ram.read(&file_of(id)).is_some(), is_there);
        }
        // Keys of an erasure in between may be there still.
        assert_eq!(
            ring.shred((4, 5), |scope, _| scope == b"c", never).unwrap(),
            1
        );
    }

    #[test]
    fn keys_of_the_spool_go_with_their_batches_alone() {
        let ram = Ram::new();
        let (one, other) = (ring(&ram), ring(&ram));
        let own = key(&one, b"a");
        let [used, waits] = [(); 2].map(|()| other.key_for_spool(b"a").unwrap().0);
        assert_eq!(shred(&one, b"a"), 1);
        assert!(ram.read(&file_of(own)).is_none());
        let own = key(&one, b"a");
        one.clear_spool(&BTreeSet::from([used, own, [9; 16]]))
            .unwrap();
        for (id, is_there) in [(used, false), (waits, true), (own, true)] {
            assert_eq!(ram.read(&file_of(id)).is_some(), is_there);
        }
    }

    #[test]
    fn a_key_that_a_record_named_serves_its_scope() {
        let ram = Ram::new();
        let (one, other) = (ring(&ram), ring(&ram));
        let a = key(&one, b"a");
        other.find(a, 1).unwrap();
        assert_eq!(key(&other, b"a"), a);
        shred(&other, b"none");
        assert_eq!(key(&other, b"a"), a);
    }
}
