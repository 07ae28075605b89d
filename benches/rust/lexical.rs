//! The lexical index: 32 queries of 8 words to 10,000, 100,000 and a million turns of 30 words, the best
//! 256 of each.
//!
//! `plain` adds up every hit in a tree and sorts them all, which is what the index did at first; each
//! bench of a search first compares its answers with it, ids and scores.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]
#![expect(clippy::print_stderr, reason = "a bench says what it measured")]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use warmset_core::hot::{
    Bm25, Cue, Filter, Labels, LexicalIndex, Precision, Retriever, Weights, terms,
};

const LENGTH: usize = 30;
const WIDTH: usize = 256;
const QUERIES: usize = 32;

fn main() {
    divan::main();
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / 4_294_967_296.0
    }

    /// One of 30,000 words, the n-th about as often as 1/n: the first few are in most turns.
    fn word(&mut self) -> String {
        let rank = 30_000_f64.powf(self.next());
        format!("w{rank:.0}")
    }
}

type Entries = Vec<(u64, Vec<String>)>;

fn texts(count: usize) -> Entries {
    let mut noise = Noise(1);
    let text = |noise: &mut Noise| (0..LENGTH).map(|_| noise.word()).collect();
    (0..).take(count).map(|id| (id, text(&mut noise))).collect()
}

fn queries() -> Vec<Vec<String>> {
    let mut noise = Noise(2);
    let query = |noise: &mut Noise| {
        let mut words: Vec<String> = Vec::new();
        while words.len() < 8 {
            let word = noise.word();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    };
    (0..QUERIES).map(|_| query(&mut noise)).collect()
}

/// Every hit in a tree, then all of them sorted.
struct Plain {
    postings: HashMap<String, Vec<(u64, f64)>>,
    lengths: HashMap<u64, f64>,
}

impl Plain {
    fn new(entries: &Entries) -> Self {
        let mut postings: HashMap<String, Vec<(u64, f64)>> = HashMap::new();
        let mut lengths = HashMap::new();
        for (id, words) in entries {
            for word in words {
                let list = postings.entry(word.clone()).or_default();
                match list.last_mut() {
                    Some((latest, times)) if latest == id => *times += 1.0,
                    _ => list.push((*id, 1.0)),
                }
            }
            lengths.insert(*id, f64::from(u32::try_from(words.len()).unwrap()));
        }
        Self { postings, lengths }
    }

    fn search(&self, query: &[String], k: usize) -> Vec<(u64, f32)> {
        let Bm25 { k1, b } = Bm25::default();
        let count = |n: usize| f64::from(u32::try_from(n).unwrap());
        let documents = count(self.lengths.len());
        let average = count(LENGTH);
        let mut most = 0.0;
        let mut scores: BTreeMap<u64, f64> = BTreeMap::new();
        for word in query {
            let list = self.postings.get(word).map_or(&[][..], Vec::as_slice);
            let holders = count(list.len());
            let idf = (1.0 + (documents - holders + 0.5) / (holders + 0.5)).ln();
            most += idf * (k1 + 1.0);
            for (id, times) in list {
                let norm = k1 * (1.0 - b + b * self.lengths.get(id).unwrap() / average);
                *scores.entry(*id).or_default() += idf * times * (k1 + 1.0) / (times + norm);
            }
        }
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            reason = "the rounding"
        )]
        let mut all: Vec<(u64, f32)> = scores
            .into_iter()
            .map(|(id, score)| (id, (score / most) as f32))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }
}

struct Made {
    plain: Plain,
    index: LexicalIndex,
    bytes: Vec<u8>,
    saved: LexicalIndex,
}

/// Asks all queries, one after the other.
fn all(queries: &[Vec<String>], search: impl Fn(&[String]) -> Vec<(u64, f32)>) -> usize {
    queries
        .iter()
        .map(|query| search(black_box(query)).len())
        .sum()
}

static MADE: LazyLock<Mutex<HashMap<usize, &'static Made>>> = LazyLock::new(Mutex::default);

fn made(count: usize) -> &'static Made {
    if let Some(made) = MADE.lock().unwrap().get(&count) {
        return made;
    }
    let entries = texts(count);
    let plain = Plain::new(&entries);
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    index.add(&entries).unwrap();
    let mut bytes = Vec::new();
    index.write(&mut bytes).unwrap();
    let saved = LexicalIndex::open(Arc::new(bytes.clone()), Bm25::default()).unwrap();
    eprintln!(
        "{count} turns: {} bytes a turn when saved",
        bytes.len() / count
    );
    for query in queries() {
        let found = index.search(&query, WIDTH).unwrap();
        assert_eq!(found, saved.search(&query, WIDTH).unwrap());
        let wanted = plain.search(&query, WIDTH);
        assert_eq!(found.len(), wanted.len());
        for ((id, score), (other, right)) in found.iter().zip(&wanted) {
            // Sums in another order: ids may change places where scores are as good as equal.
            assert!((score - right).abs() < 1e-6, "{id} {other} {score} {right}");
        }
    }
    let made = Box::leak(Box::new(Made {
        plain,
        index,
        bytes,
        saved,
    }));
    MADE.lock().unwrap().insert(count, made);
    made
}

