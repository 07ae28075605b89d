//! The units of a growing list and what they cost: only new messages are looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::bonds::Bonds;
use super::exchange::Exchange;
use super::fact::{Bond, Fact, Id, Role};
use super::groups::groups;
use super::roll::Roll;
use crate::error::Result;

/// What a unit is, by its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It instructs the model.
    System,
    /// What somebody else than the model says.
    User,
    /// What the model says.
    Assistant,
    /// Calls with their results, or results of stored calls.
    Tool,
    /// Results without an earlier call.
    Orphan,
}

impl Kind {
    /// The kind of a unit that begins with a message.
    #[must_use]
    pub fn of(first: &Fact) -> Self {
        match first.role {
            _ if !first.calls.is_empty() => Self::Tool,
            _ if !first.results.is_empty() => Self::Orphan,
            Role::System => Self::System,
            Role::Assistant => Self::Assistant,
            Role::Other => Self::User,
        }
    }
}

/// One unit, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Positions of its messages, ascending.
    pub members: Vec<usize>,
    /// What it is.
    pub kind: Kind,
    /// Whether a call in it has no result yet.
    pub open: bool,
}

/// The units of one list, numbered by their first messages.
#[derive(Clone, Debug, Default)]
pub struct Units {
    roll: Roll,
    kinds: Vec<Kind>,
    /// By call, the units with calls of that id that wait, the latest last.
    waiting: HashMap<Id, Vec<usize>>,
    /// How many calls of a unit wait.
    open: BTreeMap<usize, usize>,
    systems: Vec<usize>,
    fixed: BTreeSet<usize>,
    /// Units that have reasoning alone, so far.
    thoughts: BTreeSet<usize>,
    bonds: Bonds,
    exchange: Exchange,
    /// Whether anything was called.
    called: bool,
    may_continue: bool,
}

impl Units {
    /// No units yet. Where a list may go on behind messages that the provider has stored
    /// (`may_continue`), results before which nothing is called answer stored calls, and stay.
    #[must_use]
    pub fn new(may_continue: bool) -> Self {
        Self {
            may_continue,
            ..Self::default()
        }
    }

    /// From here on, whether the list may go on behind stored messages; see [`Units::new`].
    pub fn set_may_continue(&mut self, may_continue: bool) {
        self.may_continue = may_continue;
    }

    /// Make room for so many messages, if none was taken up yet.
    pub fn reserve(&mut self, messages: usize) {
        if self.messages() == 0 {
            self.roll.reserve(messages);
            self.kinds.reserve_exact(messages);
        }
    }

    /// The units of a whole list, however they are tangled.
    ///
    /// # Errors
    /// Never for lists that fit into memory.
    pub fn of(facts: &[Fact], costs: &[u64], may_continue: bool) -> Result<Self> {
        let mut made = Self::new(may_continue);
        for ((at, fact), (group, cost)) in facts
            .iter()
            .enumerate()
            .zip(groups(facts).iter().zip(costs))
        {
            let unit = (group.first < at).then(|| made.home(group.first)).flatten();
            made.bonds.pass(at, fact);
            made.place(fact, *cost, unit)?;
        }
        Ok(made)
    }

    /// Take the next message up, with what it costs.
    ///
    /// Returns whether that could be done. A message that answers calls of two units makes one of both:
    /// then nothing has changed, and [`Units::of`] has to be asked.
    ///
    /// # Errors
    /// Never for lists that fit into memory.
    pub fn take(&mut self, fact: &Fact, cost: u64) -> Result<bool> {
        let at = self.messages();
        let mut of = self.callers(fact);
        of.extend(
            self.bonds
                .of(at, fact)
                .into_iter()
                .flatten()
                .filter_map(|other| self.home(other)),
        );
        // The bond of a reference itself comes first: it may be what it refers to.
        let mut bonds = self.bonds.clone();
        bonds.pass(at, fact);
        if !fact.results.is_empty() && of.is_empty() {
            of.extend(bonds.reference.and_then(|other| self.home(other)));
        }
        if of.len() > 1 {
            return Ok(false);
        }
        self.bonds = bonds;
        self.place(fact, cost, of.pop_first())?;
        Ok(true)
    }

    /// What the units cost, and which messages they have.
    #[must_use]
    pub fn roll(&self) -> &Roll {
        &self.roll
    }

