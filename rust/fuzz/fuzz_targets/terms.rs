//! Text becomes terms: never empty, never long, the same each time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warmset_core::hot::terms;

fuzz_target!(|text: &str| {
    let found = terms(text);
    for term in &found {
        assert!(!term.is_empty());
        assert!(term.chars().count() <= 64, "{term:?}");
    }
    assert!(found.len() <= 2 * text.chars().count());
    assert_eq!(found, terms(text));
});
