//! What a store stands on: a directory of files, behind a trait that a test can stand in for.

pub(in crate::cold) mod disk;
pub(in crate::cold) mod lock;
pub(in crate::cold) mod ram;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::wide;
use crate::cold::map::Map;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read only; enough for a directory that may not be written.
    Read,
    /// To read and to write.
    Write,
}

/// The writers' lock, held until it is dropped by the process that took it.
pub trait Hold: Debug + Send {
    /// Whether it guards anything still: a lock on a file that was removed does not.
    ///
    /// # Errors
    /// What the operating system answers.
    fn stands(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// A directory. Names are relative to it; one level of subdirectory is written `sub/name`.
///
/// Nothing is durable before the matching sync returned: data before
/// [`sync_data`](MediumFile::sync_data), names before [`sync_dir`](Self::sync_dir).
pub trait Medium: Debug + Send + Sync {
    /// The path of a name for messages; of the directory itself for `""`.
    fn path(&self, name: &str) -> PathBuf;

    /// The names in a subdirectory, or for `""` in the directory itself, in any order, those of
    /// subdirectories included. A subdirectory that is not there has none.
    ///
    /// # Errors
    /// What the operating system answers.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;

    /// A new, empty file, for its owner only; fails if the name exists.
    ///
    /// # Errors
    /// `AlreadyExists`, or what the operating system answers.
    fn create(&self, name: &str) -> io::Result<Arc<dyn MediumFile>>;

    /// An existing file.
    ///
    /// # Errors
    /// `NotFound`, or what the operating system answers.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn MediumFile>>;

    /// Another name for a file, in one step; a file that has it already is replaced.
    ///
    /// # Errors
    /// What the operating system answers.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Takes a file away.
    ///
    /// # Errors
    /// What the operating system answers.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// A subdirectory, for its owner only; succeeds if it exists.
    ///
    /// # Errors
    /// What the operating system answers.
    fn make_dir(&self, name: &str) -> io::Result<()>;

    /// Makes the names in a subdirectory, or for `""` in the directory itself, durable.
    ///
    /// # Errors
    /// What the operating system answers.
    fn sync_dir(&self, name: &str) -> io::Result<()>;

    /// The writers' lock, if nobody holds it; `None` if somebody does, in this process or another.
    ///
    /// # Errors
    /// What the operating system answers.
    fn try_lock(&self) -> io::Result<Option<Box<dyn Hold>>>;

    /// Who took the lock last, in words.
    fn owner(&self) -> String;

    /// Closes what is kept open for later; whatever needs it opens it again.
    fn release(&self) {}

    /// Grows when the lock is found to lie in another file than before: then another store may be here.
    fn replaced(&self) -> u64 {
        0
    }
}

/// An open file.
#[expect(clippy::len_without_is_empty, reason = "a file is no collection")]
pub trait MediumFile: Debug + Send + Sync {
    /// The present length.
    ///
    /// # Errors
    /// What the operating system answers.
    fn len(&self) -> io::Result<u64>;

    /// The present length; `None` if the file has no name any more, so that what is written to it is
    /// lost, where the medium can tell.
    ///
    /// # Errors
    /// What the operating system answers.
    fn named_len(&self) -> io::Result<Option<u64>> {
        self.len().map(Some)
    }

    /// Reads some bytes at an offset; 0 at or behind the end.
    ///
    /// # Errors
    /// What the operating system answers.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some bytes at an offset, fewer than given if need be.
    ///
    /// # Errors
    /// What the operating system answers.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes data and length durable. After a failure nothing is known about either.
    ///
    /// # Errors
    /// What the operating system answers.
    fn sync_data(&self) -> io::Result<()>;

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// What the operating system answers.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// A read-only map of the first `len` bytes.
    ///
    /// # Errors
    /// `Unsupported` where the medium has no maps; reads are positional then.
    fn map(&self, len: u64) -> io::Result<Map>;
}

/// How many interruptions in a row are taken for signals.
const PATIENCE: u32 = 1_000;

/// Lets an interruption pass, unless there was nothing else for too long.
fn tolerate(error: io::Error, patience: &mut u32) -> io::Result<()> {
    match patience.checked_sub(1) {
        Some(left) if error.kind() == io::ErrorKind::Interrupted => *patience = left,
        _ => return Err(error),
    }
    Ok(())
}

/// Fills as much of the buffer as the file holds from `offset` on, and says how much that is.
pub(in crate::cold) fn read_full(
    file: &dyn MediumFile,
    mut buffer: &mut [u8],
    mut offset: u64,
) -> io::Result<usize> {
    let mut done = 0_usize;
    let mut patience = PATIENCE;
    while !buffer.is_empty() {
        match file.read_at(buffer, offset) {
            Ok(0) => break,
            Ok(n) => {
                patience = PATIENCE;
                done = done.saturating_add(n);
                offset = offset.saturating_add(wide(n));
                buffer = buffer.get_mut(n..).unwrap_or_default();
            }
            Err(error) => tolerate(error, &mut patience)?,
        }
    }
    Ok(done)
}

/// Writes all of the bytes, through short writes and interruptions.
pub(in crate::cold) fn write_full(
    file: &dyn MediumFile,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    let mut patience = PATIENCE;
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                patience = PATIENCE;
                offset = offset.saturating_add(wide(n));
                bytes = bytes.get(n..).unwrap_or_default();
            }
            Err(error) => tolerate(error, &mut patience)?,
        }
    }
    Ok(())
}

/// Puts a file under a name in one step: written under another one, synced, renamed, its directory
/// synced. What was left of an earlier attempt is overwritten.
pub(in crate::cold) fn put_file(
    medium: &dyn Medium,
    dir: &str,
    temporary: &str,
    name: &str,
    bytes: &[u8],
) -> io::Result<()> {
    remove_if_there(medium, temporary)?;
    let file = medium.create(temporary)?;
    write_full(&*file, bytes, 0)?;
    if !on(Defect::RenameBeforeSync) {
        file.sync_data()?;
    }
    drop(file);
    medium.rename(temporary, name)?;
    medium.sync_dir(dir)
}

/// Takes a file away, if it is there.
pub(in crate::cold) fn remove_if_there(medium: &dyn Medium, name: &str) -> io::Result<()> {
    match medium.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The whole content of a file, if it is there and no longer than `limit`.
pub(in crate::cold) fn read_file(
    medium: &dyn Medium,
    name: &str,
    limit: u64,
) -> io::Result<Option<Vec<u8>>> {
    let file = match medium.open(name, Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let len = file.len()?;
    if len > limit {
        return Ok(None);
    }
    let mut bytes = vec![0; crate::cold::format::bytes::narrow(len)];
    let read = read_full(&*file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// The error of a failed operation; a lack of space has its own.
pub(in crate::cold) fn refused(op: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { path },
        _ => Error::Io { op, path, source },
    }
}
