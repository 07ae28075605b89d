//! Quotes and lines of plain texts, at the edges of what is plain.

use warmset_core::text::{Names, Needs, Quotes, Rules, plain_text};

fn quotes() -> Quotes {
    let dates = [
        vec![vec!["yesterday", "today"]],
        vec![vec!["last", "next"], vec!["week", "year"]],
        vec![vec!["in"], vec!["#year"], vec!["7", "12"]],
    ];
    let rules = Rules {
        signs: vec!['<', '‹'],
        tags: b"ek".to_vec(),
        quoted: 40,
        described: 60,
        summary: 10,
    };
    Quotes::new(Needs::new(dates, 2), Names::new(["then"], 3), rules)
}

fn quoted(text: &str) -> Option<String> {
    quotes().quote("#1 user", text)
}

fn line(text: &str) -> Option<String> {
    quotes().line("#1 user", text)
}

#[test]
fn a_plain_text_is_quoted_with_its_further_lines_indented() {
    assert_eq!(quoted("so").unwrap(), "#1 user: so\n");
    assert_eq!(quoted("").unwrap(), "#1 user: \n");
    assert_eq!(quoted("a\nb\n\n").unwrap(), "#1 user: a\n  b\n  \n  \n");
    assert_eq!(quoted(&"w".repeat(40)).unwrap().len(), 50);
    assert_eq!(quoted(&"w".repeat(41)), None);
}

#[test]
fn only_words_that_a_phrase_needs_are_left_to_others() {
    for dated in [
        "yesterday",
        "Yesterday!",
        "x TODAY",
        "last week",
        "week, last",
        "next 7 year7",
        "in 12",
        "12in",
        "7 7 in",
        "last of week",
        "last - (week",
        "last one two next week",
        "week week next",
        "in 1 7",
    ] {
        assert_eq!(quoted(dated), None, "{dated}");
    }
    for plain in [
        "yesterdays",
        "xtoday",
        "last next",
        "week year",
        "lastweek",
        "in 127",
        "in",
        "7 12",
        "last wee\u{e9}k",
        "last one two week",
        "week one 2 last",
        "one last two in week",
        "in one two 7",
    ] {
        assert!(quoted(plain).is_some(), "{plain}");
    }
    // These are letters of ASCII in lower case.
    for letter in ['\u{212a}', '\u{130}'] {
        assert_eq!(quoted(&format!("x{letter}")), None);
        assert!(line(&format!("x{letter}")).is_none());
    }
    assert!(quoted("x\u{131}").is_some());
}

#[test]
fn what_ends_a_line_for_some_reader_is_left_to_others() {
    let ends = "\r\u{b}\u{c}\u{1c}\u{1d}\u{1e}\u{85}\u{2028}\u{2029}";
    for end in ends.chars() {
        assert_eq!(quoted(&format!("a{end}b")), None, "{end:?}");
        assert_eq!(quotes().quote(&format!("a{end}"), "b"), None, "{end:?}");
        assert_eq!(quotes().line(&format!("a{end}"), "b"), None, "{end:?}");
    }
    for other in "\t\u{1b}\u{1f}\u{84}\u{2027}\u{202a}".chars() {
        assert!(quoted(&format!("a{other}b")).is_some(), "{other:?}");
    }
    assert_eq!(quotes().quote("a\n", "b"), None);
    assert_eq!(quotes().line("a\n", "b"), None);
}

#[test]
fn what_may_begin_a_tag_is_left_to_others() {
    for tag in [
        "<e",
        "<K>",
        "a <e",
        "< e",
        "</e",
        "<\\e",
        "<-_e",
        "<\n\t\u{0}\u{1f}\u{7f}e",
        "<<e",
        "<x <e",
        "\u{2039}x",
        "\u{2039}",
    ] {
        assert_eq!(quoted(tag), None, "{tag:?}");
        assert_eq!(quotes().quote(tag, "b"), None, "{tag:?}");
        assert_eq!(quotes().line(tag, "b"), None, "{tag:?}");
    }
    for plain in [
        "<", "a < b", "<x e", "<>e", "<!e", "<1", "e<", "<~e", "<x <y", "<\u{e9}",
    ] {
        assert_eq!(quoted(plain).is_some(), plain.is_ascii(), "{plain:?}");
    }
    assert_eq!(line("<e"), None);
    assert_eq!(line("abcdef </Ek"), None);
    assert!(line("abcdefghi </Ek").is_some(), "it is not shown");
}

