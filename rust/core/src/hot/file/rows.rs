//! Rows in a saved index, and what is made of them when it is opened.
//!
//! ```text
//! shape    the number of rows; 1 if row n is that of slot n and of no other, else 0; 8 bytes each
//! owners   row ─▶ slot
//! spans    slot ─▶ its first row and how many it has
//! ```
//!
//! The rows themselves, and their codes, are those of the segments: see [`crate::hot::file::segment`]. Where
//! there are holes, or slots are left out, the rows are moved together first.

use std::io::{self, Write};

use crate::error::Result;
use crate::hot::catalog::{Kept, Slot, position};
use crate::hot::codes::head::{Head, Model};
use crate::hot::file::segment;
use crate::hot::file::{Saved, Writer};
use crate::hot::vectors::floats::Precision;
use crate::hot::vectors::rows::Rows;
use crate::simd::Scanner;
use crate::simd::codes::BLOCK;

impl Rows {
    /// Writes the rows of the kept slots.
    pub(in crate::hot) fn save<W: Write>(
        &self,
        out: &mut Writer<W>,
        kept: &Kept,
    ) -> io::Result<()> {
        let slots: Vec<Slot> = kept.slots().collect();
        let as_they_are = self.holes.is_empty()
            && self.len() == self.owner.len()
            && slots.iter().zip(0..).all(|(slot, number)| *slot == number);
        if !as_they_are {
            return self.gathered(&slots, &Model::Plain).write(out, slots.len());
        }
        self.write(out, slots.len())
    }

    fn write<W: Write>(&self, out: &mut Writer<W>, slots: usize) -> io::Result<()> {
        let rows = u64::try_from(self.owner.len()).unwrap_or(u64::MAX);
        let shape = [rows, u64::from(self.plain)];
        out.section("shape", |section| section.values(&shape))?;
        out.column("owners", &self.owner)?;
        let spans: Vec<[u32; 2]> = (0..slots)
            .map(|slot| self.span.get(slot).unwrap_or_default())
            .collect();
        out.section("spans", |section| section.values(&spans))?;
        segment::save(&self.segments, out)
    }

    /// The saved rows of so many slots.
    pub(in crate::hot) fn open(
        saved: &Saved,
        dim: usize,
        precision: Precision,
        head: Head,
        scanner: Scanner,
        slots: usize,
    ) -> Result<Self> {
        let shape = saved.column_of::<u64>("shape", 2)?;
        let rows = shape.get(0).and_then(|rows| u32::try_from(rows).ok());
        let plain = shape.get(1) == Some(1);
        saved.damage().check()?;
        let rows = position(rows.ok_or_else(|| saved.lacks("shape"))?);
        let mut opened = Self::new(dim, precision, head, scanner);
        opened.segments = segment::open(saved, dim, precision, head, scanner, rows)?;
        opened.owner = saved.column_of("owners", rows)?;
        opened.span = saved.column_of("spans", slots)?;
        let mut living = vec![u64::MAX; rows.div_ceil(BLOCK)];
        if let (Some(last), odd @ 1..) = (living.last_mut(), rows % BLOCK) {
            *last >>= BLOCK - odd;
        }
        opened.living = living;
        opened.shared = !plain;
        opened.plain = plain;
        Ok(opened)
    }
}
