//! The bytes of a store, format 0.1: little-endian, fixed width, every structure 8-byte aligned.
//!
//! ```text
//! directory   lock                        who owns the store
//!             00000000000000000001.seg    segments, numbered from 1 without gaps
//!             torn/<segment>-<offset>.bin what recovery cut off, as it was found
//!             torn/mark                   only after a cut: 8 ids up to this one were acknowledged;
//!                                         8 ids below this one were given; 4 crc32c of the 16 bytes
//!
//! segment     0      128   preamble: the header
//!             128    384   zeros
//!             512    128   the header again, in another sector
//!             640          records, each at a multiple of 8
//!                          sealed only: a record of kind `seal`, its payload is the footer
//!             end-32 32    sealed only: the end block; not if recovery found damage before the seal
//!
//! header      0      8     magic "warmset\0"
//!             8      2     format major           12 4  header length (128)
//!             10     2     format minor           16 8  features: compatible
//!             24     8     features: read-only compatible
//!             32     8     features: incompatible
//!             40     16    store uuid             72 16 salt of this segment
//!             56     8     segment number         88 8  created, Unix time in nanoseconds
//!             64     8     first id               96 28 zeros
//!             124    4     crc32c of bytes 0..124
//!
//! record      0      4     magic "rcrd"           4  2  kind        6  2  flags
//!             8      8     id                     16 8  durable-up-to: the highest id that was
//!             24     8     first id of the batch        known to be synced when this was written
//!             32     4     records in the batch   36 4  key length
//!             40     4     meta length            44 4  crc32c of key and meta
//!             48     8     payload length         56 16 xxh3-128 of the payload
//!             72     4     zeros                  76 4  crc32c of salt, uuid, file offset and
//!             80           key, meta, payload           bytes 0..76 of this record
//!                          zeros up to a multiple of 8
//!             total-8 8    trailer: total, the record's length from its magic to here
//!
//! key         0      4     number of parts; then for each part: 4 bytes length, the part
//!
//! footer      0      8     number of records; 8 first id; 16 last id
//!             24           for each record: 8 bytes id, 8 bytes offset
//!
//! end block   0      8     magic "wsegend\0"      8  8  offset of the seal record
//!             16     8     its length             24 4  zeros
//!             28     4     crc32c of salt, uuid, file offset and bytes 0..28
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
//! - No length is believed before the checksum over it.

/// The format's major number: another one is refused.
pub(super) const MAJOR: u16 = 0;
/// The format's minor number: a newer one is read.
pub(super) const MINOR: u16 = 1;

/// Where the first record of a segment begins.
pub(super) const PREAMBLE: u64 = 640;

/// The largest batch, encoded. No record that this version wrote is longer.
pub(super) const MAX_BATCH: u64 = 1 << 30;

/// The shortest record: a header, an empty key, padding and the trailer.
pub(super) const MIN_RECORD: u64 = 96;

/// The lock's file name.
pub(super) const LOCK: &str = "lock";
/// The directory of what recovery cut off.
pub(super) const TORN: &str = "torn";
/// The mark's file.
pub(super) const MARK: &str = "torn/mark";
/// The mark's file while it is written.
pub(super) const MARK_NEW: &str = "torn/mark.new";

/// The file name of a segment.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:020}.seg")
}

/// The segment of a file name, if it is one that [`segment_name`] gives.
pub(super) fn segment_number(name: &str) -> Option<u64> {
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
