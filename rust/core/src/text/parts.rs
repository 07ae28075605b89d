//! Which texts may have a part, in whatever case of letters.

/// Whether a text may have one of some parts, which are in lower case. One that is not in ASCII always may:
/// what its letters are in lower case depends on what is beside them.
#[must_use]
pub fn may_have<'a>(text: &str, parts: impl IntoIterator<Item = &'a str>) -> bool {
    if !text.is_ascii() {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    parts.into_iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::may_have;

    #[test]
    fn a_part_in_any_case_or_letters_beyond_ascii() {
        assert!(may_have("Raise the ALERT.", ["lag", "alert"]));
        assert!(!may_have("Raise the alert.", ["lag", "alerts"]));
        assert!(!may_have("Raise the alert.", []));
        assert!(may_have("\u{dc}ber alles", ["lag"]));
    }
}
