//! From text to terms: what the lexical index and a query have in common.
//!
//! ```text
//! one spelling ─▶ names of joined words ─▶ unspaced scripts: pairs of characters (and Han by itself)
//!     fold            compound          ─▶ each word: stop words out, Snowball English stem
//!                                       ─▶ parts of words with capitals inside      camel
//!                                       ─▶ the name as a whole, and names inside it
//! ```
//!
//! A text and a query are read alike. A query for a whole name finds turns with its words, and those
//! with the name first, since the whole is a term of its own and a rare one; a query for a word finds
//! the names that have it. The time is linear in the text.

mod camel;
mod compound;
mod fold;
mod script;
mod stopwords;

use rust_stemmers::{Algorithm, Stemmer};

use compound::{Joint, Word};
use stopwords::is_stop_word;

/// A word longer than this (a blob) is cut: nobody types more of it into a query.
const LONGEST: usize = 64;

/// A name longer than this has no term as a whole; its words and the names inside it have theirs.
const LONGEST_NAME: usize = 256;

/// As many digits of a hash as people type.
const ABBREVIATION: usize = 7;

/// The terms of a text, in order, with repeats.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let folded = fold::fold(text);
    let mut sink = Sink {
        stemmer: Stemmer::create(Algorithm::English),
        out: Vec::new(),
    };
    let mut words = Vec::new();
    let mut rest: &str = &folded;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = rest.get(start..).unwrap_or_default();
        rest = compound::read(rest, &mut words);
        sink.name(&words, rest);
    }
    sink.out
}

struct Sink {
    stemmer: Stemmer,
    out: Vec<String>,
}

impl Sink {
    /// The terms of a name, given the text after it.
    fn name(&mut self, words: &[Word<'_>], after: &str) {
        for word in words {
            self.word(word.text, words.len() == 1);
        }
        for level in 0..=2 {
            let apart = |word: &Word<'_>| word.joint.is_none_or(|joint| joint.level() > level);
            for name in words.chunk_by(|_, word| !apart(word)) {
                let inside = name.iter().skip(1).filter_map(|word| word.joint);
                if inside.clone().any(|joint| joint.level() == level) && compound::is_name(name) {
                    self.whole(name);
                }
            }
        }
        if let [word] = words {
            self.language(word.text, after);
        }
    }

    /// One word, and its parts.
    fn word(&mut self, word: &str, alone: bool) {
        if word.chars().any(script::is_unspaced) {
            return script::pairs(&word.to_lowercase(), LONGEST, &mut self.out);
        }
        if word.len() > LONGEST {
            return self
                .out
                .push(word.to_lowercase().chars().take(LONGEST).collect());
        }
        let lower = word.to_lowercase();
        self.stem(&lower);
        for part in camel::parts(word) {
            self.stem(&part.to_lowercase());
        }
        if alone && is_hash(&lower) {
            self.out
                .extend(lower.get(..ABBREVIATION).map(str::to_owned));
        }
    }

    /// A word in small letters, unless it is a stop word.
    fn stem(&mut self, lower: &str) {
        if !(lower.is_ascii() && is_stop_word(lower)) {
            self.out.push(self.stemmer.stem(lower).into_owned());
        }
    }

    /// A name as one term, not stemmed; a version is written without its v.
    fn whole(&mut self, name: &[Word<'_>]) {
        if name.iter().map(|word| word.text.len() + 2).sum::<usize>() > LONGEST_NAME {
            return;
        }
        let mut whole = String::new();
        for (at, word) in name.iter().enumerate() {
            let joint = word.joint.filter(|_| at > 0);
            whole.push_str(joint.map_or("", Joint::sign));
            whole.push_str(&word.text.to_lowercase());
        }
        let numbered = whole
            .strip_prefix('v')
            .filter(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        let version = numbered.map(str::to_owned);
        self.out.push(version.unwrap_or(whole));
    }

    /// Languages whose names end in signs: C++, C#.
    fn language(&mut self, word: &str, after: &str) {
        let sign = ["++", "#"].into_iter().find(|sign| after.starts_with(sign));
        if let Some(sign) = sign
            && word.len() == 1
            && word.bytes().all(|b| b.is_ascii_alphabetic())
        {
            self.out.push(word.to_lowercase() + sign);
        }
    }
}

/// Whether a word in small letters is the digits of a hash, or the first of them.
fn is_hash(word: &str) -> bool {
    word.len() > ABBREVIATION
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}
