//! The index: rows in full and codes first, one query and 64, beside each other in one run.
//!
//! Every bench first compares its answers, bit for bit, with an index of rows alone, and says how many
//! rows each step scored.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]
#![expect(clippy::print_stderr, reason = "a bench says what it measured")]

use std::sync::{LazyLock, Mutex};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use warmset_core::hot::{
    Batch, Cue, Filter, Head, Index, Labels, Metric, Precision, Retriever, Weights,
};
use warmset_core::simd::{Scanner, Tier};

const DIM: usize = 384;
const K: usize = 12;
const QUERIES: usize = 64;

fn main() {
    divan::main();
}

/// How vectors lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Isotropic,
    /// Around 200 centres, in 48 of the dimensions mostly: as embeddings do.
    Clustered,
}

struct Noise(u64);

impl Noise {
    /// Close to normal: a sum of four.
    fn next(&mut self) -> f32 {
        let mut sum = -2.0;
        for _ in 0..4 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += f32::from(u16::try_from(self.0 >> 48).unwrap()) / 65_536.0;
        }
        sum
    }
}

fn vectors(lie: Lie, count: usize, seed: u64) -> Vec<f32> {
    let mut noise = Noise(seed);
    let mut centre = Noise(7);
    let centres: Vec<f32> = (0..200 * DIM)
        .map(|at| centre.next() * if at % DIM < 48 { 1.0 } else { 0.2 })
        .collect();
    let mut out = Vec::with_capacity(count * DIM);
    for row in 0..count {
        let home = (row * 7_919 + usize::try_from(seed).unwrap()) % 200;
        for (at, middle) in centres.iter().skip(home * DIM).take(DIM).enumerate() {
            let spread = if at < 48 { 0.6 } else { 0.15 };
            out.push(match lie {
                Lie::Isotropic => noise.next(),
                Lie::Clustered => middle + spread * noise.next(),
            });
        }
    }
    out
}

fn index(lie: Lie, rows: usize, head: Head, tier: Tier) -> Index {
    let scanner = Scanner::of(tier).unwrap();
    let mut index = Index::with_head(DIM, Metric::Cosine, head, scanner).unwrap();
    let ids: Vec<u64> = (0..).take(rows).collect();
    index
        .add(Batch {
            ids: &ids,
            vectors: &vectors(lie, rows, 1),
            labels: &[Labels::default()],
        })
        .unwrap();
    index
}

type Key = (&'static str, usize, Head, &'static str);

/// Indexes that were made, and checked, already.
static MADE: LazyLock<Mutex<Vec<(Key, &'static Index)>>> = LazyLock::new(Mutex::default);

fn made(lie: Lie, rows: usize, head: Head, tier: Tier) -> &'static Index {
    let name = if lie == Lie::Isotropic {
        "isotropic"
    } else {
        "clustered"
    };
    let key = (name, rows, head, tier.name());
    let known = |made: &[(Key, &'static Index)]| {
        made.iter()
            .find(|(k, _)| *k == key)
            .map(|(_, index)| *index)
    };
    if let Some(index) = known(&MADE.lock().unwrap()) {
        return index;
    }
    let index: &'static Index = Box::leak(Box::new(self::index(lie, rows, head, tier)));
    MADE.lock().unwrap().push((key, index));
    if head != Head::Plain {
        let plain = made(lie, rows, Head::Plain, tier);
        let queries = vectors(lie, QUERIES, 2);
        let (mut kept, mut refined, mut exact) = (0, 0, 0);
        let together = index.search_batch(&queries, K).unwrap();
        for (query, batched) in queries.chunks(DIM).zip(&together) {
            let (found, explained) = index.explain(query, K, None).unwrap();
            let steps = explained.steps;
            let bits = |found: &[(u64, f32)]| -> Vec<(u64, u32)> {
                found
                    .iter()
                    .map(|(id, score)| (*id, score.to_bits()))
                    .collect()
            };
            let expected = bits(&plain.search(query, K, None).unwrap());
            assert_eq!(bits(&found), expected, "{key:?}");
            assert_eq!(bits(batched), expected, "{key:?}, together");
            kept += steps.kept;
            refined += steps.refined;
            exact += steps.exact;
        }
        eprintln!(
            "{key:?}: of {rows} rows, {} kept, {} refined, {} scored in full, a query",
            kept / QUERIES,
            refined / QUERIES,
            exact / QUERIES
        );
    }
    index
}

/// One query, another one every time; bytes are those of the rows in full.
#[divan::bench(
    args = [
        (Lie::Isotropic, Head::Plain), (Lie::Isotropic, Head::Int8), (Lie::Isotropic, Head::Int4),
        (Lie::Isotropic, Head::Auto),
        (Lie::Clustered, Head::Plain), (Lie::Clustered, Head::Int8), (Lie::Clustered, Head::Int4),
        (Lie::Clustered, Head::Projected), (Lie::Clustered, Head::Auto),
    ],
    consts = [1_000, 10_000, 100_000]
)]
fn one<const ROWS: usize>(bencher: Bencher<'_, '_>, (lie, head): (Lie, Head)) {
    let index = made(lie, ROWS, head, Scanner::best().tier());
    let queries = vectors(lie, QUERIES, 2);
    let mut turn = queries.chunks(DIM).cycle();
    bencher
        .counter(BytesCount::new(ROWS * DIM * 4))
        .bench_local(|| {
            index
                .search(black_box(turn.next().unwrap()), K, None)
                .unwrap()
        });
}

