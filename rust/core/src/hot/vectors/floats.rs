//! The values of rows, one row after the other, in full or in half precision.
//!
//! Rows are always compared as 32-bit floats: those in half precision are widened first, which is exact. So
//! an answer over them is that of a full scan over the values that they have.

use std::io::{self, Write};
use std::ops::Range;

use half::f16;

use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};
use crate::simd::{Halves, Lanes, Scanner};

/// How exactly the values of rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits, as they were given.
    Full,
    /// 16 bits: rounded to the nearest value, ties to even.
    Half,
}

/// What no value in half precision may exceed.
pub(in crate::hot) const MOST_HALF: f32 = f16::MAX.to_f32_const();

/// Blocks of values.
#[derive(Debug)]
pub(in crate::hot) enum Floats {
    Full(Column<Lanes>),
    Half(Column<Halves>),
}

impl Precision {
    /// Bytes of a block.
    pub(in crate::hot) fn bytes(self) -> usize {
        match self {
            Self::Full => size_of::<Lanes>(),
            Self::Half => size_of::<Halves>(),
        }
    }

    /// What sections of a saved index that have such rows are called.
    fn name(self) -> &'static str {
        match self {
            Self::Full => "rows",
            Self::Half => "halves",
        }
    }
}

impl Floats {
    /// No rows yet.
    pub(in crate::hot) fn new(precision: Precision) -> Self {
        match precision {
            Precision::Full => Self::Full(Column::default()),
            Precision::Half => Self::Half(Column::default()),
        }
    }

    pub(in crate::hot) fn precision(&self) -> Precision {
        match self {
            Self::Full(_) => Precision::Full,
            Self::Half(_) => Precision::Half,
        }
    }

    /// The number of blocks.
    pub(in crate::hot) fn len(&self) -> usize {
        match self {
            Self::Full(blocks) => blocks.len(),
            Self::Half(blocks) => blocks.len(),
        }
    }

    /// The number of saved blocks, which come first.
    pub(in crate::hot) fn cut(&self) -> usize {
        match self {
            Self::Full(blocks) => blocks.cut(),
            Self::Half(blocks) => blocks.cut(),
        }
    }

    /// Makes room for so many blocks more, at once.
    pub(in crate::hot) fn reserve(&mut self, more: usize) {
        match self {
            Self::Full(blocks) => blocks.reserve(more),
            Self::Half(blocks) => blocks.reserve(more),
        }
    }

    /// Adds blocks.
    pub(in crate::hot) fn extend(&mut self, row: &[Lanes]) {
        match self {
            Self::Full(blocks) => blocks.extend(row),
            Self::Half(blocks) => row.iter().for_each(|block| blocks.push(Halves::of(block))),
        }
    }

    /// Writes blocks over; whether there are so many.
    pub(in crate::hot) fn set(&mut self, first: usize, row: &[Lanes]) -> bool {
        let range = first..first + row.len();
        match self {
            Self::Full(blocks) => blocks.slice_mut(range).map(|place| {
                place.copy_from_slice(row);
            }),
            Self::Half(blocks) => blocks.slice_mut(range).map(|place| {
                for (place, block) in place.iter_mut().zip(row) {
                    *place = Halves::of(block);
                }
            }),
        }
        .is_some()
    }

