//! Small codes of many rows, in blocks of sixty-four: what a search reads of every row.

use std::io::{self, Write};

use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};
use crate::simd::Scanner;
use crate::simd::codes::{BLOCK, Group, Margins, Packing, Panel, Terms, margin};
use crate::simd::quantise::Fit;

/// The largest factors of a block's rows: the margin of any of them is at most that of these.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Ceiling {
    error: f32,
    norm: f32,
    tail: f32,
}

/// Codes of rows with what estimates and margins are made of.
#[derive(Debug)]
pub(in crate::hot) struct Coarse {
    packing: Packing,
    /// Groups in one block.
    groups: usize,
    codes: Column<Group>,
    margins: Column<Margins>,
    ceilings: Column<Ceiling>,
}

impl Coarse {
    /// No rows yet, of vectors of `dim` values.
    pub(in crate::hot) fn new(packing: Packing, dim: usize) -> Self {
        Self {
            packing,
            groups: dim.div_ceil(packing.dimensions()),
            codes: Column::default(),
            margins: Column::default(),
            ceilings: Column::default(),
        }
    }

    /// The codes that rows are fitted with.
    pub(in crate::hot) fn packing(&self) -> Packing {
        self.packing
    }

    /// Bytes that a search reads of a row.
    pub(in crate::hot) fn bytes(&self) -> usize {
        self.groups * 4 + size_of::<Margins>() / BLOCK
    }

    /// Makes room for so many rows in all.
    pub(in crate::hot) fn reserve(&mut self, rows: usize) {
        let blocks = rows.div_ceil(BLOCK).saturating_sub(self.margins.len());
        self.codes.reserve(blocks * self.groups);
        self.margins.reserve(blocks);
        self.ceilings.reserve(blocks);
    }

    /// Writes the codes of a row, of one that is there or of the next.
    pub(in crate::hot) fn put(&mut self, row: usize, codes: &[u8], fit: &Fit, factors: [f32; 3]) {
        let (block, at) = (row / BLOCK, row % BLOCK);
        self.codes
            .grow((block + 1) * self.groups, self.packing.zeros());
        self.margins.grow(block + 1, Margins::ZERO);
        self.ceilings.grow(block + 1, Ceiling::default());
        let groups = self
            .codes
            .slice_mut(block * self.groups..(block + 1) * self.groups);
        let groups = groups.into_iter().flatten();
        let (words, _) = codes.as_chunks::<4>();
        match self.packing {
            Packing::Eight => {
                for (group, word) in groups.zip(words) {
                    if let Some(place) = group.0.as_chunks_mut::<4>().0.get_mut(at) {
                        *place = *word;
                    }
                }
            }
            Packing::Four => {
                for (group, [low, high]) in groups.zip(words.as_chunks::<2>().0) {
                    if let Some(place) = group.0.as_chunks_mut::<4>().0.get_mut(at) {
                        for ((byte, low), high) in place.iter_mut().zip(low).zip(high) {
                            *byte = low | high << 4;
                        }
                    }
                }
            }
        }
        let [error, norm, tail] = factors;
        if let Some([margins]) = self.margins.slice_mut(block..block + 1) {
            let columns = [
                (&mut margins.scale, fit.scale),
                (&mut margins.error, error),
                (&mut margins.norm, norm),
                (&mut margins.tail, tail),
            ];
            for (column, value) in columns {
                if let Some(place) = column.get_mut(at) {
                    *place = value;
                }
            }
        }
        if let Some([ceiling]) = self.ceilings.slice_mut(block..block + 1) {
            ceiling.error = ceiling.error.max(error);
            ceiling.norm = ceiling.norm.max(norm);
            ceiling.tail = ceiling.tail.max(tail);
        }
    }

    /// Writes the estimates of a block for each query; see [`Scanner::estimate`].
    pub(in crate::hot) fn estimate<const M: usize>(
        &self,
        scanner: Scanner,
        panel: &Panel<M>,
        (block, admitted): (usize, u64),
        out: &mut [[f32; BLOCK]; M],
    ) -> [f32; M] {
        let codes = block * self.groups..(block + 1) * self.groups;
        match (
            self.codes.slice(codes),
            self.margins.slice(block..block + 1),
        ) {
            (Some(codes), Some([margins])) => {
                scanner.estimate(self.packing, panel, (codes, &margins.scale), admitted, out)
            }
            _ => [f32::NEG_INFINITY; M],
        }
    }

    /// What no margin of a block exceeds.
    pub(in crate::hot) fn ceiling(&self, block: usize, terms: &Terms) -> f32 {
        self.ceilings.get(block).map_or(f32::INFINITY, |ceiling| {
            margin([ceiling.error, ceiling.norm, ceiling.tail], terms)
        })
    }

    /// Which rows of a block may score at least the floor.
    pub(in crate::hot) fn reaching(
        &self,
        scanner: Scanner,
        block: usize,
        estimates: &[f32; BLOCK],
        terms: &Terms,
        floor: f32,
    ) -> u64 {
        match self.margins.slice(block..block + 1) {
            Some([margins]) => scanner.reaching(estimates, margins, terms, floor),
            _ => u64::MAX,
        }
    }

    /// How far a row's score may be from its estimate.
    pub(in crate::hot) fn margin(&self, row: usize, terms: &Terms) -> f32 {
        let at = row % BLOCK;
        let block = row / BLOCK;
        let margins = self.margins.slice(block..block + 1).and_then(<[_]>::first);
        let factors = margins.and_then(|margins| {
            Some([
                *margins.error.get(at)?,
                *margins.norm.get(at)?,
                *margins.tail.get(at)?,
            ])
        });
        factors.map_or(f32::INFINITY, |factors| margin(factors, terms))
    }

    /// Writes its columns as sections whose names end in that.
    pub(in crate::hot) fn save<W: Write>(&self, out: &mut Writer<W>, end: &str) -> io::Result<()> {
        out.column(&format!("codes{end}"), &self.codes)?;
        out.column(&format!("margins{end}"), &self.margins)?;
        out.column(&format!("ceilings{end}"), &self.ceilings)
    }

    /// Takes its columns, for so many rows, from a saved index.
    pub(in crate::hot) fn open(&mut self, saved: &Saved, end: &str, rows: usize) -> Result<()> {
        let blocks = rows.div_ceil(BLOCK);
        self.codes = saved.column_of(&format!("codes{end}"), blocks * self.groups)?;
        self.margins = saved.column_of(&format!("margins{end}"), blocks)?;
        self.ceilings = saved.column_of(&format!("ceilings{end}"), blocks)?;
        Ok(())
    }
}
