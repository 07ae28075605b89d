//! One bit a slot.

use std::io::{self, Write};

use super::kept::Kept;
use super::{Slot, position};
use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};

/// One bit a slot, 64 slots a word, the lowest bit first; 0 beyond the last slot.
#[derive(Debug, Default)]
pub(super) struct Bits(Column<u64>);

impl Bits {
    /// As many ones.
    pub(super) fn ones(count: usize) -> Self {
        let mut words = vec![u64::MAX; count / 64];
        if !count.is_multiple_of(64) {
            words.push((1 << (count % 64)) - 1);
        }
        Self(words.into())
    }

    pub(super) fn get(&self, slot: Slot) -> bool {
        let at = position(slot);
        self.0
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Sets the bit of a slot, or of the slot after the last one.
    pub(super) fn set(&mut self, slot: Slot, value: bool) {
        let at = position(slot);
        if at / 64 == self.0.len() {
            self.0.push(0);
        }
        let bit = 1_u64 << (at % 64);
        let word = self.0.get(at / 64).unwrap_or_default();
        let new = if value { word | bit } else { word & !bit };
        if new != word {
            self.0.set(at / 64, new);
        }
    }

    /// The words of all slots, copied. A word that is damaged is 0.
    pub(super) fn words(&self) -> Vec<u64> {
        self.0.all()
    }

    /// Clears the bits of `words` that are not set here.
    pub(super) fn mask(&self, words: &mut [u64]) {
        for (word, own) in words.iter_mut().zip(self.words()) {
            *word &= own;
        }
    }

    /// Writes the bits of the kept slots.
    pub(super) fn save<W: Write>(
        &self,
        out: &mut Writer<W>,
        name: &str,
        kept: &Kept,
    ) -> io::Result<()> {
        let mut bits = Self::default();
        for (slot, number) in kept.slots().zip(0..) {
            bits.set(number, self.get(slot));
        }
        out.section(name, |section| section.values(bits.0.grown()))
    }

    /// The saved bits of so many slots.
    pub(super) fn open(saved: &Saved, name: &str, slots: usize) -> Result<Self> {
        saved.column_of(name, slots.div_ceil(64)).map(Self)
    }
}
