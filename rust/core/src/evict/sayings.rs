//! What texts state, and which of them say the same, as far as it was told.

use std::collections::HashMap;
use std::sync::Arc;

/// Numbers of what a text states, ascending.
pub(super) type Facts = Arc<[i64]>;

/// A text that says the same as another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twin {
    /// Their cosine.
    pub cosine: f64,
    /// The text.
    pub text: u64,
}

/// What texts state, and which of them say the same.
#[derive(Debug, Default)]
pub struct Sayings {
    facts: HashMap<u64, Facts>,
    twins: HashMap<u64, Vec<Twin>>,
}

impl Sayings {
    /// Takes note of what a text states: numbers that are equal for equal facts.
    pub fn state(&mut self, text: u64, mut facts: Vec<i64>) {
        facts.sort_unstable();
        facts.dedup();
        self.facts.insert(text, facts.into());
    }

    /// Takes note of the texts that say the same as one, nearest first, in place of those before.
    pub fn relate(&mut self, text: u64, twins: Vec<Twin>) {
        if twins.is_empty() {
            self.twins.remove(&text);
        } else {
            self.twins.insert(text, twins);
        }
    }

    /// Forgets a text.
    pub fn forget(&mut self, text: u64) {
        self.facts.remove(&text);
        self.twins.remove(&text);
    }

    /// The places of texts of which it is not known what they state.
    #[must_use]
    pub fn lacking(&self, texts: &[Option<u64>]) -> Vec<usize> {
        let known = |text: &Option<u64>| text.is_none_or(|text| self.facts.contains_key(&text));
        let places = texts.iter().enumerate();
        places
            .filter(|(_, text)| !known(text))
            .map(|(at, _)| at)
            .collect()
    }

    pub(super) fn stated(&self, text: u64) -> Option<&Facts> {
        self.facts.get(&text)
    }

    pub(super) fn twins(&self, text: u64) -> Option<&Vec<Twin>> {
        self.twins.get(&text)
    }
}
