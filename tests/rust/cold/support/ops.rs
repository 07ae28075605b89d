//! What a medium is asked to do, and the files that come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub(crate) type Name = Arc<str>;

/// One call that changes something, or makes a change durable. Files go by number, because a file
/// outlives its name.
#[derive(Clone)]
pub(crate) enum Op {
    Create(Name, usize),
    Write(usize, usize, Arc<[u8]>),
    SetLen(usize, usize),
    Sync(usize),
    /// A sync that failed: what it should have written is never written, and no later sync says so.
    SyncFailed(usize),
    Rename(Name, Name, usize),
    Remove(Name),
    MakeDir(Name),
    SyncDir(Name),
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(name, file) => write!(f, "create {name} as {file}"),
            Self::Write(file, at, bytes) => write!(f, "write {file} {at}+{}", bytes.len()),
            Self::SetLen(file, len) => write!(f, "set_len {file} {len}"),
            Self::Sync(file) => write!(f, "sync {file}"),
            Self::SyncFailed(file) => write!(f, "sync {file} failed"),
            Self::Rename(from, to, file) => write!(f, "rename {from} {to} as {file}"),
            Self::Remove(name) => write!(f, "remove {name}"),
            Self::MakeDir(name) => write!(f, "make_dir {name}"),
            Self::SyncDir(name) => write!(f, "sync_dir {name:?}"),
        }
    }
}

/// The files and directories of a disk, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub(crate) files: BTreeMap<Name, Arc<Vec<u8>>>,
    pub(crate) dirs: BTreeSet<Name>,
}

impl Image {
    /// A number that two different images hardly share.
    pub(crate) fn hash(&self) -> u64 {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for (name, bytes) in &self.files {
            hash.update(name.as_bytes());
            hash.update(&bytes.len().to_le_bytes());
            hash.update(bytes);
        }
        for dir in &self.dirs {
            hash.update(dir.as_bytes());
        }
        hash.digest()
    }
}

/// The directory that a name lies in.
pub(crate) fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Writes bytes into a file, which grows if need be.
pub(crate) fn put(file: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[start..end].copy_from_slice(bytes);
}
