//! What a text's terms are: a table, and what the ranking makes of names.

use proptest::prelude::*;
use warmset_core::hot::{Bm25, LexicalIndex, terms};

/// A text, and its terms.
const TABLE: &[(&str, &str)] = &[
    // Prose: as it would be without a word about names.
    (
        "The workers were failing; we fixed them.",
        "worker fail fix",
    ),
    (
        "a well-being check, and/or a 30-60 minute walk",
        "well check 30 60 minut walk",
    ),
    ("state-of-the-art, one-to-one", "state art one one"),
    ("at 9 a.m. in the U.S.", "9 u"),
    (
        "Caroline's dogs' and the users’ toys",
        "carolin dog user toy",
    ),
    ("don't can’t I'm they'll we've CAN'T", ""),
    ("didn't o'clock", "didn o clock"),
    ("We won a prize in New Haven", "won prize new haven"),
    (
        "McGee bought an iPhone from LeBron",
        "mcgee bought iphon lebron",
    ),
    (
        "_emphasis_ and **strong** and `code`",
        "emphasi strong code",
    ),
    ("wait...what? yes!no", "wait yes"),
    ("20-minute call, a 4-year-old", "20 minut call 4 year old"),
    // Names of joined words.
    (
        "src/db_pool.rs:12",
        "src db pool rs db_pool db_pool.rs src/db_pool.rs 12",
    ),
    (
        "./src/db_pool.rs",
        "src db pool rs db_pool db_pool.rs src/db_pool.rs",
    ),
    ("/etc/hosts", "etc host"),
    ("/var/log/syslog", "var log syslog var/log/syslog"),
    (
        r"C:\Users\Ana\notes.txt",
        "c user ana note txt notes.txt users/ana/notes.txt",
    ),
    ("db_pool", "db pool db_pool"),
    ("MAX_RETRY_COUNT", "max retri count max_retry_count"),
    ("get_user_by_id", "user id get_user_by_id"),
    ("__init__.py", "init py"),
    ("_private_name", "privat name private_name"),
    ("a__b", "b a_b"),
    ("dbPool", "dbpool db pool"),
    ("DbPool", "dbpool db pool"),
    ("HTTPServerError", "httpservererror http server error"),
    ("parseURLs and IDs", "parseurl pars url id"),
    ("getUserByID", "getuserbyid user id"),
    (
        "MyClass_methodName",
        "myclass class methodnam method name myclass_methodname",
    ),
    ("x-request-id", "x request id x-request-id"),
    (
        "max-old-space-size=4096",
        "max old space size max-old-space-size 4096",
    ),
    ("--no-cache", "cach"),
    ("us-east-1", "east 1 us-east-1"),
    ("gpt-4o and utf-8", "gpt 4o gpt-4o utf 8 utf-8"),
    (
        "std::collections::HashMap",
        "std collect hashmap hash map std::collections::hashmap",
    ),
    ("np.linalg.norm(x)", "np linalg norm np.linalg.norm x"),
    ("self.pool.get()", "self pool self.pool.get"),
    ("package.json", "packag json package.json"),
    ("@types/node2", "type node2 types/node2"),
    ("#1234", "1234"),
    ("C++ or C# or g++", "c c++ c c# g g++"),
    // Letters with digits.
    ("v2 utf8 sha256 H2O 4K 2FA", "v2 utf8 sha256 h2o 4k 2fa"),
    (
        "utf8Decoder S3Bucket",
        "utf8decod utf8 decod s3bucket s3 bucket",
    ),
    ("x86_64", "x86 64 x86_64"),
    // Hashes.
    (
        "550e8400-e29b-41d4-a716-446655440000",
        "550e8400 e29b 41d4 a716 446655440000 550e8400-e29b-41d4-a716-446655440000",
    ),
    ("9df62eef36", "9df62eef36 9df62ee"),
    ("9df62ee", "9df62ee"),
    (
        "9df62eef3607f2f5d286109b6ece09eeb5ace249",
        "9df62eef3607f2f5d286109b6ece09eeb5ace249 9df62ee",
    ),
    ("deadbeef 12345678", "deadbeef 12345678"),
    // Versions, numbers, dates, addresses.
    ("v1.2.3", "v1 2 3 1.2.3"),
    ("1.2.3", "1 2 3 1.2.3"),
    ("numpy>=2.4.6,<3", "numpi 2 4 6 2.4.6 3"),
    ("1.0.0-rc.1", "1 0 0 rc 1 1.0.0-rc.1"),
    ("3.14 and $5.99", "3 14 3.14 5 99 5.99"),
    (
        "1,234,567 and 1,234.5",
        "1 234 567 1234567 1 234 5 1234 1234.5",
    ),
    ("3,4,5 and 10,20", "3 4 5 10 20"),
    ("2026-11-21", "2026 11 21 2026-11-21"),
    ("2026-11-21T18:45:00Z", "2026 11 21 2026-11-21 t18 45 00z"),
    ("7/20/2023 at 8:56 pm", "7 20 2023 7/20/2023 8 56 pm"),
    ("24/7", "24 7"),
    ("10.0.0.1:8080", "10 0 0 1 10.0.0.1 8080"),
    (
        "ana.lopez@example.com",
        "ana lopez exampl com ana.lopez example.com ana.lopez@example.com",
    ),
    (
        "https://docs.rs/tokio/latest?x=1#top",
        "https doc rs tokio latest docs.rs docs.rs/tokio/latest x 1 top",
    ),
    // Other letters.
    ("Café crème naïve", "cafe creme naiv"),
    ("cafe\u{301}", "cafe"),
    ("Ｆｕｌｌ ｗｉｄｔｈ", "full width"),
    ("Straße Łódź", "strass lodz"),
    ("ещё Привет", "еще привет"),
    ("हिन्दी में", "हिन्दी में"),
    ("東京都の abc", "東 東京 京 京都 都 都の abc"),
    ("東", "東"),
    ("v2東京", "v2 東 東京 京"),
    ("カタカナ ｶﾀｶﾅ", "カタ タカ カナ カタ タカ カナ"),
    ("한국어", "한국 국어"),
    ("ไทย", "ไท ทย"),
    ("👍🏽 ok", "ok"),
    ("", ""),
    (" \n\t.,;", ""),
];

