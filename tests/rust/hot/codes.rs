//! Codes whose errors all lie one way, as far as they can: no result is left out for what they say.

use warmset_core::hot::{Batch, Filter, Head, Index, Labels, Metric};
use warmset_core::simd::{Scanner, canonical_dot};

const ROWS: u64 = 700;

struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u16) -> u16 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u16::try_from((self.0 >> 33) % u64::from(end)).unwrap()
    }

    /// A row with one large value, and others of a code or two, about halfway between codes.
    fn row(&mut self, dim: usize, most: f32) -> Vec<f32> {
        let size = [1.0, 0.5, 0.25, 0.01][usize::from(self.below(4))];
        let step = size / most;
        let mut row: Vec<f32> = (0..dim)
            .map(|_| {
                let halfway = f32::from(self.below(3)) - 1.5;
                step * (halfway + f32::from(self.below(200)) / 1_000.0 - 0.1)
            })
            .collect();
        row[0] = size;
        row
    }
}

#[test]
fn no_result_is_lost_where_codes_are_as_wrong_as_can_be() {
    let mut noise = Noise(1);
    for (head, most) in [
        (Head::Int8, 127.0),
        (Head::Int4, 7.0),
        (Head::Projected, 127.0),
    ] {
        for dim in [2, 5, 33] {
            let scanner = Scanner::best();
            let mut index = Index::with_head(dim, Metric::InnerProduct, head, scanner).unwrap();
            let rows: Vec<Vec<f32>> = (0..ROWS).map(|_| noise.row(dim, most)).collect();
            let ids: Vec<u64> = (0..ROWS).collect();
            let batch = Batch {
                ids: &ids,
                vectors: &rows.concat(),
                labels: &[Labels::default()],
            };
            index.add(batch).unwrap();
            for axis in 1..dim {
                for sign in [1.0, -1.0] {
                    let mut query = vec![0.0; dim];
                    query[axis] = sign;
                    let scores = rows.iter().map(|row| canonical_dot(&query, row));
                    let mut wanted: Vec<(u64, f32)> = (0..).zip(scores).collect();
                    wanted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    for k in [1, 5] {
                        let found = index.search(&query, k, None).unwrap();
                        assert_eq!(found, wanted[..k], "{head:?}, {dim} values, axis {axis}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_row_that_its_code_hides_is_found_among_rows_whose_codes_are_right() {
    // Of 127 steps: the code of 0.49 is 0, those of both sides are as they are.
    let (hidden, right, wrong) = (
        [1.0, 0.49 / 127.0],
        [0.225, 0.45 / 127.0],
        [0.225, -0.45 / 127.0],
    );
    for place in [0, 10, 62] {
        let scanner = Scanner::best();
        let mut index = Index::with_head(2, Metric::InnerProduct, Head::Int8, scanner).unwrap();
        let rows = (0..ROWS).map(|id| match id {
            _ if id == place => hidden,
            0..64 => wrong,
            _ => right,
        });
        let ids: Vec<u64> = (0..ROWS).collect();
        let batch = Batch {
            ids: &ids,
            vectors: &rows.collect::<Vec<_>>().concat(),
            labels: &[Labels::default()],
        };
        index.add(batch).unwrap();
        let found = index.search(&[0.0, 1.0], 3, None).unwrap();
        assert!(
            found.iter().map(|hit| hit.0).eq([place, 64, 65]),
            "{found:?}"
        );
    }
}

#[test]
fn rows_behind_the_first_segment_are_found_as_well() {
    const MANY: u64 = 66_500; // a segment has 65,536 rows
    let mut noise = Noise(9);
    let rows: Vec<Vec<f32>> = (0..MANY)
        .map(|_| {
            (0..3)
                .map(|_| f32::from(noise.below(2_000)) / 1_000.0 - 1.0)
                .collect()
        })
        .collect();
    let ids: Vec<u64> = (0..MANY).collect();
    let query = [0.5, -0.25, 1.0];
    let best = |passes: &dyn Fn(u64) -> bool| {
        let scores = rows.iter().map(|row| canonical_dot(&query, row));
        let mut all: Vec<(u64, f32)> = (0..).zip(scores).filter(|(id, _)| passes(*id)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(20);
        all
    };
    for head in [Head::Plain, Head::Int8] {
        let scanner = Scanner::best();
        let mut index = Index::with_head(3, Metric::InnerProduct, head, scanner).unwrap();
        let labels: Vec<Labels> = (0..MANY)
            .map(|id| Labels {
                kind: u16::from(id > 65_000),
                ..Labels::default()
            })
            .collect();
        let batch = Batch {
            ids: &ids,
            vectors: &rows.concat(),
            labels: &labels,
        };
        index.add(batch).unwrap();
        let gone = [3, 65_535, 65_536, 66_499];
        index.remove(&gone).unwrap();
        let there = |id: u64| !gone.contains(&id);
        let found = index.search(&query, 20, None).unwrap();
        assert_eq!(found, best(&there), "{head:?}");
        let filter = Filter {
            kinds: Some(vec![1]),
            ..Filter::default()
        };
        let found = index.search(&query, 20, Some(&filter)).unwrap();
        assert_eq!(found, best(&|id| there(id) && id > 65_000), "{head:?}");
        let few: Vec<u64> = (0..MANY).step_by(997).collect();
        let filter = Filter {
            ids: Some(few.clone()),
            ..Filter::default()
        };
        let found = index.search(&query, 20, Some(&filter)).unwrap();
        assert_eq!(
            found,
            best(&|id| there(id) && few.contains(&id)),
            "{head:?}"
        );
    }
}
