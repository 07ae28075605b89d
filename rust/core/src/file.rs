//! Files that are made whole and read where they lie: what a saved index needs of a file system.
//!
//! Stages open no files of each other's: whoever saves or opens an index joins it with these
//! functions.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cold::{Read, WholeMap, open_regular};
use crate::error::{Error, Result};
use crate::hot::SharedBytes;
use crate::simd::Lanes;

/// The bytes of a file: mapped, or a copy in memory that no later change of the file can reach.
///
/// # Errors
/// [`Error::Io`].
pub fn bytes(path: &Path, read: Read) -> Result<SharedBytes> {
    open(path, read).map_err(|source| Error::Io {
        op: "open",
        path: path.into(),
        source,
    })
}

/// Makes a file, or another one in its place, so that a reader finds the old one or the new one and
/// never a part: written under another name beside it, synced, renamed. The file is readable by its
/// owner only. If the process dies on the way, a file `<name>.<process>-<number>.new` stays behind.
///
/// # Errors
/// [`Error::Io`], [`Error::Full`], and what `write` says; the old file is then as it was.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let told = |op| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull => Error::Full { path: path.into() },
            _ => Error::Io {
                op,
                path: path.into(),
                source,
            },
        }
    };
    let (file, beside) = create_beside(path).map_err(told("save"))?;
    let written = (|| {
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        write(&mut out)?;
        out.flush().map_err(told("save"))?;
        drop(out);
        file.sync_all().map_err(told("sync"))?;
        fs::rename(&beside, path).map_err(told("rename"))
    })();
    if let Err(error) = written {
        // The failure that is told is the first one.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    sync_folder(path).map_err(told("sync"))
}

/// The lock that a file of that name stands for, which is made if it is not there; `None` if somebody
/// has it, in this process or another. It is given back by `File::unlock`, or when the process ends.
///
/// # Errors
/// [`Error::Io`].
pub fn lock(path: &Path) -> Result<Option<File>> {
    let told = |source| Error::Io {
        op: "lock",
        path: path.into(),
        source,
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = open_regular(&mut options, path).map_err(told)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(told(source)),
    }
}

fn open(path: &Path, read: Read) -> io::Result<SharedBytes> {
    let mut file = open_regular(OpenOptions::new().read(true), path)?;
    let length = file.metadata()?.len();
    // An empty map is refused by some systems.
    if read == Read::Map && length > 0 {
        return Ok(Arc::new(WholeMap::new(&file)?));
    }
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut blocks = vec![Lanes::ZERO; length.div_ceil(size_of::<Lanes>())];
    let place = bytemuck::cast_slice_mut(&mut blocks);
    file.read_exact(place.get_mut(..length).unwrap_or_default())?;
    Ok(Arc::new(Copied { blocks, length }))
}

/// Bytes in memory, aligned as those of a map.
struct Copied {
    blocks: Vec<Lanes>,
    length: usize,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.blocks);
        bytes.get(..self.length).unwrap_or_default()
    }
}

/// A new file beside one of that name.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut own = name.to_owned();
        own.push(format!(".{}-{number}.new", std::process::id()));
        let beside = path.with_file_name(own);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, beside)),
        }
    }
}

/// Windows gives no handle to a directory that could be synced; NTFS journals names by itself.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) {
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