#[divan::bench(consts = [10_000], sample_count = 10)]
fn plain<const COUNT: usize>(bencher: Bencher<'_, '_>) {
    let (made, queries) = (made(COUNT), queries());
    bencher
        .counter(ItemsCount::new(QUERIES))
        .bench_local(|| all(&queries, |query| made.plain.search(query, WIDTH)));
}

#[divan::bench(consts = [10_000, 100_000, 1_000_000], sample_count = 20)]
fn added<const COUNT: usize>(bencher: Bencher<'_, '_>) {
    let (made, queries) = (made(COUNT), queries());
    bencher
        .counter(ItemsCount::new(QUERIES))
        .bench_local(|| all(&queries, |query| made.index.search(query, WIDTH).unwrap()));
}

#[divan::bench(consts = [10_000, 100_000, 1_000_000], sample_count = 20)]
fn saved<const COUNT: usize>(bencher: Bencher<'_, '_>) {
    let (made, queries) = (made(COUNT), queries());
    bencher
        .counter(ItemsCount::new(QUERIES))
        .bench_local(|| all(&queries, |query| made.saved.search(query, WIDTH).unwrap()));
}

/// Opening, and one search, which reads and checks what it needs for the first time.
#[divan::bench(consts = [10_000, 1_000_000])]
fn open_alone<const COUNT: usize>(bencher: Bencher<'_, '_>) {
    let bytes: Arc<&'static [u8]> = Arc::new(&made(COUNT).bytes);
    bencher.bench_local(|| LexicalIndex::open(black_box(bytes.clone()), Bm25::default()).unwrap());
}

#[divan::bench(consts = [1_000_000])]
fn open_and_search<const COUNT: usize>(bencher: Bencher<'_, '_>) {
    let bytes: Arc<&'static [u8]> = Arc::new(&made(COUNT).bytes);
    let query = queries().swap_remove(0);
    bencher.bench_local(|| {
        let index = LexicalIndex::open(black_box(bytes.clone()), Bm25::default()).unwrap();
        index.search(&query, WIDTH).unwrap()
    });
}

#[divan::bench(sample_count = 20)]
fn add(bencher: Bencher<'_, '_>) {
    let entries = texts(10_000);
    bencher
        .counter(ItemsCount::new(entries.len()))
        .bench_local(|| {
            let mut index = LexicalIndex::new(Bm25::default()).unwrap();
            index.add(&entries).unwrap();
            index
        });
}

/// A million turns that share a word, and 100,000 of them leave, one by one.
#[divan::bench(sample_count = 3)]
fn remove(bencher: Bencher<'_, '_>) {
    let entries: Entries = (0..1_000_000)
        .map(|id| (id, vec!["word".into(), format!("x{id}")]))
        .collect();
    let index = || {
        let mut index = LexicalIndex::new(Bm25::default()).unwrap();
        index.add(&entries).unwrap();
        index
    };
    bencher
        .counter(ItemsCount::new(100_000_usize))
        .with_inputs(index)
        .bench_local_values(|mut index| {
            for id in 0..100_000 {
                index.remove(&[id * 7]).unwrap();
            }
            assert_eq!(index.len(), 900_000);
            index
        });
}

/// The lexical half of a fused search over one conversation of 10,000 entries.
#[divan::bench]
fn retriever(bencher: Bencher<'_, '_>) {
    let mut retriever = Retriever::new(Precision::Half).unwrap();
    for (id, words) in texts(10_000) {
        retriever.add(id, Labels::default(), &words).unwrap();
    }
    let filter = Filter {
        tenant: Some(0),
        conversation: Some(0),
        ..Filter::default()
    };
    let weights = Weights {
        lexical: 1.0,
        ..Weights::default()
    };
    let cues: Vec<Cue> = queries()
        .into_iter()
        .map(|terms| Cue {
            terms,
            ..Cue::default()
        })
        .collect();
    let mut turn = cues.iter().cycle();
    let mut search = || {
        retriever
            .search(None, turn.next().unwrap(), &filter, 12, weights)
            .unwrap()
    };
    assert_eq!(search().len(), 12);
    bencher.bench_local(search);
}

/// Terms of prose, and of a path a line.
#[divan::bench(args = [
    "The workers were failing at noon, so we made the pool larger and they haven't failed since. ",
    "error in src/hot/db_pool.rs:12: HTTPServerError(v1.2.3) for ana@example.com\n",
])]
fn text(bencher: Bencher<'_, '_>, line: &str) {
    let text = line.repeat(1_000);
    assert!(terms(line).len() > 6);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| terms(black_box(&text)));
}
