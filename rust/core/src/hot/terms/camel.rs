//! The parts of a name that is written with capitals inside.

/// What surnames and makes begin with.
const BEGINNINGS: [&str; 10] = ["Mc", "Mac", "Le", "La", "De", "Di", "Du", "Fitz", "i", "e"];

/// The parts of a word: `HTTPServerError` is HTTP, Server, Error. Nothing if it has only one, or if
/// its capitals come too often to begin words, as in encoded bytes.
///
/// A part begins at a capital after a small letter; at the last of several capitals before a small
/// letter, unless that is the s of a plural (`URLs`); and at a capital after digits that belong to
/// letters, before a small letter (`utf8Decoder`, but not `2FA`). Surnames and makes (`McGee`, `iPhone`)
/// stay whole.
pub(super) fn parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut out = Vec::new();
    let mut start = 0;
    let mut letters = false;
    for (at, (offset, c)) in chars.iter().enumerate() {
        let back = |n: usize| at.checked_sub(n).and_then(|at| chars.get(at)).map(|x| x.1);
        let ahead = |n: usize| chars.get(at + n).map(|x| x.1);
        let begins = c.is_uppercase()
            && back(1).is_some_and(|before| {
                let small = ahead(1).is_some_and(char::is_lowercase);
                let plural = ahead(1) == Some('s') && !ahead(2).is_some_and(char::is_lowercase);
                before.is_lowercase()
                    || (before.is_uppercase() && small && !plural)
                    || (before.is_numeric() && small && letters)
            });
        if begins {
            out.extend(word.get(start..*offset));
            start = *offset;
            letters = false;
        }
        letters |= c.is_alphabetic();
    }
    out.extend(word.get(start..));
    let (parts, length) = (out.len(), chars.len());
    let named = parts == 2 && out.first().is_some_and(|first| BEGINNINGS.contains(first));
    let few = parts <= 6 && length >= 2 * parts;
    if parts > 1 && !named && (few || length >= 3 * parts) {
        out
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_begin_parts_where_they_begin_words() {
        for (word, expected) in [
            ("dbPool", "db Pool"),
            ("DbPool", "Db Pool"),
            ("HTTPServerError", "HTTP Server Error"),
            ("parseURLs", "parse URLs"),
            ("URLsOf", "URLs Of"),
            ("utf8Decoder", "utf8 Decoder"),
            ("S3BucketName", "S3 Bucket Name"),
            ("sha256Sum", "sha256 Sum"),
            ("getUserByIdAndRoleName", "get User By Id And Role Name"),
            ("приветМир", "привет Мир"),
        ] {
            assert_eq!(parts(word).join(" "), expected);
        }
    }

    #[test]
    fn words_numbers_and_encoded_bytes_have_no_parts() {
        for word in [
            "pool",
            "Pool",
            "POOL",
            "McGee",
            "iPhone",
            "IDs",
            "PhD",
            "LaTeX",
            "2FA",
            "H2O",
            "v2",
            "aGVsbG8gd29ybGQhIQ",
        ] {
            assert!(parts(word).is_empty(), "{word}");
        }
    }
}
