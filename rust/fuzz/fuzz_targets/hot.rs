//! Vectors and operations against a brute force that shares nothing with the index but the
//! definition of the canonical sum.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use warmset_core::hot::{Batch, Filter, Index, Labels, Metric};

#[derive(Arbitrary, Debug)]
struct Input {
    dim: u8,
    cosine: bool,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Add {
        id: u8,
        tenant: bool,
        row: Row,
    },
    AddMany {
        first: u8,
        count: u8,
        row: Row,
    },
    Remove {
        ids: Vec<u8>,
    },
    Search {
        query: Row,
        k: u8,
    },
    Filtered {
        query: Row,
        k: u8,
        tenant: bool,
        except: Vec<u8>,
    },
}

/// The values of a row, repeated to the dimension.
#[derive(Arbitrary, Debug)]
enum Row {
    Bits(Vec<u32>),
    Small(Vec<i8>),
}

impl Row {
    fn values(&self, dim: usize) -> Vec<f32> {
        let some: Vec<f32> = match self {
            Self::Bits(bits) => bits.iter().map(|b| f32::from_bits(*b)).collect(),
            Self::Small(small) => small.iter().map(|s| f32::from(*s) / 8.0).collect(),
        };
        some.iter()
            .copied()
            .cycle()
            .chain([0.0].into_iter().cycle())
            .take(dim)
            .collect()
    }
}

/// What the metric makes of a row; `None` for what it refuses.
fn prepared(row: &[f32], cosine: bool) -> Option<Vec<f32>> {
    if row.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut square = 0.0_f64;
    for value in row {
        square += f64::from(*value) * f64::from(*value);
    }
    let norm = square.sqrt();
    if !cosine {
        return (norm <= 1e18).then(|| row.to_vec());
    }
    if norm == 0.0 {
        return None;
    }
    if (norm - 1.0).abs() <= 1e-6 {
        return Some(row.to_vec());
    }
    Some(
        row.iter()
            .map(|value| (f64::from(*value) / norm) as f32)
            .collect(),
    )
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut acc = [0.0_f32; 16];
    for (at, (a, b)) in x.iter().zip(y).enumerate() {
        acc[at % 16] += a * b;
    }
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            acc[lane] += acc[lane + width];
        }
    }
    acc[0]
}

type Model = BTreeMap<u64, (bool, Vec<f32>)>;

fn labels(tenant: bool) -> Labels {
    Labels {
        tenant: tenant.into(),
        ..Labels::default()
    }
}

fn compare(
    index: &Index,
    model: &Model,
    query: &[f32],
    k: usize,
    cosine: bool,
    filter: Option<&Filter>,
) {
    let found = index.search(query, k, filter);
    let Some(query) = prepared(query, cosine).filter(|_| k > 0) else {
        assert!(found.is_err());
        return;
    };
    let mut all: Vec<(f32, u64)> = model
        .iter()
        .filter(|(id, (tenant, _))| filter.is_none_or(|f| f.admits(**id, &labels(*tenant))))
        .map(|(id, (_, row))| (dot(&query, row), *id))
        .collect();
    all.sort_by(|a, b| b.0.partial_cmp(&a.0).expect("finite").then(a.1.cmp(&b.1)));
    all.truncate(k);
    let bits = |pairs: Vec<(u64, f32)>| -> Vec<(u64, u32)> {
        pairs
            .into_iter()
            .map(|(id, score)| (id, score.to_bits()))
            .collect()
    };
    let expected = bits(all.into_iter().map(|(score, id)| (id, score)).collect());
    assert_eq!(bits(found.expect("a query that is fine")), expected);
}

fuzz_target!(|input: Input| {
    let dim = usize::from(input.dim % 40) + 1;
    let metric = if input.cosine {
        Metric::Cosine
    } else {
        Metric::InnerProduct
    };
    let mut index = Index::new(dim, metric).expect("a dimension that is fine");
    let mut model = Model::new();
    for step in &input.steps {
        match step {
            Step::Add { id, tenant, row } => {
                let (id, row) = (u64::from(*id), row.values(dim));
                let added = index.add(Batch {
                    ids: &[id],
                    vectors: &row,
                    labels: &[labels(*tenant)],
                });
                let fine = prepared(&row, input.cosine).filter(|_| !model.contains_key(&id));
                assert_eq!(added.is_ok(), fine.is_some());
                if let Some(row) = fine {
                    model.insert(id, (*tenant, row));
                }
            }
            Step::AddMany { first, count, row } => {
                let row = row.values(dim);
                // Far from the ids above; a batch may be longer than a chunk of the scan.
                let ids: Vec<u64> = (0..u64::from(*count) * 3)
                    .map(|at| 1_000 + u64::from(*first) + at)
                    .collect();
                let added = index.add(Batch {
                    ids: &ids,
                    vectors: &row.repeat(ids.len()),
                    labels: &[labels(false)],
                });
                let fresh = ids.iter().all(|id| !model.contains_key(id));
                let fine = prepared(&row, input.cosine);
                assert_eq!(added.is_ok(), ids.is_empty() || fresh && fine.is_some());
                if let Some(row) = fine.filter(|_| fresh) {
                    model.extend(ids.into_iter().map(|id| (id, (false, row.clone()))));
                }
            }
            Step::Remove { ids } => {
                let ids: Vec<u64> = ids.iter().map(|id| u64::from(*id)).collect();
                let mut rest = model.clone();
                let fine = ids.iter().all(|id| rest.remove(id).is_some());
                assert_eq!(index.remove(&ids).is_ok(), fine);
                if fine {
                    model = rest;
                }
            }
            Step::Search { query, k } => {
                compare(
                    &index,
                    &model,
                    &query.values(dim),
                    usize::from(*k),
                    input.cosine,
                    None,
                );
            }
            Step::Filtered {
                query,
                k,
                tenant,
                except,
            } => {
                let mut except: Vec<u64> = except.iter().map(|id| u64::from(*id)).collect();
                except.sort_unstable();
                let filter = Filter {
                    tenant: Some((*tenant).into()),
                    except,
                    ..Filter::default()
                };
                let query = query.values(dim);
                compare(
                    &index,
                    &model,
                    &query,
                    usize::from(*k),
                    input.cosine,
                    Some(&filter),
                );
            }
        }
        assert_eq!(index.len(), model.len());
    }
});
