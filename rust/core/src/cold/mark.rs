//! The mark: how far the store is acknowledged, for other processes now and for the next open.
//!
//! It is written after each batch and synced only at times, so it may lag behind, but it never says
//! more than is so: a record that it calls durable was synced before. It tells a torn tail from
//! damage where nothing behind a record testifies to it, and it tells every handle, by one number,
//! whether anything has changed. A store whose mark is lost is opened without, and gets a new one.

use std::io;
use std::sync::{Arc, OnceLock};

use super::format::MARK;
use super::format::bytes::{Fields, wide};
use super::map::Map;
use super::medium::{Access, Medium, MediumFile, read_file, read_full, write_full};

const MAGIC: [u8; 8] = *b"wsmark\0\0";
const LEN: usize = 88;
/// Where the second slot lies: in another 512-byte sector than the first.
const SECOND: u64 = 512;
/// The file's length.
const FILE: usize = 600;
/// Where the count lies in a slot.
const COUNT: u64 = 8;

/// How far a store is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Grows with each change.
    pub(super) count: u64,
    /// Grows when segments are replaced, cut or lost.
    pub(super) generation: u64,
    /// The last segment.
    pub(super) segment: u64,
    /// Where its acknowledged bytes end.
    pub(super) end: u64,
    /// Ids below this one may have been given.
    pub(super) next_seq: u64,
    /// Ids up to this one were synced.
    pub(super) durable: u64,
    /// A segment that nobody may write on any more; 0 for none.
    pub(super) tainted: u64,
}

impl Mark {
    /// The store that a whole slot is of.
    fn owner(slot: &[u8]) -> Option<[u8; 16]> {
        let mut fields = Fields::new(slot);
        let (_magic, _count): ([u8; 8], u64) = (fields.array()?, fields.u64()?);
        let uuid = fields.array()?;
        Self::decode(slot, uuid).map(|_| uuid)
    }

    fn encode(&self, uuid: [u8; 16]) -> Vec<u8> {
        let mut out = Vec::with_capacity(LEN);
        out.extend(MAGIC);
        out.extend(self.count.to_le_bytes());
        out.extend(uuid);
        for field in [
            self.generation,
            self.segment,
            self.end,
            self.next_seq,
            self.durable,
            self.tainted,
        ] {
            out.extend(field.to_le_bytes());
        }
        out.resize(LEN - 4, 0);
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    pub(super) fn decode(slot: &[u8], uuid: [u8; 16]) -> Option<Self> {
        let (covered, crc) = slot.get(..LEN)?.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        if fields.array()? != MAGIC || u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
            return None;
        }
        let count = fields.u64()?;
        (fields.array()? == uuid).then_some(())?;
        Some(Self {
            count,
            generation: fields.u64()?,
            segment: fields.u64()?,
            end: fields.u64()?,
            next_seq: fields.u64()?,
            durable: fields.u64()?,
            tainted: fields.u64()?,
        })
    }
}

/// The file of a store's mark.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: Arc<dyn MediumFile>,
    uuid: [u8; 16],
    map: OnceLock<Option<Map>>,
    /// Whether the count may be read through a map.
    mapped: bool,
}

