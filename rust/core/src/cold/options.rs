//! How a store is opened.

use std::time::Duration;

use super::medium::Access;

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

/// Who else may use the store while this handle is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Any number of handles, of this process and of others. The lock is taken for each batch.
    #[default]
    Shared,
    /// No other writer: the lock is held until the handle is closed.
    Exclusive,
    /// This handle writes nothing, not even a recovery, and takes no lock.
    Read,
}

/// What an acknowledgement means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A sync that covers the record returned: it survives a loss of power.
    #[default]
    Fsync,
    /// The write returned; a sync follows within this time. A kill loses nothing, a loss of power at
    /// most the records after [`durable_seq`](super::Store::durable_seq), and no hole.
    Interval(Duration),
    /// The write returned; the operating system syncs when it likes, and
    /// [`sync`](super::Store::sync) when asked.
    Os,
}

/// What one append waits for before it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ack {
    /// What the store's [`Durability`] says.
    #[default]
    Durable,
    /// The write, as under [`Durability::Os`]: a kill loses nothing, a loss of power at most what no
    /// sync covered since, and no hole. The next append that is synced covers it, and so does closing.
    Written,
}

/// What an append does where the lock stays busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBusy {
    /// It fails with [`Error::Locked`](crate::Error::Locked).
    #[default]
    Fail,
    /// It leaves the batch, durably, for the next writer to take up.
    Spool,
}

/// Whether what is written is readable without a key.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Plain. A store that is encrypted already stays readable and gets plain records from now on.
    #[default]
    Off,
    /// Meta and payload are encrypted, with a key for each conversation (the first two parts of the
    /// record's key). The keys lie in the directory: a copy without them cannot be read, and erasing
    /// a conversation erases its key.
    Keys,
    /// As `Keys`, and the keys themselves are encrypted under this one, which the caller keeps.
    Master([u8; 32]),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Off => "Off",
            Self::Keys => "Keys",
            Self::Master(_) => "Master(..)",
        })
    }
}

/// How a store is opened; the default is what the documentation promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How sealed segments are read.
    pub read: Read,
    /// Who else may use the store.
    pub mode: Mode,
    /// What an acknowledgement means.
    pub durability: Durability,
    /// What an append does where the lock stays busy.
    pub on_busy: OnBusy,
    /// Whether what is written is readable without a key.
    pub encryption: Encryption,
    /// The length at which a segment is sealed and the next one begun. A batch that is longer gets a
    /// longer segment of its own. Each segment holds one open file.
    pub segment_bytes: u64,
    /// The longest payload, and the longest key and meta, of one record. Longer records that were
    /// written under a larger limit stay readable.
    pub max_record: u64,
    /// How long to wait for the lock of a store that is in use.
    pub lock_wait: Duration,
}

impl Options {
    /// What files are opened for.
    pub(super) fn access(&self) -> Access {
        match self.mode {
            Mode::Read => Access::Read,
            Mode::Shared | Mode::Exclusive => Access::Write,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read: Read::default(),
            mode: Mode::default(),
            durability: Durability::default(),
            on_busy: OnBusy::default(),
            encryption: Encryption::default(),
            segment_bytes: 64 << 20,
            max_record: 64 << 20,
            lock_wait: Duration::from_secs(2),
        }
    }
}
