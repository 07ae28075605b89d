//! The lexicon against the formula said plainly, through additions, removals, saving and opening.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

type Entry = (Key, Slot, Vec<String>);

/// Says plainly what a search of `docs` should give, all of it, best first.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an oracle's small numbers"
)]
fn oracle(docs: &[&Entry], query: &[String], constants: Bm25) -> Vec<(Slot, u32)> {
    let Bm25 { k1, b } = constants;
    let n = docs.len() as f64;
    let total = docs.iter().map(|doc| doc.2.len()).sum::<usize>() as f64;
    let average = (total / n.max(1.0)).max(1.0);
    let mut terms: Vec<(usize, &String)> = query
        .iter()
        .map(|term| (docs.iter().filter(|doc| doc.2.contains(term)).count(), term))
        .collect();
    terms.sort();
    terms.dedup();
    let weight = |df: usize| (1.0 + (n - df as f64 + 0.5) / (df as f64 + 0.5)).ln() * (k1 + 1.0);
    let most: f64 = terms.iter().map(|term| weight(term.0)).sum();
    let mut out = Vec::new();
    for (_, slot, words) in docs {
        let mut score = 0.0;
        for (df, term) in &terms {
            let tf = words.iter().filter(|word| word == term).count() as f64;
            let norm = k1 * (1.0 - b) + k1 * b / average * words.len() as f64;
            score += if tf > 0.0 {
                weight(*df) * tf / (tf + norm)
            } else {
                0.0
            };
        }
        if score > 0.0 {
            out.push(((score / most) as f32, *slot));
        }
    }
    out.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    out.into_iter()
        .map(|(score, slot)| (slot, score.to_bits()))
        .collect()
}

fn found(lexicon: &Lexicon, query: &[String], scope: &[Key], width: usize) -> Vec<(Slot, u32)> {
    let admit = |slot: Slot| (slot % 5 != 3).then_some(u64::from(slot));
    let mut found = lexicon
        .search(query, scope, Bm25::default(), width, admit)
        .unwrap();
    found.sort_unstable();
    let plain = |hit: Ranked| (Slot::try_from(hit.id).unwrap(), hit.score.to_bits());
    found.into_iter().map(plain).collect()
}

fn wanted(docs: &[Entry], query: &[String], scope: &[Key], width: usize) -> Vec<(Slot, u32)> {
    let seen: Vec<&Entry> = docs.iter().filter(|doc| scope.contains(&doc.0)).collect();
    let mut all = oracle(&seen, query, Bm25::default());
    all.retain(|hit| hit.0 % 5 != 3);
    all.truncate(width);
    all
}

fn reopened(lexicon: &Lexicon, renumber: &dyn Fn(Slot) -> Option<Slot>) -> Lexicon {
    let mut bytes = b"what stands before".to_vec();
    let length = lexicon.write(&mut bytes, renumber).unwrap();
    assert_eq!(u64::try_from(bytes.len() - 18).unwrap(), length);
    let end = bytes.len();
    bytes.extend(b"and after");
    let opened = Lexicon::open(Arc::new(bytes), end).unwrap();
    opened.verify().unwrap();
    opened
}

fn words(numbers: &[u8]) -> Vec<String> {
    // Small numbers are common, so that some words are in almost every text.
    numbers
        .iter()
        .map(|n| format!("w{}", u32::from(*n).pow(2) / 2500))
        .collect()
}