impl MarkFile {
    /// The mark of a store; `None` if it has none, or not a whole file.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn open(
        medium: &dyn Medium,
        uuid: [u8; 16],
        access: Access,
        mapped: bool,
    ) -> io::Result<Option<Self>> {
        let file = match medium.open(MARK, access) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if file.len()? < wide(FILE) {
            return Ok(None);
        }
        Ok(Some(Self {
            file,
            uuid,
            map: OnceLock::new(),
            mapped,
        }))
    }

    /// The uuid of the store whose mark lies here, for where no segment tells it any more.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn owner(medium: &dyn Medium) -> io::Result<Option<[u8; 16]>> {
        let bytes = read_file(medium, MARK, wide(FILE))?.unwrap_or_default();
        let slot = |at: u64| bytes.get(super::format::bytes::narrow(at)..);
        Ok([0, SECOND]
            .into_iter()
            .find_map(|at| Mark::owner(slot(at)?)))
    }

    /// A mark for a store that has none, or a broken one, durably.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn create(
        medium: &dyn Medium,
        uuid: [u8; 16],
        mark: &Mark,
        mapped: bool,
    ) -> io::Result<Self> {
        let file = match medium.create(MARK) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                medium.open(MARK, Access::Write)?
            }
            other => other?,
        };
        let mut bytes = vec![0; FILE];
        for at in [0, super::format::bytes::narrow(SECOND)] {
            if let Some(slot) = bytes.get_mut(at..at + LEN) {
                slot.copy_from_slice(&mark.encode(uuid));
            }
        }
        write_full(&*file, &bytes, 0)?;
        file.sync_data()?;
        medium.sync_dir("")?;
        Ok(Self {
            file,
            uuid,
            map: OnceLock::new(),
            mapped,
        })
    }

    /// The count, and nothing else: whether anything has changed.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn count(&self) -> io::Result<u64> {
        let map = self.map.get_or_init(|| {
            let map = self.mapped.then(|| self.file.map(wide(FILE)).ok());
            map.flatten()
        });
        if let Some(map) = map {
            let word = |at| map.word(at).unwrap_or(0);
            return Ok(word(COUNT).max(word(SECOND + COUNT)));
        }
        Ok(self.read()?.map_or(0, |mark| mark.count))
    }

    /// The mark; `None` if both slots are broken.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn read(&self) -> io::Result<Option<Mark>> {
        let mut bytes = [0; FILE];
        let mut found = None;
        // A slot that is being written is not whole for a moment.
        for _ in 0..3 {
            let read = read_full(&*self.file, &mut bytes, 0)?;
            let slot = |at: u64| bytes.get(super::format::bytes::narrow(at)..read);
            let marks = [0, SECOND].map(|at| Mark::decode(slot(at)?, self.uuid));
            found = marks.into_iter().flatten().max_by_key(|mark| mark.count);
            if marks.iter().all(Option::is_some) {
                break;
            }
        }
        Ok(found)
    }

    /// Writes the mark into the slot whose turn it is. Only who holds the lock may.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn write(&self, mark: &Mark) -> io::Result<()> {
        let at = if mark.count.is_multiple_of(2) {
            0
        } else {
            SECOND
        };
        write_full(&*self.file, &mark.encode(self.uuid), at)
    }

    /// Makes the mark durable.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::Ram;

    fn mark(count: u64) -> Mark {
        Mark {
            count,
            generation: 2,
            segment: 3,
            end: 640,
            next_seq: 9,
            durable: 8,
            tainted: 0,
        }
    }

    #[test]
    fn the_latest_whole_slot_holds() {
        let ram = Ram::new();
        let uuid = [7; 16];
        let file = MarkFile::create(&ram, uuid, &mark(1), false).unwrap();
        assert_eq!(file.read().unwrap(), Some(mark(1)));
        file.write(&mark(2)).unwrap();
        file.write(&mark(3)).unwrap();
        assert_eq!(file.count().unwrap(), 3);
        let healthy = ram.read(MARK).unwrap();
        for at in 0..LEN {
            let mut bytes = healthy.clone();
            bytes[512 + at] ^= 0x10;
            ram.write(MARK, bytes.clone());
            let open = |uuid| MarkFile::open(&ram, uuid, Access::Read, false);
            let file = open(uuid).unwrap().unwrap();
            assert_eq!(file.read().unwrap(), Some(mark(2)));
            let other = open([8; 16]).unwrap().unwrap();
            assert_eq!(other.read().unwrap(), None);
            bytes[at] ^= 0x10;
            ram.write(MARK, bytes);
            let file = open(uuid).unwrap().unwrap();
            assert_eq!(file.read().unwrap(), None);
        }
    }
}
