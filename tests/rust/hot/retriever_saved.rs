//! Saved retrievers: one that was opened answers as the one that was saved, whatever comes after.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::hot::{
    Branches, Coverage, Cue, Filter, Labels, Precision, Retriever, Scored, SharedBytes, Traits,
    Weights, terms,
};
use warmset_core::{Error, Result};

const DIM: usize = 24;
const WORDS: [&str; 6] = ["boat", "car", "garden_lamp", "teapot", "ok", "umbrella"];

/// One step in the life of a retriever.
#[derive(Clone, Debug)]
enum Step {
    Add {
        words: Vec<usize>,
        place: u32,
        rows: usize,
    },
    Vectors {
        at: usize,
        rows: usize,
    },
    Live {
        at: usize,
        live: bool,
    },
    Remove {
        at: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let words = prop::collection::vec(0..WORDS.len(), 0..6);
    prop_oneof![
        6 => (words, 0_u32..6, 0_usize..3)
            .prop_map(|(words, place, rows)| Step::Add { words, place, rows }),
        1 => (0_usize..80, 1_usize..3).prop_map(|(at, rows)| Step::Vectors { at, rows }),
        1 => (0_usize..80, any::<bool>()).prop_map(|(at, live)| Step::Live { at, live }),
        1 => (0_usize..80).prop_map(|at| Step::Remove { at }),
    ]
}

fn vectors(seed: u64, rows: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f32::from(u16::try_from(state >> 49).unwrap()) / 16_384.0 - 1.0
    };
    (0..rows * DIM).map(|_| next()).collect()
}

/// Takes a step in several retrievers, from the `id`th id on.
fn take(retrievers: &mut [&mut Retriever], step: &Step, ids: &mut Vec<u64>, next: &mut u64) {
    let pick = |ids: &[u64], at: usize| (!ids.is_empty()).then(|| ids[at % ids.len()]);
    match step {
        Step::Add { words, place, rows } => {
            let text: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
            let labels = Labels {
                tenant: place / 3,
                conversation: *place,
                session: place % 2,
                speaker: place % 3,
                live: true,
                ..Labels::default()
            };
            for retriever in retrievers {
                retriever
                    .add(*next, labels, &terms(&text.join(" ")))
                    .unwrap();
                if !words.is_empty() {
                    let day = i32::try_from(*next % 40).unwrap();
                    let traits = Traits {
                        asking: f32::from(u8::from(words[0] == 1)) / 3.0,
                        ends_asking: words[0] == 2,
                        tells_time: words[0] == 3,
                        tells_number: words[0] == 4,
                        days: (0..words[0]).map(|_| (day, day + 2)).collect(),
                    };
                    retriever.describe(*next, traits).unwrap();
                }
                if *rows > 0 {
                    retriever
                        .put_vectors(*next, &vectors(*next, *rows), DIM)
                        .unwrap();
                }
            }
            ids.push(*next);
            *next += 3;
        }
        Step::Vectors { at, rows } => {
            if let Some(id) = pick(ids, *at) {
                for retriever in retrievers {
                    let rows = vectors(id + 1, *rows);
                    retriever.put_vectors(id, &rows, DIM).unwrap();
                }
            }
        }
        Step::Live { at, live } => {
            if let Some(id) = pick(ids, *at) {
                for retriever in retrievers {
                    retriever.set_live(&[id], *live).unwrap();
                }
            }
        }
        Step::Remove { at } => {
            if let Some(id) = pick(ids, *at) {
                for retriever in retrievers {
                    retriever.remove(id).unwrap();
                }
                ids.retain(|one| *one != id);
            }
        }
    }
}

