//! Whatever is read first, the answer is that of the canonical sum over everything, bit for bit: on
//! every tier, with codes and without, over vectors that are hard to tell apart.

use std::collections::BTreeMap;

use half::f16;
use proptest::prelude::*;
use warmset_core::hot::{
    Batch, Cue, Filter, Head, Index, Labels, Metric, Precision, Retriever, Weights,
};
use warmset_core::simd::{Scanner, Tier};

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

/// A vector as the metric compares it.
fn prepared(metric: Metric, vector: &[f32]) -> Vec<f32> {
    let square = |sum: f64, value: &f32| sum + f64::from(*value) * f64::from(*value);
    let norm = vector.iter().fold(0.0, square).sqrt();
    if metric == Metric::InnerProduct || (norm - 1.0).abs() <= 1e-6 {
        return vector.to_vec();
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the rounding"
    )]
    vector
        .iter()
        .map(|v| (f64::from(*v) / norm) as f32)
        .collect()
}

type Rows = BTreeMap<u64, Vec<f32>>;
type Bits = Vec<(u64, u32)>;

fn bits(found: &[(u64, f32)]) -> Bits {
    found
        .iter()
        .map(|(id, score)| (*id, (score + 0.0).to_bits()))
        .collect()
}

fn brute(
    metric: Metric,
    rows: &Rows,
    query: &[f32],
    k: usize,
    passes: impl Fn(u64) -> bool,
) -> Bits {
    let query = prepared(metric, query);
    let mut all: Vec<(u64, f32)> = rows
        .iter()
        .filter(|(id, _)| passes(**id))
        .map(|(id, row)| (*id, dot(&query, &prepared(metric, row))))
        .collect();
    all.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    all.truncate(k);
    bits(&all)
}

/// How the vectors of one case are made.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Isotropic,
    /// All of them close to one, the query too.
    Cluster,
    /// Few different ones, many times.
    Duplicates,
    /// One vector, with single values moved by one unit in the last place.
    OneUlp,
    Denormal,
    /// One dimension outweighs all others.
    Dominant,
    /// Nearly all values are zero.
    Sparse,
    /// Norms from the smallest to the largest that is accepted.
    EverySize,
    /// All values of a vector are the same: codes miss nothing, sums round one way.
    Level,
}

const KINDS: [Kind; 9] = [
    Kind::Isotropic,
    Kind::Cluster,
    Kind::Duplicates,
    Kind::OneUlp,
    Kind::Denormal,
    Kind::Dominant,
    Kind::Sparse,
    Kind::EverySize,
    Kind::Level,
];

struct Noise(u64);

impl Noise {
    fn word(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 32).unwrap()
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word() >> 3).unwrap() % end
    }

    fn value(&mut self) -> f32 {
        f32::from_bits(0x3f80_0000 | (self.word() >> 9)) - 1.5
    }

    fn vector(&mut self, kind: Kind, dim: usize) -> Vec<f32> {
        let mut plain: Vec<f32> = (0..dim).map(|_| self.value()).collect();
        let shared: Vec<f32> = {
            let mut centre = Noise(5);
            (0..dim).map(|_| centre.value()).collect()
        };
        let at = self.below(dim);
        match kind {
            Kind::Isotropic => {}
            Kind::Cluster => {
                for (value, centre) in plain.iter_mut().zip(shared) {
                    *value = centre + 0.02 * *value;
                }
            }
            Kind::Duplicates => {
                let mut one = Noise(u64::from(self.word() % 5));
                plain.fill_with(|| one.value());
            }
            Kind::OneUlp => {
                plain = shared;
                plain[at] = plain[at].next_up();
            }
            Kind::Denormal => plain.iter_mut().for_each(|v| *v *= 1e-39),
            Kind::Dominant => plain[0] = 1e9 + 64.0 * plain[0].signum() * plain[at].abs(),
            Kind::Sparse => {
                let kept = plain[at];
                plain.fill(0.0);
                plain[at] = kept;
            }
            Kind::EverySize => {
                let sizes = [1e-44, 1e-30, 1e-6, 1.0, 1e9, 1e16, 1.9e18 / 64.0];
                let size = sizes[self.below(sizes.len())];
                for value in &mut plain {
                    *value *= size;
                }
            }
            Kind::Level => {
                let level = plain[0] + 1.0;
                plain.fill(level);
            }
        }
        // A cosine needs a direction.
        if plain.iter().all(|value| *value == 0.0) {
            plain[0] = 1.0;
        }
        plain
    }
}

/// One index of every tier and head, and what they should hold.
struct Bench {
    metric: Metric,
    dim: usize,
    indexes: Vec<(Head, Tier, Index)>,
    rows: Rows,
}

