//! Fixed-width little-endian fields, read and padded without an index that could be out of range.

/// Every structure on disk begins at a multiple of this.
const ALIGN: u64 = 8;

/// A length in memory as a length on disk, exactly: no supported platform has wider memory.
pub(in crate::cold) fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// A length on disk as a length in memory; one that memory cannot hold becomes a length that no
/// slice has, so that whatever asks for it gets nothing.
pub(in crate::cold) fn narrow(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// The next aligned offset; `None` beyond the range of offsets.
pub(in crate::cold) fn align(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGN)
}

/// A cursor over encoded fields; it yields `None` from the first field that is not whole.
pub(in crate::cold) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(in crate::cold) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(in crate::cold) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(in crate::cold) fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    pub(in crate::cold) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(in crate::cold) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(in crate::cold) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(in crate::cold) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    pub(in crate::cold) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every whole number that is left.
    pub(in crate::cold) fn all_u64(self) -> impl Iterator<Item = u64> {
        let (chunks, _) = self.0.as_chunks::<8>();
        chunks.iter().map(|chunk| u64::from_le_bytes(*chunk))
    }
}

/// Fields to fill, one after the other.
pub(in crate::cold) struct Slots<'a>(&'a mut [u8]);

impl<'a> Slots<'a> {
    pub(in crate::cold) fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    pub(in crate::cold) fn put(&mut self, field: &[u8]) -> Option<()> {
        let (slot, rest) = std::mem::take(&mut self.0).split_at_mut_checked(field.len())?;
        slot.copy_from_slice(field);
        self.0 = rest;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stop_at_the_first_that_is_not_whole() {
        let mut fields = Fields::new(&[1, 0, 2, 0, 0, 0, 9]);
        assert_eq!(fields.u16(), Some(1));
        assert_eq!(fields.u32(), Some(2));
        assert_eq!(fields.u16(), None);
        assert_eq!(fields.slice(1), Some(&[9_u8][..]));
        assert!(fields.is_empty());
    }

    #[test]
    fn offsets_align_upwards_and_never_wrap() {
        assert_eq!(align(0), Some(0));
        assert_eq!(align(1), Some(8));
        assert_eq!(align(16), Some(16));
        assert_eq!(align(u64::MAX), None);
    }
}
