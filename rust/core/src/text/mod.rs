//! What a text says by its letters alone, as the patterns of the Python side would find it, only sooner.

mod names;

pub use names::Names;
