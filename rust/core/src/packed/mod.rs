//! Columns in bytes that are read where they lie, with a checksum for each 16 KiB.
//!
//! ```text
//! 0           8    magic
//! 8                the columns, each at a multiple of 8, zeros between them and after the last
//! checks           4 bytes a block: crc32c of bytes 0..16384, 16384..32768 …, up to here
//! foot        16   for each column: 8 bytes where it begins, 8 its length
//! end-40      8    where the checks begin      end-32  8  bytes of the section, magic to end
//! end-24      8    magic                       end-16  4  version        end-12  4  columns
//! end-8       4    crc32c of the checks        end-4   4  crc32c of the foot up to here
//! ```
//!
//! Opening reads the foot and the checks; a block is checked when it is first read, or by `verify`.
//! Whatever the bytes are, the worst that comes of them is [`Error::SavedIndex`].

mod stream;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

pub(crate) use stream::Stream;

/// Bytes with several readers: a map of a file, or a file that was read into memory.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

pub(crate) const BLOCK: usize = 16 * 1024;
pub(crate) const VERSION: u32 = 1;
const TAIL: usize = 40;

/// Opened columns.
pub(crate) struct Packed {
    bytes: SharedBytes,
    /// Where the section lies among the bytes.
    span: Range<usize>,
    columns: Vec<Range<usize>>,
    /// Where the checks begin, counted from the section's beginning, as the columns are.
    checks: usize,
    /// Blocks that were checked, one bit each.
    known: Vec<AtomicU64>,
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packed")
            .field("span", &self.span)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl Packed {
    /// Opens the section of `count` columns that ends at `end`.
    pub(crate) fn open(
        bytes: SharedBytes,
        end: usize,
        magic: [u8; 8],
        count: usize,
    ) -> Result<Self> {
        let all = (*bytes).as_ref().get(..end).unwrap_or_default();
        let short = || damaged(all.len(), "it ends too early");
        let size = TAIL + 16 * count;
        let at = all.len().checked_sub(size).ok_or_else(short)?;
        let foot = all.get(at..).ok_or_else(short)?;
        let long = |place: usize| {
            let bytes = foot.get(place..)?.first_chunk::<8>()?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        let short_word = |back: usize| {
            let bytes = foot.get(size - back..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        if foot.get(size - 24..size - 16) != Some(&magic) {
            return Err(damaged(at, "its magic is not that of this kind of section"));
        }
        if short_word(16) != Some(VERSION) {
            let found = short_word(16).unwrap_or_default();
            let detail = format!("it has version {found}, this one reads {VERSION}");
            return Err(damaged(at, &detail));
        }
        let sum = foot.get(..size - 4).map(crc32c::crc32c);
        if sum.is_none() || sum != short_word(4) {
            return Err(damaged(at, "its end does not have its checksum"));
        }
        // From here on the foot is what was written, or made to look like it.
        let odd = || damaged(at, "its columns do not fit into it");
        let whole = long(size - 32).ok_or_else(odd)?;
        let start = all.len().checked_sub(whole).ok_or_else(odd)?;
        let checks = long(size - 40).ok_or_else(odd)?;
        let blocks = checks.div_ceil(BLOCK);
        let area = blocks
            .checked_mul(4)
            .and_then(|area| area.checked_add(checks));
        if area.and_then(|area| area.checked_add(size)) != Some(whole) || short_word(12).is_none() {
            return Err(odd());
        }
        let mut columns = Vec::with_capacity(count);
        for column in 0..count {
            let begin = long(16 * column).ok_or_else(odd)?;
            let length = long(16 * column + 8).ok_or_else(odd)?;
            let stop = begin.checked_add(length).filter(|stop| *stop <= checks);
            columns.push(begin..stop.ok_or_else(odd)?);
        }
        let sums = all.get(start + checks..at).ok_or_else(odd)?;
        if short_word(8) != Some(crc32c::crc32c(sums)) {
            return Err(damaged(
                start + checks,
                "its checks do not have their checksum",
            ));
        }
        let end = all.len();
        Ok(Self {
            span: start..end,
            columns,
            checks,
            known: (0..blocks.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
            bytes,
        })
    }

    /// Where the section begins among the bytes.
    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    /// The number of entries of `width` bytes in a column.
    pub(crate) fn len(&self, column: usize, width: usize) -> usize {
        self.columns.get(column).map_or(0, ExactSizeIterator::len) / width
    }

    /// Some bytes of a column, checked.
    pub(crate) fn read(&self, column: usize, range: Range<usize>) -> Result<&[u8]> {
        let place = self.columns.get(column).and_then(|column| {
            let begin = column.start.checked_add(range.start)?;
            let end = column.start.checked_add(range.end)?;
            (begin <= end && end <= column.end).then_some(begin..end)
        });
        let place = place.ok_or_else(|| {
            let detail = format!("a reference leads out of column {column}");
            damaged(self.span.start, &detail)
        })?;
        if !place.is_empty() {
            for block in place.start / BLOCK..=(place.end - 1) / BLOCK {
                self.check(block)?;
            }
        }
        let section = self.section();
        let short = || damaged(self.span.start, "its bytes are gone");
        section.get(place).ok_or_else(short)
    }

    /// Entries of a fixed width of a column, checked.
    pub(crate) fn entries<const N: usize>(
        &self,
        column: usize,
        range: Range<usize>,
    ) -> Result<&[[u8; N]]> {
        let bytes = self.read(
            column,
            range.start.saturating_mul(N)..range.end.saturating_mul(N),
        )?;
        Ok(bytes.as_chunks::<N>().0)
    }

    /// One entry of a fixed width, checked.
    pub(crate) fn entry<const N: usize>(&self, column: usize, at: usize) -> Result<[u8; N]> {
        let entries = self.entries::<N>(column, at..at.saturating_add(1))?;
        let none = || damaged(self.span.start, "its bytes are gone");
        entries.first().copied().ok_or_else(none)
    }

    /// How many entries of `range` of a column that is in order are below something.
    pub(crate) fn partition<const N: usize>(
        &self,
        column: usize,
        range: Range<usize>,
        mut below: impl FnMut([u8; N]) -> bool,
    ) -> Result<usize> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            if below(self.entry(column, middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The error of contents that do not fit each other.
    pub(crate) fn damaged(&self, detail: &str) -> Error {
        damaged(self.span.start, detail)
    }

    /// Checks every block.
    pub(crate) fn verify(&self) -> Result<()> {
        (0..self.checks.div_ceil(BLOCK)).try_for_each(|block| self.check(block))
    }

    fn section(&self) -> &[u8] {
        (*self.bytes)
            .as_ref()
            .get(self.span.clone())
            .unwrap_or_default()
    }

    fn check(&self, block: usize) -> Result<()> {
        let (word, bit) = (self.known.get(block / 64), 1 << (block % 64));
        if word.is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0) {
            return Ok(());
        }
        let section = self.section();
        let begin = block.saturating_mul(BLOCK);
        let bytes = section.get(begin..begin.saturating_add(BLOCK).min(self.checks));
        let sum = section.get(self.checks.saturating_add(block.saturating_mul(4))..);
        let sum = sum.and_then(|rest| rest.first_chunk::<4>());
        if bytes.map(crc32c::crc32c) != sum.map(|sum| u32::from_le_bytes(*sum)) {
            return Err(damaged(
                self.span.start + begin,
                "a block does not have its checksum",
            ));
        }
        if let Some(word) = word {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The error of bytes that are not what was written.
fn damaged(offset: usize, detail: &str) -> Error {
    Error::SavedIndex {
        offset: u64::try_from(offset).unwrap_or(u64::MAX),
        detail: detail.into(),
    }
}
