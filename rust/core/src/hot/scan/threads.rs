//! Searches by several threads. Each answer is exact, so the number of threads never changes it.

use std::num::NonZero;
use std::thread;

use crate::error::{Error, Result};
use crate::hot::filter::Filter;
use crate::hot::scan::row_sets::{count, split};
use crate::hot::scan::topk::TopK;
use crate::hot::vectors::index::{Index, Neighbours, neighbours};

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
        if threads.get() == 1 {
            return self.search(query, k, filter);
        }
        let query = [self.prepare(query, 0, k)?];
        let row_sets = self.row_sets(filter);
        let rows = count(&row_sets);
        let parts = split(&row_sets, rows.div_ceil(threads.get().min(MOST)).max(ROWS));
        let found = together(&parts, |part| self.searched(&query, k, part));
        let mut top = TopK::new(k, rows);
        for hit in found
            .into_iter()
            .flatten()
            .flat_map(|state| state.top.into_sorted())
        {
            // An entry with rows in several parts comes several times.
            top.push_best(hit.score, hit.id);
        }
        self.intact()?;
        Ok(neighbours(top))
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
        let row_sets = self.row_sets(filter);
        let size = queries.len().div_ceil(threads.get().min(MOST)).max(1);
        let parts: Vec<&[Vec<f32>]> = queries.chunks(size).collect();
        let found = together(&parts, |part| self.searched(part, k, &row_sets));
        self.intact()?;
        Ok(found
            .into_iter()
            .flatten()
            .map(|state| neighbours(state.top))
            .collect())
    }
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

    #[test]
    fn what_is_done_together_comes_in_order() {
        let parts: Vec<usize> = (0..9).collect();
        let squares: Vec<usize> = parts.iter().map(|part| part * part).collect();
        assert_eq!(together(&parts, |part| part * part), squares);
    }
}
