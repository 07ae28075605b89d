//! Read-only maps of files: the one place in this stage with `unsafe`.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Mmap, MmapOptions};

use super::format::bytes::narrow;

/// A map of a file that is never written again. Bytes leave it only as copies.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps the first `len` bytes of a file that its owner promised not to write or cut any more.
    ///
    /// # Errors
    ///
    /// What the operating system answers; `InvalidInput` if the file is shorter.
    pub(super) fn new(file: &File, len: u64) -> io::Result<Self> {
        if file.metadata()?.len() < len {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut options = MmapOptions::new();
        options.len(narrow(len));
        // SAFETY: the store's lock keeps other writers away, and no store writes a sealed segment:
        // the writer drops its handle at sealing and recovery cuts only the last, unsealed one.
        let map = unsafe { options.map(file) }?;
        Ok(Self(map))
    }

    /// The number at an offset that is a multiple of 8, as it is at this moment; `None` beyond the
    /// map. Whoever writes it may do so in this moment.
    pub(super) fn word(&self, offset: u64) -> Option<u64> {
        let end = offset.checked_add(8)?;
        let bytes = self.0.get(narrow(offset)..narrow(end))?;
        #[expect(clippy::cast_ptr_alignment, reason = "checked in the next line")]
        let place = bytes.as_ptr().cast::<AtomicU64>();
        if !place.is_aligned() {
            return None;
        }
        // SAFETY: the eight bytes lie inside of the map, as `get` found, and are aligned; an atomic
        // number has any bits; the map lives as long as `self`.
        let word = unsafe { &*place };
        Some(u64::from_le(word.load(Ordering::Acquire)))
    }

    /// A copy of `len` bytes at `offset`; `None` beyond the map.
    pub(super) fn copy(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(len)?;
        self.0.get(narrow(offset)..narrow(end)).map(<[u8]>::to_vec)
    }
}

/// A map of a whole file that is replaced by renaming and never written in place.
///
/// Whoever writes into the file or cuts it while it is mapped breaks that: reading may then show other
/// bytes than were checked, or end the process with SIGBUS. warmset itself never does either.
#[derive(Debug)]
pub struct WholeMap(Mmap);

impl WholeMap {
    /// Maps a file as it is now.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: `file::replace` writes under another name and renames, so the bytes behind this
        // handle stay; the type's doc says what somebody else must not do.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(map))
    }
}

impl AsRef<[u8]> for WholeMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
