//! The real medium: a directory of the file system, through the standard library. Only regular files
//! in directories of its own are opened.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cold::format::LOCK;
use crate::cold::map::Map;
use crate::cold::medium::lock::LockFile;
use crate::cold::medium::{Access, Hold, Medium, MediumFile};

/// A directory of the file system.
#[derive(Debug)]
pub(in crate::cold) struct Disk {
    root: PathBuf,
    lock: LockFile,
}

impl Disk {
    pub(in crate::cold) fn new(root: PathBuf) -> Self {
        Self {
            root,
            lock: LockFile::default(),
        }
    }

    /// Makes the directory and what is missing above it, durably; an existing one keeps its mode.
    pub(in crate::cold) fn make_root(root: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        for dir in missing.into_iter().rev() {
            private_dir(dir)?;
            if let Some(parent) = dir.parent() {
                sync_dir(parent)?;
            }
        }
        Ok(())
    }
}

impl Medium for Disk {
    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.root.clone()
        } else {
            self.root.join(name)
        }
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        if !dir.is_empty() {
            match own_dir(&self.path(dir)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                other => other?,
            }
        }
        match fs::read_dir(self.path(dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect(),
        }
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn MediumFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        Ok(Arc::new(private(&mut options).open(self.path(name))?))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn MediumFile>> {
        if let Some((dir, _)) = name.rsplit_once('/') {
            own_dir(&self.path(dir))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::Write);
        Ok(Arc::new(open_regular(&mut options, &self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        private_dir(&self.path(name))
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        sync_dir(&self.path(name))
    }

    fn try_lock(&self) -> io::Result<Option<Box<dyn Hold>>> {
        self.lock.try_lock(&self.path(LOCK))
    }

    fn release(&self) {
        self.lock.release();
    }

    fn replaced(&self) -> u64 {
        self.lock.replaced()
    }

    fn owner(&self) -> String {
        self.lock.owner(&self.path(LOCK))
    }
}

impl MediumFile for File {
    /// Asked before each read of a map, and where the end is costs half of what all
    /// that there is to know of the file costs. Nothing uses the position that this moves.
    fn len(&self) -> io::Result<u64> {
        let mut file = self;
        file.seek(SeekFrom::End(0))
    }

    #[cfg(unix)]
    fn named_len(&self) -> io::Result<Option<u64>> {
        let found = self.metadata()?;
        let named = std::os::unix::fs::MetadataExt::nlink(&found) > 0;
        Ok(named.then_some(found.len()))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, buffer, offset);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(self, bytes, offset);
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn map(&self, len: u64) -> io::Result<Map> {
        Map::new(self, len)
    }
}

/// Files are readable by their owner only.
pub(in crate::cold) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => own_dir(path),
        other => other,
    }
}

/// A directory that is one itself: behind a symbolic link lie somebody else's files.
fn own_dir(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is no directory; a store has no symbolic links inside",
    ))
}

/// Opens a file of a store, which is a regular file and nothing else: a symbolic link is not followed,
/// and a pipe or a device is not waited for.
///
/// # Errors
///
/// `InvalidInput` for what is no regular file; what the operating system answers.
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let refuse = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file; a store has no symbolic links, pipes or devices inside",
        )
    };
    match options.open(path) {
        Err(error) => {
            let found = fs::symlink_metadata(path).map(|found| found.is_file());
            // What cannot be opened because of what it is says so; a directory has its own error.
            let other = error.kind() != io::ErrorKind::IsADirectory;
            Err(if other && matches!(found, Ok(false)) {
                refuse()
            } else {
                error
            })
        }
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(file) if file.metadata()?.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Err(refuse()),
    }
}

/// Windows gives no handle to a directory that could be synced; NTFS journals names by itself.
fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}
