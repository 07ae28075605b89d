//! The owner's lock: at most one handle writes a store, and whoever waits learns for whom.
//!
//! The operating system's lock is the truth and ends with its process, however that ends. What the
//! file says is for people. The file is never removed: a lock on a removed file guards nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

use super::disk::private;
use super::format::LOCK;
use super::medium::refused;

/// How often the lock is tried while waiting for it.
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held until it is dropped by the process that took it.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    pid: u32,
}

impl Lock {
    /// Waits for the lock of a directory, and writes down who has it.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] with the owner after `wait`; otherwise what the operating system answers.
    pub(super) fn acquire(dir: &Path, wait: Duration) -> Result<Self> {
        let path = dir.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = private(&mut options)
            .open(&path)
            .map_err(|error| refused("open", &path, error))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(refused("lock", &path, error)),
            }
            let Some(left) = wait.checked_sub(start.elapsed()).filter(|d| !d.is_zero()) else {
                return Err(Error::Locked {
                    path: dir.to_path_buf(),
                    owner: owner(&mut file),
                });
            };
            thread::sleep(left.min(PAUSE));
        }
        let lock = Self {
            file,
            pid: std::process::id(),
        };
        lock.sign()
            .map_err(|error| refused("write", &path, error))?;
        Ok(lock)
    }

    fn sign(&self) -> std::io::Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.map_or(0, |time| time.as_secs());
        let mut file = &self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        write!(file, "process {} since Unix time {since}", self.pid)
    }
}

impl Drop for Lock {
    /// After a fork the child shares the lock with its parent: it must not give away what is not its.
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            // A failure changes nothing: closing the file releases the lock as well.
            let _ = self.file.unlock();
        }
    }
}

/// Who wrote the lock file last; on some systems a locked file cannot be read by others.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(200).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}
