//! Small codes of rows: what a search reads instead of the rows, and how far off they are.
//!
//! ```text
//! sample of rows ─▶ basis ─▶ spread ─▶ head        which codes, of what, by what they would cost
//! row ─▶ coarse: blocks of sixty-four, read of every row
//!     ─▶ fine: eight bits a dimension, read of few
//! query, codes ─▶ error bound                      a score is never further from its estimate
//! ```

pub(in crate::hot) mod basis;
pub(in crate::hot) mod coarse;
pub(in crate::hot) mod error_bound;
pub(in crate::hot) mod fine;
pub(in crate::hot) mod head;
pub(in crate::hot) mod linear;
pub(in crate::hot) mod segment_codes;
pub(in crate::hot) mod spread;
