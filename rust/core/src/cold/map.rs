//! Read-only maps of sealed segments: the one place in this stage with `unsafe`.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

use super::bytes::narrow;

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

    /// A copy of `len` bytes at `offset`; `None` beyond the map.
    pub(super) fn copy(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(len)?;
        self.0.get(narrow(offset)..narrow(end)).map(<[u8]>::to_vec)
    }
}
