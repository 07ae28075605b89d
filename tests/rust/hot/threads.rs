//! Several threads give the answers of one.

use std::num::NonZero;

use warmset_core::hot::{Batch, Filter, Index, Labels, Metric};

const ROWS: u64 = 40_000;

/// Coarse values: many ties, so that ids decide.
fn index(dim: usize) -> Index {
    let mut index = Index::new(dim, Metric::InnerProduct).unwrap();
    let mut state = 7_u64;
    let mut value = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f32::from(u8::try_from(state >> 62).unwrap()) - 1.5
    };
    let ids: Vec<u64> = (0..ROWS).map(|at| at * 7_919 % ROWS).collect();
    let vectors: Vec<f32> = (0..ids.len() * dim).map(|_| value()).collect();
    let labels: Vec<Labels> = (0..ROWS)
        .map(|at| Labels {
            kind: u16::try_from(at % 3).unwrap(),
            at: i64::try_from(at).unwrap(),
            ..Labels::default()
        })
        .collect();
    let (ids, vectors, labels) = (&ids, &vectors, &labels);
    index
        .add(Batch {
            ids,
            vectors,
            labels,
        })
        .unwrap();
    index.remove(&[5, 9_000, 39_999]).unwrap();
    index
}

#[test]
fn the_number_of_threads_never_changes_an_answer() {
    for dim in [4, 48] {
        let index = index(dim);
        let filters = [
            None,
            Some(Filter {
                kinds: Some(vec![1]),
                since: Some(100),
                ..Filter::default()
            }),
            Some(Filter {
                ids: Some((0..ROWS).step_by(3).collect()),
                ..Filter::default()
            }),
            Some(Filter {
                kinds: Some(vec![9]),
                ..Filter::default()
            }),
        ];
        let queries: Vec<f32> = (0_u8..7)
            .flat_map(|at| {
                (0_u8..)
                    .take(dim)
                    .map(move |x| f32::from(x * 5 % 7) - f32::from(at))
            })
            .collect();
        for filter in &filters {
            for k in [1, 50, 20_000] {
                let one: Vec<_> = queries
                    .chunks(dim)
                    .map(|query| index.search(query, k, filter.as_ref()).unwrap())
                    .collect();
                for threads in [1, 2, 3, 1_000].map(|count| NonZero::new(count).unwrap()) {
                    let batch = index.search_batch_on(&queries, k, filter.as_ref(), threads);
                    assert_eq!(batch.unwrap(), one, "{threads} threads, k {k}, {filter:?}");
                    let (query, expected) = (queries.chunks(dim).next().unwrap(), one.first());
                    let single = index.search_on(query, k, filter.as_ref(), threads);
                    assert_eq!(Some(&single.unwrap()), expected, "{threads} threads, k {k}");
                }
            }
        }
    }
}
