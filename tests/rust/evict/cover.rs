//! Coverage against an oracle that looks at every pair of turns.

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::evict::{COVERS, Coverage, Listed, Near, Sayings, Twin};

/// Cosines of 0.75 and more, the same for both of a pair; ties are common.
fn cosine(one: u64, other: u64) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    [0.75, 0.8, 0.8, 0.95][usize::try_from((low * 7 + high * 3) % 4).unwrap_or_default()]
}

fn stated(text: u64) -> Vec<i64> {
    match text % 4 {
        0 => Vec::new(),
        1 => vec![7, -3],
        2 => vec![-3],
        _ => vec![9, 7, -3, 9],
    }
}

/// Texts that say the same: those of one half, nearest first.
fn twins(text: u64, all: u64) -> Vec<Twin> {
    let others = (0..all).filter(|other| *other != text && other % 2 == text % 2);
    let mut found: Vec<Twin> = others
        .map(|other| Twin {
            cosine: cosine(text, other),
            text: other,
        })
        .collect();
    found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.text.cmp(&b.text)));
    found
}

fn oracle(
    texts: &[Option<u64>],
    counts: &[bool],
    memories: &[Vec<(f64, Vec<i64>)>],
    (all, same, check): (u64, f64, bool),
) -> Vec<f64> {
    let covered = |(at, text): (usize, &Option<u64>)| {
        let Some(text) = *text else { return 0.0 };
        let later =
            |other: u64| (at + 1..texts.len()).any(|to| counts[to] && texts[to] == Some(other));
        let mut covers: Vec<(f64, Vec<i64>)> = Vec::new();
        if later(text) {
            covers.push((1.0, stated(text)));
        }
        for twin in twins(text, all) {
            if twin.cosine >= same && later(twin.text) && covers.len() < COVERS {
                covers.push((twin.cosine, stated(twin.text)));
            }
        }
        covers.extend(memories[at].iter().cloned());
        covers.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some(best) = covers.first().map(|cover| cover.0) else {
            return 0.0;
        };
        covers.truncate(COVERS);
        let known = |fact: &i64| covers.iter().any(|(_, facts)| facts.contains(fact));
        let whole = !check || stated(text).iter().all(known);
        if whole && best > 0.0 {
            best.min(1.0)
        } else {
            0.0
        }
    };
    texts.iter().enumerate().map(covered).collect()
}

