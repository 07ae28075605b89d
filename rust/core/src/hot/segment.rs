//! Rows that lie together: in full, and as codes of one model.
//!
//! A segment holds at most [`SEGMENT`] rows. How it is coded is decided when it has a few thousand, from
//! how their energy is spread, and again when that has moved; the next segment begins as this one ended.
//! Answers never depend on it.

use super::basis::Basis;
use super::coarse::Coarse;
use super::column::Column;
use super::fine::Fine;
use super::head::{DIRECTIONS, Head, Model};
use super::margin::Slack;
use crate::simd::codes::{BLOCK, Packing};
use crate::simd::quantise::{Codebook, Quad};
use crate::simd::{Lanes, Scanner};

/// Rows of a full segment; whole blocks.
pub(super) const SEGMENT: usize = 1 << 16;

/// Numbers of rows at which a segment looks at how they lie.
const LOOKS: [usize; 3] = [1 << 12, 1 << 14, SEGMENT];

/// Rows that are looked at.
const SAMPLE: usize = 1 << 10;

/// What is unseen may grow by this before a projection is fitted anew: a share, and a little.
const DRIFT: (f64, f64) = (1.25, 0.02);

/// Rows with their codes.
#[derive(Debug)]
pub(super) struct Segment {
    dim: usize,
    /// Blocks of floats in one row.
    width: usize,
    slack: Slack,
    pub(super) rows: Column<Lanes>,
    pub(super) count: usize,
    head: Head,
    scanner: Scanner,
    pub(super) codes: Codes,
}

/// The codes of a segment.
#[derive(Debug)]
pub(super) struct Codes {
    pub(super) model: Model,
    pub(super) coarse: Coarse,
    pub(super) fine: Option<Fine>,
    /// The squares of the rows that were projected, and what of them was unseen.
    pub(super) square: f64,
    pub(super) unseen: f64,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    projected: Vec<Quad>,
    coarse: Vec<u8>,
    fine: Vec<u8>,
}

impl Segment {
    /// An empty segment that begins with a model; [`Model::Plain`] until there are rows to code.
    pub(super) fn new(dim: usize, head: Head, scanner: Scanner, model: Model) -> Self {
        Self {
            dim,
            width: dim.div_ceil(crate::simd::LANES),
            slack: Slack::of(dim),
            rows: Column::default(),
            count: 0,
            head,
            scanner,
            codes: Codes::new(model, dim),
        }
    }

    /// The number of rows, holes among them.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The codes, if the rows have any.
    pub(super) fn codes(&self) -> Option<&Codes> {
        (!matches!(self.codes.model, Model::Plain)).then_some(&self.codes)
    }

    /// How its rows are coded.
    pub(super) fn model(&self) -> &Model {
        &self.codes.model
    }

    /// Blocks of floats in one row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Bytes of a row in full.
    pub(super) fn bytes(&self) -> usize {
        self.width * size_of::<Lanes>()
    }

    /// Makes room for so many rows more, at once.
    pub(super) fn reserve(&mut self, rows: usize) {
        let rows = (self.count + rows).min(SEGMENT);
        self.rows
            .reserve((rows * self.width).saturating_sub(self.rows.len()));
        self.codes.reserve(rows);
    }

    /// Adds a row, as long as there are fewer than [`SEGMENT`].
    pub(super) fn push(&mut self, row: &[f32]) {
        Lanes::extend(self.rows.grown(), row);
        let at = self.count;
        self.count += 1;
        self.encode(at);
        let begins = self.head.from(self.dim, self.scanner) == Some(self.count);
        if begins && self.codes().is_none() {
            self.begin();
        } else if LOOKS.contains(&self.count) && self.codes().is_some() && self.moved() {
            let model = self
                .head
                .settled(&self.codes.model, self.dim, || self.basis());
            if let Some(model) = model {
                self.recode(model);
            }
        }
    }

    /// Codes the rows that are there, as the head wants it.
    pub(super) fn begin(&mut self) {
        let model = self.head.first(|| self.basis());
        self.recode(model);
    }

    /// Writes another row in place of one.
    pub(super) fn replace(&mut self, at: usize, row: &[f32]) {
        let mut blocks = Vec::with_capacity(self.width);
        Lanes::extend(&mut blocks, row);
        if let Some(place) = self.rows.slice_mut(at * self.width..(at + 1) * self.width) {
            place.copy_from_slice(&blocks);
            self.encode(at);
        }
    }

    /// A row in full.
    pub(super) fn row(&self, at: usize) -> Option<&[Lanes]> {
        self.rows.slice(at * self.width..(at + 1) * self.width)
    }

