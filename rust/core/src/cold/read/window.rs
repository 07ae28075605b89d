//! A file read front to back through one buffer, which is as large as the largest record at most.

use std::io;

use crate::cold::format::bytes::{narrow, wide};
use crate::cold::medium::{MediumFile, read_full};

/// How much is read at once.
const CHUNK: u64 = 256 << 10;

/// A view of the first `end` bytes of a file.
pub(in crate::cold) struct Window<'a> {
    file: &'a dyn MediumFile,
    end: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(in crate::cold) fn new(file: &'a dyn MediumFile, end: u64) -> Self {
        Self {
            file,
            end,
            start: 0,
            buffer: Vec::new(),
        }
    }

    /// The bytes at an offset; `None` if they are not all before the end, or the file is shorter.
    pub(in crate::cold) fn get(&mut self, offset: u64, len: u64) -> io::Result<Option<&[u8]>> {
        let Some(stop) = offset.checked_add(len).filter(|stop| *stop <= self.end) else {
            return Ok(None);
        };
        let held = self.start.saturating_add(wide(self.buffer.len()));
        if offset < self.start || stop > held {
            let size = self.end.saturating_sub(offset).min(len.max(CHUNK));
            self.start = offset;
            self.buffer.resize(narrow(size), 0);
            let read = read_full(self.file, &mut self.buffer, offset)?;
            self.buffer.truncate(read);
        }
        let from = narrow(offset.saturating_sub(self.start));
        Ok(self.buffer.get(from..from.saturating_add(narrow(len))))
    }
}
