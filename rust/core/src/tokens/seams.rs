//! Places where a text may be cut so that its parts have the tokens of the whole.
//!
//! A vocabulary's pattern never matches across the beginning of a run of white space without a line
//! break, nor across the place after the last line break of a run that goes on: words, numbers and
//! signs end before white space that breaks no line, a run up to its last line break is one match,
//! and nothing looks further than one character ahead. Such a place is a seam.
//!
//! The vocabulary reads the rest of its text for each match that is white space outside of ASCII.
//! Each of these begins at a seam, so parts that end at seams keep that rest short.

/// Bytes that a part has at most, unless there is no seam among them.
pub(super) const PART: usize = 1 << 10;

/// The parts of a text, in order: together they are the text, and each ends at a seam.
///
/// A part is longer than [`PART`] only if there is no seam inside of it.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut seams = Seams::new(text);
    let (mut rest, mut begin, mut ahead) = (text, 0, None);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = None;
        while let Some(seam) = ahead.take().or_else(|| seams.next()) {
            if seam - begin > PART && end.is_some() {
                ahead = Some(seam);
                break;
            }
            end = Some(seam);
            if seam - begin >= PART {
                break;
            }
        }
        let length = end.map_or(rest.len(), |end| end - begin);
        let (part, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
        (rest, begin) = (left, begin + length);
        Some(part)
    })
}

/// The seams of a text, in order.
struct Seams<'a> {
    chars: std::str::CharIndices<'a>,
    /// Where the run of white space that is being read began or had its last line break, if the run
    /// has gone on since.
    open: Option<usize>,
    /// Whether the last character was white space.
    white: bool,
}

impl<'a> Seams<'a> {
    fn new(text: &'a str) -> Self {
        // What begins the text is no place to cut it.
        Self {
            chars: text.char_indices(),
            open: None,
            white: true,
        }
    }
}

impl Iterator for Seams<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        for (at, sign) in self.chars.by_ref() {
            let white = sign.is_whitespace();
            if !white {
                self.white = false;
                if let Some(seam) = self.open.take() {
                    return Some(seam);
                }
            } else if matches!(sign, '\r' | '\n') {
                self.open = None;
                self.white = false; // the run may go on after it, and then there is a seam
            } else if !self.white {
                self.open = Some(at);
                self.white = true;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seams(text: &str) -> Vec<usize> {
        Seams::new(text).collect()
    }

    #[test]
    fn a_seam_is_before_white_space_and_after_its_last_line_break() {
        assert_eq!(seams("one two"), [3]);
        assert_eq!(seams("  one  two "), [5]);
        assert_eq!(seams("one \n two"), [5]);
        assert!(seams("one\n\n\ntwo \r\n").is_empty());
        assert_eq!(seams("one!\n\u{a0}\u{a0}two"), [5]);
        assert_eq!(seams("\n\u{3000}x"), [1]);
        assert!(seams("").is_empty());
    }

    #[test]
    fn parts_are_the_text_and_short() {
        let hard = "!\n\u{a0}\u{a0}a \u{3000}/".repeat(900);
        let cases = [
            hard.clone(),
            format!("{hard}{}{hard}", "x".repeat(9_000)),
            "word ".repeat(2_000),
            "x".repeat(5_000),
            " ".repeat(5_000),
            String::new(),
        ];
        for text in cases {
            let found: Vec<&str> = parts(&text).collect();
            assert_eq!(found.concat(), text);
            for part in &found {
                assert!(
                    part.len() <= PART || seams(part).is_empty(),
                    "{}",
                    part.len()
                );
            }
            let few = 2 * text.len() / PART + 3;
            assert!(found.len() <= few, "{} parts", found.len());
        }
    }

    #[test]
    fn parts_have_the_tokens_of_the_whole() {
        let signs = [
            " ", " ", "\u{a0}", "\u{3000}", "\n", "\r", "\t", "\u{85}", "\u{2028}", "a", "B", "9",
            "!", "/", "'s", "é", "中", "e\u{301}", "🙂", "don't", "\u{200b}",
        ];
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap() % below
        };
        for name in ["o200k_base", "cl100k_base"] {
            let encoder = tiktoken::get_encoding(name).unwrap();
            for round in 0..400 {
                let kinds = 2 + random(signs.len() - 1);
                let first = random(signs.len());
                let text: String = (0..1_500)
                    .map(|_| signs[(first + random(kinds)) % signs.len()])
                    .collect();
                let places = Seams::new(&text).chain([text.len()]);
                let mut begin = 0;
                let mut count = 0;
                for end in places {
                    count += encoder.count(&text[begin..end]);
                    begin = end;
                }
                assert_eq!(
                    count,
                    encoder.count(&text),
                    "{name}, round {round}: {text:?}"
                );
                let by_parts: usize = parts(&text).map(|part| encoder.count(part)).sum();
                assert_eq!(by_parts, encoder.count(&text));
            }
        }
    }
}
