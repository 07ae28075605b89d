//! From text to terms: what the lexical index and a query have in common.
//!
//! ```text
//! lower-case ─▶ runs of letters and digits ─▶ scripts written without spaces: pairs of characters
//!                                          ─▶ the rest: stop words out, Snowball English stem
//! ```

use rust_stemmers::{Algorithm, Stemmer};

use super::stopwords::is_stop_word;

/// A word longer than this (a hash, a blob) is cut: nobody types more of it into a query.
const LONGEST: usize = 64;

/// The terms of a text, in order, with repeats.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let lower = text.to_lowercase();
    let mut out = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() || (word.is_ascii() && is_stop_word(word)) {
            continue;
        }
        if word.chars().any(is_unspaced) {
            pairs(word, &mut out);
        } else if word.len() > LONGEST {
            out.push(word.chars().take(LONGEST).collect());
        } else {
            out.push(stemmer.stem(word).into_owned());
        }
    }
    out
}

/// Every pair of neighbouring characters of a run of an unspaced script; other runs stay words.
fn pairs(word: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        if run.len() == 1 || !run.first().copied().is_some_and(is_unspaced) {
            out.push(run.iter().take(LONGEST).collect());
        } else {
            out.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
}

/// Han, kana, Hangul, Thai, Lao, Khmer and Myanmar: scripts that do not put spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_stemmed_and_stop_words_leave() {
        assert_eq!(
            terms("The workers were failing; we fixed them."),
            ["worker", "fail", "fix"]
        );
    }

    #[test]
    fn paths_and_snake_case_fall_apart() {
        assert_eq!(
            terms("src/db_pool.rs:12"),
            ["src", "db", "pool", "rs", "12"]
        );
    }

    #[test]
    fn unspaced_scripts_give_pairs() {
        assert_eq!(terms("東京都の abc"), ["東京", "京都", "都の", "abc"]);
        assert_eq!(terms("東"), ["東"]);
        assert_eq!(terms("v2東京"), ["v2", "東京"]);
    }

    #[test]
    fn a_blob_is_cut() {
        assert_eq!(terms(&"x".repeat(5000)), ["x".repeat(LONGEST)]);
    }
}
