//! Which of some phrases a text may have: each needs words, one of each of several sets, near each other.

use rustc_hash::FxHashMap;

/// The sets of words that phrases need.
#[derive(Debug)]
pub struct Needs {
    /// Word ─▶ the sets that have the word, counted over all phrases.
    known: FxHashMap<Box<[u8]>, Vec<Set>>,
    /// How many sets there are.
    sets: usize,
    /// Whether a phrase needs nothing.
    always: bool,
    longest: usize,
    reach: usize,
}

/// A set of a phrase.
#[derive(Clone, Copy, Debug)]
struct Set {
    number: usize,
    /// The sets of the phrase, of which it is one.
    first: usize,
    end: usize,
}

impl Needs {
    /// The phrases, each by its sets of words in lower case, and how many words further than the first of
    /// those that a phrase needs the last one stands at most. A word is letters of ASCII or digits alone: a
    /// set that has another is taken to be there always.
    pub fn new<'a, Sets, Words>(phrases: impl IntoIterator<Item = Sets>, reach: usize) -> Self
    where
        Sets: IntoIterator<Item = Words>,
        Words: IntoIterator<Item = &'a str>,
    {
        let mut made = Self {
            known: FxHashMap::default(),
            sets: 0,
            always: false,
            longest: 0,
            reach,
        };
        for sets in phrases {
            let sets = sets.into_iter().map(|set| set.into_iter().collect());
            let needed: Vec<Vec<&str>> = sets
                .filter(|set: &Vec<&str>| set.iter().all(|word| is_run(word)))
                .collect();
            let (first, end) = (made.sets, made.sets + needed.len());
            made.always |= needed.is_empty();
            made.sets = end;
            for (number, set) in (first..end).zip(needed) {
                for word in set {
                    made.longest = made.longest.max(word.len());
                    let of = made.known.entry(word.as_bytes().into()).or_default();
                    of.push(Set { number, first, end });
                }
            }
        }
        made
    }

    /// Whether a text has what one of the phrases needs, in letters of either case.
    #[must_use]
    pub fn any_in(&self, text: &str) -> bool {
        if self.always {
            return true;
        }
        // Where a word of each set stood last, counted from `reach + 1`; 0 is too far from every word.
        let mut last = vec![0; self.sets];
        let lower = text.to_ascii_lowercase();
        let words =
            runs(&lower).filter(|run| run.first().is_some_and(|byte| kind(*byte).is_some()));
        for (at, word) in words.enumerate() {
            let at = at + self.reach + 1;
            if word.len() > self.longest {
                continue;
            }
            for set in self.known.get(word).into_iter().flatten() {
                if let Some(last) = last.get_mut(set.number) {
                    *last = at;
                }
                let others = last.get(set.first..set.end).unwrap_or_default();
                if others.iter().all(|last| last + self.reach >= at) {
                    return true;
                }
            }
        }
        false
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
