//! How many tokens a text is.
//!
//! Promises: for a bundled vocabulary the count is that of the reference tokeniser on the same text,
//! with nothing treated as a control token; without one it is an estimate that looks at scripts and
//! says that it is one. Nothing here needs a network.

mod estimate;
mod seams;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::error::{Error, Result};

pub use estimate::estimate;

/// Held while a vocabulary is unpacked, once in a process.
static LOADING: Mutex<()> = Mutex::new(());

/// The vocabularies that are there, a bit each.
static LOADED: AtomicU8 = AtomicU8::new(0);

/// The lock of whoever unpacks a vocabulary, if no other thread does at this moment.
pub(crate) fn try_loading() -> Option<MutexGuard<'static, ()>> {
    match LOADING.try_lock() {
        Ok(lock) => Some(lock),
        Err(TryLockError::Poisoned(lock)) => Some(lock.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// How tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The vocabulary of GPT-4o and later; exact.
    O200kBase,
    /// The vocabulary of GPT-4 and GPT-3.5; exact.
    Cl100kBase,
    /// No vocabulary: by script, for models whose tokeniser is not published.
    Estimate,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::Cl100kBase, Self::Estimate];

    /// The name in the public API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Estimate => "estimate",
        }
    }

    /// The encoding of that name.
    ///
    /// # Errors
    /// [`Error::Argument`] with the names that there are.
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
            .ok_or_else(|| Error::Argument {
                name: "encoding",
                expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
                found: format!("{name:?}"),
            })
    }

    /// Whether a count is the reference's, not an estimate.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self != Self::Estimate
    }

    /// The vocabulary. The first call unpacks it under our own lock, which a fork waits for: the child
    /// would wait for ever for the thread that unpacks.
    fn vocabulary(self, bit: u8) -> Option<&'static tiktoken::CoreBpe> {
        let loading = (LOADED.load(Ordering::Acquire) & bit == 0)
            .then(|| LOADING.lock().unwrap_or_else(PoisonError::into_inner));
        let found = tiktoken::get_encoding(self.name());
        if loading.is_some() {
            LOADED.fetch_or(bit, Ordering::Release);
        }
        found
    }

    /// The number of tokens of a text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        let encoder = match self {
            Self::O200kBase => self.vocabulary(1),
            Self::Cl100kBase => self.vocabulary(2),
            Self::Estimate => None,
        };
        encoder.map_or_else(
            || estimate(text),
            |encoder| {
                let count = if text.len() <= seams::PART || text.is_ascii() {
                    encoder.count(text)
                } else {
                    seams::parts(text).map(|part| encoder.count(part)).sum()
                };
                u64::try_from(count).unwrap_or(u64::MAX)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_are_in_the_binary() {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            assert!(tiktoken::get_encoding(encoding.name()).is_some());
            assert_eq!(encoding.count("hello world"), 2);
            assert_eq!(encoding.count(""), 0);
        }
    }

    #[test]
    fn a_vocabulary_is_unpacked_under_the_lock_and_counts_without_it() {
        let _ = (
            Encoding::O200kBase.count("x"),
            Encoding::Cl100kBase.count("x"),
        );
        let lock = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(try_loading().is_none());
        assert_eq!(LOADED.load(Ordering::Acquire), 3);
        assert_eq!(Encoding::O200kBase.count("hello world"), 2);
        LOADED.store(1, Ordering::Release);
        let other = std::thread::spawn(|| Encoding::Cl100kBase.count("hello world"));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!other.is_finished(), "it waits for the lock");
        drop(lock);
        assert_eq!(other.join().unwrap(), 2);
        assert_eq!(LOADED.load(Ordering::Acquire), 3);
    }

    #[test]
    fn control_tokens_in_a_text_are_text() {
        assert!(Encoding::O200kBase.count("<|endoftext|>") > 1);
    }

    #[test]
    fn only_a_vocabulary_is_exact_and_every_name_is_found_again() {
        let exact = Encoding::ALL.into_iter().filter(|one| one.is_exact());
        assert!(exact.eq([Encoding::O200kBase, Encoding::Cl100kBase]));
        for one in Encoding::ALL {
            assert_eq!(Encoding::named(one.name()).unwrap(), one);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let error = Encoding::named("p50k").unwrap_err().to_string();
        assert!(error.contains("o200k_base"), "{error}");
    }
}
