//! Header and end block: their constants, fields and checksums.

use std::ops::Range;

pub(super) const MAGIC: [u8; 8] = *b"wshot\0\0\0";
pub(super) const END_MAGIC: [u8; 8] = *b"wshotend";
pub(super) const MAJOR: u16 = 1;
pub(super) const MINOR: u16 = 0;
/// The length of the header and of the end block.
pub(super) const EDGE: usize = 64;
pub(super) const NAME: usize = 32;
pub(super) const ALIGN: u64 = 4_096;

/// Fills a block with fields and ends it with the checksum of what is before.
pub(super) fn sealed<'a>(block: &'a mut [u8; EDGE], fields: &[&[u8]]) -> &'a [u8; EDGE] {
    let values = fields.iter().copied().flatten();
    for (place, byte) in block.iter_mut().zip(values) {
        *place = *byte;
    }
    if let Some((front, sum)) = block.split_last_chunk_mut::<4>() {
        *sum = crc32c::crc32c(front).to_le_bytes();
    }
    block
}

pub(super) fn is_sealed(block: &[u8]) -> bool {
    block.len() == EDGE
        && block
            .split_last_chunk::<4>()
            .is_some_and(|(front, sum)| crc32c::crc32c(front).to_le_bytes() == *sum)
}

pub(super) fn span(offset: u64, length: u64) -> Option<Range<usize>> {
    let end = offset.checked_add(length)?;
    Some(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
}

pub(super) fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

pub(super) fn narrow(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// Little-endian fields, read one after the other.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