    /// Scores rows that lie side by side; whether they are there.
    pub(super) fn score(&self, query: &[Lanes], first: usize, out: &mut [f32]) -> bool {
        let saved = self.rows.cut() / self.width.max(1);
        let (front, back) = out.split_at_mut(saved.saturating_sub(first).min(out.len()));
        let mut start = first;
        [front, back].into_iter().all(|part| {
            let end = start + part.len();
            let blocks = self.rows.slice(start * self.width..end * self.width);
            start = end;
            blocks.is_some_and(|blocks| {
                self.scanner.dot_rows(query, blocks, part);
                true
            })
        })
    }

    /// Whether the model is not what the rows ask for, or may not be.
    fn moved(&self) -> bool {
        match (&self.codes.model, self.head) {
            (Model::Projected(basis), _) => {
                let (share, little) = DRIFT;
                self.codes.unseen > self.codes.square * (share * basis.unseen() + little)
            }
            (_, Head::Auto) => true,
            _ => false,
        }
    }

    /// The directions of a sample of the rows, evenly spread.
    fn basis(&self) -> Basis {
        let step = self.count.div_ceil(SAMPLE).max(1);
        let rows = (0..self.count).step_by(step).filter_map(|at| self.row(at));
        let sample: Vec<Vec<f32>> = rows.map(|row| flat(row, self.dim).collect()).collect();
        Basis::fit(self.scanner, self.dim, &sample, DIRECTIONS.min(self.dim))
    }

    fn recode(&mut self, model: Model) {
        self.codes = Codes::new(model, self.dim);
        self.codes.reserve(self.count);
        for at in 0..self.count {
            self.encode(at);
        }
    }

    fn encode(&mut self, at: usize) {
        if let Some(row) = self.rows.slice(at * self.width..(at + 1) * self.width) {
            self.codes.put(at, row, self.dim, &self.slack, self.scanner);
        }
    }
}

impl Codes {
    pub(super) fn new(model: Model, dim: usize) -> Self {
        let (packing, values) = match &model {
            Model::Plain | Model::Int8 => (Packing::Eight, dim),
            Model::Int4 => (Packing::Four, dim),
            Model::Projected(basis) => (Packing::Eight, basis.count()),
        };
        let fine = matches!(model, Model::Int4 | Model::Projected(_)).then(|| Fine::new(dim));
        Self {
            model,
            coarse: Coarse::new(packing, values),
            fine,
            square: 0.0,
            unseen: 0.0,
            scratch: Scratch::default(),
        }
    }

    /// Bytes that a search reads of every row.
    pub(super) fn bytes(&self) -> usize {
        self.coarse.bytes()
    }

    fn reserve(&mut self, rows: usize) {
        if !matches!(self.model, Model::Plain) {
            let rows = rows.next_multiple_of(BLOCK);
            self.coarse.reserve(rows);
            if let Some(fine) = &mut self.fine {
                fine.reserve(rows);
            }
        }
    }

    fn put(&mut self, at: usize, row: &[Lanes], dim: usize, slack: &Slack, scanner: Scanner) {
        if matches!(self.model, Model::Plain) {
            return;
        }
        let scratch = &mut self.scratch;
        let fine = self.fine.as_mut().map(|fine| {
            scratch.fine.resize(size_of_val(row) / 4, 0);
            let fit = scanner.fit(Codebook::Eight, dim, row, &mut scratch.fine);
            fine.put(at, &scratch.fine, &fit, slack);
            fit
        });
        let book = self.coarse.book();
        let (fit, factors) = if let (Model::Projected(basis), Some(fine)) = (&self.model, fine) {
            basis.project(scanner, row, &mut scratch.projected);
            let seen = scratch.projected.as_flattened();
            scratch.coarse.resize(size_of_val(seen) / 4, 0);
            let fit = scanner.fit(book, basis.count(), seen, &mut scratch.coarse);
            self.square += fine.norm * fine.norm;
            self.unseen += (fine.norm * fine.norm - fit.norm * fit.norm).max(0.0);
            (fit, slack.projected_row(&basis.skew, &fit, fine.norm))
        } else {
            scratch.coarse.resize(size_of_val(row) / 4, 0);
            let fit = scanner.fit(book, dim, row, &mut scratch.coarse);
            (fit, slack.row(&fit))
        };
        self.coarse.put(at, &scratch.coarse, &fit, factors);
    }
}

/// The values of a row, without what pads it.
pub(super) fn flat(row: &[Lanes], dim: usize) -> impl Iterator<Item = f32> {
    row.iter().flat_map(|block| block.0).take(dim)
}
