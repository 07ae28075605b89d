//! A record in memory: what is handed back is byte for byte what was handed in, or nothing is.

use crate::entry::{Kind, Seq};

use crate::cold::format::links::Links;

/// The 128-bit hash by which the store knows a payload: xxh3-128. It finds accidents, not forgers.
#[must_use]
pub fn content_hash(payload: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(payload)
}

/// A 128-bit hash that nobody foresees who does not know the seed, for what lives in one process.
#[must_use]
pub fn keyed_hash(payload: &[u8], seed: u64) -> u128 {
    xxhash_rust::xxh3::xxh3_128_with_seed(payload, seed)
}

/// One record to append.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// What the record is; the store's own kinds are refused.
    pub kind: Kind,
    /// A tuple of byte strings, for instance tenant, conversation and id. It is never encrypted.
    pub key: &'a [&'a [u8]],
    /// A few bytes beside the payload, for instance a role and a time.
    pub meta: &'a [u8],
    /// Ids of the records that this one was made from, all of them below those of its batch: when one
    /// of them is erased, so is this.
    pub sources: &'a [Seq],
    /// The bytes that must come back exactly.
    pub payload: &'a [u8],
}

/// One record as it was appended, verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The id that [`append`](super::Store::append) gave it.
    pub seq: Seq,
    /// What the record is.
    pub kind: Kind,
    /// The key's parts.
    pub key: Vec<Vec<u8>>,
    /// The bytes beside the payload.
    pub meta: Vec<u8>,
    /// Ids of the records that it was made from.
    pub sources: Vec<Seq>,
    /// What it is tied to, if it is a record of the log.
    pub links: Option<Box<Links>>,
    /// How many parts of its key name whose it is; 0 for the usual number, two.
    pub depth: u8,
    /// The payload.
    pub payload: Vec<u8>,
    /// The payload's [`content_hash`].
    pub hash: u128,
}

/// What the log knows a record by, without its payload.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) seq: Seq,
    pub(crate) kind: Kind,
    pub(crate) key: Vec<Vec<u8>>,
    /// Ids of the records that it was made from.
    pub(crate) sources: Vec<Seq>,
    pub(crate) links: Option<Box<Links>>,
    /// How many bytes it takes.
    pub(crate) len: u64,
    /// Whether it is the second copy of a record, which its links name.
    pub(crate) is_copy: bool,
    /// Whether it went with something that was removed, from which it was made.
    pub(crate) is_taken: bool,
    /// `None` where it cannot be read.
    pub(crate) meta: Option<Vec<u8>>,
    /// That of a kind that is never encrypted.
    pub(crate) payload: Vec<u8>,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the store under these ids, in the order of the drafts.
    Stored(Vec<Seq>),
    /// The lock was busy: it lies in the spool under this token, durably, and the next writer takes
    /// it up.
    Spooled([u8; 16]),
}
