//! One spelling for what people take for the same letters.
//!
//! ```text
//! compatibility forms   ｆｕｌｌ ﬁ ² ㎏        ─▶ their plain letters and digits (NFKC)
//! Latin and Greek       é ü ń ά, æ ø ł ß, ς   ─▶ without marks: e u n α, ae o l ss, σ
//! Cyrillic              ё                     ─▶ е; й keeps its mark, which makes it another letter
//! other scripts         हि が 한               ─▶ composed (NFC); their marks are part of the letters
//! apostrophes           ’ ʼ ＇                 ─▶ '
//! invisible             soft hyphen, joiners, variation selectors ─▶ nothing
//! ```
//!
//! Umlauts lose their dots, as in most search engines: who types "uber" finds "über".

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, decompose_compatible, is_combining_mark};

/// The text in one spelling, its case as it was. Text in ASCII is what it is.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() && !c.is_ascii() {
            decompose_compatible(c, |part| plain.push(part));
        } else {
            plain.push(c);
        }
    }
    let mut out = String::with_capacity(plain.len());
    let mut bare = false;
    for c in plain.nfc() {
        match c {
            '\u{2019}' | '\u{02bc}' | '\u{ff07}' => out.push('\''),
            // Soft hyphen, joiners, enclosing marks, variation selectors, byte order mark.
            '\u{ad}'
            | '\u{200c}'
            | '\u{200d}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' => {}
            _ if bare && is_combining_mark(c) => {}
            _ => {
                bare = loses_marks(c);
                if c.is_ascii() || !bare {
                    out.push(if c == 'ё' { 'е' } else { c });
                } else {
                    letter(c, &mut out);
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Whether a letter is told apart from others by what it is without its marks.
fn loses_marks(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c,
            '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}')
}

/// A Latin or Greek letter without its marks.
fn letter(c: char, out: &mut String) {
    let plain = match c {
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ħ' => "h",
        'Ħ' => "H",
        'þ' => "th",
        'Þ' => "Th",
        'ı' => "i",
        'ς' => "σ",
        _ => {
            return decompose_canonical(c, |part| {
                if !is_combining_mark(part) {
                    out.push(part);
                }
            });
        }
    };
    out.push_str(plain);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_look_alike_are_alike() {
        for (text, plain) in [
            ("Crème Brûlée", "Creme Brulee"),
            ("e\u{301}te\u{301}", "ete"),
            ("Łódź, Øre, Straße, Þór", "Lodz, Ore, Strasse, Thor"),
            ("Ｆｕｌｌ１２", "Full12"),
            ("ﬁle m²", "file m2"),
            ("Άλφα ὀδός", "Αλφα οδοσ"),
            ("ещё й", "еще й"),
            ("it’s", "it's"),
            ("co\u{ad}op", "coop"),
            ("1\u{fe0f}\u{20e3}", "1"),
        ] {
            assert_eq!(fold(text), plain, "{text}");
        }
    }

    #[test]
    fn marks_of_other_scripts_stay() {
        assert_eq!(fold("हिन्दी"), "हिन्दी");
        assert_eq!(fold("ｶﾞか\u{3099}"), "ガが");
        assert_eq!(fold("\u{1112}\u{1161}\u{11ab}"), "한");
        assert_eq!(fold("™ ½"), "™ 1\u{2044}2");
    }
}
