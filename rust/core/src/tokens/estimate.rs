//! A count for models whose vocabulary is not published.
//!
//! Four characters a token is a rule for English prose; it under-counts scripts without spaces four- to
//! six-fold. So a text is read as runs: lower-case letters, capitals, digits, punctuation and spaces
//! each have a rule of their own, as they have in every published tokeniser's pattern, and a character
//! of another script has a fixed rate. The rates are those of the least thrifty published vocabulary
//! (`cl100k_base`), so a text is over-counted rather than under-counted: by the samples of
//! `tests/python` never below an exact count by more than 30 %. It allocates nothing.

/// All costs are in eighths of a token, so that rates may be fractions.
const TOKEN: u64 = 8;

/// What a run consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    Lower,
    Upper,
    Digit,
    Mark,
    Space,
}

/// The kind of every ASCII byte.
const ASCII: [Kind; 128] = kinds();

/// The estimated number of tokens of a text.
#[must_use]
pub fn estimate(text: &str) -> u64 {
    let mut eighths = 0_u64;
    let mut run = Run {
        kind: Kind::Other,
        weight: 0,
    };
    for c in text.chars() {
        let code = u32::from(c);
        let (kind, weight) = usize::try_from(code)
            .ok()
            .and_then(|at| ASCII.get(at))
            .map_or_else(|| wide(code), |&kind| (kind, 1));
        if kind == Kind::Other {
            eighths += run.cost() + rate(code);
            run = Run { kind, weight: 0 };
        } else if kind == run.kind {
            run.weight += weight;
        } else {
            eighths += run.before(kind);
            // The last capital belongs to the word that it begins.
            let begun = run.kind == Kind::Upper && kind == Kind::Lower;
            run = Run {
                kind,
                weight: weight + u64::from(begun),
            };
        }
    }
    (eighths + run.cost()).div_ceil(TOKEN)
}

/// Characters of one kind in a row.
#[derive(Clone, Copy)]
struct Run {
    kind: Kind,
    weight: u64,
}

impl Run {
    /// What the run costs when it is complete.
    fn cost(self) -> u64 {
        let n = self.weight;
        TOKEN
            * match self.kind {
                Kind::Other => 0,
                Kind::Lower => word(n),
                Kind::Upper | Kind::Digit => n.div_ceil(2),
                Kind::Mark => return TOKEN + (n - 1) * (TOKEN / 2),
                // A single space belongs to the word behind it; a wide indentation is one token.
                Kind::Space if n == 1 => 0,
                Kind::Space => 1 + n / 16,
            }
    }

    /// What the run costs when one of that kind follows.
    fn before(self, next: Kind) -> u64 {
        match (self.kind, next) {
            (Kind::Upper, Kind::Lower) => Self {
                weight: self.weight - 1,
                ..self
            }
            .cost(),
            // A mark before a word is often one token with it; a space before a number never is.
            (Kind::Mark, Kind::Lower | Kind::Upper) if self.weight == 1 => 5,
            (Kind::Space, Kind::Digit) if self.weight == 1 => TOKEN,
            _ => self.cost(),
        }
    }
}

/// Tokens of a word: common words are one, a run that is too long for a word is noise.
fn word(weight: u64) -> u64 {
    match weight {
        0 => 0,
        1..=5 => 1,
        6..=8 => 2,
        9..=11 => 3,
        12..=13 => 4,
        14..=15 => 5,
        _ => 6 + (weight - 15) / 2,
    }
}

/// The kind and the weight of a character that is not ASCII: Latin letters with marks make words too.
fn wide(code: u32) -> (Kind, u64) {
    match code {
        0xc0..=0xde if code != 0xd7 => (Kind::Upper, 1),
        0xdf..=0xff if code != 0xf7 => (Kind::Lower, 3),
        0x100..=0x24f | 0x300..=0x36f => (Kind::Lower, 4),
        _ => (Kind::Other, 1),
    }
}

