//! The conversations of one search: where they lie, and their statistics.

use std::collections::HashMap;

use super::Key;
use super::part::Part;
use super::postings::{List, Marks, Posting};
use super::ranking::{Side, Source};
use super::saved::{Saved, Share};
use crate::error::Result;

/// What a search may see.
pub(super) struct Scope<'a> {
    saved: Option<&'a Saved>,
    /// Runs of saved documents.
    spans: Vec<Share>,
    parts: Vec<&'a Part>,
    /// How many documents live in the scope.
    pub(super) documents: f64,
    /// The sum of their lengths.
    pub(super) length: f64,
}

/// One term within a scope.
pub(super) struct Held<'a> {
    /// How many living documents have it.
    pub(super) documents: u32,
    /// How often one of them has it at most.
    pub(super) peak: u16,
    /// Its postings in each span, then in each part.
    lists: Vec<&'a [Posting]>,
}

impl<'a> Scope<'a> {
    /// Finds some conversations. Saved ones that are neighbours are one span.
    pub(super) fn new(
        saved: Option<&'a Saved>,
        parts: &'a HashMap<Key, Part>,
        keys: &[Key],
    ) -> Result<Self> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let mut spans: Vec<Share> = Vec::new();
        let mut found = Vec::new();
        for key in keys {
            let share = saved.map_or(Ok(None), |saved| saved.share(key))?;
            match (share, spans.last_mut()) {
                (Some(share), Some(last)) if last.end() == share.first => {
                    last.count = last.count.saturating_add(share.count);
                    last.length = last.length.saturating_add(share.length);
                }
                (Some(share), _) => spans.push(share),
                (None, _) => {}
            }
            found.extend(parts.get(&key));
        }
        let of = |f: fn(&Part) -> u64| found.iter().map(|part| f(part)).sum::<u64>();
        let documents = spans.iter().map(|span| u64::from(span.count)).sum::<u64>()
            + of(|part| u64::from(part.living));
        let length = spans.iter().fold(of(|part| part.length), |sum, span| {
            sum.saturating_add(span.length)
        });
        Ok(Self {
            saved,
            documents: float(documents.saturating_sub(of(|part| u64::from(part.lost)))),
            length: float(length.saturating_sub(of(|part| part.lost_length))),
            spans,
            parts: found,
        })
    }

    /// The postings of a term within the scope.
    pub(super) fn held(&mut self, number: Option<u32>) -> Result<Held<'a>> {
        let mut held = Held {
            documents: 0,
            peak: 0,
            lists: Vec::with_capacity(self.spans.len() + self.parts.len()),
        };
        let Some(number) = number else {
            return Ok(held);
        };
        let (mut documents, mut gone) = (0_usize, 0_u32);
        for span in &self.spans {
            let list = self.saved.map_or(Ok(Default::default()), |saved| {
                saved.postings(number, span.first, span.end())
            })?;
            documents += list.len();
            held.lists.push(list);
        }
        if let Some(saved) = self.saved.filter(|_| documents > 0) {
            held.peak = saved.peak(number)?;
        }
        for part in &self.parts {
            let list = part.lists.get(&number);
            held.peak = list.map_or(0, List::peak).max(held.peak);
            let list = list.map_or(Default::default(), List::as_slice);
            documents += list.len();
            held.lists.push(list);
            for left in [&part.gone, &part.lost_terms] {
                gone += left.get(&number).copied().unwrap_or(0);
            }
        }
        let documents = u32::try_from(documents).unwrap_or(u32::MAX);
        held.documents = documents.saturating_sub(gone);
        Ok(held)
    }

    /// The documents of the scope, with the postings of these terms.
    pub(super) fn sides(&self, dead: &'a Marks, held: &[Held<'a>]) -> Vec<Side<'a>> {
        let lists = |at: usize| -> Vec<&'a [Posting]> {
            let list = |held: &Held<'a>| held.lists.get(at).copied().unwrap_or_default();
            held.iter().map(list).collect()
        };
        let spans = self.saved.into_iter().flat_map(|saved| {
            self.spans
                .iter()
                .map(move |span| (Source::Saved(saved), dead, span.first, span.end()))
        });
        let parts = self.parts.iter().map(|part| {
            let source = Source::Added {
                slots: &part.slots,
                lengths: &part.lengths,
            };
            let end = u32::try_from(part.slots.len()).unwrap_or(u32::MAX);
            (source, &part.dead, 0, end)
        });
        spans
            .chain(parts)
            .enumerate()
            .map(|(at, (source, dead, first, end))| Side {
                source,
                dead,
                first,
                end,
                lists: lists(at),
            })
            .filter(|side| side.lists.iter().any(|list| !list.is_empty()))
            .collect()
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a sum of lengths is far below 2^53"
)]
fn float(n: u64) -> f64 {
    n as f64
}