fn answers(retriever: &Retriever) -> Vec<Vec<Scored>> {
    let mut all = Vec::new();
    for tenant in [None, Some(0), Some(1)] {
        for branches in [Branches::Live, Branches::All] {
            let filter = Filter {
                tenant,
                branches,
                ..Filter::default()
            };
            for (words, seed) in [("boat lamp", 3), ("ok", 8), ("garden_lamp teapot car", 11)] {
                let cue = Cue {
                    terms: terms(words),
                    speakers: vec![1],
                    days: vec![(10, 12)],
                    when: true,
                    number: true,
                    ..Cue::default()
                };
                let weights = Weights {
                    dense: 1.0,
                    lexical: 0.7,
                    speaker: 0.2,
                    date: 0.3,
                    when: 0.15,
                    number: 0.25,
                    asking: -0.2,
                    reply: 0.4,
                    near: 0.35,
                    session: 0.1,
                };
                let query = vectors(seed, 1);
                let query = (retriever.rows() > 0).then_some(query.as_slice());
                all.push(retriever.search(query, &cue, &filter, 12, weights).unwrap());
            }
        }
    }
    all
}

fn coverage() -> Coverage {
    Coverage {
        store: *b"sixteen bytes it",
        covers: 1 << 40,
        fingerprint: "someone's vectors".into(),
        note: vec![0, 1, 255],
    }
}

fn saved(retriever: &Retriever) -> Vec<u8> {
    let mut bytes = Vec::new();
    retriever
        .save(&mut bytes, Path::new("saved"), &coverage())
        .unwrap();
    bytes
}

fn open(bytes: Vec<u8>) -> Result<Retriever> {
    open_as(bytes, Precision::Half)
}

fn open_as(bytes: Vec<u8>, precision: Precision) -> Result<Retriever> {
    let bytes: SharedBytes = Arc::new(bytes);
    let (opened, found) = Retriever::open(&bytes, Path::new("saved"), precision)?;
    opened.verify()?;
    assert_eq!(found, coverage());
    Ok(opened)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_opened_is_what_was_saved(
        before in prop::collection::vec(step(), 0..120),
        after in prop::collection::vec(step(), 0..60),
        precision in prop::sample::select(vec![Precision::Full, Precision::Half]),
    ) {
        let open = |bytes| open_as(bytes, precision);
        let (mut ids, mut next) = (Vec::new(), 5);
        let mut kept = Retriever::new(precision).unwrap();
        for step in &before {
            take(&mut [&mut kept], step, &mut ids, &mut next);
        }
        let bytes = saved(&kept);
        let mut opened = open(bytes.clone()).unwrap();
        prop_assert_eq!((opened.len(), opened.rows()), (kept.len(), kept.rows()));
        prop_assert_eq!(answers(&opened), answers(&kept));
        prop_assert_eq!(saved(&opened), bytes);
        for step in &after {
            take(&mut [&mut kept, &mut opened], step, &mut ids, &mut next);
        }
        prop_assert_eq!(answers(&opened), answers(&kept));
        let again = open(saved(&opened)).unwrap();
        prop_assert_eq!(answers(&again), answers(&kept));
    }
}

fn some() -> Retriever {
    let (mut ids, mut next) = (Vec::new(), 5);
    let mut retriever = Retriever::new(Precision::Half).unwrap();
    for at in 0..30 {
        let step = Step::Add {
            words: vec![at % 6, at % 5],
            place: u32::try_from(at % 4).unwrap(),
            rows: at % 3,
        };
        take(&mut [&mut retriever], &step, &mut ids, &mut next);
    }
    retriever
}

