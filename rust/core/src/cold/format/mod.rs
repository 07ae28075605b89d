//! The bytes of a store, format 1.1: little-endian, fixed width, every structure 8-byte aligned.
//!
//! ```text
//! directory   lock                        who writes at this moment
//!             mark                        how far the store is acknowledged, and durable
//!             erased                      once more what the tombstones cover; a store may lack it
//!             00000000000000000001.seg    segments, numbered from 1 without gaps
//!             00000000000000000001.new    a segment that is being rewritten, before its rename
//!             spool/<token>.spl           batches that found the lock busy; spool/bell rings for them
//!             spool/<token>.spc           likewise, with conditions, which whoever has a log judges
//!             keys/<key id>.key           one key a conversation, where the store is encrypted
//!             torn/<segment>-<offset>.bin what recovery cut off, as it was found
//!             torn/spool-<token>.bin      a batch of the spool that is not what was written; erasing
//!                                         empties it, and its name says that it was lost
//!
//! segment     0      128   preamble: the header
//!             128    384   zeros
//!             512    128   the header again, in another sector
//!             640          records, each at a multiple of 8
//!                          sealed only: a record of kind `seal`, its payload is the footer
//!             end-64 64    sealed only: the end block; not if recovery found damage before the seal
//!
//! header      0      8     magic "warmset\0"
//!             8      2     format major           12 4  header length (128)
//!             10     2     format minor           16 8  features: compatible
//!             24     8     features, read-only compatible: 2 there are records of the log
//!             32     8     features, incompatible: 2 turns were removed, or left off a path
//!             40     16    store uuid             72 16 salt of this segment
//!             56     8     segment number         88 8  created, Unix time in nanoseconds
//!             64     8     first id               96 8  where the segment before ends, if it was left
//!             104    16    the salt that it was begun   without a seal after a failed sync; else 0
//!                          with, before it was written anew; zeros in a segment of 1.0
//!             120    4     zeros                  124 4 crc32c of bytes 0..124
//!
//! record      0      4     magic "rcrd"           4  2  kind        6  2  flags: 1 encrypted; 2 the second
//!             8      8     id                              copy of a record; bits 8 to 11 how many
//!             16     8     durable-up-to: the highest      parts of the key name whose it is, 0 for two
//!                          id that was known to be synced when this was written
//!             24     8     first id of the batch
//!             32     4     records in the batch   36 4  key length
//!             40     4     meta length            44 4  crc32c of key, meta, sources and links
//!             48     8     payload length         56 16 xxh3-128 of the payload
//!             72     4     sources and links      76 4  crc32c of salt, uuid, file offset and
//!             80           key, meta, sources           bytes 0..76 of this record
//!                          (8 bytes an id), links
//!                          (8 bytes each), payload
//!                          zeros up to a multiple of 8
//!             total-8 8    trailer: total, the record's length from its magic to here
//!
//! link        63     1 bit set: no id is so large         56..62 7 bits what it says
//!             0..55  56 bits   an id, or microseconds since 1970 UTC
//!                          1 the entry before this one on its path, 0 for none
//!                          2 the id of the first version of a cell      3 when that one was put
//!                          4 the record that a patch changes, that an entry replaces (0 for none), or that this one is
//!                            the second copy of
//!                          5 what became of a row of a batch, one word a row: four times an id, and 0 nothing,
//!                            1 written under it, 2 left out for what is there under it
//!
//! key         0      4     number of parts; then for each part: 4 bytes length, the part
//!
//! encrypted   meta         key id 16, nonce 24
//!             payload      XChaCha20-Poly1305 of (4 bytes length of meta, meta, payload), with kind
//!                          and key as associated data; its tag of 16 bytes at the end
//!
//! footer      0      8     number of records      8  8  first id    16 8  last id
//!             24     8     number of gaps; then for each record: 8 id, 8 offset, 8 kind
//!                          then for each gap: 8 first id, 8 last id, 8 why (1 erased, 2 damaged, 3 dropped)
//!
//! end block   0      8     magic "wsegend\0"      8  8  offset of the seal record
//!             16     8     its length             24 8  number of records
//!             32     8     first id               40 8  last id
//!             48     4     number of tombstones   52 4  number of records of kind `removed`
//!             56     4     zeros                  60 4  crc32c of salt, uuid, file offset and bytes 0..60
//!
//! mark        0, 512       two slots, written in turn; the valid one with the larger count holds:
//!             0      8     magic "wsmark\0\0"     8  8  count: grows with each change
//!             16     16    store uuid             32 8  generation: grows when segments are replaced
//!             40     8     last segment           48 8  where its acknowledged bytes end
//!             56     8     the next id            64 8  the highest id that is known to be synced
//!             72     8     a segment that nobody may write on: a sync of it failed
//!             80     4     zeros                  84 4  crc32c of bytes 0..84
//!
//! tombstone   payload: 8 ids up to this one are erased · 8 when, Unix time in nanoseconds
//!                      8 parts of the key prefix, 16 its xxh3-128 under the store's uuid; or 24 zeros
//!                      8 number of ranges, for each 8 first and 8 last id
//!
//! erased      0      8     magic "wserase\0"      8  16 store uuid   24 8  ids up to this one are concerned
//!             32     8     when, as a tombstone   40 8  number of prefixes 48 8 number of ranges
//!             56           for each prefix 8 parts, 16 hash, 8 ids up to this one; for each range
//!                          8 first and 8 last id
//!             end-8  4     zeros                  end-4  4 crc32c of everything before
//!
//! spool file  0      8     magic "wsspool\0"      8  16 store uuid   24 16 token
//!             40     8     number of records      48 8  length of what follows
//!             56     8     the next id, as far as  64 4  zeros
//!                          it was known then       68 4  crc32c of bytes 0..68
//!             72           records as in a segment whose salt is the token, from offset 72 on
//!
//! key file    0      8     magic "wskey\0\0\0"    8  16 key id       24 8  next id at its birth
//!             32     8     1 if wrapped           40 8  length of what follows
//!             48           24 nonce, then XChaCha20-Poly1305 of (32 bytes key, encoded scope) under
//!                          the master key; without one: 32 bytes key, encoded scope
//!             end-4  4     crc32c of everything before
//!
//! removed     payload: 8 what: 1 a cell, 2 all below a prefix, 3 entries of a list
//!                      8 number of ranges of ids (3), for each 8 first and 8 last
//!                      8 number of ranges, for each 8 first id, 8 last id: what was made from what is removed
//!
//! head        payload: 8 the entry where the path of the list ends, 0 for none
//!
//! attributes  1 version (1), then in the order of their numbers 1 number, 4 length and the bytes:
//!             1 at: 8, microseconds since 1970 UTC        2 uid: the caller's own id of an entry
//!             3 expires: 8, microseconds since 1970 UTC   4 codec: the caller's name of the encoding
//!             5 columns                                   6 own: bytes that the caller keeps beside it
//!
//! columns     4 number of columns, then for each, in the order of their names:
//!             2 length of the name · the name in UTF-8 · its value
//! value       1 type: 0 null · 1 false · 2 true · 3 int, 8 · 4 float, 8 · 5 text, 4 length and UTF-8
//!                     6 time, 8, microseconds since 1970 UTC · 7 list, 4 number of values and each
//! ```
//!
//! # Invariants
//!
//! - In every version the magic, the major, the minor and the header length stay where they are, and
//!   a header ends with the crc of what is before it. So a version can tell a newer file from a
//!   damaged one.
//! - A checksum of a record covers the segment's random salt and the record's own offset. A stored
//!   payload that contains bytes of a store file is never taken for a record, wherever it lies.
//! - Once recovery cut bytes off a segment, its salt serves no new record: the segment is sealed, or
//!   left alone, and the next record goes to a new one.
//! - Ids grow within a segment and from one to the next, and a batch lies in one segment. A seal
//!   record carries the last id of its segment and takes none for itself.
//! - A batch that came through the spool begins with a record of kind `spooled`, whose key is the
//!   token. Nothing is appended behind such a batch before its file is durably gone.
//! - A rewritten segment keeps number and first id and gets a salt of its own; each of its records is
//!   a batch of one.
//! - A record that an older version would get wrong lies in a segment whose feature words say so, and the
//!   words of a segment are those of the one before, and more.
//! - What moves a head or removes something is written twice in its batch, with a filler of more than a
//!   sector between: no sector holds both copies. The second one counts as the first.
//! - No length is believed before the checksum over it.

