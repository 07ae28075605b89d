//! The cold store: what was acknowledged is never lost, and never comes back as something else.
//!
//! # Promises
//!
//! - When [`Store::append`] returns, the whole batch is durable; when it fails, none of the batch is
//!   ever visible through this handle.
//! - Ids grow and are never reused. Bytes before the tail never change. A sealed segment is never
//!   written again.
//! - A payload is returned only if it has the hash that was written with it.
//! - Opening cuts a torn tail, keeps a copy of what it cut, and says so. Damage before the tail stays
//!   in place, is reported with segment, bytes and ids, and costs no other record.
//! - A store of a newer format, a directory that is no store, and another store's segment are refused
//!   and left as they were.
//!
//! # The journey of a batch
//!
//! ```text
//! Draft ─▶ frame ─▶ writer ─▶ medium            Seq ─▶ index ─▶ source ─▶ frame ─▶ Record
//!          encode   1 write   disk or ram              where    map/pread  verify
//!                   1 sync
//! ```
//!
//! `format` draws the bytes. `survey` and `recover` read a directory back with the help of `scan`.
//! Everything reaches the world through [`Medium`], so that a test can record and fail each call;
//! only the lock file, which makes no sense on any other medium, does not.

mod crypt;
pub(crate) mod defect;
mod erase;
mod format;
#[cfg(fuzzing)]
pub mod fuzzing;
mod intervals;
mod map;
mod mark;
mod medium;
mod notices;
mod open;
mod options;
mod outlines;
mod read;
mod reads;
mod record;
pub(crate) mod removal;
mod report;
mod shelf;
mod store;
mod write;

#[cfg(feature = "defects")]
pub use defect::{Defect, seed};
pub use erase::compact::Compacted;
pub(crate) use erase::find::Found;
pub(crate) use erase::replace::{Replaced, Shown};
pub use erase::{Erased, Scope};
pub use format::frame::MAX_DEPTH;
pub use format::links::{Born, Links};
pub use format::words::SPACE;
pub(crate) use format::words::is_space;
pub(crate) use intervals::Intervals;
pub use map::{Map, WholeMap};
pub(crate) use medium::disk::open_regular;
pub(crate) use medium::lock::{Held, try_held};
pub use medium::ram::Ram;
pub use medium::{Access, Hold, Medium, MediumFile};
pub use notices::Notices;
pub use options::{Ack, Durability, Encryption, Mode, OnBusy, Options, Read};
pub use outlines::Scrubbed;
pub(crate) use outlines::{Followed, Gone};
pub(crate) use record::Outline;
pub use record::{Appended, Draft, Record, content_hash, keyed_hash};
pub use report::{
    Cut, Damage, DamageKind, Erasure, ErasureReport, OpenReport, Stats, VerifyReport,
};
pub use store::Store;
pub(crate) use write::packet::{Row, Verdict};
pub(crate) use write::queue::Judge;
pub(crate) use write::spool::{Taker, Write};