    /// The number of messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.roll.messages()
    }

    /// A unit by its number.
    #[must_use]
    pub fn unit(&self, number: usize) -> Option<Unit> {
        Some(Unit {
            members: self.roll.members(number).collect(),
            kind: *self.kinds.get(number)?,
            open: self.open.contains_key(&number),
        })
    }

    /// The number of a message's unit.
    #[must_use]
    pub fn home(&self, message: usize) -> Option<usize> {
        self.roll.home(message)
    }

    /// The numbers of the units of system messages, ascending.
    #[must_use]
    pub fn systems(&self) -> &[usize] {
        &self.systems
    }

    /// The numbers of the units that stay wherever they are: those of system messages, of messages that
    /// must never leave, and of results of stored calls.
    #[must_use]
    pub fn fixed(&self) -> &BTreeSet<usize> {
        &self.fixed
    }

    /// The numbers of the units that have calls without results, ascending.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        self.open.keys().copied()
    }

    /// The unit of the first request.
    #[must_use]
    pub fn task(&self) -> Option<usize> {
        self.exchange.task.and_then(|at| self.home(at))
    }

    /// The unit and the position of the last request.
    #[must_use]
    pub fn asked(&self) -> Option<(usize, usize)> {
        self.exchange.asked
    }

    /// The unit of the last message in which a user says anything.
    #[must_use]
    pub fn said(&self) -> Option<usize> {
        self.exchange.said
    }

    /// The unit of the last message that is no system message.
    #[must_use]
    pub fn newest(&self) -> Option<usize> {
        self.exchange.newest
    }

    /// Whether a unit has calls that nobody will answer: somebody asked something since.
    #[must_use]
    pub fn is_left(&self, number: usize) -> bool {
        let last = self.roll.last(number);
        let before = last.is_some_and(|last| self.exchange.is_before_asked(last));
        before && self.open.contains_key(&number)
    }

    /// The units from one on that no provider takes, ascending: results without a call, calls that were
    /// left without a result, and reasoning that nothing was made with, unless that may still come.
    #[must_use]
    pub fn unsendable(&self, number: usize) -> Vec<usize> {
        let kinds = self.kinds.iter().enumerate().skip(number);
        let orphans = kinds.filter(|(_, kind)| **kind == Kind::Orphan);
        let left = self.open.range(number..).map(|(unit, _)| *unit);
        let left = left.filter(|unit| self.is_left(*unit));
        let thoughts = self.thoughts.range(number..).copied();
        let thoughts = thoughts.filter(|unit| self.newest() != Some(*unit));
        let orphans = orphans.map(|(unit, _)| unit);
        let all: BTreeSet<usize> = left.chain(orphans).chain(thoughts).collect();
        all.into_iter().collect()
    }

    /// The units that must stay: the fixed ones, the task, what was asked last and what was said, those
    /// of `pins`, calls that wait, and the beginning of an unfinished loop.
    #[must_use]
    pub fn protected(&self, pins: &[usize]) -> BTreeSet<usize> {
        let mut held = self.fixed.clone();
        held.extend(pins.iter().filter_map(|at| self.home(*at)));
        held.extend(self.task());
        held.extend(self.exchange.said);
        held.extend(self.exchange.subject());
        held.extend(self.exchange.thinking());
        let waits = |unit: &usize| {
            let last = self.roll.last(*unit);
            last.is_some_and(|last| self.exchange.is_since_asked(last))
        };
        held.extend(self.open().filter(waits));
        held
    }

    /// The last unit up to one, before which no unit has a message behind it.
    #[must_use]
    pub fn boundary(&self, number: usize) -> usize {
        let (mut number, mut end) = (number, self.messages());
        while number < self.roll.len() {
            let Some(first) = self.roll.members(number).next() else {
                break;
            };
            let homes = (first..end).filter_map(|at| self.home(at));
            let lowest = homes.min().unwrap_or(number);
            if lowest >= number {
                break;
            }
            (number, end) = (lowest, first);
        }
        number
    }

    /// The numbers of the units that have messages at a position or behind it, ascending.
    #[must_use]
    pub fn since(&self, message: usize) -> BTreeSet<usize> {
        let behind = message..self.messages();
        behind.filter_map(|at| self.home(at)).collect()
    }

    /// The units of the calls that a message answers, each call once.
    fn callers(&self, fact: &Fact) -> BTreeSet<usize> {
        let mut taken: HashMap<&Id, usize> = HashMap::new();
        let mut found = BTreeSet::new();
        for call in &fact.results {
            let taken = taken.entry(call).or_default();
            *taken += 1;
            let waiting = self.waiting.get(call);
            found.extend(waiting.and_then(|units| units.iter().rev().nth(*taken - 1)));
        }
        found
    }

    /// Put the next message into a unit, or into one of its own.
    fn place(&mut self, fact: &Fact, cost: u64, unit: Option<usize>) -> Result<()> {
        let at = self.messages();
        let unit = if let Some(unit) = unit {
            self.roll.join(unit, cost)?;
            unit
        } else {
            self.begin(fact, cost)
        };
        if fact.role == Role::System || fact.keep {
            self.fixed.insert(unit);
        }
        if fact.bond != Bond::Reasoning {
            self.thoughts.remove(&unit);
        }
        self.exchange.pass(fact, unit, at);
        for call in &fact.results {
            let Some(units) = self.waiting.get_mut(call) else {
                continue;
            };
            let caller = units.pop();
            if units.is_empty() {
                self.waiting.remove(call);
            }
            if let Some(caller) = caller {
                self.answered(caller);
            }
        }
        for call in &fact.calls {
            self.waiting.entry(call.clone()).or_default().push(unit);
        }
        if !fact.calls.is_empty() {
            *self.open.entry(unit).or_default() += fact.calls.len();
            self.called = true;
        }
        Ok(())
    }

    /// Begin a unit.
    fn begin(&mut self, fact: &Fact, cost: u64) -> usize {
        let unit = self.roll.push(cost);
        let kind = Kind::of(fact);
        let stored = kind == Kind::Orphan && self.may_continue && !self.called;
        self.kinds.push(if stored { Kind::Tool } else { kind });
        if kind == Kind::System {
            self.systems.push(unit);
        }
        if stored {
            self.fixed.insert(unit);
        }
        if fact.bond == Bond::Reasoning {
            self.thoughts.insert(unit);
        }
        unit
    }

    /// One call of a unit has its result.
    fn answered(&mut self, unit: usize) {
        if let Some(waiting) = self.open.get_mut(&unit) {
            *waiting -= 1;
            if *waiting == 0 {
                self.open.remove(&unit);
            }
        }
    }
}