/// Eighths of a token that one character of no run costs.
fn rate(code: u32) -> u64 {
    match code {
        // Russian, then what its neighbours have besides.
        0x410..=0x44f => 5,
        // Arabic; the letters of Persian and Urdu, and vowel signs, are dearer.
        0x620..=0x64a => 7,
        // A line's end, Latin signs, Greek, other Cyrillic, Thai, kana.
        0x0a | 0x80..=0x24f | 0x370..=0x52f | 0xe00..=0xe7f | 0x3000..=0x30ff => 8,
        // Phonetics, Hebrew, other Arabic, Devanagari, signs, ideographs, hangul, wide forms.
        0x250..=0x36f
        | 0x590..=0x6ff
        | 0x900..=0x97f
        | 0x1e00..=0x2fff
        | 0x4e00..=0x9fff
        | 0xac00..=0xd7af
        | 0xfb00..=0xffff => 10,
        // The other scripts of India, then Georgian, Ethiopic and the like.
        0x980..=0xdff => 14,
        0x1000..=0x1dff | 0xa000..=0xabff => 20,
        // Emoji, rare ideographs.
        0x1_0000.. => 22,
        0x530..=0x58f | 0x700..=0x8ff | 0xe80..=0xfff | 0x3100..=0x4dff | 0xd7b0..=0xfaff => 16,
        _ => 4,
    }
}

const fn kinds() -> [Kind; 128] {
    let mut table = [Kind::Other; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        let kind = match byte {
            b'a'..=b'z' => Kind::Lower,
            b'A'..=b'Z' => Kind::Upper,
            b'0'..=b'9' => Kind::Digit,
            b' ' => Kind::Space,
            b'!'..=b'~' => Kind::Mark,
            _ => Kind::Other,
        };
        #[expect(
            clippy::as_conversions,
            clippy::indexing_slicing,
            reason = "evaluated by the compiler, which stops at the first mistake"
        )]
        {
            table[byte as usize] = kind;
        }
        byte += 1;
    }
    table
}

#[cfg(test)]
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "ratios of small counts"
)]
mod tests {
    use super::*;
    use crate::tokens::Encoding;

    const TEXTS: [&str; 15] = [
        "The pool ran out of connections because every worker kept one open during the call.",
        "fn main() { let x = vec![1, 2, 3]; println!(\"{:?}\", x.iter().sum::<i32>()); }",
        "{\"id\": 17, \"name\": \"part-17\", \"price\": 12.5, \"tags\": [\"a\", null]}",
        "会議は来週の火曜日に延期されました。資料は金曜日までに送ってください。",
        "数据库连接池的大小从二十改为十二，因为最大连接数只有八十。",
        "Встреча перенесена на следующий вторник, материалы пришлите до пятницы.",
        "🙂🚀🎉🔥✅👍🏽🧑‍💻🌍📎🗂️",
        "Die Besprechung wurde auf nächsten Dienstag verschoben, bitte schickt die Unterlagen.",
        "회의는 다음 주 화요일로 연기되었습니다. 자료는 금요일까지 보내 주세요.",
        "تم تأجيل الاجتماع إلى يوم الثلاثاء المقبل، يرجى إرسال المواد قبل الجمعة.",
        "הפגישה נדחתה ליום שלישי הבא, נא לשלוח את החומר עד יום שישי.",
        "बैठक अगले मंगलवार तक स्थगित कर दी गई है, सामग्री शुक्रवार तक भेज दें।",
        "การประชุมถูกเลื่อนไปเป็นวันอังคารหน้า กรุณาส่งเอกสาร",
        "/T/rPJJQt5dKm1KLaWNjIaRhtV71W3vq/YCamp6SW3mmNC+g/biylNl/xhA9kgib+l4D",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ];

    #[test]
    fn is_never_far_below_a_real_vocabulary() {
        for text in TEXTS {
            for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
                let ratio = estimate(text) as f64 / encoding.count(text) as f64;
                assert!((0.75..=4.0).contains(&ratio), "{ratio:.2} for {text}");
            }
        }
    }

    #[test]
    fn runs_have_rules() {
        let cases = [
            ("", 0),
            (" ", 0),
            ("word", 1),
            ("two words", 2),
            ("Word", 1),
            ("HTTPServer", 4),
            ("12", 1),
            ("1234", 2),
            ("a 1", 3),
            ("a, b", 3),
            ("\n", 1),
            ("\n    x", 3),
            ("....", 3),
            ("aaaaa", 1),
            ("aaaaaa", 2),
            ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 16),
            ("a.b.c.d", 6),
            ("\n                                x", 5),
            ("äöüß", 4),
            ("ÄÖ", 1),
            ("🙂🙂", 6),
            ("中中中中", 5),
            ("a  b", 3),
            ("e\u{301}a", 2),
            ("××", 2),
            ("aaaaaa\n", 3),
        ];
        for (text, tokens) in cases {
            assert_eq!(estimate(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_run_counts() {
        for text in TEXTS {
            assert!(estimate(&text.repeat(3)) >= 2 * estimate(text), "{text}");
        }
    }
}
