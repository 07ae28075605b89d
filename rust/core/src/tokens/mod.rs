//! How many tokens a text is.
//!
//! Promises: for a bundled vocabulary the count is that of the reference tokeniser on the same text,
//! with nothing treated as a control token; without one it is an estimate that looks at scripts and
//! says that it is one. Nothing here needs a network.

mod estimate;
mod seams;

use crate::error::{Error, Result};

pub use estimate::estimate;

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

    /// The number of tokens of a text.
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        let encoder = match self {
            Self::O200kBase | Self::Cl100kBase => tiktoken::get_encoding(self.name()),
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
    fn control_tokens_in_a_text_are_text() {
        assert!(Encoding::O200kBase.count("<|endoftext|>") > 1);
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let error = Encoding::named("p50k").unwrap_err().to_string();
        assert!(error.contains("o200k_base"), "{error}");
    }
}
