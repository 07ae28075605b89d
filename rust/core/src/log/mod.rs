//! The log: cells and lists over the cold store, with conditions that hold when a batch is written.
//!
//! # Promises
//!
//! - The newest version of a key wins, in every process, and never an older one in its stead.
//! - A condition is judged under the writer's lock, on what is written by then: it holds when its batch
//!   is in the store, or nothing of the batch is.
//! - What was removed or has expired is not shown again.
//!
//! # The journey of a batch
//!
//! ```text
//! Batch ─▶ records ─▶ the store's queue ─▶ judge ─▶ one write ─▶ events ─▶ directory ─▶ get, list, scan
//!          encode                          under the lock        also of what others wrote
//! ```

mod attributes;
mod batch;
mod bench;
mod copy;
mod dead;
mod directory;
mod draft;
mod erase;
mod event;
mod filter;
mod follow;
mod handle;
mod judge;
mod once;
mod order;
mod records;
mod scan;
mod shared;
mod spooled;
mod sweep;
mod turns;
mod value;
mod view;

pub use crate::cold::{MAX_DEPTH, SPACE, Scrubbed};
pub use attributes::{Attributes, MAX_CODEC, MAX_UID};
pub use batch::{Batch, Expect, IfPresent, Item, Key, Outcome, Row, now};
pub use copy::Copied;
pub use filter::{Filter, MAX_FILTER_DEPTH};
pub use follow::{Change, Followed, Happened, Position};
pub use handle::{Cell, Entry, Log};
pub use records::{MAX_KEY, MAX_OWN, MAX_PARTS};
pub use scan::{Listed, Order, Scan};
pub use turns::turn_columns;
pub use value::{Columns, MAX_COLUMNS, MAX_NAME, Value};
pub use view::{Read, Seen};
