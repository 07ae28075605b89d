//! What the kernels over small codes share: their layout, the estimate of a score and its margin.
//!
//! Sixty-four rows are a block. A [`Group`] holds some dimensions of a block, row after row, so a
//! register of codes has one row a lane, and the sums of products need no reduction at the end. Eight
//! bits a code: four dimensions a group, each code plus 128. Four bits: eight dimensions a group, the
//! first four in the low halves of the bytes, the next four in the high ones, each code plus 8. A row
//! of [`Line`]s holds the eight-bit codes of one row alone. The integers are exact on every tier:
//! nothing saturates, and a sum stays below 2^31 for 65,536 dimensions.
//!
//! ```text
//! sum      = Σ code · query's code                     exact, in i32
//! estimate = (sum · row.scale) · query.scale           three roundings to f32
//! margin   = row.error · query.reach + (row.norm · query.miss + (row.tail · query.rest + query.grain))
//! ```
//!
//! Whoever fills [`Margins`] and [`Terms`] promises that the canonical sum lies within
//! `estimate ± margin` as computed here, roundings included.

/// The number of rows whose codes lie together.
pub const BLOCK: usize = 64;

/// Codes of a block: of four dimensions with eight bits, of eight with four.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Group(pub [u8; 4 * BLOCK]);

/// Sixty-four eight-bit codes of one row: plus 128 in an index, as they are in a query.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

/// How codes lie in a [`Group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Four dimensions, a byte each.
    Eight,
    /// Eight dimensions, half a byte each.
    Four,
}

impl Packing {
    /// What is added to a code, so that it is never negative.
    #[must_use]
    pub fn offset(self) -> u8 {
        match self {
            Self::Eight => 128,
            Self::Four => 8,
        }
    }

    /// The dimensions of a group.
    #[must_use]
    pub fn dimensions(self) -> usize {
        match self {
            Self::Eight => 4,
            Self::Four => 8,
        }
    }

    /// The codes of rows of zeros.
    #[must_use]
    pub fn zeros(self) -> Group {
        match self {
            Self::Eight => Group([0x80; 4 * BLOCK]),
            Self::Four => Group([0x88; 4 * BLOCK]),
        }
    }
}

/// One value a row of a block, for each factor that the row brings into estimate and margin.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Margins {
    /// What a code of the row stands for.
    pub scale: [f32; BLOCK],
    /// What is multiplied by the query's reach.
    pub error: [f32; BLOCK],
    /// What is multiplied by the query's miss.
    pub norm: [f32; BLOCK],
    /// What is multiplied by the query's rest.
    pub tail: [f32; BLOCK],
}

impl Margins {
    /// The margins of rows of zeros.
    pub const ZERO: Self = Self {
        scale: [0.0; BLOCK],
        error: [0.0; BLOCK],
        norm: [0.0; BLOCK],
        tail: [0.0; BLOCK],
    };
}

/// The factors that a query brings into the margin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// At least the query's norm.
    pub reach: f32,
    /// At least the norm of what the query's codes miss.
    pub miss: f32,
    /// At least the norm of what of the query no row's codes can tell.
    pub rest: f32,
    /// What every score may be off by, whatever the norms.
    pub grain: f32,
}

/// The eight-bit codes of `M` queries side by side, one word of four codes a query.
#[derive(Clone, Debug)]
pub struct Panel<const M: usize> {
    /// One array for every four dimensions; as many as the groups of a block have.
    pub words: Vec<[i32; M]>,
    /// The sum of each query's codes.
    pub sums: [i32; M],
    /// What a code of each query stands for.
    pub scales: [f32; M],
}

/// The score that codes tell of.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
#[must_use]
pub fn estimate(sum: i32, row: f32, query: f32) -> f32 {
    #[expect(
        clippy::as_conversions,
        clippy::cast_precision_loss,
        reason = "one of the three roundings that the margin covers"
    )]
    let sum = sum as f32;
    (sum * row) * query
}

/// How far the canonical sum may be from the estimate; a row brings error, norm and tail.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
#[must_use]
pub fn margin([error, norm, tail]: [f32; 3], terms: &Terms) -> f32 {
    error * terms.reach + (norm * terms.miss + (tail * terms.rest + terms.grain))
}

/// Turns the sums of a block into estimates, those of rows that are not admitted into −∞, and returns
/// the greatest.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
pub(super) fn finish(
    sums: &[i32; BLOCK],
    rows: &[f32; BLOCK],
    query: f32,
    admitted: u64,
    out: &mut [f32; BLOCK],
) -> f32 {
    for ((out, sum), row) in out.iter_mut().zip(sums).zip(rows) {
        *out = estimate(*sum, *row, query);
    }
    if admitted != u64::MAX {
        for (at, out) in (0..).zip(out.iter_mut()) {
            if admitted >> at & 1 == 0 {
                *out = f32::NEG_INFINITY;
            }
        }
    }
    let mut most = [f32::NEG_INFINITY; 16];
    for part in out.as_chunks::<16>().0 {
        for (most, value) in most.iter_mut().zip(part) {
            *most = greater(*most, *value);
        }
    }
    // A tree, since a chain of sixteen would wait for itself.
    for width in [8, 4, 2, 1] {
        let (low, high) = most.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(high) {
            *low = greater(*low, *high);
        }
    }
    let [greatest, ..] = most;
    greatest
}

/// The greater of two numbers; what one instruction says of them.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Which rows of a block may score at least the floor: bit by bit, the first row in the lowest.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inside a kernel, it is compiled for the kernel's instructions"
)]
pub(super) fn reaching(
    estimates: &[f32; BLOCK],
    margins: &Margins,
    terms: &Terms,
    floor: f32,
) -> u64 {
    let mut reaches = [0_u8; BLOCK];
    let rows = margins.error.iter().zip(&margins.norm).zip(&margins.tail);
    for ((out, estimate), ((error, norm), tail)) in reaches.iter_mut().zip(estimates).zip(rows) {
        *out = u8::from(estimate + margin([*error, *norm, *tail], terms) >= floor);
    }
    let mut mask = 0;
    for (at, bit) in (0..).zip(reaches) {
        mask |= u64::from(bit) << at;
    }
    mask
}

/// The lines of a row that was picked; none if there is no such row.
pub(super) fn line_of(rows: &[Line], width: usize, row: usize) -> &[Line] {
    rows.get(row * width..(row + 1) * width).unwrap_or_default()
}
