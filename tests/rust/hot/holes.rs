//! What was removed leaves holes among the rows: answers are those of what is there.

use warmset_core::hot::{
    Batch, Cue, Filter, Head, Index, Labels, Metric, Precision, Retriever, Weights,
};
use warmset_core::simd::{Scanner, canonical_dot};

const DIM: usize = 64;

struct Noise(u64);

impl Noise {
    fn row(&mut self, about: &[f32], spread: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f32::from(u16::try_from(self.0 >> 48).unwrap()) / 32_768.0 - 1.0
        };
        about.iter().map(|value| value + spread * next()).collect()
    }
}

type Found = Vec<(u64, f32)>;

/// The best of some rows by their canonical sums.
fn brute<'a>(rows: impl Iterator<Item = (u64, &'a Vec<f32>)>, query: &[f32], k: usize) -> Found {
    let scored = rows.filter_map(|(id, row)| {
        let scores = row.chunks(DIM).map(|row| canonical_dot(query, row));
        Some((id, scores.reduce(f32::max)?))
    });
    let mut all: Found = scored.collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

#[test]
fn holes_take_no_place_from_what_a_filter_admits() {
    let mut noise = Noise(5);
    let query = noise.row(&[0.0; DIM], 1.0);
    let far: Vec<f32> = query.iter().map(|value| value / 4.0).collect();
    for head in [Head::Plain, Head::Int8, Head::Int4, Head::Projected] {
        let scanner = Scanner::best();
        let mut index = Index::with_head(DIM, Metric::InnerProduct, head, scanner).unwrap();
        let mut rows = Vec::new();
        for id in 0..1_200_u64 {
            // The best of all are about to leave, and the next best are hard to tell apart.
            let row = match id % 30 {
                7 | 12 => noise.row(&query, 0.1),
                _ => noise.row(&far, 0.4),
            };
            let labels = Labels {
                kind: u16::try_from(id % 2).unwrap(),
                ..Labels::default()
            };
            let batch = Batch {
                ids: &[id],
                vectors: &row,
                labels: &[labels],
            };
            index.add(batch).unwrap();
            rows.push((id, row));
        }
        let gone: Vec<u64> = (0..1_200).filter(|id| matches!(id % 30, 7 | 12)).collect();
        index.remove(&gone).unwrap();
        rows.retain(|(id, _)| !gone.contains(id));
        for kind in [None, Some(0), Some(1)] {
            let filter = Filter {
                kinds: kind.map(|kind| vec![kind]),
                ..Filter::default()
            };
            let passes = |id: u64| kind.is_none_or(|kind| u64::from(kind) == id % 2);
            let there = rows.iter().map(|(id, row)| (*id, row));
            let wanted = brute(there.filter(|(id, _)| passes(*id)), &query, 10);
            let found = index.search(&query, 10, Some(&filter)).unwrap();
            assert_eq!(found, wanted, "{head:?}, kind {kind:?}");
        }
    }
}

#[test]
fn no_row_that_was_left_out_scores_more_than_the_bound() {
    let mut noise = Noise(11);
    let centre = noise.row(&[0.0; DIM], 1.0);
    for head in [Head::Int8, Head::Int4, Head::Projected] {
        let scanner = Scanner::best();
        let mut index = Index::with_head(DIM, Metric::InnerProduct, head, scanner).unwrap();
        let rows: Vec<Vec<f32>> = (0..1_024).map(|_| noise.row(&centre, 0.02)).collect();
        let ids: Vec<u64> = (0..1_024).collect();
        let labels = &[Labels::default()];
        let (ids, vectors) = (&ids, &rows.concat());
        let batch = Batch {
            ids,
            vectors,
            labels,
        };
        index.add(batch).unwrap();
        for _ in 0..20 {
            let query = noise.row(&centre, 0.5);
            let (found, explained) = index.explain(&query, 5, None).unwrap();
            let above = rows
                .iter()
                .filter(|row| canonical_dot(&query, row) > explained.bound);
            // All of them were scored in full.
            assert!(
                above.count() <= explained.steps.exact,
                "{head:?}: {explained:?}"
            );
            assert!(explained.bound <= found[4].1);
        }
    }
}

#[test]
fn entries_with_several_rows_stay_one_result_after_rows_moved_together() {
    let mut noise = Noise(3);
    let query = noise.row(&[0.0; DIM], 1.0);
    let norm = canonical_dot(&query, &query).sqrt();
    let query: Vec<f32> = query.iter().map(|value| value / norm).collect();
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let mut rows = Vec::new();
    for id in 0..900_u64 {
        let count = if id % 9 == 0 { 3 } else { 1 };
        let own: Vec<f32> = (0..count)
            .flat_map(|_| noise.row(&query, if count == 3 { 0.1 } else { 0.3 }))
            .collect();
        retriever.add(id, Labels::default(), &[]).unwrap();
        retriever.put_vectors(id, &own, DIM).unwrap();
        rows.push((id, own));
    }
    // More than half of all rows leave.
    for id in (0..900).filter(|id| id % 9 != 0) {
        retriever.remove(id).unwrap();
    }
    rows.retain(|(id, _)| id % 9 == 0);
    let weights = Weights {
        dense: 1.0,
        ..Weights::default()
    };
    let found = retriever.search(
        Some(&query),
        &Cue::default(),
        &Filter::default(),
        40,
        weights,
    );
    let found: Found = found
        .unwrap()
        .iter()
        .map(|hit| (hit.id, hit.dense))
        .collect();
    assert_eq!(
        found,
        brute(rows.iter().map(|(id, row)| (*id, row)), &query, 40)
    );
    assert_eq!(retriever.rows(), 300);
}

#[test]
fn an_id_that_comes_and_goes_is_there_once() {
    let mut index = Index::new(2, Metric::InnerProduct).unwrap();
    let add = |index: &mut Index, id: u64| {
        let batch = Batch {
            ids: &[id],
            vectors: &[1.0, 0.5],
            labels: &[Labels::default()],
        };
        index.add(batch)
    };
    for id in [3, 9] {
        add(&mut index, id).unwrap();
        for left in 0..7 {
            index.remove(&[id]).unwrap();
            assert!(!index.contains(id).unwrap());
            assert!(index.remove(&[id]).is_err());
            add(&mut index, id).unwrap();
            assert!(index.contains(id).unwrap(), "{id} after {left}");
            assert!(add(&mut index, id).is_err());
        }
    }
    assert_eq!(index.len(), 2);
    assert_eq!(
        index.search(&[1.0, 0.0], 5, None).unwrap(),
        [(3, 1.0), (9, 1.0)]
    );
}
