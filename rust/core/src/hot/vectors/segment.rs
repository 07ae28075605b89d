//! Rows that lie together: in full, and as codes of one model.
//!
//! A segment holds at most [`SEGMENT`] rows. How it is coded is decided when it has a few thousand, from
//! how their energy is spread, and again when that has moved; the next segment begins as this one ended.
//! Answers never depend on it.

use std::ops::Range;

use crate::hot::codes::basis::Basis;
use crate::hot::codes::error_bound::Slack;
use crate::hot::codes::head::{DIRECTIONS, Head, Model};
use crate::hot::codes::segment_codes::Codes;
use crate::hot::vectors::floats::{Floats, Precision};
use crate::simd::quantise::TOGETHER;
use crate::simd::{Lanes, Scanner};

/// Rows of a full segment; whole blocks.
pub(in crate::hot) const SEGMENT: usize = 1 << 16;

/// Numbers of rows at which a segment looks at how they lie.
const LOOKS: [usize; 2] = [1 << 12, 1 << 15];

/// Rows that are looked at, and values: rows of very many dimensions are fewer.
const SAMPLE: usize = 1 << 12;
const SAMPLE_VALUES: usize = 1 << 22;

/// Rows that are widened together before they are scored.
const WIDENED: usize = 8;

/// What is unseen may grow by this before a projection is fitted anew: a share, and a little.
const DRIFT: (f64, f64) = (1.25, 0.02);

/// Rows with their codes.
#[derive(Debug)]
pub(in crate::hot) struct Segment {
    dim: usize,
    /// Blocks of floats in one row.
    width: usize,
    slack: Slack,
    pub(in crate::hot) rows: Floats,
    pub(in crate::hot) count: usize,
    head: Head,
    scanner: Scanner,
    pub(in crate::hot) codes: Codes,
    scratch: Vec<Lanes>,
    /// Room for rows that are coded together.
    wide: [Vec<Lanes>; TOGETHER],
}

impl Segment {
    /// An empty segment that begins with a model; [`Model::Plain`] until there are rows to code.
    pub(in crate::hot) fn new(
        dim: usize,
        precision: Precision,
        head: Head,
        scanner: Scanner,
        model: Model,
    ) -> Self {
        Self {
            dim,
            width: dim.div_ceil(crate::simd::LANES),
            slack: Slack::of(dim),
            rows: Floats::new(precision),
            count: 0,
            head,
            scanner,
            codes: Codes::new(model, dim),
            scratch: Vec::new(),
            wide: Default::default(),
        }
    }

    /// The number of rows, holes among them.
    pub(in crate::hot) fn len(&self) -> usize {
        self.count
    }

    /// The number of rows that have codes, if the segment has any; at most a few at the end have none.
    pub(in crate::hot) fn coded(&self) -> usize {
        coded(self.count)
    }

    /// The codes, if the rows have any.
    pub(in crate::hot) fn codes(&self) -> Option<&Codes> {
        (!matches!(self.codes.model, Model::Plain)).then_some(&self.codes)
    }

    /// How its rows are coded.
    pub(in crate::hot) fn model(&self) -> &Model {
        &self.codes.model
    }

    /// Blocks of floats in one row.
    pub(in crate::hot) fn width(&self) -> usize {
        self.width
    }

    /// Bytes of a row in full.
    pub(in crate::hot) fn bytes(&self) -> usize {
        self.width * self.rows.precision().bytes()
    }

    /// Makes room for so many rows more, at once.
    pub(in crate::hot) fn reserve(&mut self, rows: usize) {
        let rows = (self.count + rows).min(SEGMENT);
        self.rows
            .reserve((rows * self.width).saturating_sub(self.rows.len()));
        self.codes.reserve(rows);
    }

    /// Adds a row, as long as there are fewer than [`SEGMENT`]. Rows are coded a few at a time.
    pub(in crate::hot) fn push(&mut self, row: &[f32]) {
        self.scratch.clear();
        Lanes::extend(&mut self.scratch, row);
        self.rows.extend(&self.scratch);
        self.count += 1;
        if !self.count.is_multiple_of(TOGETHER) {
            return;
        }
        let begins = self.head.from(self.dim, self.scanner);
        if self.codes().is_some() {
            self.encode(self.count - TOGETHER..self.count);
            if LOOKS.contains(&self.count) && self.moved() {
                let now = &self.codes.model;
                let model = self.sampled(|sample| {
                    let seen = (sample, self.count);
                    self.head.settled(now, self.dim, self.scanner, seen)
                });
                if let Some(model) = model {
                    self.recode(model);
                }
            }
        } else if begins.is_some_and(|from| from <= self.count) {
            self.begin();
        }
    }