impl Bench {
    fn new(dim: usize, metric: Metric) -> Self {
        let mut indexes = Vec::new();
        for tier in Tier::available() {
            for head in [
                Head::Plain,
                Head::Int8,
                Head::Int4,
                Head::Projected,
                Head::Auto,
            ] {
                let scanner = Scanner::of(tier).unwrap();
                let index = Index::with_head(dim, metric, head, scanner).unwrap();
                indexes.push((head, tier, index));
            }
        }
        Self {
            metric,
            dim,
            indexes,
            rows: Rows::new(),
        }
    }

    fn add(&mut self, id: u64, row: Vec<f32>) {
        let labels = [Labels::default()];
        for (_, _, index) in &mut self.indexes {
            index
                .add(Batch {
                    ids: &[id],
                    vectors: &row,
                    labels: &labels,
                })
                .unwrap();
        }
        self.rows.insert(id, row);
    }

    fn remove(&mut self, id: u64) {
        for (_, _, index) in &mut self.indexes {
            index.remove(&[id]).unwrap();
        }
        self.rows.remove(&id).unwrap();
    }

    fn check(&self, queries: &[f32], k: usize, ids: &[u64]) {
        let filter = Filter {
            ids: Some(ids.to_vec()),
            ..Filter::default()
        };
        let batches: Vec<_> = self
            .indexes
            .iter()
            .map(|(_, _, index)| index.search_batch(queries, k).unwrap())
            .collect();
        for (at, query) in queries.chunks(self.dim).enumerate() {
            let all = brute(self.metric, &self.rows, query, k, |_| true);
            let some = brute(self.metric, &self.rows, query, k, |id| ids.contains(&id));
            for ((head, tier, index), batch) in self.indexes.iter().zip(&batches) {
                let name = format!("{head:?}, {}", tier.name());
                assert_eq!(bits(&index.search(query, k, None).unwrap()), all, "{name}");
                assert_eq!(bits(&batch[at]), all, "{name}, together");
                let found = index.search(query, k, Some(&filter)).unwrap();
                assert_eq!(bits(&found), some, "{name}, filtered");
            }
        }
    }
}

fn run(kind: Kind, dim: usize, count: usize, metric: Metric, k: usize, seed: u64) {
    let mut noise = Noise(seed);
    let mut bench = Bench::new(dim, metric);
    for id in 0..u64::try_from(count).unwrap() {
        let row = noise.vector(kind, dim);
        bench.add(id * 13 % 1_009, row);
    }
    // More are removed than stay, for a time, so that dead rows are cleared away.
    let ids: Vec<u64> = bench.rows.keys().copied().collect();
    let gone: Vec<u64> = ids.iter().copied().filter(|_| noise.below(8) < 5).collect();
    for id in &gone {
        bench.remove(*id);
    }
    for id in gone.iter().filter(|id| **id % 3 != 0) {
        let row = noise.vector(kind, dim);
        bench.add(*id, row);
    }
    let part = 1 + noise.below(8);
    let wanted: Vec<u64> = ids
        .iter()
        .copied()
        .filter(|_| noise.below(8) < part)
        .collect();
    let queries: Vec<f32> = (0..5).flat_map(|_| noise.vector(kind, dim)).collect();
    bench.check(&queries, k, &wanted);
}

const DIMS: [usize; 7] = [1, 3, 31, 64, 384, 768, 1536];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn the_answer_is_the_brute_force_bit_for_bit(
        kind in prop::sample::select(KINDS.to_vec()),
        dim in prop::sample::select(DIMS.to_vec()),
        count in prop::sample::select(vec![0_usize, 1, 63, 64, 65, 200]),
        cosine in any::<bool>(),
        k in prop::sample::select(vec![1_usize, 2, 12, 64, 300]),
        seed in any::<u64>(),
    ) {
        let metric = if cosine { Metric::Cosine } else { Metric::InnerProduct };
        run(kind, dim, count, metric, k, seed);
    }
}

#[test]
fn a_thousand_rows_of_every_kind() {
    for (turn, kind) in (0_u64..).zip(KINDS) {
        for metric in [Metric::Cosine, Metric::InnerProduct] {
            // Every dimension for the kinds whose scores are the hardest to tell apart.
            let hard = matches!(kind, Kind::Isotropic | Kind::OneUlp | Kind::EverySize);
            for dim in DIMS.into_iter().filter(|dim| hard || [3, 64].contains(dim)) {
                run(kind, dim, 1_000, metric, 12, 100 + turn);
            }
        }
    }
}

