//! The units of a whole list, however it is tangled.

use std::collections::HashMap;

use super::bonds::Bonds;
use super::fact::Fact;

/// Where one message of a list belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The position of the first message of its unit.
    pub first: usize,
    /// How many of its calls have no result.
    pub waiting: usize,
}

/// The unit of each message, in linear time.
///
/// A result belongs to the latest call of its id that has no result yet. A message whose results
/// answer two others makes one unit of both.
#[must_use]
pub fn groups(facts: &[Fact]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::with_capacity(facts.len());
    let mut waiting: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let mut bonds = Bonds::default();
    for (at, fact) in facts.iter().enumerate() {
        found.push(Group {
            first: at,
            waiting: fact.calls.len(),
        });
        for call in &fact.results {
            if let Some(caller) = waiting.get_mut(&**call).and_then(Vec::pop) {
                if let Some(group) = found.get_mut(caller) {
                    group.waiting -= 1;
                }
                join(&mut found, caller, at);
            }
        }
        for call in &fact.calls {
            waiting.entry(call).or_default().push(at);
        }
        let of = bonds.of(at, fact);
        bonds.pass(at, fact);
        for other in of.into_iter().flatten() {
            join(&mut found, other, at);
        }
        let alone = found.get(at).is_some_and(|group| group.first == at);
        if let Some(reference) = bonds
            .reference
            .filter(|_| alone && !fact.results.is_empty())
        {
            join(&mut found, reference, at); // its call may be what is referred to
        }
    }
    for at in 0..found.len() {
        let first = root(&mut found, at);
        if let Some(group) = found.get_mut(at) {
            group.first = first;
        }
    }
    found
}

/// The first message of a unit; the way there is halved (Tarjan and van Leeuwen 1984).
fn root(found: &mut [Group], at: usize) -> usize {
    let above = |found: &[Group], at: usize| found.get(at).map_or(at, |group| group.first);
    let mut at = at;
    while above(found, at) != at {
        let next = above(found, above(found, at));
        if let Some(group) = found.get_mut(at) {
            group.first = next;
        }
        at = next;
    }
    at
}

/// Unite two units under the earlier of their first messages.
fn join(found: &mut [Group], one: usize, other: usize) {
    let (one, other) = (root(found, one), root(found, other));
    if let Some(later) = found.get_mut(one.max(other)) {
        later.first = one.min(other);
    }
}