#[test]
fn the_table() {
    let mut wrong = Vec::new();
    for (text, expected) in TABLE {
        let found = terms(text).join(" ");
        if found != *expected {
            wrong.push(format!(
                "{text:?}\n  found    {found}\n  expected {expected}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        TABLE.len(),
        wrong.join("\n")
    );
}

fn ranked(texts: &[&str], query: &str) -> Vec<u64> {
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    let entries: Vec<(u64, Vec<String>)> =
        (0..).zip(texts.iter().map(|text| terms(text))).collect();
    index.add(&entries).unwrap();
    let found = index.search(&terms(query), texts.len()).unwrap();
    found.into_iter().map(|(id, _)| id).collect()
}

#[test]
fn a_whole_name_comes_before_its_parts_and_a_part_finds_the_whole() {
    // A name, what shares its parts, and a part.
    let names = [
        ("src/db_pool.rs", "pool.rs in src, db", "db"),
        ("db_pool", "the pool of the db", "pool"),
        ("dbPool", "the pool of the db", "pool"),
        ("HTTPServerError", "http error of a server", "server"),
        (
            "std::collections::HashMap",
            "std collections: a hash map",
            "map",
        ),
        ("np.linalg.norm", "the norm in np's linalg", "linalg"),
        ("my-rate-limiter2", "my rate: a limiter2", "limiter2"),
        ("x-request-id", "x: request id", "request"),
        ("gpt-4o", "gpt with 4o", "4o"),
        ("v1.2.3", "v1 then 2 then 3", "2"),
        (
            "550e8400-e29b-41d4-a716-446655440000",
            "550e8400 e29b 41d4 a716 446655440000",
            "41d4",
        ),
        ("ana.lopez@example.com", "ana lopez, example com", "lopez"),
        (
            "https://docs.rs/tokio/latest",
            "https docs rs tokio latest",
            "tokio",
        ),
        ("MAX_RETRY_COUNT", "the max count of a retry", "retry"),
        (
            "9df62eef3607f2f5d286109b6ece09eeb5ace249",
            "9df62ee",
            "9df62eef36",
        ),
    ];
    for (name, parts, part) in names {
        let twice = format!("{parts} {parts}");
        let whole = format!("we looked at {name} one evening, and talked about lunch, and more");
        let texts = [twice.as_str(), "nothing of it", parts, whole.as_str()];
        assert_eq!(ranked(&texts, name), [3, 0, 2], "{name}");
        assert_eq!(
            ranked(&["something else", &whole], part),
            [1],
            "{name} by {part}"
        );
    }
}

#[test]
fn one_character_finds_a_text_of_many() {
    let texts = ["東京都に行きました", "大阪の話"];
    assert_eq!(ranked(&texts, "京"), [0]);
    assert_eq!(ranked(&texts, "話"), [1]);
    assert_eq!(ranked(&texts, "京都"), [0]);
}

#[test]
fn megabytes_of_anything_take_a_moment() {
    // Each would take hours if anything were quadratic.
    let size = 3_000_000;
    for pattern in [
        "a", "a/", "a_", "_", "aB", "Ab", "a.", "a::", "'", "n't ", "1,234,", "東", "東a", "é",
        "\u{301}", "a\u{301}", "@", "a@", "1", "-", "a-", "\\", "A",
    ] {
        let text = pattern.repeat(size / pattern.len());
        let found = terms(&text);
        assert!(
            found.iter().all(|term| term.chars().count() <= 256),
            "{pattern}"
        );
        let bytes: usize = found.iter().map(String::len).sum();
        assert!(bytes <= 8 * text.len(), "{pattern}: {bytes}");
    }
}

proptest! {
    #[test]
    fn any_text_has_terms_and_they_are_small_letters(text in any::<String>(), code in "[ a-cA-C0-2_./:@'#+,東é-]{0,60}") {
        for text in [&text, &code] {
            for term in terms(text) {
                prop_assert!(!term.is_empty());
                prop_assert_eq!(term.to_lowercase(), term);
            }
        }
    }

    #[test]
    fn what_stands_before_and_after_does_not_matter(code in "[a-cA-C0-2_./:-]{0,30}") {
        let alone = terms(&code);
        let within = terms(&format!("mountain ({code}) river"));
        prop_assert_eq!(&within[1..within.len() - 1], &alone[..]);
    }
}
