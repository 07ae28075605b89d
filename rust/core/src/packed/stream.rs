//! Writing a section from its beginning to its end, without keeping it.

use std::io::Write;
use std::path::PathBuf;

use super::{BLOCK, VERSION};
use crate::error::{Error, Result};

/// A section that is being written.
pub(crate) struct Stream<'w> {
    out: &'w mut dyn Write,
    magic: [u8; 8],
    block: Vec<u8>,
    sums: Vec<u8>,
    /// Where each column begins, and its length.
    columns: Vec<(u64, u64)>,
    at: u64,
}

impl<'w> Stream<'w> {
    pub(crate) fn new(out: &'w mut dyn Write, magic: [u8; 8]) -> Result<Self> {
        let mut stream = Self {
            out,
            magic,
            block: Vec::with_capacity(BLOCK),
            sums: Vec::new(),
            columns: Vec::new(),
            at: 0,
        };
        stream.put(&magic)?;
        Ok(stream)
    }

    /// Begins the next column.
    pub(crate) fn column(&mut self) -> Result<()> {
        self.close()?;
        self.columns.push((self.at, 0));
        Ok(())
    }

    /// Adds bytes to the column.
    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = (BLOCK - self.block.len()).min(bytes.len());
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.block.extend_from_slice(now);
            self.at += length(now.len());
            bytes = later;
            if self.block.len() == BLOCK {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Ends the section and says how long it is.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.close()?;
        if !self.block.is_empty() {
            self.flush()?;
        }
        let sums = std::mem::take(&mut self.sums);
        let mut foot = Vec::new();
        for (begin, length) in &self.columns {
            foot.extend(begin.to_le_bytes());
            foot.extend(length.to_le_bytes());
        }
        let whole = self.at + length(sums.len()) + length(foot.len()) + 40;
        foot.extend(self.at.to_le_bytes());
        foot.extend(whole.to_le_bytes());
        foot.extend(self.magic);
        foot.extend(VERSION.to_le_bytes());
        foot.extend(u32::try_from(self.columns.len()).unwrap_or(0).to_le_bytes());
        foot.extend(crc32c::crc32c(&sums).to_le_bytes());
        foot.extend(crc32c::crc32c(&foot).to_le_bytes());
        self.send(&sums)?;
        self.send(&foot)?;
        Ok(whole)
    }

    fn close(&mut self) -> Result<()> {
        let end = self.at;
        if let Some((begin, length)) = self.columns.last_mut() {
            *length = end - *begin;
        }
        let past = usize::try_from(end % 8).unwrap_or(0);
        let zeros = [0; 8];
        self.put(zeros.get(..(8 - past) % 8).unwrap_or_default())
    }

    fn flush(&mut self) -> Result<()> {
        self.sums.extend(crc32c::crc32c(&self.block).to_le_bytes());
        let block = std::mem::take(&mut self.block);
        self.send(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|source| Error::Io {
            op: "save the index",
            path: PathBuf::new(),
            source,
        })
    }
}

fn length(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
