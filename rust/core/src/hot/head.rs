//! Eight-bit codes of all rows: a quarter of the bytes of the rows, read first. What they are worth is
//! derived in [`super::margin`].

use super::margin::{Slack, fit};
use crate::simd::codes::{BLOCK, Group, Margins, Panel, Terms, estimate};
use crate::simd::{Lanes, Scanner};

/// Fewer dimensions than this get no codes by themselves.
const DIM_FROM: usize = 32;

/// Fewer rows than this are scanned in full, and so are fewer than so many times k.
const ROWS_FROM: usize = 256;
const ROWS_FROM_TIMES_K: usize = 8;

/// What is kept beside the rows so that fewer bytes are read. It changes the time of an answer and
/// never the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// Codes where they have been seen to pay: by dimension, instruction set, number of rows and k.
    #[default]
    Auto,
    /// The rows alone: every search reads them in full.
    Plain,
    /// Eight-bit codes, and every search begins with them.
    Int8,
}

impl Head {
    /// Whether codes are kept.
    pub(super) fn codes(self, dim: usize, scanner: Scanner) -> bool {
        match self {
            Self::Auto => dim >= DIM_FROM && scanner.has_codes(),
            Self::Plain => false,
            Self::Int8 => true,
        }
    }

    /// Whether to ask `rows` rows for the best `k` by their codes first.
    pub(super) fn pays(self, rows: usize, k: usize) -> bool {
        self == Self::Int8 || rows >= ROWS_FROM.max(k.saturating_mul(ROWS_FROM_TIMES_K))
    }
}

/// The codes of all rows, in their order.
#[derive(Debug)]
pub(super) struct Int8 {
    dim: usize,
    slack: Slack,
    /// Groups of four dimensions in a row.
    groups: usize,
    codes: Vec<Group>,
    margins: Vec<Margins>,
    rows: usize,
}

impl Int8 {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            dim,
            slack: Slack::of(dim),
            groups: dim.div_ceil(4),
            codes: Vec::new(),
            margins: Vec::new(),
            rows: 0,
        }
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.margins.len()
    }

    /// Makes room for so many rows more, at once.
    pub(super) fn reserve(&mut self, rows: usize) {
        let blocks = (self.rows + rows)
            .div_ceil(BLOCK)
            .saturating_sub(self.margins.len());
        self.codes.reserve(blocks * self.groups);
        self.margins.reserve(blocks);
    }

    /// Adds the codes of one more row.
    pub(super) fn push(&mut self, row: &[f32]) {
        let at = self.rows % BLOCK;
        if at == 0 {
            self.codes
                .resize(self.codes.len() + self.groups, Group::ZERO);
            self.margins.push(Margins::ZERO);
        }
        self.rows += 1;
        let mut codes = vec![[0_u8; 4]; self.groups];
        let fit = fit(row, codes.as_flattened_mut());
        let start = self.codes.len() - self.groups;
        for (group, code) in self.codes.iter_mut().skip(start).zip(codes) {
            if let Some(place) = group.0.as_chunks_mut::<4>().0.get_mut(at) {
                *place = code;
            }
        }
        let (error, norm) = self.slack.margin(&fit);
        if let Some(margins) = self.margins.last_mut()
            && let (Some(scale_at), Some(error_at), Some(norm_at)) = (
                margins.scale.get_mut(at),
                margins.error.get_mut(at),
                margins.norm.get_mut(at),
            )
        {
            (*scale_at, *error_at, *norm_at) = (fit.scale, error, norm);
        }
    }

    /// The codes of several queries. Where there are fewer than `M`, the rest are zeros.
    pub(super) fn panel<const M: usize>(&self, queries: [&[Lanes]; M]) -> Panel<M> {
        let mut words = vec![[0_i32; M]; self.groups];
        let mut codes = vec![[0_u8; 4]; self.groups];
        let mut at = 0..;
        let terms = queries.map(|query| {
            let place = at.next().unwrap_or(0);
            let values: Vec<f32> = query
                .iter()
                .flat_map(|block| block.0)
                .take(self.dim)
                .collect();
            codes.fill([128; 4]);
            let fit = fit(&values, codes.as_flattened_mut());
            let mut sum = 0_i32;
            for (word, code) in words.iter_mut().zip(&codes) {
                let signed = code.map(|byte| byte.wrapping_sub(128));
                sum += signed
                    .map(|byte| i32::from(byte.cast_signed()))
                    .iter()
                    .sum::<i32>();
                if let Some(word) = word.get_mut(place) {
                    *word = i32::from_le_bytes(signed);
                }
            }
            self.slack.terms(&fit, sum)
        });
        Panel { words, terms }
    }

    /// Which rows of a block may score at least the floor, for each query; their sums in `sums`.
    pub(super) fn screen<const M: usize>(
        &self,
        scanner: Scanner,
        panel: &Panel<M>,
        block: usize,
        floors: &[f32; M],
        sums: &mut [[i32; BLOCK]; M],
    ) -> [u64; M] {
        let codes = block * self.groups..(block + 1) * self.groups;
        match (self.codes.get(codes), self.margins.get(block)) {
            (Some(codes), Some(margins)) => scanner.screen(panel, codes, margins, floors, sums),
            _ => [0; M],
        }
    }

    /// The bounds of one row's score, the lower one first.
    pub(super) fn bounds(&self, terms: &Terms, row: usize, sum: i32) -> (f32, f32) {
        let at = row % BLOCK;
        let factors = self.margins.get(row / BLOCK).and_then(|margins| {
            Some([
                *margins.scale.get(at)?,
                *margins.error.get(at)?,
                *margins.norm.get(at)?,
            ])
        });
        let (score, margin) = estimate(sum, factors.unwrap_or([0.0; 3]), terms);
        (score - margin, score + margin)
    }
}
