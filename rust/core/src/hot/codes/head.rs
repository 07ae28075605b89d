//! What is kept beside rows in full, so that a search reads less of them.

use std::sync::Arc;

use crate::hot::codes::basis::Basis;
use crate::hot::codes::spread::cheapest;
use crate::simd::{Lanes, Scanner};

/// Fewer dimensions than this get no codes by themselves.
const DIM_FROM: usize = 32;

/// Rows that a search is expected to ask for.
const FEW: usize = 12;

/// Rows that a search asks for where others choose from them.
pub(in crate::hot) const POOL: usize = 256;

/// Fewer rows than this are scanned in full, and so are fewer than so many times k.
pub(in crate::hot) const ROWS_FROM: usize = 256;
const ROWS_FROM_TIMES_K: usize = 8;

/// Directions of a projection.
pub(in crate::hot) const DIRECTIONS: usize = 128;

/// A projection is kept for at least so many dimensions, where it is a third of them or less.
const PROJECTED_FROM: usize = 3 * DIRECTIONS;

/// What is kept beside the rows so that fewer bytes are read. It changes the time of an answer and
/// never the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// What pays: by dimension, instruction set, number of rows, k, and how the energy of the vectors
    /// is spread over directions.
    #[default]
    Auto,
    /// The same where a search asks for hundreds of rows, from which others choose.
    Pool,
    /// The rows alone: every search reads them in full.
    Plain,
    /// Eight-bit codes.
    Int8,
    /// Four-bit codes, then eight-bit ones of the rows that are left.
    Int4,
    /// Eight-bit codes of a projection on the 128 leading directions, then eight-bit ones of the rows
    /// that are left.
    Projected,
}

/// How the rows of one segment are coded.
#[derive(Clone, Debug)]
pub(in crate::hot) enum Model {
    Plain,
    Int8,
    Int4,
    Projected(Arc<Basis>),
}

impl Model {
    pub(in crate::hot) fn projected(basis: Basis) -> Self {
        Self::Projected(Arc::new(basis))
    }

    /// Its name in reports.
    pub(in crate::hot) fn name(&self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Projected(_) => "projected",
        }
    }
}

impl Head {
    /// From how many rows on a segment has codes; none if never.
    pub(in crate::hot) fn from(self, dim: usize, scanner: Scanner) -> Option<usize> {
        match self {
            Self::Auto | Self::Pool => {
                (dim >= DIM_FROM && scanner.has_codes()).then_some(ROWS_FROM)
            }
            Self::Plain => None,
            Self::Int8 | Self::Int4 => Some(1),
            Self::Projected => Some(16),
        }
    }

    /// The model of a segment that has just got codes.
    pub(in crate::hot) fn first(self, basis: impl FnOnce() -> Basis) -> Model {
        match self {
            Self::Plain => Model::Plain,
            Self::Auto | Self::Pool | Self::Int8 => Model::Int8,
            Self::Int4 => Model::Int4,
            Self::Projected => Model::projected(basis()),
        }
    }

    /// Another model for a segment that has enough rows to know how they lie; none if `now` will do.
    pub(in crate::hot) fn settled(
        self,
        now: &Model,
        dim: usize,
        scanner: Scanner,
        (sample, rows): (&[&[Lanes]], usize),
    ) -> Option<Model> {
        match self {
            Self::Auto | Self::Pool => {
                let k = if self == Self::Pool { POOL } else { FEW };
                let model = cheapest(scanner, dim, sample, (rows, k));
                let same = model.name() == now.name() && !matches!(model, Model::Projected(_));
                (!same).then_some(model)
            }
            Self::Projected => {
                let count = DIRECTIONS.min(dim);
                Some(Model::projected(Basis::fit(scanner, dim, sample, count)))
            }
            Self::Plain | Self::Int8 | Self::Int4 => None,
        }
    }

    /// Whether vectors have so many dimensions that a projection on a few is worth trying.
    pub(in crate::hot) fn projects(dim: usize) -> bool {
        dim >= PROJECTED_FROM
    }

    /// Whether it depends on the rows how they are coded.
    pub(in crate::hot) fn adapts(self) -> bool {
        matches!(self, Self::Auto | Self::Pool)
    }

    /// Whether to ask `rows` rows for the best `k` by their codes first.
    pub(in crate::hot) fn pays(self, rows: usize, k: usize) -> bool {
        !self.adapts() || rows >= ROWS_FROM.max(k.saturating_mul(ROWS_FROM_TIMES_K))
    }
}