proptest! {
    #[test]
    fn coverage_is_what_looking_at_every_pair_finds(
        texts in prop::collection::vec(prop::option::of(0_u64..9), 1..14),
        near in prop::collection::vec(prop::collection::vec((0_u64..9, -1_i8..=4), 0..=3), 14),
        rounds in prop::collection::vec(prop::collection::vec(any::<bool>(), 14), 0..4),
        (same, check, remembers) in (prop::sample::select(vec![0.75, 0.8, 0.9]), any::<bool>(), any::<bool>()),
    ) {
        let mut sayings = Sayings::default();
        for text in 0..9 {
            sayings.state(text, stated(text));
            sayings.relate(text, twins(text, 9));
        }
        let count = texts.len();
        let (mut ids, mut cosines, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let mut memories: Vec<Vec<(f64, Vec<i64>)>> = vec![Vec::new(); count];
        for at in 0..count {
            let mut row: Vec<(u64, f32)> = near[at].iter().map(|(id, c)| (*id, f32::from(*c) / 4.0)).collect();
            row.sort_by(|a, b| b.1.total_cmp(&a.1));
            counts.push(row.len());
            if remembers {
                memories[at] = row.iter().map(|(id, c)| (f64::from(*c), stated(*id))).collect();
            }
            row.resize(COVERS, (8, 9.0)); // what does not count is never looked at
            ids.extend(row.iter().map(|one| one.0));
            cosines.extend(row.iter().map(|one| one.1));
        }
        let listed = Listed { texts: &texts, sayings: &sayings, crowded: &[], same, check };
        let known = Near { sayings: &sayings, ids: &ids, cosines: &cosines, counts: &counts };
        let mut coverage = Coverage::new(listed, remembers.then_some(known)).unwrap();
        let mut counting = vec![true; count];
        prop_assert_eq!(coverage.now(), oracle(&texts, &counting, &memories, (9, same, check)));
        for stays in rounds {
            // A text counts up to its last turn that stayed; those behind it are struck.
            for at in (0..count).rev() {
                let behind = (at + 1..count).any(|to| texts[to] == texts[at] && counting[to]);
                counting[at] = counting[at] && (stays[at] || behind);
            }
            coverage.strike(&stays[..count]).unwrap();
            prop_assert_eq!(coverage.now(), oracle(&texts, &counting, &memories, (9, same, check)));
        }
    }
}

#[test]
fn crowded_texts_have_the_twins_that_are_given() {
    let mut sayings = Sayings::default();
    let twin = |text| Twin { cosine: 0.9, text };
    sayings.relate(1, vec![twin(2)]);
    let texts = [Some(1), Some(2), Some(3)];
    let listed = |crowded| Listed {
        texts: &texts,
        sayings: &sayings,
        crowded,
        same: 0.8,
        check: true,
    };
    let now = |crowded| Coverage::new(listed(crowded), None).unwrap().now();
    let (given, back) = ((1, vec![twin(3)]), (3, vec![twin(1)]));
    assert_eq!(
        now(&[]),
        [0.0; 3],
        "text 2 says nothing of text 1, so it is no twin"
    );
    assert_eq!(now(&[given, back]), [0.9, 0.0, 0.0]);
}

/// The coverage of turns, none of which says the same as another, by memories alone.
fn by_memories(sayings: &Sayings, ids: &[u64], cosines: &[f32], counts: &[usize]) -> Vec<f64> {
    let texts: Vec<Option<u64>> = (0..).map(Some).take(counts.len()).collect();
    let listed = Listed {
        texts: &texts,
        sayings,
        crowded: &[],
        same: 0.8,
        check: true,
    };
    let near = Near {
        sayings,
        ids,
        cosines,
        counts,
    };
    Coverage::new(listed, Some(near)).unwrap().now()
}

#[test]
fn three_memories_of_a_turn_are_looked_at_and_a_coverage_is_at_most_one() {
    let sayings = Sayings::default();
    let cosines = [0.5, 0.4, 0.3, 0.9, 0.8, 0.7];
    for count in [3, 4, 6] {
        let found = by_memories(&sayings, &[7; 6], &cosines, &[count, 3]);
        assert_eq!(found, [0.5, f64::from(0.9_f32)], "{count}");
    }
    // Turns that another one could cover, were it not struck.
    let listed = Listed {
        texts: &[Some(0), Some(0)],
        sayings: &sayings,
        crowded: &[],
        same: 0.8,
        check: true,
    };
    for count in [3, 4, 6] {
        let near = Near {
            sayings: &sayings,
            ids: &[7; 6],
            cosines: &cosines,
            counts: &[count, 3],
        };
        let mut coverage = Coverage::new(listed, Some(near)).unwrap();
        coverage.strike(&[true, false]).unwrap();
        assert_eq!(coverage.now(), [0.5, f64::from(0.9_f32)], "{count}");
    }
    let over = 1.0_f32.next_up();
    assert_eq!(by_memories(&sayings, &[7; 3], &[over; 3], &[1]), [1.0]);
}

#[test]
fn facts_are_looked_for_in_the_three_nearest_covers() {
    let mut sayings = Sayings::default();
    let twin = |text| Twin { cosine: 0.9, text };
    sayings.state(0, vec![7]);
    sayings.state(9, vec![7]);
    sayings.relate(0, vec![twin(1), twin(2), twin(3)]);
    for other in 1..4 {
        sayings.relate(other, vec![twin(0)]);
    }
    let texts = [Some(0), Some(1), Some(2), Some(3)];
    for (cosine, covered) in [(0.5, 0.0), (0.95, 0.95), (0.9_f32.next_down(), 0.0)] {
        let listed = Listed {
            texts: &texts,
            sayings: &sayings,
            crowded: &[],
            same: 0.8,
            check: true,
        };
        let near = Near {
            sayings: &sayings,
            ids: &[9; 12],
            cosines: &[cosine; 12],
            counts: &[1, 0, 0, 0],
        };
        let now = Coverage::new(listed, Some(near)).unwrap().now();
        assert!((now[0] - covered).abs() < 1e-6, "{now:?} with {cosine}");
    }
}

#[test]
fn a_text_that_was_forgotten_has_no_twins_when_it_comes_back() {
    let mut sayings = Sayings::default();
    let twin = |text| Twin { cosine: 0.9, text };
    let texts = [Some(1), Some(2)];
    let now = |sayings: &Sayings| {
        let listed = Listed {
            texts: &texts,
            sayings,
            crowded: &[],
            same: 0.8,
            check: true,
        };
        Coverage::new(listed, None).unwrap().now()
    };
    sayings.relate(1, vec![twin(2)]);
    sayings.relate(2, vec![twin(1)]);
    assert_eq!(now(&sayings), [0.9, 0.0]);
    sayings.forget(1);
    sayings.state(1, vec![]);
    assert_eq!(now(&sayings), [0.0, 0.0]);
}

#[test]
fn what_was_forgotten_is_lacking_and_lengths_must_agree() {
    let mut sayings = Sayings::default();
    sayings.state(4, vec![1]);
    let texts = [None, Some(4), Some(5), Some(4)];
    assert_eq!(sayings.lacking(&texts), [2]);
    sayings.forget(4);
    assert_eq!(sayings.lacking(&texts), [1, 2, 3]);
    let listed = Listed {
        texts: &texts,
        sayings: &sayings,
        crowded: &[],
        same: 0.8,
        check: true,
    };
    let near = Near {
        sayings: &sayings,
        ids: &[1],
        cosines: &[0.5; 12],
        counts: &[0; 4],
    };
    let refused = |made| matches!(made, Err(Error::Argument { .. }));
    assert!(refused(Coverage::new(listed, Some(near)).map(|_| ())));
    let mut coverage = Coverage::new(listed, None).unwrap();
    assert!(refused(coverage.strike(&[true])));
}
