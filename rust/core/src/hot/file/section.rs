//! Saved bytes that are read where they lie.
//!
//! A section is a run of a saved index. It is made of blocks of one mebibyte, each with a checksum; a
//! block is checked when it is first touched, and bytes of a block that does not pass are never seen:
//! whoever asks for them gets nothing, and the damage is noted for the caller of the index, who must
//! ask [`Damage::check`] before an answer leaves.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::packed::SharedBytes;

/// The bytes that one checksum covers.
pub(in crate::hot) const BLOCK: usize = 1 << 20;

/// What was found to be wrong with a saved index so far.
#[derive(Debug, Default)]
pub(in crate::hot) struct Damage {
    path: PathBuf,
    first: OnceLock<(u64, String)>,
}

impl Damage {
    /// No damage to the file of that name.
    pub(in crate::hot) fn none(path: PathBuf) -> Self {
        Self {
            path,
            first: OnceLock::new(),
        }
    }

    /// Notes damage; only the first counts.
    pub(in crate::hot) fn note(&self, offset: u64, detail: String) {
        let _ = self.first.set((offset, detail));
    }

    /// Whether nothing was found to be wrong.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`] with what was found first.
    pub(in crate::hot) fn check(&self) -> Result<()> {
        match self.first.get() {
            None => Ok(()),
            Some((offset, detail)) => Err(self.error(*offset, detail.clone())),
        }
    }

    /// The error that says so.
    pub(in crate::hot) fn error(&self, offset: u64, detail: String) -> Error {
        Error::IndexDamaged {
            path: self.path.clone(),
            offset,
            detail,
        }
    }
}

/// The checksums of a section's blocks.
struct Guard {
    name: String,
    sums: Vec<u32>,
    /// One bit a block: whether it was found to be right.
    seen: Vec<AtomicU64>,
    damage: Arc<Damage>,
}

/// A run of saved bytes.
#[derive(Clone)]
pub(in crate::hot) struct Section {
    bytes: SharedBytes,
    range: Range<usize>,
    guard: Arc<Guard>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Section({:?}, {:?})", self.guard.name, self.range)
    }
}

impl Section {
    /// A run of `bytes` with one checksum a block.
    pub(in crate::hot) fn new(
        name: &str,
        bytes: SharedBytes,
        range: Range<usize>,
        sums: Vec<u32>,
        damage: Arc<Damage>,
    ) -> Self {
        let words = sums.len().div_ceil(64);
        Self {
            bytes,
            range,
            guard: Arc::new(Guard {
                name: name.to_owned(),
                sums,
                seen: (0..words).map(|_| AtomicU64::new(0)).collect(),
                damage,
            }),
        }
    }

    /// A part of a test's section, with checksums of its own.
    #[cfg(test)]
    pub(in crate::hot) fn part(&self, range: Range<usize>) -> Self {
        let bytes = self.get(range.clone()).unwrap();
        let sums = bytes.chunks(BLOCK).map(crc32c::crc32c).collect();
        let damage = Arc::clone(&self.guard.damage);
        Self::new("part", Arc::clone(&self.bytes), range, sums, damage)
    }

    /// The number of bytes.
    pub(in crate::hot) fn len(&self) -> usize {
        self.range.len()
    }

    /// All bytes of the file, and where the section lies among them; nothing is checked.
    pub(in crate::hot) fn shared(&self) -> (SharedBytes, Range<usize>) {
        (Arc::clone(&self.bytes), self.range.clone())
    }

    /// The section's name.
    pub(in crate::hot) fn name(&self) -> &str {
        &self.guard.name
    }

    /// Whether the bytes begin at a multiple of `align` in memory.
    pub(in crate::hot) fn is_aligned(&self, align: usize) -> bool {
        let own = (*self.bytes).as_ref().get(self.range.clone());
        own.is_some_and(|own| own.is_empty() || own.as_ptr().addr().is_multiple_of(align))
    }

