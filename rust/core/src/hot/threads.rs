//! Searches by several threads. Each answer is exact, so the number of threads never changes it.

use std::num::NonZero;
use std::ops::Range;
use std::thread;

use super::filter::Filter;
use super::index::{Index, Neighbours, neighbours};
use super::topk::TopK;
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// More threads than this are never started.
const MOST: usize = 64;

/// A thread of its own pays from so many rows on.
const ROWS: usize = 8_192;

impl Index {
    /// [`Index::search`] by several threads, each with its part of the rows.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn search_on(
        &self,
        query: &[f32],
        k: usize,
        filter: Option<&Filter>,
        threads: NonZero<usize>,
    ) -> Result<Neighbours> {
        if threads.get() == 1 || self.rows.shared() {
            return self.search(query, k, filter);
        }
        let query = self.prepare(query, 0, k)?;
        let spans = self.spans(filter);
        let spans = spans.unwrap_or_else(|| Vec::from([self.rows.range()]));
        let rows: usize = spans.iter().map(ExactSizeIterator::len).sum();
        let parts = split(&spans, rows.div_ceil(threads.get().min(MOST)).max(ROWS));
        let found = together(&parts, |part| self.within(&query, k, Some(part)).0);
        let mut top = TopK::new(k, rows);
        for hit in found.into_iter().flat_map(TopK::into_sorted) {
            top.push(hit.score, hit.id);
        }
        self.intact().map(|()| neighbours(top))
    }

    /// [`Index::search`] for each query of a row-major batch, by several threads, each with its part
    /// of the queries.
    ///
    /// # Errors
    /// As [`Index::search`]; the error names the query's row.
    pub fn search_batch_on(
        &self,
        queries: &[f32],
        k: usize,
        filter: Option<&Filter>,
        threads: NonZero<usize>,
    ) -> Result<Vec<Neighbours>> {
        if !queries.len().is_multiple_of(self.dim()) {
            return Err(Error::Dimension {
                expected: self.dim(),
                found: queries.len(),
            });
        }
        let queries = queries
            .chunks_exact(self.dim())
            .enumerate()
            .map(|(at, query)| self.prepare(query, at, k))
            .collect::<Result<Vec<_>>>()?;
        let spans = self.spans(filter);
        let size = queries.len().div_ceil(threads.get().min(MOST)).max(1);
        let parts: Vec<&[Vec<Lanes>]> = queries.chunks(size).collect();
        let found = together(&parts, |part| self.each(part, k, spans.as_deref()));
        self.intact()?;
        Ok(found.into_iter().flatten().map(neighbours).collect())
    }

    fn each(&self, queries: &[Vec<Lanes>], k: usize, spans: Option<&[Range<usize>]>) -> Vec<TopK> {
        match self.cascade(self.len(), k) {
            Some(cascade) if queries.len() > 1 && spans.is_none() => {
                cascade.nearest_of_each(queries, k, |slot| self.catalog.id(slot))
            }
            _ => queries
                .iter()
                .map(|query| self.within(query, k, spans).0)
                .collect(),
        }
    }
}

/// Cuts spans into parts of so many rows, the last one of what is left.
fn split(spans: &[Range<usize>], rows: usize) -> Vec<Vec<Range<usize>>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut room = rows;
    for span in spans {
        let mut start = span.start;
        while start < span.end {
            let end = span.end.min(start + room);
            part.push(start..end);
            room -= end - start;
            start = end;
            if room == 0 {
                parts.push(std::mem::take(&mut part));
                room = rows;
            }
        }
    }
    parts.push(part);
    parts
}

/// What `work` makes of each part, in their order; the first part is this thread's own.
fn together<P: Sync, T: Send>(parts: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let Some((first, rest)) = parts.split_first() else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let others: Vec<_> = rest
            .iter()
            .map(|part| {
                let thread = thread::Builder::new().spawn_scoped(scope, || work(part));
                // A thread that the system refuses is done without.
                thread.map_err(|_| work(part))
            })
            .collect();
        let mut found = vec![work(first)];
        found.extend(others.into_iter().map(|other| {
            match other {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(done) => done,
            }
        }));
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_the_spans(
            lengths in prop::collection::vec((0_usize..5, 1_usize..40), 0..12),
            rows in 1_usize..50,
        ) {
            let mut at = 0;
            let mut spans = Vec::new();
            for (gap, length) in lengths {
                spans.push(at + gap..at + gap + length);
                at += gap + length;
            }
            let parts = split(&spans, rows);
            prop_assert!(parts.iter().all(|part| part.iter().cloned().flatten().count() <= rows));
            let all: Vec<usize> = parts.into_iter().flatten().flatten().collect();
            prop_assert_eq!(all, spans.into_iter().flatten().collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_done_together_comes_in_order() {
        let parts: Vec<usize> = (0..9).collect();
        let squares: Vec<usize> = parts.iter().map(|part| part * part).collect();
        assert_eq!(together(&parts, |part| part * part), squares);
    }
}
