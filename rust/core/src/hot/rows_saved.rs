//! Rows in a saved index, and what is made of them when it was opened.
//!
//! ```text
//! rows     f32, each row padded to whole blocks of sixteen; in the order of slots
//! shape    the number of rows; 1 if row n is that of slot n and of no other, else 0; 8 bytes each
//! owners   row ─▶ slot
//! spans    slot ─▶ its first row and how many it has
//! ```

use std::io::{self, Write};
use std::ops::Range;
use std::sync::OnceLock;

use super::catalog::Kept;
use super::head::Head;
use super::rows::Rows;
use super::saved::{Saved, Writer};
use crate::error::Result;
use crate::simd::Scanner;

impl Rows {
    /// Writes the rows of the kept slots.
    pub(super) fn save<W: Write>(&self, out: &mut Writer<W>, kept: &Kept) -> io::Result<()> {
        let mut owners = Vec::with_capacity(kept.len());
        let mut spans = Vec::with_capacity(kept.len());
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (slot, number) in kept.slots().zip(0..) {
            let rows = self.span_of(slot);
            let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            spans.push([narrow(owners.len()), narrow(rows.len())]);
            owners.extend(rows.clone().map(|_| number));
            match runs.last_mut() {
                Some(last) if last.end == rows.start => last.end = rows.end,
                _ => runs.push(rows),
            }
        }
        out.section("rows", |section| {
            runs.iter().try_for_each(|rows| {
                let blocks = rows.start * self.width..rows.end * self.width;
                let pieces = self.blocks.pieces(blocks);
                pieces
                    .into_iter()
                    .try_for_each(|piece| section.values(piece))
            })
        })?;
        let plain = spans.iter().zip(0..).all(|(span, at)| *span == [at, 1]);
        let shape = [
            u64::try_from(owners.len()).unwrap_or(u64::MAX),
            u64::from(plain),
        ];
        out.section("shape", |section| section.values(&shape))?;
        out.section("owners", |section| section.values(&owners))?;
        out.section("spans", |section| section.values(&spans))
    }

    /// The saved rows of so many slots.
    pub(super) fn open(
        saved: &Saved,
        dim: usize,
        head: Head,
        scanner: Scanner,
        slots: usize,
    ) -> Result<Self> {
        let empty = Self::with_head(dim, head, scanner);
        let shape = saved.column_of::<u64>("shape", 2)?;
        let rows = shape.get(0).and_then(|rows| usize::try_from(rows).ok());
        let plain = shape.get(1) == Some(1);
        saved.damage().check()?;
        let rows = rows.unwrap_or(usize::MAX);
        Ok(Self {
            blocks: saved.column_of("rows", rows.saturating_mul(empty.width))?,
            owner: saved.column_of("owners", rows)?,
            span: saved.column_of("spans", slots)?,
            shared: !plain,
            plain,
            head: OnceLock::new(),
            ..empty
        })
    }
}
