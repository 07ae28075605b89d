//! What is known of each message without reading it: a row of fixed size, and links beside it.

use std::collections::HashMap;

use super::fact::{Bond, Fact, Id, Role};
use crate::error::{Error, Result};

/// What a row has besides its links.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// When it was said, in seconds since 1970 UTC.
    pub at: f64,
    /// What it costs verbatim, in tokens.
    pub tokens: u32,
    /// The number of its session within the conversation.
    pub session: u32,
    /// The number of the speaker's name; none for nobody. See [`Names`].
    pub speaker: Option<Name>,
    /// The number of the role's name.
    pub role: Name,
    /// Whose words it has.
    pub whose: Role,
    /// How it belongs to its neighbours.
    pub bond: Bond,
    /// What else holds for it.
    pub flags: Flags,
}

/// What holds for a message or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// A user asks something in it.
    pub const REQUEST: Self = Self(1);
    /// It must never leave.
    pub const KEEP: Self = Self(1 << 1);
    /// It begins with reasoning that must stay at the front of an unfinished loop of calls.
    pub const THINKS: Self = Self(1 << 2);
    /// It settles something.
    pub const DECISION: Self = Self(1 << 3);
    /// It says nothing that could be indexed.
    pub const BLANK: Self = Self(1 << 4);

    /// The flags in the bits of a number; none for bits that mean nothing.
    pub(super) fn of(bits: u8) -> Option<Self> {
        let known = [
            Self::REQUEST,
            Self::KEEP,
            Self::THINKS,
            Self::DECISION,
            Self::BLANK,
        ];
        let all = known.iter().fold(0, |all, one| all | one.0);
        (bits & !all == 0).then_some(Self(bits))
    }

    /// The flags as the bits of a number.
    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of some flags hold.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and, if `holds`, others; without the others if not.
    #[must_use]
    pub fn with(self, other: Self, holds: bool) -> Self {
        Self(if holds {
            self.0 | other.0
        } else {
            self.0 & !other.0
        })
    }
}

/// What a message is linked to; most have nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The calls that it makes, in order.
    pub calls: Vec<Id>,
    /// The calls that it answers, in order.
    pub results: Vec<Id>,
    /// The id of an item of a response.
    pub item: Option<Id>,
    /// The caller's own name of it.
    pub key: Option<Id>,
    /// Whatever else is kept beside it, as bytes that this stage does not read.
    pub beside: Option<Box<[u8]>>,
}

impl Links {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The rows of a conversation's messages, by their places in the order of ids.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
    links: HashMap<u32, Box<Links>>,
}

impl Rows {
    /// Append a row.
    ///
    /// # Errors
    /// [`Error::Argument`] beyond four thousand million messages.
    pub fn push(&mut self, row: Row, links: Links) -> Result<()> {
        let place = place(self.rows.len())?;
        if !links.is_empty() {
            self.links.insert(place, Box::new(links));
        }
        self.rows.push(row);
        Ok(())
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&Row> {
        self.rows.get(place)
    }

    /// What a message is linked to; none if it is linked to nothing.
    #[must_use]
    pub fn links(&self, place: usize) -> Option<&Links> {
        let place = u32::try_from(place).ok()?;
        self.links.get(&place).map(|links| &**links)
    }

    /// What is known of a message for its unit.
    #[must_use]
    pub fn fact(&self, place: usize) -> Option<Fact> {
        let row = self.get(place)?;
        let links = self.links(place);
        Some(Fact {
            role: row.whose,
            calls: links.map(|links| links.calls.clone()).unwrap_or_default(),
            results: links.map(|links| links.results.clone()).unwrap_or_default(),
            request: row.flags.has(Flags::REQUEST),
            keep: row.flags.has(Flags::KEEP),
            thinks: row.flags.has(Flags::THINKS),
            bond: row.bond,
            item: links.and_then(|links| links.item.clone()),
        })
    }

    /// Rows that were saved, without links.
    pub(super) fn restored(rows: Vec<Row>) -> Self {
        Self {
            rows,
            links: HashMap::new(),
        }
    }

    /// All rows, in the order of their places.
    pub(super) fn all(&self) -> &[Row] {
        &self.rows
    }

    /// The messages that are linked to anything, by their places.
    pub(super) fn linked(&self) -> Vec<(u32, &Links)> {
        let all = self.links.iter().map(|(place, links)| (*place, &**links));
        let mut all: Vec<(u32, &Links)> = all.collect();
        all.sort_unstable_by_key(|(place, _)| *place);
        all
    }

    /// Give a message its links; whether there is such a message, and it had none.
    pub(super) fn link(&mut self, place: u32, links: Links) -> bool {
        let there = usize::try_from(place).is_ok_and(|place| place < self.rows.len());
        there && self.links.insert(place, Box::new(links)).is_none()
    }

    /// Say whether a message settles something.
    pub fn decide(&mut self, place: usize, decision: bool) {
        if let Some(row) = self.rows.get_mut(place) {
            row.flags = row.flags.with(Flags::DECISION, decision);
        }
    }
}

fn place(length: usize) -> Result<u32> {
    u32::try_from(length).map_err(|_| Error::Argument {
        name: "conversation",
        expected: format!("at most {} messages and names", u32::MAX),
        found: length.to_string(),
    })
}

/// The number of a name, from 0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(u32);

impl Name {
    /// The name with a number.
    pub(super) fn of(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// Names by their numbers, in the order in which they were first met.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Id>,
    numbers: HashMap<Id, Name>,
}

impl Names {
    /// The number of a name, a new one if it was not met yet.
    ///
    /// # Errors
    /// [`Error::Argument`] beyond four thousand million names.
    pub fn number(&mut self, name: &[u8]) -> Result<Name> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = Name(place(self.names.len())?);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// All names, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.names.iter().map(|name| &**name)
    }

    /// The name with a number.
    #[must_use]
    pub fn name(&self, number: Name) -> Option<&[u8]> {
        let place = usize::try_from(number.0).ok()?;
        self.names.get(place).map(|name| &**name)
    }
}
