//! The names in a text: capitalised words, and what looks like a name in code.
//!
//! ```text
//! code   a URL, else a path, else snake_case, else camelCase, else a ticket as AB-12
//! words  a capital and what follows, unless a sentence begins there and the word is an ordinary one
//! ```
//!
//! Both are found from left to right, code first; of a name that stands there twice the first place
//! counts, and names are told in the order of their places.

use std::ops::Range;

use rustc_hash::FxHashSet;

/// Repeats of a part of a name that are followed; in what is longer, nothing is looked for.
const LONG: usize = 80;

/// Folders of a path.
const FOLDERS: usize = 40;

/// Characters of a URL behind its strokes.
const URL: usize = 200;

/// Characters before a word that tell whether it begins a sentence.
const BEFORE: usize = 20;

/// Stands for a character that is no letter, digit or white space, and not in ASCII.
const OTHER: u8 = 0x80;

/// Finds the names in texts.
#[derive(Debug)]
pub struct Names {
    starters: FxHashSet<Box<[u8]>>,
    most: usize,
}

impl Names {
    /// Finds so many names at most; the starters, in lower case, name nothing where a sentence begins.
    pub fn new<'a>(starters: impl IntoIterator<Item = &'a str>, most: usize) -> Self {
        let starters = starters.into_iter().map(|word| word.as_bytes().into());
        Self {
            starters: starters.collect(),
            most,
        }
    }

    /// The names in a text, in order; none where it has letters, digits or white space that are not in
    /// ASCII, of which there are many kinds.
    #[must_use]
    pub fn of(&self, text: &str) -> Option<Vec<String>> {
        let signs = Signs::of(text)?;
        let mut known: FxHashSet<String> = FxHashSet::default();
        let mut found: Vec<(usize, String)> = Vec::new();
        let mut add = |at: usize, name: String| {
            let new = known.insert(name.clone());
            if new {
                found.push((at, name));
            }
            new
        };
        for range in signs.code() {
            let name = signs.text(range.clone());
            let name = name.trim_end_matches(['.', ',', ';', ':']);
            add(range.start, name.to_owned());
        }
        let (mut lower, mut words) = (None, 0);
        for range in signs.words() {
            // What stands behind so many is not told.
            if words == self.most {
                break;
            }
            let start = range.start;
            let word = signs.slice(range);
            if !word.first().is_some_and(u8::is_ascii_uppercase) {
                continue;
            }
            let word = word.strip_suffix(b"'s").unwrap_or(word);
            if word.len() == 1 {
                continue;
            }
            if signs.begins(start) {
                let plain = word.to_ascii_lowercase();
                if self.starters.contains(plain.as_slice()) {
                    continue;
                }
                let lower = lower.get_or_insert_with(|| signs.lower());
                if lower.contains(plain.as_slice()) {
                    continue;
                }
            }
            words += usize::from(add(start, signs.text(start..start + word.len())));
        }
        found.sort_by_key(|(at, _)| *at);
        found.truncate(self.most);
        Some(found.into_iter().map(|(_, name)| name).collect())
    }
}

/// A text as one byte a character.
struct Signs<'a> {
    text: &'a str,
    bytes: Vec<u8>,
    /// Where each character begins, unless every one is in ASCII.
    starts: Vec<usize>,
}

impl<'a> Signs<'a> {
    fn of(text: &'a str) -> Option<Self> {
        if text.is_ascii() {
            return Some(Self {
                text,
                bytes: text.as_bytes().into(),
                starts: Vec::new(),
            });
        }
        let sign = |one: char| match one {
            '\u{2019}' => Some(b'\''),
            _ if one.is_ascii() => u8::try_from(one).ok(),
            _ if one.is_alphanumeric() || one.is_whitespace() => None,
            _ => Some(OTHER),
        };
        let ends = std::iter::once(text.len());
        Some(Self {
            text,
            bytes: text.chars().map(sign).collect::<Option<_>>()?,
            starts: text.char_indices().map(|(at, _)| at).chain(ends).collect(),
        })
    }

