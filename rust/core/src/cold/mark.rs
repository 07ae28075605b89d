//! The mark: what recovery knew before it took bytes away, so that the next open knows it as well.
//!
//! That a damaged record was acknowledged is known from the headers behind it, and that an id was
//! given from the header that carries it. A cut can take the last of these away. Then the next open
//! would take the damage for a torn tail, and cut what is intact behind it, or give an id again. So
//! the mark is made durable before each cut. A store that never lost anything has none.

use std::io;

use crate::error::Result;

use super::bytes::Fields;
use super::format::{MARK, MARK_NEW, TORN};
use super::medium::{Medium, read_full, refused, write_full};

/// What holds for the whole store, for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Ids up to this one were acknowledged.
    pub(super) durable: u64,
    /// Ids below this one may have been given.
    pub(super) next_seq: u64,
}

impl Mark {
    /// The mark of a store. A damaged one is as good as none: it only ever guards against a second
    /// failure.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn read(medium: &dyn Medium) -> Result<Self> {
        let mut bytes = [0; 20];
        let read = match medium.open(MARK) {
            Ok(file) => read_full(&*file, &mut bytes, 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        };
        read.map_err(|error| refused("read", &medium.path(MARK), error))?;
        Ok(Self::decode(&bytes).unwrap_or_default())
    }

    /// Raises the mark of a store to this one, durably and in one step.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn raise(self, medium: &dyn Medium) -> Result<()> {
        let before = Self::read(medium)?;
        let mark = Self {
            durable: self.durable.max(before.durable),
            next_seq: self.next_seq.max(before.next_seq),
        };
        if mark == before {
            return Ok(());
        }
        mark.write(medium)
            .map_err(|error| refused("write", &medium.path(MARK), error))
    }

    fn write(self, medium: &dyn Medium) -> io::Result<()> {
        medium.make_dir(TORN)?;
        match medium.remove(MARK_NEW) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = medium.create(MARK_NEW)?;
        write_full(&*file, &self.encode(), 0)?;
        file.sync_data()?;
        drop(file);
        medium.rename(MARK_NEW, MARK)?;
        medium.sync_dir(TORN)?;
        medium.sync_dir("")
    }

    fn encode(self) -> Vec<u8> {
        let fields = [self.durable.to_le_bytes(), self.next_seq.to_le_bytes()].concat();
        let crc = crc32c::crc32c(&fields).to_le_bytes();
        [&fields[..], &crc].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, crc) = bytes.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        let mark = Self {
            durable: fields.u64()?,
            next_seq: fields.u64()?,
        };
        (u32::from_le_bytes(*crc) == crc32c::crc32c(covered)).then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::Ram;

    #[test]
    fn a_mark_only_rises_and_a_damaged_one_is_none() {
        let ram = Ram::new();
        let mark = |durable, next_seq| Mark { durable, next_seq };
        assert_eq!(Mark::read(&ram).unwrap(), Mark::default());
        mark(3, 9).raise(&ram).unwrap();
        mark(5, 7).raise(&ram).unwrap();
        assert_eq!(Mark::read(&ram).unwrap(), mark(5, 9));
        let healthy = ram.read(MARK).unwrap();
        for at in 0..healthy.len() {
            let mut bytes = healthy.clone();
            bytes[at] ^= 0x10;
            ram.write(MARK, bytes);
            assert_eq!(Mark::read(&ram).unwrap(), Mark::default());
        }
    }
}
