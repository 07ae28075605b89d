//! Names that are made of several words: paths, identifiers, versions, addresses.
//!
//! ```text
//! src/db_pool.rs:12        words     src db pool rs           12
//!                          _ - ,     db_pool                        level 0: what one name is
//!                          .         db_pool.rs                     level 1: what a file or a host is
//!                          / \ :: @  src/db_pool.rs                 level 2: the whole
//! ```
//!
//! A joint stands between two letters or digits; nothing else joins. Prose joins words too (well-being,
//! and/or, 30-60, a.m.), and keeps the terms that it would have without this: [`is_name`].

use unicode_normalization::char::is_combining_mark;

use super::script::is_unspaced;
use super::stopwords::is_stop_word;

/// A name of more words than this is read as several names.
const MOST: usize = 64;

/// What stands between two words of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `_`, once or more often.
    Underscore,
    /// `-`.
    Dash,
    /// `,` between the thousands of a number.
    Thousands,
    /// `.`.
    Dot,
    /// `/` or `\`.
    Slash,
    /// `::`.
    Colons,
    /// `@`.
    At,
}

impl Joint {
    /// How it is written in a term.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Underscore => "_",
            Self::Dash => "-",
            Self::Thousands => "",
            Self::Dot => ".",
            Self::Slash => "/",
            Self::Colons => "::",
            Self::At => "@",
        }
    }

    /// How far it reaches: names of a lower level are parts of those of a higher one.
    pub(super) fn level(self) -> u8 {
        match self {
            Self::Underscore | Self::Dash | Self::Thousands => 0,
            Self::Dot => 1,
            Self::Slash | Self::Colons | Self::At => 2,
        }
    }
}

/// One word of a name, and what joins it to the word before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) joint: Option<Joint>,
}

/// The words of the name that a text begins with, and the text after it.
pub(super) fn read<'a>(text: &'a str, words: &mut Vec<Word<'a>>) -> &'a str {
    words.clear();
    let (mut rest, mut joint) = (text, None);
    loop {
        let (word, after) = split_word(rest, joint);
        words.push(Word { text: word, joint });
        rest = after;
        if words.len() == MOST || word.chars().any(is_unspaced) {
            return rest;
        }
        let Some((found, next)) = joint_before(word, rest) else {
            return rest;
        };
        joint = Some(found);
        rest = next;
    }
}

/// The word that a text begins with: letters, digits and the marks on them.
fn split_word(text: &str, joint: Option<Joint>) -> (&str, &str) {
    // The day of 2026-11-21T18:45 ends before the T.
    let end = day_and_time(text, joint).unwrap_or_else(|| {
        let mut spaced = false;
        text.char_indices()
            .find(|(_, c)| {
                let more = c.is_alphanumeric() || (spaced && is_combining_mark(*c));
                spaced = !is_unspaced(*c);
                !more
            })
            .map_or(text.len(), |(at, _)| at)
    });
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn day_and_time(text: &str, joint: Option<Joint>) -> Option<usize> {
    let digit = u8::is_ascii_digit;
    match text.as_bytes() {
        [a, b, b'T', c, d, ..] if joint == Some(Joint::Dash) => {
            [a, b, c, d].into_iter().all(digit).then_some(2)
        }
        _ => None,
    }
}

/// The joint that a text begins with, and the text after it, if a word follows.
fn joint_before<'a>(before: &str, text: &'a str) -> Option<(Joint, &'a str)> {
    let mut chars = text.chars();
    let first = chars.next()?;
    let (joint, rest) = match first {
        '_' => (Joint::Underscore, text.trim_start_matches('_')),
        '-' => (Joint::Dash, chars.as_str()),
        '.' => (Joint::Dot, chars.as_str()),
        '/' | '\\' => (Joint::Slash, chars.as_str()),
        '@' => (Joint::At, chars.as_str()),
        ':' => (Joint::Colons, text.strip_prefix("::")?),
        ',' => {
            let thousand = rest_is_a_thousand(chars.as_str()) && is_head_of_thousands(before);
            (Joint::Thousands, thousand.then_some(chars.as_str())?)
        }
        _ => return None,
    };
    let next = rest.chars().next()?;
    (next.is_alphanumeric() && !is_unspaced(next)).then_some((joint, rest))
}

fn is_head_of_thousands(word: &str) -> bool {
    word.len() <= 3 && word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether exactly three digits come, and no letter after them.
fn rest_is_a_thousand(text: &str) -> bool {
    let digits = text.bytes().take(4).take_while(u8::is_ascii_digit).count();
    digits == 3 && !text.chars().nth(3).is_some_and(char::is_alphanumeric)
}

/// Whether joined words are one name, and not prose.
///
/// `_`, `::`, `@` and the comma of a number make names, and so does `.` unless it stands between single
/// letters (a.m.). Words joined by `-` or `/` alone are a name if one mixes letters and digits, if
/// digits follow letters (utf-8), or if there are three or more, no stop word among them (one-to-one)
/// and no number before words (4-year-old).
pub(super) fn is_name(words: &[Word<'_>]) -> bool {
    let joints = || words.iter().skip(1).filter_map(|word| word.joint);
    let loose = |joint: Joint| matches!(joint, Joint::Dash | Joint::Slash);
    if joints().any(|joint| !loose(joint)) {
        let single = |word: &Word<'_>| word.text.len() == 1 && !word.text.starts_with(is_digit);
        return !(words.iter().all(single) && joints().all(|joint| joint == Joint::Dot));
    }
    let digits = |word: &Word<'_>| word.text.contains(is_digit);
    let letters = |word: &Word<'_>| word.text.contains(char::is_alphabetic);
    let stop = |word: &Word<'_>| is_stop_word(&word.text.to_ascii_lowercase());
    let counted = words.first().is_some_and(|word| !letters(word)) && words.iter().any(letters);
    words.iter().any(|word| digits(word) && letters(word))
        || (words.iter().any(letters) && words.last().is_some_and(digits))
        || (words.len() > 2 && !counted && !words.iter().any(stop))
}

fn is_digit(c: char) -> bool {
    c.is_numeric()
}
