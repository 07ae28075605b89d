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

mod aside;
mod bytes;
mod cipher;
mod defect;
mod disk;
mod erase;
mod erasures;
mod follow;
mod footer;
mod format;
mod frame;
mod header;
mod index;
mod key;
mod keyring;
mod load;
mod lock;
mod map;
mod mark;
mod medium;
mod options;
mod packet;
mod queue;
mod ram;
mod record;
mod report;
mod scan;
mod segment;
mod shelf;
mod source;
mod spool;
mod store;
mod survey;
mod syncer;
mod tail;
mod verify;
mod window;
mod writer;

#[cfg(feature = "defects")]
pub use defect::{Defect, seed};
pub use erase::{Compacted, Erased, Scope};
pub use map::Map;
pub use medium::{Access, Hold, Medium, MediumFile};
pub use options::{Durability, Encryption, Mode, OnBusy, Options, Read};
pub use ram::Ram;
pub use record::{Appended, Draft, Record, content_hash};
pub use report::{
    Cut, Damage, DamageKind, Erasure, ErasureReport, OpenReport, Stats, VerifyReport,
};
pub use store::Store;
