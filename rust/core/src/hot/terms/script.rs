//! Scripts that do not put spaces between words.

/// Every pair of neighbouring characters of a run of an unspaced script, and each Han character by
/// itself, since a query may be one; other runs stay words.
pub(super) fn pairs(word: &str, longest: usize, out: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        if !run.first().copied().is_some_and(is_unspaced) {
            out.push(run.iter().take(longest).collect());
            continue;
        }
        for (at, c) in run.iter().enumerate() {
            let next = run.get(at + 1);
            if is_han(*c) || run.len() == 1 {
                out.push(c.to_string());
            }
            out.extend(next.map(|next| [*c, *next].iter().collect::<String>()));
        }
    }
}

/// Han, kana, Hangul, Thai, Lao, Khmer and Myanmar.
pub(super) fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(c,
            '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}')
}

fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3347f}')
}
