//! Vectors in full: what one must be, which rows an entry has, and the exact nearest neighbours among them.
//!
//! ```text
//! metric    vector ─▶ row          checked, brought to unit length
//! floats    their values            in full or in half precision
//! rows      slot ─▶ rows           in segments, each of which has codes of one model
//! index     rows, ids ─▶ top-k     vectors alone; threads share it
//! ```

pub(in crate::hot) mod floats;
pub(in crate::hot) mod index;
pub(in crate::hot) mod metric;
pub(in crate::hot) mod rows;
pub(in crate::hot) mod segment;