    /// Some of the bytes; `None` beyond the section, and where they are damaged.
    #[inline]
    pub(in crate::hot) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        let own = (*self.bytes).as_ref().get(self.range.clone())?;
        let found = own.get(range.clone())?;
        let blocks = range.start / BLOCK..range.end.div_ceil(BLOCK);
        for block in blocks {
            let bit = 1_u64 << (block % 64);
            let seen = self.guard.seen.get(block / 64)?;
            if seen.load(Ordering::Relaxed) & bit == 0 {
                self.check(own, block)?;
                seen.fetch_or(bit, Ordering::Relaxed);
            }
        }
        Some(found)
    }

    /// Checks every block, also those that were found to be right before.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`] with the first block that is not what was written.
    pub(in crate::hot) fn verify(&self) -> Result<()> {
        let own = (*self.bytes).as_ref().get(self.range.clone());
        for block in 0..self.len().div_ceil(BLOCK) {
            crate::interrupt::check()?;
            if own.and_then(|own| self.check(own, block)).is_none() {
                break;
            }
        }
        self.guard.damage.check()
    }

    /// Notes that the section cannot be what its name says.
    pub(in crate::hot) fn refuse(&self, detail: &str) -> Error {
        let offset = u64::try_from(self.range.start).unwrap_or(u64::MAX);
        let detail = format!("section {:?}: {detail}", self.guard.name);
        self.guard.damage.error(offset, detail)
    }

    #[cold]
    fn check(&self, own: &[u8], block: usize) -> Option<()> {
        let start = block * BLOCK;
        let bytes = own.get(start..own.len().min(start + BLOCK))?;
        let right = self
            .guard
            .sums
            .get(block)
            .is_some_and(|sum| *sum == crc32c::crc32c(bytes));
        if !right {
            let offset = u64::try_from(self.range.start + start).unwrap_or(u64::MAX);
            let detail = format!("a block of section {:?}", self.guard.name);
            self.guard.damage.note(offset, detail);
        }
        right.then_some(())
    }
}

/// A section of a test's own bytes.
#[cfg(test)]
pub(in crate::hot) fn of(bytes: &[u8]) -> (Section, Arc<Damage>) {
    let sums = bytes.chunks(BLOCK).map(crc32c::crc32c).collect();
    with_sums(bytes, sums)
}

/// A section of a test's own bytes, one of which is not what it was.
#[cfg(test)]
pub(in crate::hot) fn broken(mut bytes: Vec<u8>, at: usize) -> (Section, Arc<Damage>) {
    let sums = bytes.chunks(BLOCK).map(crc32c::crc32c).collect();
    bytes[at] ^= 1;
    with_sums(&bytes, sums)
}

#[cfg(test)]
fn with_sums(bytes: &[u8], sums: Vec<u32>) -> (Section, Arc<Damage>) {
    let damage = Arc::new(Damage::none("test".into()));
    // Aligned as a file's section is.
    let mut aligned = vec![crate::simd::Lanes::ZERO; bytes.len().div_ceil(64)];
    let place: &mut [u8] = bytemuck::cast_slice_mut(&mut aligned);
    place[..bytes.len()].copy_from_slice(bytes);
    let range = 0..bytes.len();
    let bytes: SharedBytes = Arc::new(Aligned(aligned));
    let section = Section::new("test", bytes, range, sums, Arc::clone(&damage));
    (section, damage)
}

#[cfg(test)]
struct Aligned(Vec<crate::simd::Lanes>);

#[cfg(test)]
impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_block_is_never_seen_and_is_named() {
        let (section, damage) = broken(vec![7_u8; 3 * BLOCK + 10], 2 * BLOCK + 5);
        assert!(section.get(0..2 * BLOCK).is_some());
        assert!(section.get(3 * BLOCK..3 * BLOCK + 10).is_some());
        assert!(damage.check().is_ok());
        assert!(section.get(2 * BLOCK - 1..2 * BLOCK + 1).is_none());
        let text = damage.check().unwrap_err().to_string();
        assert!(text.contains(&format!("byte {}", 2 * BLOCK)), "{text}");
        assert!(section.verify().is_err());
        assert!(section.get(0..4 * BLOCK).is_none(), "beyond the end");
    }
}