pub(in crate::cold) mod bytes;
pub(in crate::cold) mod encode;
pub(in crate::cold) mod entries;
pub(in crate::cold) mod footer;
pub(in crate::cold) mod frame;
pub(in crate::cold) mod header;
pub(in crate::cold) mod key;
pub(in crate::cold) mod links;
pub(in crate::cold) mod words;

/// The format's major number: another one is refused.
pub(in crate::cold) const MAJOR: u16 = 1;
/// The format's minor number: a newer one is read.
pub(in crate::cold) const MINOR: u16 = 1;

/// Where the first record of a segment begins.
pub(in crate::cold) const PREAMBLE: u64 = 640;

/// The largest batch, encoded. No record that this version wrote is longer.
pub(in crate::cold) const MAX_BATCH: u64 = 1 << 30;

/// The shortest record: a header, an empty key, padding and the trailer.
pub(in crate::cold) const MIN_RECORD: u64 = 96;

/// The lock's file name.
pub(in crate::cold) const LOCK: &str = "lock";
/// How far the store is acknowledged.
pub(in crate::cold) const MARK: &str = "mark";
/// The second copy of what was erased.
pub(in crate::cold) const ERASED: &str = "erased";
/// The same while it is written.
pub(in crate::cold) const ERASED_NEW: &str = "erased.new";
/// The directory of what recovery cut off.
pub(in crate::cold) const TORN: &str = "torn";
/// The directory of batches that found the lock busy.
pub(in crate::cold) const SPOOL: &str = "spool";
/// A file whose length tells that somebody spooled.
pub(in crate::cold) const BELL: &str = "spool/bell";
/// The directory of keys.
pub(in crate::cold) const KEYS: &str = "keys";

/// The file name of a segment while it is rewritten.
pub(in crate::cold) fn rewritten_name(number: u64) -> String {
    format!("{number:020}.new")
}

/// Whether [`rewritten_name`] gives that name.
pub(in crate::cold) fn is_rewritten(name: &str) -> bool {
    let number = name.strip_suffix(".new").and_then(|n| n.parse().ok());
    number.is_some_and(|number| rewritten_name(number) == name)
}

/// The file name of a segment.
pub(in crate::cold) fn segment_name(number: u64) -> String {
    format!("{number:020}.seg")
}

/// The segment of a file name, if it is one that [`segment_name`] gives.
pub(in crate::cold) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let number = digits.parse().ok().filter(|n| *n > 0)?;
    (segment_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_we_give_is_a_segment() {
        for number in [1, 42, u64::MAX] {
            assert_eq!(segment_number(&segment_name(number)), Some(number));
        }
        for name in [
            "1.seg",
            "00000000000000000000.seg",
            "+0000000000000000001.seg",
            "x",
        ] {
            assert_eq!(segment_number(name), None, "{name}");
        }
    }
}
