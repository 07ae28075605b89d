//! Values of one type side by side, the first of which may lie in a saved index.
//!
//! ```text
//! saved ─ read where its bytes lie, never written    │ grown ─ in memory
//! 0 …                                          cut() │ cut() …            len()
//! ```
//!
//! Saved values are little-endian. They lie aligned in a file; bytes that the caller placed otherwise are
//! copied into memory when the column is made. A saved value whose block is damaged is not there: [`Column::get`] and [`Column::slice`] say
//! `None`, and the section's damage is noted. To change a saved value copies all of them into memory.

use std::ops::Range;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::hot::file::buffer::Buffer;
use crate::hot::file::section::Section;

/// Values of one type, of which the first may be saved ones.
#[derive(Debug)]
pub(in crate::hot) struct Column<T> {
    saved: Option<Section>,
    /// The number of saved values.
    cut: usize,
    grown: Buffer<T>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(grown: Vec<T>) -> Self {
        Self {
            saved: None,
            cut: 0,
            grown: grown.into(),
        }
    }
}

impl<T: Pod> Column<T> {
    /// The values of a saved section.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`] if the section is not made of whole values;
    /// [`Error::Argument`] on a big-endian machine.
    pub(in crate::hot) fn saved(section: Section) -> Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(Error::Argument {
                name: "read",
                expected: "a little-endian machine: saved indexes are little-endian".into(),
                found: "a big-endian one; rebuild the index in memory".into(),
            });
        }
        if !section.len().is_multiple_of(size_of::<T>()) {
            return Err(section.refuse("its length is not that of its values"));
        }
        if !section.is_aligned(align_of::<T>()) {
            section.verify()?;
            let mut values = vec![T::zeroed(); section.len() / size_of::<T>()];
            if let Some(bytes) = section.get(0..section.len()) {
                bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
            }
            return Ok(values.into());
        }
        Ok(Self {
            cut: section.len() / size_of::<T>(),
            saved: Some(section),
            grown: Vec::new().into(),
        })
    }

    /// The number of values.
    #[inline]
    pub(in crate::hot) fn len(&self) -> usize {
        self.cut + self.grown.len()
    }

    /// The number of saved values, which come first.
    #[inline]
    pub(in crate::hot) fn cut(&self) -> usize {
        self.cut
    }

    /// A value; `None` beyond the end, and where it is damaged.
    #[inline]
    pub(in crate::hot) fn get(&self, at: usize) -> Option<T> {
        match at.checked_sub(self.cut) {
            Some(at) => self.grown.get(at).copied(),
            None => self.saved_slice(at..at + 1)?.first().copied(),
        }
    }

    /// Values that lie side by side; `None` where the range crosses from saved ones to grown ones,
    /// ends beyond the end, or is damaged.
    #[inline]
    pub(in crate::hot) fn slice(&self, range: Range<usize>) -> Option<&[T]> {
        if range.start >= self.cut {
            self.grown
                .get(range.start - self.cut..range.end.checked_sub(self.cut)?)
        } else {
            self.saved_slice(range)
        }
    }

    /// All values, if none of them is a saved one.
    #[inline]
    pub(in crate::hot) fn in_memory(&self) -> Option<&[T]> {
        (self.cut == 0).then_some(&self.grown)
    }

    /// A range as at most two slices: what of it is saved, then what is grown. What is damaged or
    /// beyond the end is left out.
    pub(in crate::hot) fn row_sets(&self, range: Range<usize>) -> [&[T]; 2] {
        let end = range.end.min(self.len());
        let middle = self.cut.clamp(range.start.min(end), end);
        [range.start.min(end)..middle, middle..end].map(|part| self.slice(part).unwrap_or_default())
    }

    /// Adds a value.
    #[inline]
    pub(in crate::hot) fn push(&mut self, value: T) {
        self.grown.push(value);
    }

    /// Makes room for so many values more, at once.
    pub(in crate::hot) fn reserve(&mut self, more: usize) {
        self.grown.reserve(more);
    }

    /// The values that come after the saved ones.
    pub(in crate::hot) fn grown(&self) -> &[T] {
        &self.grown
    }

    /// Adds values.
    pub(in crate::hot) fn extend(&mut self, values: &[T]) {
        self.grown.extend(values);
    }

    /// A copy of all values. What is damaged becomes zeros, and the damage is noted.
    pub(in crate::hot) fn all(&self) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.cut];
        let step = (crate::hot::file::section::BLOCK / size_of::<T>().max(1)).max(1);
        for (part, start) in all.chunks_mut(step).zip((0..).step_by(step)) {
            if let Some(found) = self.saved_slice(start..start + part.len()) {
                part.copy_from_slice(found);
            }
        }
        all.extend_from_slice(&self.grown);
        all
    }

    /// All values in memory, to be changed; saved ones are copied first. What is damaged becomes
    /// zeros, and the damage is noted.
    fn make_mut(&mut self) -> &mut [T] {
        if self.cut > 0 {
            let all = self.all();
            *self = Self::from(all);
        }
        &mut self.grown
    }

    /// Values that lie side by side, to be changed; `None` beyond the end. To change a saved one copies
    /// all of them into memory.
    pub(in crate::hot) fn slice_mut(&mut self, range: Range<usize>) -> Option<&mut [T]> {
        if range.start < self.cut {
            self.make_mut();
        }
        self.grown
            .get_mut(range.start - self.cut..range.end.checked_sub(self.cut)?)
    }

    /// Adds values until there are so many.
    pub(in crate::hot) fn grow(&mut self, len: usize, value: T) {
        if len > self.len() {
            self.grown.grow(len - self.cut, value);
        }
    }

    /// Writes one value over; does nothing beyond the end.
    pub(in crate::hot) fn set(&mut self, at: usize, value: T) {
        let place = match at.checked_sub(self.cut) {
            Some(at) => self.grown.get_mut(at),
            None => self.make_mut().get_mut(at),
        };
        if let Some(place) = place {
            *place = value;
        }
    }

    #[inline]
    fn saved_slice(&self, range: Range<usize>) -> Option<&[T]> {
        let size = size_of::<T>();
        let bytes = range.start.checked_mul(size)?..range.end.checked_mul(size)?;
        bytemuck::try_cast_slice(self.saved.as_ref()?.get(bytes)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hot::file::section::{BLOCK, of};

    proptest! {
        #[test]
        fn a_column_is_a_vector(
            saved in prop::collection::vec(any::<u32>(), 0..50),
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), 0_usize..80), 0..40),
            ranges in prop::collection::vec((0_usize..120, 0_usize..120), 8),
        ) {
            let mut column = Column::<u32>::saved(of(bytemuck::cast_slice(&saved)).0).unwrap();
            let mut all = saved;
            for (push, value, at) in steps {
                if push {
                    column.push(value);
                    all.push(value);
                } else {
                    column.set(at, value);
                    if let Some(place) = all.get_mut(at) {
                        *place = value;
                    }
                }
                prop_assert_eq!(column.len(), all.len());
            }
            for (start, end) in ranges {
                prop_assert_eq!(column.get(start), all.get(start).copied());
                let range = start.min(end)..start.max(end);
                let cut = range.start..range.end.min(all.len()).max(range.start);
                let expected = all.get(cut).unwrap_or_default();
                prop_assert_eq!(column.row_sets(range.clone()).concat(), expected);
                if let Some(slice) = column.slice(range.clone()) {
                    prop_assert_eq!(Some(slice), all.get(range));
                }
            }
        }
    }

    #[test]
    fn values_out_of_place_are_copied() {
        let mut bytes = vec![0; 4];
        bytes.extend(bytemuck::cast_slice::<u64, u8>(&[1, 2, 3]));
        let section = of(&bytes).0.part(4..28);
        let column = Column::<u64>::saved(section).unwrap();
        assert_eq!((column.cut(), column.all()), (0, vec![1, 2, 3]));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert!(Column::<u64>::saved(of(&[0; 12]).0).is_err());
        assert!(Column::<u64>::saved(of(&[0; 16]).0).is_ok());
    }

    #[test]
    fn a_copy_of_damaged_values_is_noted() {
        let bytes = vec![1_u8; 2 * BLOCK];
        let (section, damage) = crate::hot::file::section::broken(bytes, BLOCK + 3);
        let mut column = Column::<u64>::saved(section).unwrap();
        assert!(column.get(0).is_some() && damage.check().is_ok());
        column.set(0, 5);
        assert!(damage.check().is_err());
    }
}
