//! A medium in memory: the same store code, for a store that ends with its process.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::cold::format::bytes::narrow;
use crate::cold::map::Map;
use crate::cold::medium::{Access, Hold, Medium, MediumFile};

/// A directory in memory. Clones share it, so a test can reopen a store, or look at its bytes.
#[derive(Clone, Debug, Default)]
pub struct Ram {
    files: Arc<Mutex<BTreeMap<String, Arc<RamFile>>>>,
    locked: Arc<AtomicBool>,
}

impl Ram {
    /// An empty directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of a file, if it exists.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let file = self.files().get(name).cloned()?;
        let bytes = file.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(bytes.clone())
    }

    /// Gives a file these bytes, whether it exists or not.
    pub fn write(&self, name: &str, bytes: Vec<u8>) {
        let file = Arc::new(RamFile::new(bytes));
        self.files().insert(name.to_owned(), file);
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Arc<RamFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Medium for Ram {
    fn path(&self, name: &str) -> PathBuf {
        Path::new(":memory:").join(name)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let files = self.files();
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut names: Vec<String> = files
            .keys()
            .filter_map(|name| name.strip_prefix(&prefix))
            .map(|name| name.split('/').next().unwrap_or_default().to_owned())
            .collect();
        names.dedup();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn MediumFile>> {
        let mut files = self.files();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(RamFile::default());
        files.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn MediumFile>> {
        match self.files().get(name) {
            Some(file) => Ok(Arc::<RamFile>::clone(file)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.files().remove(name);
        removed
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make_dir(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<Option<Box<dyn Hold>>> {
        let taken = self.locked.swap(true, Ordering::AcqRel);
        Ok((!taken).then(|| -> Box<dyn Hold> { Box::new(RamHold(Arc::clone(&self.locked))) }))
    }

    fn owner(&self) -> String {
        "another handle of this process".to_owned()
    }
}

/// The lock of a directory in memory.
#[derive(Debug)]
struct RamHold(Arc<AtomicBool>);

impl Hold for RamHold {}

impl Drop for RamHold {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A file in memory.
#[derive(Debug, Default)]
pub(in crate::cold) struct RamFile(RwLock<Vec<u8>>);

impl RamFile {
    /// A file with these bytes.
    pub(in crate::cold) fn new(bytes: Vec<u8>) -> Self {
        Self(RwLock::new(bytes))
    }
}

impl MediumFile for RamFile {
    fn len(&self) -> io::Result<u64> {
        let bytes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(crate::cold::format::bytes::wide(bytes.len()))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let rest = bytes.get(narrow(offset)..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut file = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let start = narrow(offset);
        let end = start
            .checked_add(bytes.len())
            .ok_or(io::ErrorKind::InvalidInput)?;
        if file.len() < end {
            file.resize(end, 0);
        }
        if let Some(slot) = file.get_mut(start..end) {
            slot.copy_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut file = self.0.write().unwrap_or_else(PoisonError::into_inner);
        file.resize(narrow(len), 0);
        Ok(())
    }

    fn map(&self, _len: u64) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
