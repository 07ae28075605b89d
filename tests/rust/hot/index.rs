//! The index against a brute force that shares nothing with it but the canonical sum's definition.

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::hot::{
    Batch, Cue, Filter, Index, Labels, Metric, Precision, Retriever, Weights, terms,
};

/// The canonical sum as the documentation of `simd` says it.
fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut acc = [0.0_f32; 16];
    for (i, (a, b)) in x.iter().zip(y).enumerate() {
        acc[i % 16] += a * b;
    }
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            acc[lane] += acc[lane + width];
        }
    }
    acc[0]
}

fn brute(rows: &[(u64, Vec<f32>)], query: &[f32], k: usize) -> Vec<(u64, u32)> {
    let mut all: Vec<(f32, u64)> = rows
        .iter()
        .map(|(id, row)| (dot(query, row), *id))
        .collect();
    all.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
    all.truncate(k);
    all.into_iter()
        .map(|(score, id)| (id, (score + 0.0).to_bits()))
        .collect()
}

/// Values that make ties, cancellation and denormals.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -1.0_f32..1.0,
        2 => Just(0.0_f32),
        1 => Just(1.0_f32),
        1 => Just(-1e-40_f32),
        1 => Just(1e15_f32),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn search_is_the_brute_force_bit_for_bit_after_removals_and_re_adds(
        dim in prop::sample::select(vec![1_usize, 3, 16, 31, 64]),
        seeds in prop::collection::vec(prop::collection::vec(value(), 64), 1..70),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        query in prop::collection::vec(value(), 64),
        k in 1_usize..80,
    ) {
        let mut rows: Vec<(u64, Vec<f32>)> =
            seeds.iter().zip(0_u64..).map(|(row, at)| (at * 7 % 71, row[..dim].to_vec())).collect();
        let mut index = Index::new(dim, Metric::InnerProduct).unwrap();
        let labels = [Labels::default()];
        for (id, row) in &rows {
            index.add(Batch { ids: &[*id], vectors: row, labels: &labels }).unwrap();
        }
        for (turn, at) in removed.iter().enumerate() {
            if rows.is_empty() { break; }
            let (id, mut row) = rows.remove(at.index(rows.len()));
            index.remove(&[id]).unwrap();
            prop_assert!(!index.contains(id).unwrap());
            if turn % 2 == 0 {
                row.reverse();
                index.add(Batch { ids: &[id], vectors: &row, labels: &labels }).unwrap();
                rows.push((id, row));
            }
        }
        let got: Vec<(u64, u32)> = index
            .search(&query[..dim], k, None)
            .unwrap()
            .into_iter()
            .map(|(id, score)| (id, (score + 0.0).to_bits()))
            .collect();
        prop_assert_eq!(got, brute(&rows, &query[..dim], k));
    }

    #[test]
    fn a_filter_is_a_search_of_what_passes_it(
        labels in prop::collection::vec((0_u32..3, 0_u32..3, 0_u16..2, 0_i64..9), 1..60),
        tenant in prop::option::of(0_u32..3),
        conversation in prop::option::of(0_u32..3),
        since in prop::option::of(0_i64..9),
        ids in prop::option::of(prop::collection::vec(0_u64..60, 0..20)),
        k in 1_usize..20,
    ) {
        let mut index = Index::new(3, Metric::InnerProduct).unwrap();
        let mut passing = Vec::new();
        let mut wanted = ids.clone();
        if let Some(ids) = &mut wanted { ids.sort_unstable(); ids.dedup(); }
        for ((t, c, kind, at), id) in labels.iter().zip(0_u64..) {
            let small = f32::from(u16::try_from(id * 37 % 11).unwrap());
            let row = vec![small, 1.0, -small];
            let label = Labels { tenant: *t, conversation: *c, kind: *kind, at: *at, ..Labels::default() };
            index.add(Batch { ids: &[id], vectors: &row, labels: &[label] }).unwrap();
            let passes = tenant.is_none_or(|x| x == *t) && conversation.is_none_or(|x| x == *c)
                && since.is_none_or(|x| *at >= x) && *kind == 1
                && ids.as_ref().is_none_or(|x| x.contains(&id));
            if passes { passing.push((id, row)); }
        }
        let filter = Filter {
            tenant, conversation, since, kinds: Some(vec![1]), ids: wanted, ..Filter::default()
        };
        let query = [1.0, 0.5, 0.25];
        let got: Vec<(u64, u32)> = index.search(&query, k, Some(&filter)).unwrap()
            .into_iter().map(|(id, score)| (id, score.to_bits())).collect();
        prop_assert_eq!(got, brute(&passing, &query, k));
    }

    #[test]
    fn unit_length_twice_is_unit_length_once(row in prop::collection::vec(-1.0_f32..1.0, 24)) {
        prop_assume!(row.iter().any(|v| v.abs() > 1e-3));
        let norm = row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the rounding")]
        let unit: Vec<f32> = row.iter().map(|v| (f64::from(*v) / norm) as f32).collect();
        let mut index = Index::new(24, Metric::Cosine).unwrap();
        let labels = [Labels::default()];
        index.add(Batch { ids: &[1], vectors: &row, labels: &labels }).unwrap();
        index.add(Batch { ids: &[2], vectors: &unit, labels: &labels }).unwrap();
        let found = index.search(&unit, 2, None).unwrap();
        prop_assert_eq!(found[0].1.to_bits(), found[1].1.to_bits());
        prop_assert_eq!((found[0].0, found[1].0), (1, 2));
    }
}