#[derive(Clone, Debug)]
enum Step {
    Add(u32, Vec<u8>),
    Remove(prop::sample::Index),
    Reopen,
    Search(Vec<u8>, u32, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let text = || prop::collection::vec(any::<u8>(), 0..12);
    prop_oneof![
        12 => (0_u32..3, text()).prop_map(|(key, text)| Step::Add(key, text)),
        4 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => Just(Step::Reopen),
        4 => (text(), 1_u32..8, 1_usize..20).prop_map(|(q, scope, k)| Step::Search(q, scope, k)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_history_gives_the_plain_formula_bit_for_bit(
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut lexicon = Lexicon::default();
        let mut docs: Vec<Entry> = Vec::new();
        let mut slot = 0;
        for step in steps {
            match step {
                Step::Add(key, text) => {
                    slot += 1;
                    let words = words(&text);
                    lexicon.add((0, key), [(slot, words.as_slice())]).unwrap();
                    docs.push(((0, key), slot, words));
                }
                Step::Remove(at) if !docs.is_empty() => {
                    let (key, slot, _) = docs.remove(at.index(docs.len()));
                    prop_assert!(lexicon.contains(key, slot).unwrap());
                    lexicon.remove(key, &[slot]).unwrap();
                    prop_assert!(!lexicon.contains(key, slot).unwrap());
                    lexicon.remove(key, &[slot]).unwrap();
                }
                Step::Remove(_) => {}
                Step::Reopen => {
                    lexicon = reopened(&lexicon, &|slot| (slot % 7 != 6).then_some(slot));
                    docs.retain(|doc| doc.1 % 7 != 6);
                }
                Step::Search(query, scope, width) => {
                    let scope: Vec<Key> =
                        (0..3).filter(|key| scope >> key & 1 == 1).map(|key| (0, key)).collect();
                    let query = words(&query);
                    let got = found(&lexicon, &query, &scope, width);
                    prop_assert_eq!(got, wanted(&docs, &query, &scope, width));
                }
            }
        }
    }
}

/// A made-up text: word n comes about as often as 1/n.
fn text(seed: &mut u64, length: usize) -> Vec<String> {
    let mut next = || {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *seed >> 40
    };
    (0..length)
        .map(|_| {
            let spread = next() % 14;
            format!("t{}", next() % (1 << spread))
        })
        .collect()
}

#[test]
fn what_is_passed_over_was_not_among_the_best() {
    let mut seed = 5;
    let mut lexicon = Lexicon::default();
    let mut docs: Vec<Entry> = Vec::new();
    for slot in 0..21_000 {
        let key = (slot % 2, 7);
        let words = text(&mut seed, 3 + position(slot) % 25);
        lexicon.add(key, [(slot, words.as_slice())]).unwrap();
        docs.push((key, slot, words));
    }
    for half in 0..2 {
        for turn in 0..6 {
            let query = text(&mut seed, 8);
            for (scope, width) in [(vec![(0, 7), (1, 7)], 10), (vec![(1, 7)], 256)] {
                let got = found(&lexicon, &query, &scope, width);
                assert_eq!(got, wanted(&docs, &query, &scope, width), "{half} {turn}");
                assert_eq!(got.len(), width);
            }
        }
        // The saved half, a third of it gone, and new ones.
        lexicon = reopened(&lexicon, &Some);
        for slot in (0..21_000).step_by(3) {
            lexicon.remove((slot % 2, 7), &[slot]).unwrap();
        }
        docs.retain(|doc| doc.1 % 3 != 0);
        for slot in 21_000..23_000 {
            let words = text(&mut seed, 9);
            lexicon.add((1, 7), [(slot, words.as_slice())]).unwrap();
            docs.push(((1, 7), slot, words));
        }
    }
}

#[test]
fn slots_may_change_when_a_lexicon_is_saved() {
    let mut lexicon = Lexicon::default();
    for (slot, word) in (10..14).zip(["red fox", "red", "blue fox", "fox"]) {
        let words: Vec<String> = word.split(' ').map(str::to_owned).collect();
        lexicon.add((0, 0), [(slot, words.as_slice())]).unwrap();
    }
    let turned = reopened(&lexicon, &|slot| (slot != 11).then(|| 20 - slot));
    let query = ["fox".to_owned(), "red".to_owned()];
    let admit = |slot| Some(u64::from(slot));
    let mut got = turned
        .search(&query, &[(0, 0)], Bm25::default(), 9, admit)
        .unwrap();
    got.sort_unstable();
    assert_eq!(got.iter().map(|hit| hit.id).collect::<Vec<_>>(), [10, 7, 8]);
    // What nobody has any more is not written.
    let mut bytes = Vec::new();
    lexicon.remove((0, 0), &[12]).unwrap();
    lexicon.write(&mut bytes, &Some).unwrap();
    assert!(!bytes.windows(4).any(|four| four == b"blue"));
    assert!(bytes.windows(3).any(|three| three == b"red"));
}