/// The same on every tier.
#[divan::bench(args = Tier::available(), consts = [10_000])]
fn one_by_tier<const ROWS: usize>(bencher: Bencher<'_, '_>, tier: Tier) {
    let index = made(Lie::Isotropic, ROWS, Head::Int8, tier);
    let query = vectors(Lie::Isotropic, 1, 2);
    bencher
        .counter(BytesCount::new(ROWS * DIM * 4))
        .bench_local(|| index.search(black_box(&query), K, None).unwrap());
}

/// Half of the rows, every second one.
#[divan::bench(args = [Head::Plain, Head::Int8], consts = [10_000])]
fn filtered<const ROWS: usize>(bencher: Bencher<'_, '_>, head: Head) {
    let index = made(Lie::Isotropic, ROWS, head, Scanner::best().tier());
    let filter = Filter {
        ids: Some((0..).step_by(2).take(ROWS / 2).collect()),
        ..Filter::default()
    };
    let query = vectors(Lie::Isotropic, 1, 2);
    bencher.bench_local(|| index.search(black_box(&query), K, Some(&filter)).unwrap());
}

/// 64 queries together.
#[divan::bench(
    args = [
        (Lie::Isotropic, Head::Plain), (Lie::Isotropic, Head::Int8), (Lie::Isotropic, Head::Int4),
        (Lie::Clustered, Head::Int8), (Lie::Clustered, Head::Int4), (Lie::Clustered, Head::Projected),
    ],
    consts = [10_000, 100_000],
    sample_count = 20
)]
fn together<const ROWS: usize>(bencher: Bencher<'_, '_>, (lie, head): (Lie, Head)) {
    let index = made(lie, ROWS, head, Scanner::best().tier());
    let queries = vectors(lie, QUERIES, 2);
    bencher
        .counter(ItemsCount::new(QUERIES))
        .bench_local(|| index.search_batch(black_box(&queries), K).unwrap());
}

/// The dense half of a fused search: the best 256 of 10,000 entries of one conversation.
#[divan::bench]
fn retriever(bencher: Bencher<'_, '_>) {
    let mut retriever = Retriever::new(Precision::Half).unwrap();
    let rows = vectors(Lie::Clustered, 10_000, 1);
    for (id, row) in (0..).zip(rows.chunks(DIM)) {
        retriever.add(id, Labels::default(), &[]).unwrap();
        retriever.put_vectors(id, row, DIM).unwrap();
    }
    let query = vectors(Lie::Clustered, 1, 2);
    let filter = Filter {
        tenant: Some(0),
        conversation: Some(0),
        ..Filter::default()
    };
    let weights = Weights {
        dense: 1.0,
        lexical: 0.0,
        speaker: 0.0,
        session: 0.0,
        ..Weights::default()
    };
    let search = || {
        let query = black_box(&query[..]);
        retriever
            .search(Some(query), &Cue::default(), &filter, K, weights)
            .unwrap()
    };
    assert_eq!(search().len(), K);
    bencher.bench_local(search);
}

/// 10,000 rows into an empty index.
#[divan::bench(args = [Head::Plain, Head::Int8, Head::Int4, Head::Projected, Head::Auto], sample_count = 20)]
fn add(bencher: Bencher<'_, '_>, head: Head) {
    let rows = vectors(Lie::Isotropic, 10_000, 1);
    let ids: Vec<u64> = (0..10_000).collect();
    bencher.counter(ItemsCount::new(ids.len())).bench_local(|| {
        let scanner = Scanner::best();
        let mut index = Index::with_head(DIM, Metric::Cosine, head, scanner).unwrap();
        let labels = [Labels::default()];
        let (ids, vectors) = (&ids[..], &rows[..]);
        index
            .add(Batch {
                ids,
                vectors,
                labels: &labels,
            })
            .unwrap();
        index
    });
}
