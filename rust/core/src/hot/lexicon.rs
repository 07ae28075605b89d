//! Lexical search: postings of terms and BM25.
//!
//! Postings lie in one part per conversation. A search adds up the statistics of the parts in its
//! scope, so that scores speak of what is searched, nothing leaks from one tenant into another's
//! scores, and a search of one conversation costs what that conversation costs.
//!
//! The score is Okapi BM25 (Robertson and Zaragoza, 2009) with the idf of Lucene, divided by what a
//! turn could reach at most, `Σ idf · (k1 + 1)` over the query's terms: one weak match is not a 1.0.

use std::collections::{BTreeMap, HashMap};

use super::catalog::Slot;

/// The two constants of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How soon repeats of a term stop counting.
    pub k1: f64,
    /// How much length is held against a turn, 0 to 1.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.6 }
    }
}

/// One entry that shares terms with the query, with its normalised score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LexicalHit {
    /// The entry's position in the index.
    pub(super) slot: Slot,
    /// BM25 over the most that the query could reach, 0 to 1.
    pub score: f32,
}

#[derive(Debug)]
struct Posting {
    slot: Slot,
    count: u32,
}

#[derive(Debug)]
struct Document {
    terms: Box<[u32]>,
    length: u32,
}

/// The postings of one conversation.
#[derive(Debug, Default)]
struct Part {
    /// Term ─▶ entries, by slot.
    postings: HashMap<u32, Vec<Posting>>,
    documents: HashMap<Slot, Document>,
    length: u64,
}

/// The terms of every entry.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    numbers: HashMap<Box<str>, u32>,
    parts: HashMap<(u32, u32), Part>,
}

impl Lexicon {
    /// Adds an entry's terms to its conversation's part.
    pub(super) fn add(&mut self, part: (u32, u32), slot: Slot, terms: &[String]) {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for term in terms {
            let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
            let number = match self.numbers.get(term.as_str()) {
                Some(number) => *number,
                None => *self.numbers.entry(term.as_str().into()).or_insert(next),
            };
            let count = counts.entry(number).or_default();
            *count = count.saturating_add(1);
        }
        let part = self.parts.entry(part).or_default();
        let length = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        part.length += u64::from(length);
        for (number, count) in &counts {
            let posting = Posting {
                slot,
                count: *count,
            };
            let postings = part.postings.entry(*number).or_default();
            let at = postings.partition_point(|known| known.slot < slot);
            postings.insert(at, posting);
        }
        let terms = counts.into_keys().collect();
        part.documents.insert(slot, Document { terms, length });
    }

    /// Takes an entry's terms out again.
    pub(super) fn remove(&mut self, part: (u32, u32), slot: Slot) {
        let Some(part) = self.parts.get_mut(&part) else {
            return;
        };
        let Some(document) = part.documents.remove(&slot) else {
            return;
        };
        part.length -= u64::from(document.length);
        for number in &document.terms {
            if let Some(postings) = part.postings.get_mut(number) {
                postings.retain(|posting| posting.slot != slot);
                if postings.is_empty() {
                    part.postings.remove(number);
                }
            }
        }
    }

    /// Every entry of `scope` that shares a term with the query, by slot.
    pub(super) fn search(
        &self,
        query: &[String],
        scope: &[(u32, u32)],
        constants: Bm25,
    ) -> Vec<LexicalHit> {
        let parts: Vec<&Part> = scope.iter().filter_map(|key| self.parts.get(key)).collect();
        let documents: f64 = parts.iter().map(|part| count(part.documents.len())).sum();
        let length: f64 = parts.iter().map(|part| float(part.length)).sum();
        let average = (length / documents.max(1.0)).max(1.0);
        let mut distinct: Vec<&str> = query.iter().map(String::as_str).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let Bm25 { k1, b } = constants;
        let mut most = 0.0;
        let mut scores: BTreeMap<Slot, f64> = BTreeMap::new();
        for term in distinct {
            let number = self.numbers.get(term);
            let postings = |part: &&Part| {
                number
                    .and_then(|n| part.postings.get(n))
                    .map_or(0, Vec::len)
            };
            let holders: f64 = parts.iter().map(|part| count(postings(part))).sum();
            let idf = (1.0 + (documents - holders + 0.5) / (holders + 0.5)).ln();
            most += idf * (k1 + 1.0);
            for part in &parts {
                let found = number.and_then(|n| part.postings.get(n));
                for posting in found.into_iter().flatten() {
                    let words = part.documents.get(&posting.slot).map_or(0, |d| d.length);
                    let norm = k1 * (1.0 - b + b * f64::from(words) / average);
                    let times = f64::from(posting.count);
                    *scores.entry(posting.slot).or_default() +=
                        idf * times * (k1 + 1.0) / (times + norm);
                }
            }
        }
        scores
            .into_iter()
            .map(|(slot, score)| LexicalHit {
                slot,
                score: narrow(score / most),
            })
            .collect()
    }
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::from(u32::MAX), f64::from)
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a sum of lengths is far below 2^53"
)]
fn float(n: u64) -> f64 {
    n as f64
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the one rounding of a score to f32"
)]
fn narrow(score: f64) -> f32 {
    score as f32
}

#[cfg(test)]
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an oracle's small numbers"
)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// BM25 said plainly over a list of documents.
    fn oracle(docs: &[(Slot, Vec<String>)], query: &[String]) -> Vec<(Slot, f32)> {
        let n = docs.len() as f64;
        let average = docs.iter().map(|d| d.1.len() as f64).sum::<f64>() / n;
        let mut out = Vec::new();
        for (slot, doc) in docs {
            let (mut score, mut most) = (0.0, 0.0);
            for term in query {
                let df = docs.iter().filter(|d| d.1.contains(term)).count() as f64;
                let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                let tf = doc.iter().filter(|t| *t == term).count() as f64;
                most += idf * 2.2;
                score += idf * tf * 2.2 / (tf + 1.2 * (0.4 + 0.6 * doc.len() as f64 / average));
            }
            if score > 0.0 {
                out.push((*slot, (score / most) as f32));
            }
        }
        out
    }

    #[test]
    fn equals_the_plain_formula_after_adds_and_removes() {
        let texts = [
            "red fox",
            "red red dog runs",
            "blue fox",
            "dog",
            "green red fox dog",
        ];
        let mut lexicon = Lexicon::default();
        let mut docs = Vec::new();
        for (slot, text) in (0..).zip(texts) {
            lexicon.add((0, slot % 2), slot, &words(text));
            docs.push((slot, words(text)));
        }
        lexicon.add((1, 0), 99, &words("red fox of another tenant"));
        lexicon.remove((0, 1), 3);
        docs.remove(3);
        let query = words("red dog unknown");
        let got = lexicon.search(&query, &[(0, 0), (0, 1)], Bm25::default());
        let want = oracle(&docs, &query);
        assert_eq!(got.len(), want.len());
        for (hit, (slot, score)) in got.iter().zip(want) {
            assert_eq!(hit.slot, slot);
            assert!((hit.score - score).abs() < 1e-6, "{} {score}", hit.score);
        }
    }
}