#[test]
fn vectors_that_cannot_be_ranked_are_refused_and_nothing_changes() {
    let mut index = Index::new(2, Metric::Cosine).unwrap();
    let labels = [Labels::default()];
    let mut add = |ids: &[u64], vectors: &[f32]| {
        index
            .add(Batch {
                ids,
                vectors,
                labels: &labels,
            })
            .unwrap_err()
    };
    assert!(matches!(add(&[1], &[1.0]), Error::Dimension { .. }));
    assert!(matches!(
        add(&[1, 2], &[1.0, 0.0, f32::NAN, 0.0]),
        Error::NotFinite { row: 1 }
    ));
    assert!(matches!(
        add(&[1, 2], &[1.0, 0.0, 0.0, 0.0]),
        Error::ZeroNorm { row: 1 }
    ));
    assert!(matches!(
        add(&[1, 1], &[1.0, 0.0, 0.0, 1.0]),
        Error::DuplicateId { id: 1 }
    ));
    assert!(index.is_empty());
    assert!(matches!(
        index.remove(&[9]),
        Err(Error::UnknownId { id: 9 })
    ));
    assert!(matches!(
        index.search(&[1.0, 0.0], 0, None),
        Err(Error::Argument { name: "k", .. })
    ));
    let mut plain = Index::new(1, Metric::InnerProduct).unwrap();
    let found = plain.add(Batch {
        ids: &[1],
        vectors: &[3e38],
        labels: &labels,
    });
    assert!(matches!(found, Err(Error::NormTooLarge { .. })));
}

#[test]
fn a_message_scores_as_its_best_row_however_many_rows_it_has() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let weights = Weights {
        dense: 1.0,
        lexical: 0.0,
        speaker: 0.0,
        session: 0.0,
        ..Weights::default()
    };
    for id in 1..=20_u64 {
        retriever.add(id, Labels::default(), &[]).unwrap();
        // More rows than one chunk of the scan holds, the best one in a place that moves.
        let count = usize::try_from(id).unwrap() * 20;
        let mut rows = vec![0.0_f32; count * 2];
        let best = (usize::try_from(id).unwrap() * 17) % count;
        rows[best * 2] = 1.0 / f32::from(u16::try_from(id).unwrap());
        retriever.put_vectors(id, &rows, 2).unwrap();
    }
    // New rows take the place of old ones, again and again, until dead rows are cleared away.
    for _ in 0..40 {
        retriever.put_vectors(20, &[0.9, 0.0], 2).unwrap();
    }
    let found = retriever
        .search(
            Some(&[1.0, 0.0]),
            &Cue::default(),
            &Filter::default(),
            20,
            weights,
        )
        .unwrap();
    let order: Vec<u64> = found.iter().map(|hit| hit.id).collect();
    let mut want: Vec<u64> = (1..=19).collect();
    want.insert(1, 20);
    assert_eq!(order, want);
    assert_eq!(found[0].dense.to_bits(), 1.0_f32.to_bits());
}

#[test]
fn fused_scores_are_the_sum_of_their_terms() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let weights = Weights {
        dense: 0.5,
        lexical: 0.25,
        speaker: 0.125,
        session: 0.5,
        ..Weights::default()
    };
    let texts = [
        "the pool is twelve",
        "lunch at noon",
        "the pool overflowed",
        "a quiet day",
    ];
    for (id, text) in (1_u64..).zip(texts) {
        let one = u32::try_from(id).unwrap();
        let labels = Labels {
            session: one / 3,
            speaker: one % 2,
            ..Labels::default()
        };
        retriever.add(id, labels, &terms(text)).unwrap();
    }
    retriever.put_vectors(2, &[0.5, 0.5], 2).unwrap();
    let cue = Cue {
        terms: terms("how large is the pool"),
        speakers: vec![1],
        ..Cue::default()
    };
    let found = retriever
        .search(Some(&[1.0, 0.0]), &cue, &Filter::default(), 9, weights)
        .unwrap();
    let mut ids: Vec<u64> = found.iter().map(|hit| hit.id).collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [1, 2, 3],
        "what shares nothing with the query is not in the pool"
    );
    for hit in &found {
        let sum = 0.5 * hit.dense + 0.25 * hit.lexical + 0.125 * hit.speaker + 0.5 * hit.session;
        assert!((hit.score - sum).abs() < 1e-6, "{hit:?}");
    }
    let session = |id: u64| found.iter().find(|hit| hit.id == id).unwrap().session;
    assert_eq!(
        session(1).to_bits(),
        session(2).to_bits(),
        "one session, one prior"
    );
    assert!(session(3) > 0.0 && (session(3) - session(1)).abs() > 1e-6);
}

#[test]
fn what_leaves_the_branch_is_hidden_and_comes_back() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let weights = Weights {
        dense: 1.0,
        lexical: 1.0,
        speaker: 0.0,
        session: 0.0,
        ..Weights::default()
    };
    for id in 1..=3 {
        retriever
            .add(id, Labels::default(), &terms("same words"))
            .unwrap();
    }
    let cue = Cue {
        terms: terms("words"),
        ..Cue::default()
    };
    let ids = |retriever: &Retriever| -> Vec<u64> {
        let found = retriever
            .search(None, &cue, &Filter::default(), 9, weights)
            .unwrap();
        found.iter().map(|hit| hit.id).collect()
    };
    retriever.set_live(&[2], false).unwrap();
    assert_eq!(ids(&retriever), [1, 3]);
    retriever.set_live(&[2], true).unwrap();
    retriever.remove(1).unwrap();
    assert_eq!(ids(&retriever), [2, 3]);
    assert!(matches!(
        retriever.set_live(&[1], true),
        Err(Error::UnknownId { id: 1 })
    ));
}
