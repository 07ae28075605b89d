//! Writing a saved index, front to back.

use std::io::{self, Write};

use bytemuck::Pod;

use super::edge::{ALIGN, EDGE, END_MAGIC, MAGIC, MAJOR, MINOR, NAME, narrow, sealed, wide};
use crate::hot::file::column::Column;
use crate::hot::file::section::BLOCK;
use crate::interrupt;

/// Writes the file front to back.
pub(in crate::hot) struct Writer<W> {
    out: W,
    at: u64,
    sections: u64,
    table: Vec<u8>,
}

/// One section as it is written; its checksums are taken on the way.
pub(in crate::hot) struct SectionWriter<'a, W> {
    file: &'a mut Writer<W>,
    sums: Vec<u32>,
    /// The checksum and the number of bytes of the block that is not full yet.
    open: (u32, usize),
}

impl<W: Write> Writer<W> {
    pub(in crate::hot) fn new(mut out: W) -> io::Result<Self> {
        let mut header = [0; EDGE];
        let fields: [&[u8]; 5] = [
            &MAGIC,
            &MAJOR.to_le_bytes(),
            &MINOR.to_le_bytes(),
            &64_u32.to_le_bytes(),
            &0_u64.to_le_bytes(),
        ];
        out.write_all(sealed(&mut header, &fields))?;
        Ok(Self {
            out,
            at: wide(EDGE),
            sections: 0,
            table: Vec::new(),
        })
    }

    /// Writes a section of that name, which is at most 32 bytes long.
    pub(in crate::hot) fn section(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut SectionWriter<'_, W>) -> io::Result<()>,
    ) -> io::Result<()> {
        let pad = self.at.next_multiple_of(ALIGN) - self.at;
        let zeros = [0; 4_096];
        self.put(zeros.get(..narrow(pad)).unwrap_or_default())?;
        let offset = self.at;
        let mut section = SectionWriter {
            file: self,
            sums: Vec::new(),
            open: (0, 0),
        };
        fill(&mut section)?;
        let SectionWriter { mut sums, open, .. } = section;
        if open.1 > 0 {
            sums.push(open.0);
        }
        let mut padded = [0; NAME];
        for (place, byte) in padded.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        self.table.extend_from_slice(&padded);
        self.table.extend_from_slice(&offset.to_le_bytes());
        self.table
            .extend_from_slice(&(self.at - offset).to_le_bytes());
        self.table
            .extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        self.sections += 1;
        Ok(())
    }

    /// Writes the values of a column as a section.
    ///
    /// # Errors
    /// What the writer below says.
    pub(in crate::hot) fn column<T: Pod>(
        &mut self,
        name: &str,
        values: &Column<T>,
    ) -> io::Result<()> {
        self.section(name, |section| {
            let row_sets = values.row_sets(0..values.len());
            row_sets
                .into_iter()
                .try_for_each(|piece| section.values(piece))
        })
    }

    /// Writes table and end block.
    pub(in crate::hot) fn finish(mut self) -> io::Result<W> {
        let table = std::mem::take(&mut self.table);
        let offset = self.at;
        self.put(&table)?;
        let mut end = [0; EDGE];
        let fields: [&[u8]; 6] = [
            &END_MAGIC,
            &offset.to_le_bytes(),
            &wide(table.len()).to_le_bytes(),
            &self.sections.to_le_bytes(),
            &(self.at + wide(EDGE)).to_le_bytes(),
            &crc32c::crc32c(&table).to_le_bytes(),
        ];
        let end = *sealed(&mut end, &fields);
        self.put(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += wide(bytes.len());
        Ok(())
    }
}

impl<W: Write> SectionWriter<'_, W> {
    /// Writes values one after the other.
    pub(in crate::hot) fn values<T: Pod>(&mut self, values: &[T]) -> io::Result<()> {
        self.write_all(bytemuck::cast_slice(values))
    }
}

impl<W: Write> Write for SectionWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (sum, filled) = self.open;
        let part = bytes
            .get(..bytes.len().min(BLOCK - filled))
            .unwrap_or_default();
        self.file.put(part)?;
        self.open = (crc32c::crc32c_append(sum, part), filled + part.len());
        if self.open.1 == BLOCK {
            self.sums.push(self.open.0);
            self.open = (0, 0);
            interrupt::check().map_err(io::Error::other)?;
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.out.flush()
    }
}
