//! Bytes as a record and as everything else that a store keeps: parsed or refused, never believed
//! beyond their end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warmset_core::cold::fuzzing;

fuzz_target!(|input: (u64, &[u8])| {
    let (offset, bytes) = input;
    // Offsets are multiples of eight in a file that a disk can hold.
    let offset = (offset >> 16) & !7;
    fuzzing::record(bytes, offset);
    fuzzing::parts(bytes, offset);
});