#[test]
fn a_changed_byte_is_found_or_says_nothing() {
    let retriever = some();
    let bytes = saved(&retriever);
    let mut found = 0;
    for at in (0..bytes.len()).filter(|at| bytes[*at] != 0) {
        let mut broken = bytes.clone();
        broken[at] ^= 0x40;
        match open(broken) {
            Ok(_) => panic!("byte {at} was changed and nobody saw it"),
            Err(
                Error::IndexDamaged { .. }
                | Error::SavedIndex { .. }
                | Error::NotAnIndex { .. }
                | Error::NewerIndex { .. },
            ) => found += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(found > 1_000);
}

#[test]
fn a_cut_file_is_refused() {
    let bytes = saved(&some());
    for end in (0..bytes.len()).step_by(997) {
        assert!(open(bytes[..end].to_vec()).is_err(), "cut at {end}");
    }
}

#[test]
fn what_was_removed_is_not_in_the_file() {
    let mut retriever = some();
    let labels = Labels::default();
    let row = vectors(99, 1);
    retriever.add(1, labels, &terms("zyzzyva")).unwrap();
    retriever.put_vectors(1, &row, DIM).unwrap();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
    let row: Vec<u8> = row
        .iter()
        .flat_map(|value| half::f16::from_f32(*value).to_le_bytes())
        .collect();
    let row = row.as_slice();
    let before = saved(&retriever);
    assert!(holds(&before, b"zyzzyva") && holds(&before, row));
    let mut opened = open(before).unwrap();
    for one in [&mut retriever, &mut opened] {
        one.remove(1).unwrap();
        let after = saved(one);
        assert!(!holds(&after, b"zyzzyva") && !holds(&after, row));
    }
}

#[test]
fn ties_go_by_id_where_the_best_of_a_signal_end() {
    let mut retriever = Retriever::new(Precision::Half).unwrap();
    let row = vectors(4, 1);
    for id in (1..=400).rev() {
        retriever.add(id, Labels::default(), &terms("ok")).unwrap();
        retriever.put_vectors(id, &row, DIM).unwrap();
    }
    let cue = Cue {
        terms: terms("ok"),
        ..Cue::default()
    };
    for (dense, lexical) in [(1.0, 0.0), (0.0, 1.0)] {
        let weights = Weights {
            dense,
            lexical,
            ..Weights::default()
        };
        let query = (dense > 0.0).then_some(row.as_slice());
        let words = if lexical > 0.0 { &cue } else { &Cue::default() };
        for one in [&retriever, &open(saved(&retriever)).unwrap()] {
            let found = one.search(query, words, &Filter::default(), 5, weights);
            let ids: Vec<u64> = found.unwrap().iter().map(|hit| hit.id).collect();
            assert_eq!(ids, [1, 2, 3, 4, 5]);
        }
        // Ids that ascend, saved; then some that lie below them.
        let mut later = Retriever::new(Precision::Half).unwrap();
        for id in (10..=400).chain(1..=3) {
            if id == 1 {
                later = open(saved(&later)).unwrap();
            }
            later.add(id, Labels::default(), &terms("ok")).unwrap();
            later.put_vectors(id, &row, DIM).unwrap();
        }
        for one in [&later, &open(saved(&later)).unwrap()] {
            let found = one.search(query, words, &Filter::default(), 5, weights);
            let ids: Vec<u64> = found.unwrap().iter().map(|hit| hit.id).collect();
            assert_eq!(ids, [1, 2, 3, 10, 11]);
        }
    }
}

#[test]
fn rows_of_another_precision_are_refused_and_none_are_of_both() {
    for (one, other) in [
        (Precision::Full, Precision::Half),
        (Precision::Half, Precision::Full),
    ] {
        let mut retriever = Retriever::new(one).unwrap();
        retriever.add(1, Labels::default(), &terms("ok")).unwrap();
        assert!(open_as(saved(&retriever), other).is_ok(), "{one:?}");
        retriever.put_vectors(1, &vectors(1, 1), DIM).unwrap();
        let bytes = saved(&retriever);
        assert!(open_as(bytes.clone(), one).is_ok(), "{one:?}");
        let refused = open_as(bytes, other);
        assert!(
            matches!(refused, Err(Error::IndexDamaged { .. })),
            "{one:?}: {refused:?}"
        );
    }
}

#[test]
fn a_value_that_half_precision_has_not_is_refused() {
    let labels = Labels::default();
    for (precision, value, fits) in [
        (Precision::Half, 65_504.0, true),
        (Precision::Half, -65_505.0, false),
        (Precision::Full, -65_505.0, true),
    ] {
        let mut retriever = Retriever::new(precision).unwrap();
        retriever.add(1, labels, &[]).unwrap();
        let put = retriever.put_vectors(1, &[0.5, value], 2);
        assert_eq!(put.is_ok(), fits, "{precision:?} {value}");
        assert_eq!(retriever.has_vectors(1), fits);
        if let Err(error) = put {
            let said = error.to_string();
            assert!(said.contains("65504") && said.contains("-65505"), "{said}");
        }
    }
}
