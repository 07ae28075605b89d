//! How a turn stands in a window, where its text is plain: as a quote, and as a line of the index.

use crate::text::names::{Names, is_space};
use crate::text::needs::Needs;

/// Letters that are in ASCII only in lower case: a dotted capital I, the sign of Kelvin.
const LOWERED: [char; 2] = ['\u{130}', '\u{212a}'];

/// What a text may not have, or it is not plain.
#[derive(Debug)]
pub struct Rules {
    /// Signs that may begin a tag; of those in ASCII that is `<` alone.
    pub signs: Vec<char>,
    /// Letters that the names of tags begin with, in lower case.
    pub tags: Vec<u8>,
    /// Bytes of a quoted text at most.
    pub quoted: usize,
    /// Bytes of a text at most that is described in a line.
    pub described: usize,
    /// Characters of a summary at most.
    pub summary: usize,
}

/// Quotes plain texts, and describes them in a line.
#[derive(Debug)]
pub struct Quotes {
    dates: Needs,
    names: Names,
    rules: Rules,
}

impl Quotes {
    /// Quotes texts that have none of the phrases, and describes them with the names in them.
    #[must_use]
    pub fn new(dates: Needs, names: Names, rules: Rules) -> Self {
        Self {
            dates,
            names,
            rules,
        }
    }

    /// What a person or the model said behind its head, its further lines indented. None where the text is
    /// not plain.
    #[must_use]
    pub fn quote(&self, head: &str, text: &str) -> Option<String> {
        if text.len() > self.rules.quoted || !self.is_head(head) {
            return None;
        }
        if !self.is_plain(text) || self.may_be_dated(text) {
            return None;
        }
        Some([head, ": ", &text.replace('\n', "\n  "), "\n"].concat())
    }

    /// The beginning of a text behind its head, and the names in the text that are not in its beginning.
    /// None where the text is not plain.
    #[must_use]
    pub fn line(&self, head: &str, text: &str) -> Option<String> {
        if text.len() > self.rules.described || !self.is_head(head) {
            return None;
        }
        let names = self.names.of(text)?;
        let mut line = [head, ": "].concat();
        let start = line.len();
        self.summarise(text, &mut line);
        let end = line.len();
        let mut before = " (";
        for name in names {
            if !line.get(start..end)?.contains(&name) {
                line.push_str(before);
                line.push_str(&name);
                before = ", ";
            }
        }
        if before == ", " {
            line.push(')');
        }
        line.push('\n');
        // Lines end where white space does, and that is one blank now: signs are left.
        (!self.has_sign(&line)).then_some(line)
    }

    /// Appends the beginning of a text, its white space collapsed. It has none that is not in ASCII.
    fn summarise(&self, text: &str, out: &mut String) {
        let start = out.len();
        let mut left = self.rules.summary;
        let words = text.split(|one| u8::try_from(one).is_ok_and(is_space));
        for word in words.filter(|word| !word.is_empty()) {
            if out.len() > start {
                if left < 2 {
                    break;
                }
                out.push(' ');
                left -= 1;
            }
            let end = word.char_indices().nth(left).map(|(at, _)| at);
            let word = end.and_then(|end| word.get(..end)).unwrap_or(word);
            out.push_str(word);
            left -= word.chars().count();
            if left == 0 {
                break;
            }
        }
    }

    /// Whether a head is plain, and one line.
    fn is_head(&self, head: &str) -> bool {
        self.is_plain(head) && !head.contains('\n')
    }

    /// Whether no reader sees another end of a line than `\n`, and no sign begins a tag.
    fn is_plain(&self, text: &str) -> bool {
        let ends = |one: char| {
            matches!(
                one,
                '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
            )
        };
        !text.contains(ends) && !self.has_sign(text)
    }

    fn has_sign(&self, text: &str) -> bool {
        if !text.is_ascii() {
            return text.contains(self.rules.signs.as_slice());
        }
        // A name may be written with dashes before it, and with characters that nobody sees.
        let seen = |one: &&u8| !matches!(one, 0..=b' ' | 0x7f | b'-' | b'_' | b'/' | b'\\');
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|one| *one == b'<') {
            rest = rest.get(at + 1..).unwrap_or_default();
            let first = rest.iter().find(seen).map(u8::to_ascii_lowercase);
            if first.is_some_and(|first| self.rules.tags.contains(&first)) {
                return true;
            }
        }
        false
    }

    fn may_be_dated(&self, text: &str) -> bool {
        self.dates.any_in(text) || (!text.is_ascii() && text.contains(LOWERED))
    }
}