    /// Blocks that lie side by side, where they lie or widened into `room`. `None` where the range crosses
    /// from saved ones to others, ends beyond the end, or is damaged.
    #[inline]
    pub(in crate::hot) fn get<'a>(
        &'a self,
        range: Range<usize>,
        room: &'a mut Vec<Lanes>,
        scanner: Scanner,
    ) -> Option<&'a [Lanes]> {
        match self {
            Self::Full(blocks) => blocks.slice(range),
            Self::Half(blocks) => {
                let blocks = blocks.slice(range)?;
                room.clear();
                scanner.widen(blocks, room);
                Some(room)
            }
        }
    }

    /// Appends what [`Floats::get`] finds; whether there is anything.
    #[inline]
    pub(in crate::hot) fn copy(
        &self,
        range: Range<usize>,
        out: &mut Vec<Lanes>,
        scanner: Scanner,
    ) -> bool {
        match self {
            Self::Full(blocks) => blocks
                .slice(range)
                .map(|blocks| out.extend_from_slice(blocks)),
            Self::Half(blocks) => blocks.slice(range).map(|blocks| scanner.widen(blocks, out)),
        }
        .is_some()
    }

    /// The bytes of blocks that lie side by side.
    #[inline]
    pub(in crate::hot) fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        match self {
            Self::Full(blocks) => blocks.slice(range).map(bytemuck::cast_slice),
            Self::Half(blocks) => blocks.slice(range).map(bytemuck::cast_slice),
        }
    }

    /// Writes the rows of a segment, whose sections' names end so.
    pub(in crate::hot) fn save<W: Write>(&self, out: &mut Writer<W>, end: &str) -> io::Result<()> {
        let name = format!("{}{end}", self.precision().name());
        match self {
            Self::Full(blocks) => out.column(&name, blocks),
            Self::Half(blocks) => out.column(&name, blocks),
        }
    }

    /// The saved rows of a segment, as many blocks as told.
    ///
    /// # Errors
    /// [`crate::Error::IndexDamaged`] if they are not there, or of another precision.
    pub(in crate::hot) fn open(
        saved: &Saved,
        end: &str,
        precision: Precision,
        blocks: usize,
    ) -> Result<Self> {
        let name = format!("{}{end}", precision.name());
        Ok(match precision {
            Precision::Full => Self::Full(saved.column_of(&name, blocks)?),
            Precision::Half => Self::Half(saved.column_of(&name, blocks)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::LANES;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn half_precision_keeps_the_nearest_value_and_gives_it_back(
            values in prop::collection::vec(-MOST_HALF..MOST_HALF, 1..80),
            small in prop::collection::vec(-1e-3_f32..1e-3, 1..80),
        ) {
            let values: Vec<f32> = values.into_iter().chain(small).collect();
            let mut row = Vec::new();
            Lanes::extend(&mut row, &values);
            let scanner = Scanner::best();
            let mut floats = Floats::new(Precision::Half);
            floats.extend(&row);
            floats.extend(&row);
            prop_assert_eq!(floats.len(), 2 * row.len());
            let mut room = vec![Lanes::ZERO; 3];
            let found = floats.get(row.len()..2 * row.len(), &mut room, scanner).unwrap();
            let found: &[f32] = bytemuck::cast_slice(found);
            for (value, found) in values.iter().zip(found) {
                prop_assert_eq!(f16::from_f32(*value).to_f32().to_bits(), found.to_bits());
            }
            prop_assert!(found[values.len()..].iter().all(|value| *value == 0.0));
            let mut copied = vec![Lanes([7.0; LANES])];
            prop_assert!(floats.copy(0..row.len(), &mut copied, scanner));
            prop_assert_eq!(&copied[..1], &[Lanes([7.0; LANES])][..]);
            prop_assert_eq!(bytemuck::cast_slice::<_, f32>(&copied[1..]), found);
            prop_assert!(floats.set(0, &vec![Lanes([1.0; LANES]); row.len()]));
            prop_assert!(!floats.set(row.len() + 1, &row));
            let mut room = Vec::new();
            let ones = floats.get(0..1, &mut room, scanner);
            prop_assert_eq!(ones, Some(&[Lanes([1.0; LANES])][..]));
            prop_assert_eq!(floats.bytes(0..2 * row.len()).unwrap().len(), row.len() * 64);
            prop_assert!(!floats.copy(0..2 * row.len() + 1, &mut copied, scanner));
            prop_assert_eq!(copied.len(), row.len() + 1);
        }
    }
}
