//! The writers' lock: whoever waits learns for whom, and never waits longer than agreed.
//!
//! The operating system's lock is the truth and ends with its process, however that ends. What the
//! file says is for people. The file is never removed: a lock on a removed file guards nothing.
//!
//! Some systems give a lock to a process, not to a handle. So that two handles of one process keep
//! each other off there too, each locked file is also noted in a list of this process. The child of a
//! fork begins with an empty one.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, thread};

use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::medium::disk::{open_regular, private};
use crate::cold::medium::{Hold, Medium, MediumFile, read_full, refused, write_full};
use crate::cold::notices::Counters;

/// The shortest and the longest pause between two looks at a busy lock.
const PAUSE: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(10));
/// A pause is this part of the wait so far: a lock that others keep taking is free for moments only, and
/// doubled pauses miss them.
const SHARE: u32 = 16;
/// The length of what the file says.
const WORDS: usize = 64;

/// Waits for the lock of a medium, and counts that it had to.
///
/// # Errors
///
/// [`Error::Locked`] with the owner after `wait`; [`Error::Interrupted`]; what the operating system
/// answers.
pub(in crate::cold) fn acquire(
    medium: &dyn Medium,
    wait: Duration,
    counters: &Counters,
) -> Result<Box<dyn Hold>> {
    let start = Instant::now();
    let mut was_busy = false;
    loop {
        let held = medium
            .try_lock()
            .map_err(|error| refused("lock", &medium.path(""), error))?;
        if let Some(hold) = held {
            if was_busy {
                counters.wait(start.elapsed(), true);
            }
            return Ok(hold);
        }
        was_busy = true;
        interrupt::check()?;
        let Some(left) = wait.checked_sub(start.elapsed()).filter(|d| !d.is_zero()) else {
            counters.wait(start.elapsed(), false);
            return Err(Error::Locked {
                path: medium.path(""),
                owner: medium.owner(),
            });
        };
        let pause = (start.elapsed() / SHARE).clamp(PAUSE.0, PAUSE.1);
        thread::sleep(left.min(pause));
    }
}

/// The lock file of a directory, opened when it is needed first.
#[derive(Debug, Default)]
pub(in crate::cold) struct LockFile(Mutex<Option<(Arc<File>, Place)>>, AtomicU64);

/// A file of this process: process, device and number.
type Place = (u32, u64, u64);

/// What this process has locked; its first field is the process.
#[derive(Debug, Default)]
pub(crate) struct Held(u32, BTreeSet<Place>);

static HELD: Mutex<Held> = Mutex::new(Held(0, BTreeSet::new()));

/// The list of locked files, if no other thread uses it at this moment.
pub(crate) fn try_held() -> Option<MutexGuard<'static, Held>> {
    match HELD.try_lock() {
        Ok(list) => Some(list),
        Err(TryLockError::Poisoned(list)) => Some(list.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl LockFile {
    /// Takes the lock, if it is free, and writes down who has it.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Hold>>> {
        let (mut file, mut place) = self.file(path)?;
        if !is_at(path, place)? {
            // Somebody removed the file, or put another directory there: nobody else locks this one.
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
            (file, place) = self.file(path)?;
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        if !held().1.insert(place) {
            return Ok(None);
        }
        let locked = match file.try_lock() {
            Ok(()) => return Guard { file, place }.signed().map(Some),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        };
        held().1.remove(&place);
        locked
    }

    /// Who signed the file last; on some systems a locked file cannot be read by others.
    pub(in crate::cold) fn owner(&self, path: &Path) -> String {
        let mut words = [0; WORDS];
        let read = self
            .file(path)
            .and_then(|(file, _)| read_full(&*file, &mut words, 0));
        let text = words.get(..read.unwrap_or(0)).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        match text.trim() {
            "" => "another process".to_owned(),
            words => words.to_owned(),
        }
    }

    /// Closes the file; the next call opens it again.
    pub(in crate::cold) fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How often another file was found in its place.
    pub(in crate::cold) fn replaced(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    fn file(&self, path: &Path) -> io::Result<(Arc<File>, Place)> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, place)) = &*slot {
            return Ok((Arc::clone(file), *place));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = Arc::new(open_regular(private(&mut options), path)?);
        let place = place_of(&file)?;
        *slot = Some((Arc::clone(&file), place));
        Ok((file, place))
    }
}

/// The lock while it is held.
#[derive(Debug)]
struct Guard {
    file: Arc<File>,
    place: Place,
}

impl Guard {
    fn signed(self) -> io::Result<Box<dyn Hold>> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.map_or(0, |time| time.as_secs());
        let words = format!("process {} since Unix time {since}", self.place.0);
        let words = format!("{words:<WORDS$}");
        // Looking is cheaper than writing, and most locks follow one of the same process and second.
        let mut found = [0; WORDS];
        if read_full(&*self.file, &mut found, 0)? != WORDS || found != words.as_bytes() {
            write_full(&*self.file, words.as_bytes(), 0)?;
        }
        Ok(Box::new(self))
    }
}

impl Hold for Guard {
    fn stands(&self) -> io::Result<bool> {
        MediumFile::named_len(&*self.file).map(|len| len.is_some())
    }
}

impl Drop for Guard {
    /// After a fork the child shares the lock with its parent: it must not give away what is not its.
    fn drop(&mut self) {
        if self.place.0 == std::process::id() {
            // A failure changes nothing: closing the file releases the lock as well.
            let _ = self.file.unlock();
            held().1.remove(&self.place);
        }
    }
}

fn held() -> MutexGuard<'static, Held> {
    let mut list = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    list.begin(std::process::id());
    list
}

impl Held {
    /// Forgets what another process has locked, whose list was copied by a fork.
    fn begin(&mut self, process: u32) {
        if self.0 != process {
            *self = Self(process, BTreeSet::new());
        }
    }
}

/// Whether a locked file is still the one of that name.
#[cfg(unix)]
fn is_at(path: &Path, place: Place) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map(|found| (found.dev(), found.ino()) == (place.1, place.2)),
    }
}

/// Elsewhere an open file keeps its name.
#[cfg(not(unix))]
fn is_at(_path: &Path, _place: Place) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn place_of(file: &File) -> io::Result<Place> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    Ok((std::process::id(), metadata.dev(), metadata.ino()))
}

/// Elsewhere the lock belongs to the handle, and no second list is needed.
#[cfg(not(unix))]
fn place_of(_file: &File) -> io::Result<Place> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Ok((std::process::id(), 0, NEXT.fetch_add(1, Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_of_a_fork_has_locked_nothing_and_its_parent_what_it_had() {
        let mut list = Held::default();
        for (process, place) in [(7, (7, 1, 2)), (7, (7, 1, 3)), (8, (8, 1, 2))] {
            list.begin(process);
            assert!(list.1.insert(place));
            list.begin(process);
            assert!(!list.1.insert(place));
        }
        assert_eq!(list.1.len(), 1);
    }
}