    fn slice(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// The characters of a range, apostrophes straight.
    fn text(&self, range: Range<usize>) -> String {
        let place = |at| self.starts.get(at).copied().unwrap_or(at);
        let text = self.text.get(place(range.start)..place(range.end));
        text.unwrap_or_default().replace('\u{2019}', "'")
    }

    fn at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    /// How many characters from a place on are of a kind, of so many at most.
    fn run(&self, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.iter().take(most).take_while(|one| is(**one)).count()
    }

    /// Whether a word may begin there: what stands before is not part of one.
    fn is_edge(&self, at: usize) -> bool {
        at.checked_sub(1)
            .is_none_or(|before| !is_word(self.at(before)))
    }

    /// What looks like a name in code.
    fn code(&self) -> impl Iterator<Item = Range<usize>> {
        let (strokes, lines) = (self.bytes.contains(&b'/'), self.bytes.contains(&b'_'));
        let tickets = self.bytes.contains(&b'-');
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.bytes.len() {
                let with_strokes = || self.url(at).or_else(|| self.path(at));
                let found = strokes
                    .then(with_strokes)
                    .flatten()
                    .or_else(|| self.identifier(at, lines))
                    .or_else(|| tickets.then(|| self.ticket(at)).flatten());
                let start = at;
                at += found.unwrap_or(1);
                if found.is_some() {
                    return Some(start..at);
                }
            }
            None
        })
    }

    /// The length of a URL that begins there.
    fn url(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let head = [&b"https://"[..], b"http://"];
        let head = head.into_iter().find(|head| rest.starts_with(head))?;
        let is_part = |one| !is_space(one) && !b"<>\"')]".contains(&one);
        match self.run(at + head.len(), URL, is_part) {
            0 => None,
            count => Some(head.len() + count),
        }
    }

    /// The length of a path that begins there: folders, each with a stroke, and a last name.
    fn path(&self, at: usize) -> Option<usize> {
        let (mut end, mut last) = (at, None);
        for _ in 0..FOLDERS {
            let folder = self.run(end, LONG + 1, |one| is_part(one) || one == b'~');
            if folder == 0 || folder > LONG || self.at(end + folder) != b'/' {
                break;
            }
            end += folder + 1;
            match self.run(end, LONG, is_part) {
                0 => {}
                count => last = Some(end + count - at),
            }
        }
        last
    }

    /// The length of a word that begins there, if it is in camel case, or in snake case where words
    /// have lines.
    fn identifier(&self, at: usize, lines: bool) -> Option<usize> {
        if !self.at(at).is_ascii_alphabetic() || !self.is_edge(at) {
            return None;
        }
        let word = self.bytes.get(at..)?;
        let length = self.run(at, usize::MAX, is_word);
        let word = word.get(..length)?;
        let near = |rest: usize| (1..=LONG).contains(&rest);
        let mut joints = (1..=LONG + 1).filter(|joint| word.get(*joint) == Some(&b'_'));
        if lines && joints.any(|joint| near(length - joint - 1)) {
            return Some(length);
        }
        let small = word.iter().take_while(|one| one.is_ascii_lowercase());
        let small = small.count();
        let capital = word.get(small).is_some_and(u8::is_ascii_uppercase);
        (near(small) && capital && length - small - 1 <= LONG).then_some(length)
    }

    /// The length of a ticket that begins there: capitals and a number.
    fn ticket(&self, at: usize) -> Option<usize> {
        if !self.is_edge(at) {
            return None;
        }
        let capitals = self.run(at, usize::MAX, |one| one.is_ascii_uppercase());
        let digits = self.run(at + capitals + 1, usize::MAX, |one| one.is_ascii_digit());
        let end = at + capitals + 1 + digits;
        let is_one = capitals >= 2 && self.at(at + capitals) == b'-' && digits > 0;
        (is_one && !is_word(self.at(end))).then_some(end - at)
    }

    /// The words: a letter, and letters, digits, lines, apostrophes and hyphens.
    fn words(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            at += self.run(at, usize::MAX, |one| !one.is_ascii_alphabetic());
            let start = at;
            at += self.run(at, usize::MAX, |one| {
                is_word(one) || one == b'\'' || one == b'-'
            });
            (start < at).then_some(start..at)
        })
    }

    /// The words that begin with a small letter.
    fn lower(&self) -> FxHashSet<&[u8]> {
        let words = self.words().map(|range| self.slice(range));
        words
            .filter(|word| word.first().is_some_and(u8::is_ascii_lowercase))
            .collect()
    }

    /// Whether a sentence, a line or an item of a list begins at a word.
    fn begins(&self, at: usize) -> bool {
        let before = self.slice(at.saturating_sub(BEFORE)..at);
        if before.is_empty() {
            return true;
        }
        let spaces = before.iter().rev().take_while(|one| is_space(**one));
        let spaces = spaces.count();
        let behind = before.len().checked_sub(spaces + 1);
        let behind = behind.and_then(|at| before.get(at));
        if (1..=4).contains(&spaces) && behind.is_some_and(|one| b".!?:".contains(one)) {
            return true;
        }
        let line = before.iter().rposition(|one| *one == b'\n');
        line.is_some_and(|at| is_indent(before.get(at + 1..).unwrap_or_default()))
    }
}

/// Whether nothing but blanks and at most three marks of a list stand there.
fn is_indent(line: &[u8]) -> bool {
    let blanks = |one: &&u8| matches!(one, b' ' | b'\t');
    let marks = |one: &&u8| b"-*#>".contains(*one);
    let before = line.iter().take_while(blanks).count();
    let marked = line.iter().skip(before).take_while(marks).count();
    let after = line.iter().skip(before + marked).take_while(blanks).count();
    if before + marked + after < line.len() {
        return false;
    }
    match marked {
        0 => before <= 16,
        _ => before <= 8 && marked <= 3 && after <= 8,
    }
}

/// A letter, a digit or a line.
fn is_word(one: u8) -> bool {
    one.is_ascii_alphanumeric() || one == b'_'
}

/// What the last name of a path is made of.
fn is_part(one: u8) -> bool {
    is_word(one) || one == b'.' || one == b'-'
}

/// White space, as Python has it.
pub(super) fn is_space(one: u8) -> bool {
    matches!(one, b'\t'..=b'\r' | 0x1c..=0x1f | b' ')
}
