//! Which of some phrases a text may have: each needs words, one of each of several sets.

use rustc_hash::FxHashMap;

/// The sets of words that phrases need.
#[derive(Debug)]
pub struct Needs {
    /// Word ─▶ phrases, each with the sets that have the word.
    known: FxHashMap<Box<[u8]>, Vec<(usize, u64)>>,
    /// Phrase ─▶ all of its sets.
    all: Vec<u64>,
    longest: usize,
}

impl Needs {
    /// The phrases, each by its sets of words in lower case; of sets beyond the 64th none is needed. A word
    /// is letters of ASCII or digits alone: a set that has another is taken to be there always.
    pub fn new<'a, Sets, Words>(phrases: impl IntoIterator<Item = Sets>) -> Self
    where
        Sets: IntoIterator<Item = Words>,
        Words: IntoIterator<Item = &'a str>,
    {
        let mut made = Self {
            known: FxHashMap::default(),
            all: Vec::new(),
            longest: 0,
        };
        for (phrase, sets) in phrases.into_iter().enumerate() {
            let mut all = 0;
            for (at, set) in sets.into_iter().enumerate().take(64) {
                let words: Vec<&str> = set.into_iter().collect();
                if !words.iter().all(|word| is_run(word)) {
                    continue;
                }
                let bit = 1 << at;
                all |= bit;
                for word in words {
                    made.longest = made.longest.max(word.len());
                    made.known
                        .entry(word.as_bytes().into())
                        .or_default()
                        .push((phrase, bit));
                }
            }
            made.all.push(all);
        }
        made
    }

    /// Whether a text has what one of the phrases needs, in letters of either case.
    #[must_use]
    pub fn any_in(&self, text: &str) -> bool {
        let mut there = vec![0; self.all.len()];
        let lower = text.to_ascii_lowercase();
        for run in runs(&lower).filter(|run| run.len() <= self.longest) {
            for (phrase, bit) in self.known.get(run).into_iter().flatten() {
                if let Some(there) = there.get_mut(*phrase) {
                    *there |= bit;
                }
            }
        }
        there.iter().zip(&self.all).any(|(there, all)| there == all)
    }
}

/// The words of a text: letters of ASCII in lower case, or digits; every other byte stands alone.
pub fn runs(text: &str) -> impl Iterator<Item = &[u8]> {
    let bytes = text.as_bytes();
    bytes.chunk_by(|one, next| kind(*one).is_some() && kind(*one) == kind(*next))
}

/// Whether a word is one that texts are cut into.
fn is_run(word: &str) -> bool {
    let first = word.bytes().next().and_then(kind);
    first.is_some() && word.bytes().all(|byte| kind(byte) == first)
}

/// What a byte may be in a run of; none stands alone.
fn kind(byte: u8) -> Option<bool> {
    match byte {
        b'a'..=b'z' => Some(true),
        b'0'..=b'9' => Some(false),
        _ => None,
    }
}
