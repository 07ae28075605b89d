//! Names: which words and which pieces of code are told, and in what order.

use warmset_core::text::Names;

fn names(text: &str) -> Vec<String> {
    Names::new(["the", "look", "and", "we"], 8)
        .of(text)
        .unwrap()
}

/// Asserts that these are all names of a text, with spaces between them.
fn told(text: &str, expected: &str) {
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(names(text), expected, "{text:?}");
}

#[test]
fn words_with_a_capital_are_told_once_in_order() {
    told("so Maria and Bob's boat, then Maria again.", "Maria Bob");
    told("see Ann, A, I and X's Y", "Ann");
    told(
        "IT'S Zoe-Ann O'Neil 3Abc _Def",
        "IT'S Zoe-Ann O'Neil Abc Def",
    );
    told(
        "Ann Bob Cid Dan Eve Fay Gus Hal Ida",
        "Ann Bob Cid Dan Eve Fay Gus Hal",
    );
}

#[test]
fn at_the_beginning_of_a_sentence_ordinary_words_are_not_told() {
    told("The boat. The Boat, the end. Paris", "Boat Paris");
    told("x Look. look: Look", "Look");
    told("Look here, Ann", "Ann");
    told("paris or lyon. Paris", "");
    told("paris or lyon and Paris", "Paris");
    told("paris's or lyon. Paris's", "Paris");
    for begin in [
        "ok. ",
        "ok.   \t",
        "ok.    ",
        "a?\x1c",
        "a:\n",
        "a!\r",
        "1234567890123456.    ",
    ] {
        told(&format!("{begin}Paris paris"), "");
    }
    for within in ["ok.     ", "ok.", "ok ", "ok, ", "12345678901234567890"] {
        told(&format!("{within}Paris paris"), "Paris");
    }
}

#[test]
fn a_line_and_an_item_of_a_list_begin_a_sentence() {
    let wide = |count| " ".repeat(count);
    for begin in [
        "x\n".to_owned(),
        "x\n- ".to_owned(),
        "x\n-*#".to_owned(),
        "x\n>>> ".to_owned(),
        "x\n\t#".to_owned(),
        format!("x\n{}-*#{}", wide(8), wide(8)),
        format!("x\n{}", wide(16)),
        "123456789012345\n    ".to_owned(),
    ] {
        told(&format!("{begin}Paris paris"), "");
    }
    for within in [
        "x\n- # ".to_owned(),
        "x\n-*#>".to_owned(),
        "x\n.".to_owned(),
        "x\n\x0b".to_owned(),
        format!("x\n{}- ", wide(9)),
        format!("x\n-{}", wide(9)),
        format!("x\n{}", wide(17)),
        format!("x\n{}", wide(20)),
    ] {
        told(&format!("{within}Paris paris"), "Paris");
    }
}

#[test]
fn urls_end_where_text_goes_on() {
    told(
        "https://a.b/c?d=(e) http://x. ann",
        "https://a.b/c?d=(e http://x",
    );
    told("https:// http://\" http:/x https//y", "");
    told("a https://x.y, b https://x.y", "https://x.y");
    let long = format!("https://{}", "u".repeat(200));
    told(&format!("{long}v"), &long);
}

#[test]
fn paths_have_folders_and_a_name() {
    told(
        "src/a.py ~/b.c a//b ../up/x. /etc/hosts a/~ b/",
        "src/a.py ~/b.c ../up/x etc/hosts",
    );
    told("a/b~c/d e/f~", "a/b~c/d e/f");
    told("a/b.,:; c/d", "a/b c/d");
    let parts = "x/".repeat(40);
    told(&format!("{parts}y z"), &format!("{parts}y"));
    told(&format!("{parts}x/y"), &format!("{parts}x"));
    let long = "d".repeat(80);
    told(&format!("{long}/e"), &format!("{long}/e"));
    told(&format!("d{long}/f"), &format!("{long}/f"));
    told(&format!("a/{long}d"), &format!("a/{long}"));
}

#[test]
fn identifiers_are_whole_words() {
    told("foo_bar _foo bar_ a_b_c 1a_b", "foo_bar a_b_c");
    told(
        "fooBar fooB foo_barBaz x7Y barF9_",
        "fooBar fooB foo_barBaz barF9_",
    );
    let many = |sign: &str, count| sign.repeat(count);
    for (word, is_one) in [
        (format!("{}_b", many("a", 81)), true),
        (format!("{}_b", many("a", 82)), false),
        (format!("a_{}", many("b", 80)), true),
        (format!("a_{}", many("b", 81)), false),
        (format!("{}B", many("a", 80)), true),
        (format!("{}B", many("a", 81)), false),
        (format!("aB{}", many("c", 80)), true),
        (format!("aB{}", many("c", 81)), false),
    ] {
        told(&format!("- {word} -"), if is_one { &word } else { "" });
    }
}

#[test]
fn tickets_are_capitals_and_a_number() {
    told("see ab-1 9ab-3 AB-12. Ab-1", "AB-12");
    // Code comes first: as words, these would begin a sentence.
    told("The-1. AB-1. x ab-1", "The-1 AB-1");
    told("ok. AB-1x. A-1. A-ab, ab-1x a-1", "A-ab");
}

#[test]
fn what_is_not_in_ascii_is_read_where_it_is_no_letter() {
    told("so Ann\u{2019}s \u{2014} \u{201c}Bob\u{201d}", "Ann Bob");
    told(
        "x https://x.y/\u{2014}z a\u{2019}b Cid",
        "https://x.y/\u{2014}z Cid",
    );
    told("paris \u{2014}. Paris O\u{2019}Neil", "O'Neil");
    for other in ["Zo\u{eb}", "a\u{a0}b", "\u{4e2d}", "x\u{b2}"] {
        assert_eq!(Names::new([], 8).of(other), None);
    }
}
