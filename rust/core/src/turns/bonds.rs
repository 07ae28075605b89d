//! Which items of a response belong together, in a list that is read once.

use super::fact::{Bond, Fact, Id};

/// The least number of characters of an id that tells its response, and how many of them the items of
/// one response share.
///
/// Ids of `OpenAI`'s items have a random part that all items of a response begin or end with.
const LONG: usize = 16;
const SHARED: usize = 12;

/// What the next message of a list may belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Bonds {
    before: Bond,
    /// The last reasoning with an id: its position and its id.
    reasoning: Option<(usize, Id)>,
    /// The position of the last reference, which may stand for the calls of its response.
    pub(super) reference: Option<usize>,
}

impl Bonds {
    /// The positions of earlier messages that the next one belongs to: the one before it, and the
    /// reasoning that it was made with.
    pub(super) fn of(&self, at: usize, fact: &Fact) -> [Option<usize>; 2] {
        let before = at.checked_sub(1);
        match fact.bond {
            Bond::None => [None, None],
            Bond::Behind => [before, None],
            bond => {
                let near = before.filter(|_| holds(self.before, bond));
                let made_with = self.reasoning.as_ref();
                let made_with = made_with.filter(|(_, id)| is_made_with(id, fact));
                [near, made_with.map(|(at, _)| *at)]
            }
        }
    }

    /// Go on behind a message.
    pub(super) fn pass(&mut self, at: usize, fact: &Fact) {
        match fact.bond {
            Bond::Reasoning => self.reasoning = fact.item.clone().map(|id| (at, id)),
            Bond::Reference => self.reference = Some(at),
            Bond::None if fact.results.is_empty() => {
                self.reasoning = None;
                self.reference = None;
            }
            _ => {}
        }
        self.before = fact.bond;
    }
}

/// Whether two neighbours are items of one response that must stay together.
fn holds(one: Bond, other: Bond) -> bool {
    one != Bond::None && other != Bond::None && one.max(other) > Bond::Item
}

/// Whether an item belongs to the response of a reasoning before it, by their ids.
///
/// Outputs of the response's other calls may stand between. An item whose reasoning is missing is
/// refused, so ids that are too short to tell count as those of one response.
fn is_made_with(reasoning: &[u8], item: &Fact) -> bool {
    let Some(id) = &item.item else {
        return false;
    };
    if **id == *reasoning {
        return true;
    }
    if characters(id).min(characters(reasoning)) < LONG {
        return item.bond != Bond::Reasoning;
    }
    front(id) == front(reasoning) || back(id) == back(reasoning)
}

/// How many characters an id has; bytes of UTF-8 that continue one do not count.
fn characters(id: &[u8]) -> usize {
    id.iter().filter(|byte| begins(**byte)).count()
}

fn begins(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// The first shared characters.
fn front(id: &[u8]) -> &[u8] {
    let end = places(id).nth(SHARED).unwrap_or(id.len());
    id.get(..end).unwrap_or_default()
}

/// The last shared characters.
fn back(id: &[u8]) -> &[u8] {
    let start = places(id).nth_back(SHARED - 1).unwrap_or(0);
    id.get(start..).unwrap_or_default()
}

/// Where the characters of an id begin.
fn places(id: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let bytes = id.iter().enumerate();
    bytes
        .filter(|(_, byte)| begins(**byte))
        .map(|(place, _)| place)
}
