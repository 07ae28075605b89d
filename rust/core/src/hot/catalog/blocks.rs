//! What is known of 4,096 slots together, so that a filter need not look at each.

use std::io::{self, Write};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::kept::Kept;
use super::labels::LabelColumns;
use super::position;
use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};
use crate::hot::filter::{Filter, Labels};

/// The slots of a block.
pub(super) const SLOTS: usize = 4_096;

/// Bounds of the labels of a block. Slots that were removed still count.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Block {
    at: [i64; 2],
    /// One bit a kind: its number modulo 64.
    kinds: u64,
    roles: u64,
    tenant: [u32; 2],
    conversation: [u32; 2],
}

impl Block {
    const EMPTY: Self = Self {
        at: [i64::MAX, i64::MIN],
        kinds: 0,
        roles: 0,
        tenant: [u32::MAX, 0],
        conversation: [u32::MAX, 0],
    };

    fn add(&mut self, labels: &Labels) {
        widen(&mut self.at, labels.at);
        widen(&mut self.tenant, labels.tenant);
        widen(&mut self.conversation, labels.conversation);
        self.kinds |= bit(labels.kind);
        self.roles |= bit(labels.role);
    }

    /// Whether an entry of the block may pass.
    fn may(&self, filter: &Filter) -> bool {
        let within = |of: [u32; 2], wanted: Option<u32>| {
            wanted.is_none_or(|wanted| (of[0]..=of[1]).contains(&wanted))
        };
        let among = |mask: u64, wanted: &Option<Vec<u16>>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.iter().any(|one| mask & bit(*one) != 0))
        };
        within(self.tenant, filter.tenant)
            && within(self.conversation, filter.conversation)
            && among(self.kinds, &filter.kinds)
            && among(self.roles, &filter.roles)
            && filter.since.is_none_or(|since| self.at[1] >= since)
            && filter.before.is_none_or(|before| self.at[0] < before)
    }
}

/// The blocks of all slots.
#[derive(Debug, Default)]
pub(super) struct Blocks(Column<Block>);

impl Blocks {
    /// Counts the next slot in.
    pub(super) fn push(&mut self, at: usize, labels: &Labels) {
        if at.is_multiple_of(SLOTS) {
            self.0.push(Block::EMPTY);
        }
        let mut last = self.0.get(at / SLOTS).unwrap_or(Block::EMPTY);
        last.add(labels);
        self.0.set(at / SLOTS, last);
    }

    /// Clears the bits of all slots that do not pass; `words` has one bit a slot. The parts of the
    /// filter that name ids are not looked at, nor what is live.
    pub(super) fn narrow(&self, filter: &Filter, labels: &LabelColumns, words: &mut [u64]) {
        for (at, words) in words.chunks_mut(SLOTS / 64).enumerate() {
            match self.0.get(at).filter(|block| block.may(filter)) {
                Some(block) => look(&block, filter, labels, at * SLOTS, words),
                None => words.fill(0),
            }
        }
    }

    /// Writes the blocks of the kept slots.
    pub(super) fn save<W: Write>(
        out: &mut Writer<W>,
        labels: &LabelColumns,
        kept: &Kept,
    ) -> io::Result<()> {
        let mut blocks = Self::default();
        let all = kept
            .slots()
            .filter_map(|slot| labels.get(position(slot), true));
        for (at, labels) in all.enumerate() {
            blocks.push(at, &labels);
        }
        out.section("blocks", |section| section.values(blocks.0.grown()))
    }

    /// The saved blocks of so many slots.
    pub(super) fn open(saved: &Saved, slots: usize) -> Result<Self> {
        saved.column_of("blocks", slots.div_ceil(SLOTS)).map(Self)
    }
}

/// Looks at the slots of a block from `start` on, as far as its bounds leave anything open.
fn look(block: &Block, filter: &Filter, labels: &LabelColumns, start: usize, words: &mut [u64]) {
    if let Some(wanted) = filter.tenant.filter(|_| block.tenant[0] != block.tenant[1]) {
        keep(&labels.tenant, start, words, |tenant| tenant == wanted);
    }
    let several = block.conversation[0] != block.conversation[1];
    if let Some(wanted) = filter.conversation.filter(|_| several) {
        keep(&labels.conversation, start, words, |own| own == wanted);
    }
    if let Some(since) = filter.since.filter(|since| block.at[0] < *since) {
        keep(&labels.at, start, words, |at| at >= since);
    }
    if let Some(before) = filter.before.filter(|before| block.at[1] >= *before) {
        keep(&labels.at, start, words, |at| at < before);
    }
    for (column, wanted) in [(&labels.kind, &filter.kinds), (&labels.role, &filter.roles)] {
        match wanted.as_deref() {
            None => {}
            Some([wanted]) => keep(column, start, words, |own| own == *wanted),
            Some(wanted) => keep(column, start, words, |own| wanted.contains(&own)),
        }
    }
}

/// Keeps the bits of values that pass. A value that is damaged does not.
fn keep<T: Pod>(column: &Column<T>, start: usize, words: &mut [u64], pass: impl Fn(T) -> bool) {
    let end = column.len().min(start + words.len() * 64);
    if let Some(values) = column.slice(start..end) {
        let (whole, rest) = values.as_chunks::<64>();
        let parts = whole.iter().map(<[T; 64]>::as_slice).chain([rest]);
        for (word, values) in words.iter_mut().zip(parts) {
            if *word != 0 {
                *word &= bits(values, &pass);
            }
        }
        return;
    }
    // The block begins with saved values and ends with grown ones.
    for (word, start) in words.iter_mut().zip((start..).step_by(64)) {
        let values: Range<usize> = start..end.min(start + 64);
        *word &= values
            .zip(0_u32..)
            .filter(|(at, _)| column.get(*at).is_some_and(&pass))
            .fold(0, |mask, (_, at)| mask | 1 << at);
    }
}

/// One bit for each of at most 64 values: whether it passes.
fn bits<T: Pod>(values: &[T], pass: impl Fn(T) -> bool) -> u64 {
    let mut bytes = [0_u8; 64];
    for (byte, value) in bytes.iter_mut().zip(values) {
        *byte = u8::from(pass(*value));
    }
    let mut word = [0_u8; 8];
    for (bits, bytes) in word.iter_mut().zip(bytes.as_chunks::<8>().0) {
        // Each byte is 0 or 1; the product has byte i at bit 56 + i, and no two terms meet.
        let spread = u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080);
        [.., *bits] = spread.to_le_bytes();
    }
    u64::from_le_bytes(word)
}

fn widen<T: Copy + Ord>(bounds: &mut [T; 2], value: T) {
    *bounds = [bounds[0].min(value), bounds[1].max(value)];
}

fn bit(number: u16) -> u64 {
    1 << (number % 64)
}
