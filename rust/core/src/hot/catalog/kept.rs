//! Which slots a save keeps. Slots that were removed are left out of the file, so the slots behind them
//! move up: a slot's number in the file is its position among those that are kept.

use std::io::{self, Write};
use std::ops::Range;

use bytemuck::Pod;

use super::{Slot, position};
use crate::hot::file::Writer;
use crate::hot::file::column::Column;

/// The kept slots as runs of neighbours, ascending.
#[derive(Debug)]
pub(in crate::hot) struct Kept {
    runs: Vec<Range<Slot>>,
    len: usize,
}

impl Kept {
    pub(super) fn new(runs: Vec<Range<Slot>>) -> Self {
        let len = runs.iter().map(|run| position(run.end - run.start)).sum();
        Self { runs, len }
    }

    /// How many slots are kept.
    pub(in crate::hot) fn len(&self) -> usize {
        self.len
    }

    /// The kept slots, ascending.
    pub(in crate::hot) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.runs.iter().cloned().flatten()
    }

    /// Writes the kept values of a column with one value a slot as a section.
    pub(in crate::hot) fn column<T: Pod, W: Write>(
        &self,
        out: &mut Writer<W>,
        name: &str,
        column: &Column<T>,
    ) -> io::Result<()> {
        out.section(name, |section| {
            self.runs.iter().try_for_each(|run| {
                let run = position(run.start)..position(run.end);
                column
                    .row_sets(run)
                    .into_iter()
                    .try_for_each(|piece| section.values(piece))
            })
        })
    }
}
