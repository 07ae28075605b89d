//! English words that say nothing about what a turn is about.

/// Whether a lower-case word is left out of the lexical index.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= LONGEST && WORDS.binary_search(&word).is_ok()
}

/// The bytes of the longest one: most words that are none are told by their length.
const LONGEST: usize = 8;

/// Sorted, so that a search needs no table built at start-up.
const WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any",
    "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "down", "during",
    "each", "few", "for", "from", "further", "get", "got", "had", "has", "have", "having", "he",
    "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if", "im", "in",
    "into", "is", "it", "its", "itself", "ive", "just", "like", "ll", "m", "me", "more", "most",
    "my", "myself", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
    "our", "ours", "out", "over", "own", "re", "really", "s", "same", "she", "should", "so",
    "some", "such", "t", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "ve",
    "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why",
    "will", "with", "would", "you", "your", "yours", "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found() {
        assert!(WORDS.is_sorted());
        assert_eq!(WORDS.iter().map(|word| word.len()).max(), Some(LONGEST));
        assert!(WORDS.iter().all(|word| is_stop_word(word)));
        assert!(is_stop_word("the") && !is_stop_word("database"));
    }
}