#[test]
fn a_zero_query_ties_everything_and_ids_decide() {
    let mut bench = Bench::new(40, Metric::InnerProduct);
    let mut noise = Noise(3);
    for id in (0..400).rev() {
        let row = noise.vector(Kind::EverySize, 40);
        bench.add(id, row);
    }
    bench.check(&[0.0; 40], 12, &[5, 9, 300]);
    let (_, _, index) = &bench.indexes[0];
    let found = index.search(&[0.0; 40], 3, None).unwrap();
    assert_eq!(found.iter().map(|hit| hit.0).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn codes_leave_most_rows_unread() {
    let mut bench = Bench::new(384, Metric::Cosine);
    let mut noise = Noise(17);
    for id in 0..2_000 {
        let row = noise.vector(Kind::Isotropic, 384);
        bench.add(id, row);
    }
    let query = noise.vector(Kind::Isotropic, 384);
    let ids: Vec<u64> = (0..2_000).step_by(100).collect();
    let filter = Filter {
        ids: Some(ids.clone()),
        ..Filter::default()
    };
    for (head, tier, index) in &bench.indexes {
        let name = format!("{head:?}, {}", tier.name());
        let (found, explained) = index.explain(&query, 12, None).unwrap();
        let steps = explained.steps;
        assert_eq!(
            bits(&found),
            brute(Metric::Cosine, &bench.rows, &query, 12, |_| true),
            "{name}"
        );
        let coded = matches!(head, Head::Int8 | Head::Int4 | Head::Projected)
            || (*head == Head::Auto && *tier != Tier::Scalar);
        if coded {
            assert!(
                steps.screened >= 1_984 && steps.screened + steps.exact >= 2_000,
                "{name}: {steps:?}"
            );
            let last = found.last().unwrap().1;
            assert!(
                explained.bound <= last && explained.bound > last - 0.1,
                "{name}"
            );
            assert!(steps.exact < 100, "{name}: {steps:?}");
        } else {
            assert_eq!((steps.screened, steps.exact), (0, 2_000), "{name}");
        }
        let (_, explained) = index.explain(&query, 12, Some(&filter)).unwrap();
        assert!(explained.bound < f32::MIN, "{name}: nothing was left out");
        let read = (explained.steps.screened, explained.steps.exact);
        assert_eq!(
            read,
            (0, ids.len()),
            "{name}: what a filter leaves is too little for codes"
        );
    }
}

#[test]
fn entries_with_several_rows_are_ranked_by_their_best_one() {
    const DIM: usize = 64;
    let weights = Weights {
        dense: 1.0,
        lexical: 0.0,
        speaker: 0.0,
        session: 0.0,
        ..Weights::default()
    };
    let kinds = [
        Kind::Isotropic,
        Kind::Cluster,
        Kind::Duplicates,
        Kind::OneUlp,
    ];
    let precisions = [Precision::Full, Precision::Half];
    for (kind, precision) in kinds
        .iter()
        .flat_map(|kind| precisions.map(|one| (*kind, one)))
    {
        let kept = |rows: &[f32]| -> Vec<f32> {
            let half = |value: &f32| f16::from_f32(*value).to_f32();
            match precision {
                Precision::Full => rows.to_vec(),
                Precision::Half => rows.iter().map(half).collect(),
            }
        };
        let mut noise = Noise(23);
        let raw = noise.vector(kind, DIM);
        let mut retriever = Retriever::new(precision).unwrap();
        let mut entries = BTreeMap::new();
        for id in 0..2_500_u64 {
            let labels = Labels {
                conversation: u32::from(id % 5 == 0),
                ..Labels::default()
            };
            retriever.add(id, labels, &[]).unwrap();
            let count = [1, 1, 2, 0, 3][noise.below(5)];
            let mut rows: Vec<f32> = (0..count).flat_map(|_| noise.vector(kind, DIM)).collect();
            if id == 78 {
                // One entry has the best 300 rows, and still is one of 40.
                rows = raw.iter().map(|v| 9.0 * v).collect::<Vec<_>>().repeat(300);
            }
            retriever.put_vectors(id, &rows, DIM).unwrap();
            entries.insert(id, kept(&rows));
        }
        for id in (0..2_500).step_by(7) {
            let rows = noise.vector(kind, DIM);
            retriever.put_vectors(id, &rows, DIM).unwrap();
            entries.insert(id, kept(&rows));
        }
        for conversation in [None, Some(0), Some(1)] {
            let filter = Filter {
                tenant: Some(0),
                conversation,
                ..Filter::default()
            };
            let query = prepared(Metric::Cosine, &raw);
            let mut wanted: Vec<(u64, f32)> = entries
                .iter()
                .filter(|(id, _)| conversation.is_none_or(|c| c == u32::from(*id % 5 == 0)))
                .filter_map(|(id, rows)| {
                    let scores = rows.chunks(DIM).map(|row| dot(&query, row));
                    scores.reduce(f32::max).map(|best| (*id, best))
                })
                .collect();
            wanted.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
            wanted.truncate(40);
            let found: Vec<(u64, f32)> = retriever
                .search(Some(&raw), &Cue::default(), &filter, 40, weights)
                .unwrap()
                .iter()
                .map(|hit| (hit.id, hit.dense))
                .collect();
            assert_eq!(
                bits(&found),
                bits(&wanted),
                "{kind:?}, {precision:?}, {conversation:?}"
            );
        }
    }
}
