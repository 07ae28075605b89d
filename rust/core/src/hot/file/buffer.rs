//! A growing array whose memory comes in huge pages once it is large.
//!
//! A scan reads a gigabyte in a row, and a page of four kilobytes ends after ten rows: fewer pages are fewer
//! misses of the translation cache, and fewer faults while the array grows. Where the system has no huge
//! pages to give, or no map at all, it is an array like any other.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Bytes of a huge page; a map is made of whole ones.
const HUGE: usize = 2 << 20;

/// An array of fewer bytes is not worth a huge page.
const LARGE: usize = HUGE / 2;

/// Values in memory, side by side.
#[derive(Debug)]
pub(in crate::hot) struct Buffer<T> {
    /// The values, as long as there is no map.
    small: Vec<T>,
    map: Option<MmapMut>,
    /// How many values the map has.
    mapped: usize,
}

impl<T: Pod> Buffer<T> {
    /// Makes room for so many values more, at once.
    pub(in crate::hot) fn reserve(&mut self, more: usize) {
        let bytes = |values: usize| values.saturating_mul(size_of::<T>());
        let wanted = bytes(self.len().saturating_add(more));
        let room = match &self.map {
            Some(map) => map.len(),
            None if wanted < LARGE => 0,
            None => bytes(self.small.capacity()),
        };
        if wanted < LARGE {
            self.small.reserve(more);
        } else if wanted > room || (self.map.is_none() && room < LARGE) {
            match huge(wanted.max(room.saturating_mul(2))) {
                Some(map) => self.move_to(map),
                None => self.move_back(more),
            }
        }
    }

    /// Adds values.
    pub(in crate::hot) fn extend(&mut self, values: &[T]) {
        self.reserve(values.len());
        let len = self.len();
        if self.map.is_none() {
            self.small.extend_from_slice(values);
        } else {
            self.mapped += values.len();
            if let Some(place) = self.get_mut(len..) {
                place.copy_from_slice(values);
            }
        }
    }

    /// Adds a value.
    #[inline]
    pub(in crate::hot) fn push(&mut self, value: T) {
        if self.map.is_none() && self.small.len() < self.small.capacity() {
            self.small.push(value);
        } else {
            self.extend(&[value]);
        }
    }

    /// Adds values until there are so many.
    pub(in crate::hot) fn grow(&mut self, len: usize, value: T) {
        let old = self.len();
        self.reserve(len.saturating_sub(old));
        if self.map.is_none() {
            self.small.resize(len.max(old), value);
        } else if len > old {
            self.mapped = len;
            if let Some(new) = self.get_mut(old..) {
                new.fill(value);
            }
        }
    }

    fn move_to(&mut self, mut map: MmapMut) {
        let values: &[u8] = bytemuck::cast_slice(self);
        if let Some(place) = map.get_mut(..values.len()) {
            place.copy_from_slice(values);
            self.mapped = self.len();
            self.map = Some(map);
            self.small = Vec::new();
        }
    }

    /// Goes on without a map: the system has none to give.
    fn move_back(&mut self, more: usize) {
        if self.map.is_some() {
            self.small = self.to_vec();
            self.map = None;
            self.mapped = 0;
        }
        self.small.reserve(more);
    }
}

/// Zeros, in huge pages if the system has them; none if it has no memory to map.
fn huge(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE)?).ok()?;
    ask_for_huge_pages(&map);
    Some(map)
}

/// A kernel without huge pages refuses, and gives small ones.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(map: &MmapMut) {
    _ = map.advise(memmap2::Advice::HugePage);
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: &MmapMut) {}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(small: Vec<T>) -> Self {
        Self {
            small,
            map: None,
            mapped: 0,
        }
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.map {
            None => &self.small,
            Some(map) => {
                let bytes = map.get(..self.mapped * size_of::<T>()).unwrap_or_default();
                bytemuck::try_cast_slice(bytes).unwrap_or_default()
            }
        }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.map {
            None => &mut self.small,
            Some(map) => {
                let bytes = map.get_mut(..self.mapped * size_of::<T>());
                bytemuck::try_cast_slice_mut(bytes.unwrap_or_default()).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_one_moves_to_a_map() {
        let mut buffer = Buffer::from(Vec::new());
        for value in 0..LARGE {
            buffer.push(value);
        }
        assert!(buffer.map.is_some());
        assert!(buffer.iter().copied().eq(0..LARGE));
        buffer.move_back(3);
        assert!(buffer.map.is_none() && buffer.iter().copied().eq(0..LARGE));
    }

    proptest! {
        #[test]
        fn it_is_a_vector(
            steps in prop::collection::vec((0_u8..5, 0_usize..60_000, any::<u32>()), 1..12),
        ) {
            let (mut buffer, mut vector) = (Buffer::from(Vec::new()), Vec::new());
            for (step, count, value) in steps {
                match step {
                    0 => {
                        buffer.push(value);
                        vector.push(value);
                    }
                    1 => {
                        buffer.extend(&vec![value; count]);
                        vector.extend(vec![value; count]);
                    }
                    2 => {
                        buffer.grow(count * 8, value);
                        vector.resize(vector.len().max(count * 8), value);
                    }
                    3 => buffer.reserve(count * 10),
                    _ => {
                        if let Some(place) = buffer.get_mut(count) {
                            *place = value;
                        }
                        if let Some(place) = vector.get_mut(count) {
                            *place = value;
                        }
                    }
                }
                prop_assert!(*buffer == *vector);
            }
        }
    }
}
