//! A count for models whose vocabulary is not published.
//!
//! Four characters a token is a rule for English prose; it under-counts scripts without spaces four- to
//! six-fold. So each class of characters has its own rate, in quarters of a token, and a run of Latin
//! letters costs a token for every six begun.

/// The estimated number of tokens of a text.
#[must_use]
pub fn estimate(text: &str) -> u64 {
    let mut quarters = 0_u64;
    let mut in_word = 0_u64;
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            in_word += 1;
            continue;
        }
        quarters += 4 * in_word.div_ceil(6);
        in_word = 0;
        quarters += rate(c);
    }
    quarters += 4 * in_word.div_ceil(6);
    quarters.div_ceil(4)
}

/// Quarters of a token that one character costs.
fn rate(c: char) -> u64 {
    match c {
        // A single space belongs to the word behind it.
        ' ' => 0,
        '0'..='9' | '\n' | '\t' | '\r' | '\u{250}'..='\u{58f}' => 2,
        '!'..='~' | '\u{80}'..='\u{24f}' | '\u{590}'..='\u{7ff}' => 3,
        '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => 4,
        '\u{10000}'.. => 10,
        _ => 5,
    }
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

    #[test]
    fn stays_near_a_real_vocabulary_in_many_scripts() {
        let texts = [
            "The pool ran out of connections because every worker kept one open during the call.",
            "fn main() { let x = vec![1, 2, 3]; println!(\"{:?}\", x.iter().sum::<i32>()); }",
            "会議は来週の火曜日に延期されました。資料は金曜日までに送ってください。",
            "数据库连接池的大小从二十改为十二，因为最大连接数只有八十。",
            "Встреча перенесена на следующий вторник, материалы пришлите до пятницы.",
            "Die Besprechung wurde auf nächsten Dienstag verschoben, bitte schickt die Unterlagen.",
            "회의는 다음 주 화요일로 연기되었습니다. 자료는 금요일까지 보내 주세요.",
            "تم تأجيل الاجتماع إلى يوم الثلاثاء المقبل، يرجى إرسال المواد قبل الجمعة.",
        ];
        for text in texts {
            let exact = Encoding::Cl100kBase.count(text) as f64;
            let ratio = estimate(text) as f64 / exact;
            assert!((0.7..=1.6).contains(&ratio), "{ratio:.2} for {text}");
        }
        assert_eq!(estimate(""), 0);
    }
}