#[test]
fn a_line_has_the_beginning_and_the_names_that_are_not_in_it() {
    assert_eq!(line("").unwrap(), "#1 user: \n");
    assert_eq!(line("  a \t\n b\u{1f}c ").unwrap(), "#1 user: a b c\n");
    assert_eq!(line("1234567890").unwrap(), "#1 user: 1234567890\n");
    assert_eq!(line("12345678901").unwrap(), "#1 user: 1234567890\n");
    assert_eq!(line("12345678 90").unwrap(), "#1 user: 12345678 9\n");
    assert_eq!(line("123456789 0").unwrap(), "#1 user: 123456789\n");
    assert_eq!(line("1234567890 1").unwrap(), "#1 user: 1234567890\n");
    let dots = |count| "…".repeat(count);
    assert_eq!(line(&dots(11)).unwrap(), format!("#1 user: {}\n", dots(10)));
    assert_eq!(
        line("so Ann met Bob, Ann, Cid, Dan.").unwrap(),
        "#1 user: so Ann met (Bob, Cid)\n",
        "three names, of which one is told already"
    );
    assert_eq!(
        line("Then we met them and Ann").unwrap(),
        "#1 user: Then we me (Ann)\n"
    );
    assert_eq!(line("…… …… …… ……").unwrap(), "#1 user: …… …… …… …\n");
    let annabel = "#1 user: so we met (Annabel, Ann)\n";
    assert_eq!(line("so we met Annabel and Ann").unwrap(), annabel);
    let bob = quotes()
        .line("#1 Bob (user)", "so we are met, Bob")
        .unwrap();
    assert_eq!(bob, "#1 Bob (user): so we are (Bob)\n");
    assert_eq!(line("é"), None);
    assert!(line(&"w".repeat(60)).is_some());
    assert_eq!(line(&"w".repeat(61)), None);
    assert_eq!(line("met yesterday").unwrap(), "#1 user: met yester\n");
}

#[test]
fn a_phrase_that_needs_nothing_that_can_be_looked_for_may_be_in_every_text() {
    for phrases in [["so", "/"], ["/", "so"]] {
        let always = Needs::new(phrases.map(|word| vec![vec![word]]), 1);
        assert!(always.any_in(""));
    }
    assert!(!Needs::new(Vec::<Vec<Vec<&str>>>::new(), 1).any_in("so"));
    assert!(Needs::new([vec![vec!["a7"]]], 1).any_in("so"));
    assert!(Needs::new([vec![vec!["so"], vec!["a7"]]], 1).any_in("so"));
    assert!(!Needs::new([vec![vec!["so"], vec!["a7"]]], 1).any_in("no"));
}

#[test]
fn the_words_of_a_phrase_stand_near_each_other() {
    let far = |reach| Needs::new([vec![vec!["so"], vec!["no"], vec!["oh"]]], reach);
    for text in [
        "so no oh",
        "oh so no",
        "so so no oh",
        "so oh oh no no oh so",
    ] {
        assert!(far(2).any_in(text), "{text}");
    }
    for text in ["so no a oh", "so a no oh", "so no so no", "oh"] {
        assert!(!far(2).any_in(text), "{text}");
        assert_eq!(
            far(3).any_in(text),
            text.matches(' ').count() == 3 && text.contains("oh")
        );
    }
    let same = Needs::new([vec![vec!["so"], vec!["so", "no"]]], 0);
    assert!(same.any_in("so"));
    assert!(!same.any_in("no"));
    let two = Needs::new(
        [vec![vec!["so"], vec!["no"]], vec![vec!["oh"], vec!["no"]]],
        1,
    );
    assert!(two.any_in("no oh"));
    assert!(!two.any_in("so oh"));
}

#[test]
fn only_what_is_nothing_but_a_text_is_read() {
    let text = |json: &str| plain_text(json.as_bytes()).map(std::borrow::Cow::into_owned);
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(text(r#"{"role":"user","content":"so"}"#), said("so"));
    assert_eq!(
        text(r#"{"content":"a\n\"b\u00e9","role":"assistant"}"#),
        said("a\n\"bé")
    );
    for other in [
        r#"{"role":"system","content":"so"}"#,
        r#"{"role":"user","content":"so","name":"Ann"}"#,
        r#"{"role":"user","content":[]}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"user"}"#,
        r#"{"content":"so"}"#,
        r#"{"role":"user","content":"so","content":"so"}"#,
        r#"{"role":"user","content":"so"} x"#,
        "[]",
        "",
    ] {
        assert_eq!(text(other), None, "{other}");
    }
    assert_eq!(
        plain_text(b"{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}"),
        None,
        "half a character"
    );
}
