//! The file of a saved index: named sections, a table of them, checksums.
//!
//! ```text
//! header      0      8     magic "wshot\0\0\0"     8 2 format major     10 2 format minor
//!             12     4     header length (64)     16 8 features that a reader must know
//!             24     36    zeros                  60 4 crc32c of bytes 0..60
//! sections    each at a multiple of 4,096, in the order of the table; zeros between them
//! table       for each section:
//!             0      32    name, then zeros       32 8 offset           40 8 length
//!             48           crc32c of each block of 2^20 bytes, 4 bytes each
//! end block   end-64 8     magic "wshotend"        8 8 offset of the table
//!             16     8     its length             24 8 number of sections
//!             32     8     length of the file     40 4 crc32c of the table
//!             44     16    zeros                  60 4 crc32c of bytes 0..60
//! ```
//!
//! Header, end block and table are checked when a file is opened, blocks of sections when they are first
//! touched, and everything by [`Saved::verify`]. A section that a reader does not know is left alone; a
//! file of another major version or with a feature that the reader does not know is refused.

pub(in crate::hot) mod buffer;
pub(in crate::hot) mod column;
mod edge;
pub(in crate::hot) mod persist;
mod read;
pub(in crate::hot) mod retriever;
pub(in crate::hot) mod rows;
pub(in crate::hot) mod section;
pub(in crate::hot) mod segment;
mod write;

pub(in crate::hot) use read::Saved;
pub(in crate::hot) use write::Writer;
