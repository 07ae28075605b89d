//! How a store is opened.

use std::time::Duration;

/// How sealed segments are read. The active tail is always read with positional reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Read {
    /// Through read-only memory maps. The file's length is checked before each read and the bytes
    /// are copied out before they are verified. What a map cannot survive is somebody else who
    /// truncates a sealed file between that check and the copy: the process then gets a `SIGBUS`.
    /// Nothing in this library does so.
    #[default]
    Map,
    /// Through positional reads, never a map: a truncated file is an error, never a signal.
    Positional,
}

/// How a store is opened; the default is what the documentation promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How sealed segments are read.
    pub read: Read,
    /// The length at which a segment is sealed and the next one begun. A batch that is longer gets a
    /// longer segment of its own. Each segment holds one open file.
    pub segment_bytes: u64,
    /// The longest payload, and the longest key and meta, of one record. Longer records that were
    /// written under a larger limit stay readable.
    pub max_record: u64,
    /// How long to wait for the lock of a store that is in use.
    pub lock_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read: Read::default(),
            segment_bytes: 64 << 20,
            max_record: 64 << 20,
            lock_wait: Duration::from_secs(2),
        }
    }
}