    /// Codes the rows that are there, as the head wants it.
    pub(in crate::hot) fn begin(&mut self) {
        let count = DIRECTIONS.min(self.dim);
        let basis = || self.sampled(|sample| Basis::fit(self.scanner, self.dim, sample, count));
        let model = self.head.first(basis);
        self.recode(model);
    }

    /// Writes another row in place of one.
    pub(in crate::hot) fn replace(&mut self, at: usize, row: &[f32]) {
        let mut blocks = Vec::with_capacity(self.width);
        Lanes::extend(&mut blocks, row);
        if self.rows.set(at * self.width, &blocks) && at < self.coded() {
            self.encode(at..at + 1);
        }
    }

    /// Appends a row in full; whether it is there.
    #[inline]
    pub(in crate::hot) fn copy_row(&self, at: usize, out: &mut Vec<Lanes>) -> bool {
        self.rows.copy(self.place(at), out, self.scanner)
    }

    /// Asks for a row that is read soon.
    #[inline]
    pub(in crate::hot) fn expect(&self, at: usize) {
        let row = self.rows.bytes(self.place(at));
        self.scanner.prefetch(row.unwrap_or_default());
    }

    /// The blocks of a row.
    fn place(&self, at: usize) -> Range<usize> {
        at * self.width..(at + 1) * self.width
    }

    /// Scores rows that lie side by side; whether they are there.
    pub(in crate::hot) fn score(&self, query: &[Lanes], first: usize, out: &mut [f32]) -> bool {
        let saved = self.rows.cut() / self.width.max(1);
        let (front, back) = out.split_at_mut(saved.saturating_sub(first).min(out.len()));
        let mut start = first;
        // A few at a time, so that what they are widened into stays in the nearest cache.
        let step = match self.rows.precision() {
            Precision::Full => usize::MAX,
            Precision::Half => WIDENED,
        };
        let mut room = Vec::new();
        let parts = front.chunks_mut(step).chain(back.chunks_mut(step));
        for part in parts {
            let end = start + part.len();
            let blocks = start * self.width..end * self.width;
            let Some(blocks) = self.rows.get(blocks, &mut room, self.scanner) else {
                return false;
            };
            self.scanner.dot_rows(query, blocks, part);
            start = end;
        }
        true
    }

    /// Whether the model is not what the rows ask for, or may not be.
    fn moved(&self) -> bool {
        match (&self.codes.model, self.head) {
            (Model::Projected(basis), _) => {
                let (share, little) = DRIFT;
                self.codes.unseen > self.codes.square * (share * basis.unseen() + little)
            }
            (_, head) => head.adapts(),
        }
    }

    /// What some of the rows tell, evenly spread.
    fn sampled<T>(&self, told: impl FnOnce(&[&[Lanes]]) -> T) -> T {
        let most = SAMPLE.min(SAMPLE_VALUES / self.dim.max(1)).max(1);
        let step = self.count.div_ceil(most).max(1);
        let places = (0..self.count).step_by(step);
        let mut rooms = vec![Vec::new(); places.len()];
        let rows = places.zip(&mut rooms);
        let rows = rows.filter_map(|(at, room)| self.rows.get(self.place(at), room, self.scanner));
        told(&rows.collect::<Vec<_>>())
    }

    fn recode(&mut self, model: Model) {
        self.codes = Codes::new(model, self.dim);
        self.codes.reserve(self.count);
        self.encode(0..self.coded());
    }

    fn encode(&mut self, rows: Range<usize>) {
        for start in rows.clone().step_by(TOGETHER) {
            let end = rows.end.min(start + TOGETHER);
            let mut places = start..;
            let rows = self.wide.each_mut().map(|room| {
                let at = places.next().unwrap_or(start).min(end - 1);
                let blocks = at * self.width..(at + 1) * self.width;
                self.rows.get(blocks, room, self.scanner)
            });
            if let [Some(a), Some(b), Some(c), Some(d)] = rows {
                let (slack, scanner) = (&self.slack, self.scanner);
                self.codes
                    .put(start..end, [a, b, c, d], self.dim, slack, scanner);
            }
        }
    }
}

/// Of so many rows, those that have codes.
pub(in crate::hot) fn coded(rows: usize) -> usize {
    rows / TOGETHER * TOGETHER
}

/// The values of a row, without what pads it.
pub(in crate::hot) fn flat(row: &[Lanes], dim: usize) -> impl Iterator<Item = f32> {
    row.iter().flat_map(|block| block.0).take(dim)
}
