//! Answers to asks: masks of ids, the newest or the most similar of them, and their relevance.

use std::collections::HashMap;

use roaring::RoaringTreemap as Ids;

use crate::error::Result;
use crate::hot::{Cue, Filter, Retriever, Scored, Weights};

use super::ask::{Age, Answer, Ask, Found, Question};
use super::table::Table;

/// So few items are looked at one by one for their times; of more, the times are looked through.
const FEW: u64 = 2_048;

/// What the table and the retriever answer to an ask.
pub(super) fn find(
    table: &Table,
    retriever: &Retriever,
    ask: &Ask,
    question: Option<&Question<'_>>,
    age: &Age,
) -> Result<Answer> {
    let (shown, replaced, lacking) = table.mask(ask);
    let within = Within::new(table, ask);
    let matched = within.count(&shown);
    let ids = match (ask.floor, question) {
        (None, _) | (_, None) => within.newest(&shown, ask.k),
        (Some(_), Some(_)) => shown.iter().collect(),
    };
    let mut found = match question {
        Some(question) => {
            let by_floor = ask.floor.is_some();
            let all = by_floor && shown.len() == wide(table.len());
            let filter = Filter {
                // Ascending, as the filter has them.
                ids: (!all).then(|| sorted(ids.clone())),
                since: ask.since,
                before: ask.before,
                ..Filter::default()
            };
            let k = if by_floor { ask.k } else { ids.len() };
            let hits = similar(retriever, question, &filter, k)?;
            match ask.floor {
                Some(floor) => (hits.into_iter())
                    .filter(|hit| hit.similarity > 0.0 && hit.similarity >= floor)
                    .collect(),
                None => joined(&ids, &hits),
            }
        }
        None => joined(&ids, &[]),
    };
    for one in &mut found {
        let item = table.get(one.id);
        let left = item.map_or(1.0, |item| age.share(item.decay, item.at));
        let base = question.map_or(1.0, |_| f64::from(one.similarity));
        one.relevance = base * left;
    }
    found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.id.cmp(&b.id)));
    Ok(Answer {
        matched,
        found,
        superseded: within.newest(&replaced, ask.k),
        lacking,
    })
}

/// The span of an ask, and the items that lie in it.
struct Within<'a> {
    table: &'a Table,
    span: &'a [(i64, u64)],
    /// Whether that is every item.
    whole: bool,
}

impl<'a> Within<'a> {
    fn new(table: &'a Table, ask: &Ask) -> Self {
        let span = table.times().span(ask.since, ask.before);
        let whole = span.len() == table.len();
        Self { table, span, whole }
    }

    fn holds(&self, at: i64, id: u64) -> bool {
        self.whole || self.span.binary_search(&(at, id)).is_ok()
    }

    /// How many items of a set lie in the span.
    fn count(&self, ids: &Ids) -> u64 {
        if self.whole {
            return ids.len();
        }
        if ids.len() > wide(self.span.len()) {
            let there = self.span.iter().filter(|(_, id)| ids.contains(*id));
            return wide(there.count());
        }
        let there = ids.iter().filter(|id| {
            let item = self.table.get(*id);
            item.is_some_and(|item| self.holds(item.at, *id))
        });
        wide(there.count())
    }

    /// The newest of a set in the span, newest first; of one time the greater id first.
    fn newest(&self, ids: &Ids, most: usize) -> Vec<u64> {
        if ids.len() > FEW {
            let some = self.span.iter().rev().map(|(_, id)| *id);
            return some.filter(|id| ids.contains(*id)).take(most).collect();
        }
        let all = ids
            .iter()
            .filter_map(|id| Some((self.table.get(id)?.at, id)));
        let mut all: Vec<(i64, u64)> = all.filter(|(at, id)| self.holds(*at, *id)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(most);
        all.into_iter().map(|(_, id)| id).collect()
    }
}

/// The items most similar to a question among those that pass a filter.
fn similar(
    retriever: &Retriever,
    question: &Question<'_>,
    filter: &Filter,
    k: usize,
) -> Result<Vec<Found>> {
    if k == 0 || filter.ids.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Vec::new());
    }
    // Items that lie side by side need have nothing to do with each other.
    let weights = Weights {
        dense: question.weights.dense,
        lexical: question.weights.lexical,
        ..Weights::default()
    };
    let cue = Cue {
        terms: question.terms.to_vec(),
        ..Cue::default()
    };
    let hits = retriever.search(question.vector, &cue, filter, k, weights)?;
    let both = weights.dense + weights.lexical;
    let similarity = |hit: &Scored| match question.vector {
        Some(_) if both > 0.0 => (weights.dense * hit.dense + weights.lexical * hit.lexical) / both,
        _ => hit.lexical,
    };
    Ok(hits
        .iter()
        .map(|hit| Found {
            id: hit.id,
            score: hit.score,
            similarity: similarity(hit).clamp(0.0, 1.0),
            relevance: 0.0,
        })
        .collect())
}

/// Every one of some items, with what is known of those that are hits.
fn joined(ids: &[u64], hits: &[Found]) -> Vec<Found> {
    let known: HashMap<u64, &Found> = hits.iter().map(|hit| (hit.id, hit)).collect();
    let one = |id: &u64| {
        known.get(id).copied().copied().unwrap_or(Found {
            id: *id,
            ..Found::default()
        })
    };
    ids.iter().map(one).collect()
}

fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
