//! What a growing list costs, unit by unit, kept so that a cut costs the logarithm of its length.

use crate::error::{Error, Result, remaining};

/// The costs of the units of one list, in order, and which messages each has.
///
/// A message begins a unit at the end, or joins an earlier one, as a late result does. Sums are kept
/// in a Fenwick tree (Fenwick 1994), wide enough never to wrap.
#[derive(Clone, Debug, Default)]
pub struct Roll {
    costs: Vec<u64>,
    /// Node `i` (counted from 1) holds the sum of the `i & -i` costs that end at `i`.
    tree: Vec<u128>,
    /// The first and the latest message of each unit.
    ends: Vec<(Place, Place)>,
    messages: Vec<Message>,
}

/// One message of the list.
#[derive(Clone, Copy, Debug)]
struct Message {
    cost: u64,
    unit: Place,
    /// The next message of its unit; [`Place::NONE`] for the last.
    next: Place,
}

/// A position in four bytes: a list of more messages than they count would not fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const NONE: Self = Self(u32::MAX);

    fn of(at: usize) -> Self {
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Where a list is cut: the protected units stay, and those from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first unit that stays although it is not protected.
    pub start: usize,
    /// What stays costs, in tokens; saturates.
    pub tokens: u64,
}

/// What two cuts of one list have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Messages at the front that both have.
    pub same: usize,
    /// What those cost; saturates.
    pub front: u64,
    /// What the messages cost that only the first has; saturates.
    pub freed: u64,
}

impl Roll {
    /// Make room for so many messages more, where it is known how many come.
    pub fn reserve(&mut self, more: usize) {
        self.costs.reserve_exact(more);
        self.tree.reserve_exact(more);
        self.ends.reserve_exact(more);
        self.messages.reserve_exact(more);
    }

    /// The number of units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// Whether there is no unit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// The number of messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// The unit of a message.
    #[must_use]
    pub fn home(&self, message: usize) -> Option<usize> {
        self.messages.get(message).map(|known| known.unit.get())
    }

    /// The messages of a unit, ascending; none if there is no such unit.
    pub fn members(&self, unit: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.ends.get(unit).map(|ends| ends.0);
        let next = |at: &Place| self.messages.get(at.get()).map(|known| known.next);
        std::iter::successors(first, move |at| next(at).filter(|at| *at != Place::NONE))
            .map(Place::get)
    }

    /// The latest message of a unit.
    #[must_use]
    pub fn last(&self, unit: usize) -> Option<usize> {
        self.ends.get(unit).map(|ends| ends.1.get())
    }

    /// What a unit costs; 0 if there is no such unit.
    #[must_use]
    pub fn cost(&self, unit: usize) -> u64 {
        self.costs.get(unit).copied().unwrap_or_default()
    }

    /// Append a message that begins a unit; the unit's position.
    pub fn push(&mut self, cost: u64) -> usize {
        let node = self.costs.len() + 1;
        let mut sum = u128::from(cost);
        let mut step = 1;
        // The children of a node end just before it, at distances 1, 2, 4 …
        while step < lowest_bit(node) {
            sum += self.node(node - step);
            step <<= 1;
        }
        self.tree.push(sum);
        self.costs.push(cost);
        let at = Place::of(self.messages.len());
        self.ends.push((at, at));
        self.messages.push(Message {
            cost,
            unit: Place::of(node - 1),
            next: Place::NONE,
        });
        node - 1
    }

    /// Append a message that joins an earlier unit.
    ///
    /// # Errors
    /// [`Error::Argument`] when there is no such unit.
    pub fn join(&mut self, unit: usize, cost: u64) -> Result<()> {
        let length = self.costs.len();
        let message = Place::of(self.messages.len());
        let known = self.costs.get_mut(unit).ok_or_else(|| Error::Argument {
            name: "unit",
            expected: format!("a position below {length}"),
            found: unit.to_string(),
        })?;
        if let Some(ends) = self.ends.get_mut(unit) {
            if let Some(last) = self.messages.get_mut(ends.1.get()) {
                last.next = message;
            }
            ends.1 = message;
        }
        self.messages.push(Message {
            cost,
            unit: Place::of(unit),
            next: Place::NONE,
        });
        let more = cost.min(u64::MAX - *known); // counts saturate
        *known += more;
        let mut node = unit + 1;
        while let Some(sum) = self.tree.get_mut(node - 1) {
            *sum += u128::from(more);
            node += lowest_bit(node);
        }
        Ok(())
    }

    /// What the units from a position on cost; saturates.
    #[must_use]
    pub fn since(&self, start: usize) -> u64 {
        narrow(self.sum_since(start))
    }

    /// The longest suffix that fits beside the protected units.
    ///
    /// `protected` ascends and has no position twice; positions in the suffix cost once. The kept
    /// units are the protected ones and those from `start` on.
    ///
    /// # Errors
    /// [`Error::BudgetTooSmall`] when the protected units alone are over the budget;
    /// [`Error::Argument`] when they do not ascend, or one is no unit.
    pub fn cut(&self, protected: &[usize], budget: u64) -> Result<Cut> {
        // What the protected units from each of them on cost.
        let mut held = vec![0_u128; protected.len() + 1];
        for (at, unit) in protected.iter().enumerate().rev() {
            let cost = self
                .costs
                .get(*unit)
                .filter(|_| protected.get(at + 1).is_none_or(|later| later > unit));
            let cost = cost.ok_or_else(|| Error::Argument {
                name: "protected",
                expected: format!("ascending positions below {}", self.costs.len()),
                found: format!("{unit} at {at}"),
            })?;
            let later = held.get(at + 1).copied().unwrap_or_default();
            if let Some(sum) = held.get_mut(at) {
                *sum = later + u128::from(*cost);
            }
        }
        let need = held.first().copied().unwrap_or_default();
        let room = u128::from(remaining(budget, need)?);
        let free = |start: usize| {
            let first = protected.partition_point(|unit| *unit < start);
            self.sum_since(start) - held.get(first).copied().unwrap_or_default()
        };
        let (mut low, mut high) = (0, self.costs.len());
        while low < high {
            let middle = low.midpoint(high);
            if free(middle) <= room {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(Cut {
            start: low,
            tokens: narrow(need + free(low)),
        })
    }

    /// The messages of a cut, ascending: those of the protected units, and of the units from `start`
    /// on. Positions that are no unit are passed over.
    #[must_use]
    pub fn kept(&self, protected: &[usize], start: usize) -> Vec<usize> {
        let mut kept = Vec::new();
        for unit in protected.iter().filter(|unit| **unit < start) {
            kept.extend(self.members(*unit));
        }
        kept.sort_unstable();
        let early = kept.len();
        let first = self
            .ends
            .get(start)
            .map_or(self.messages.len(), |ends| ends.0.get());
        let late = self.messages.iter().enumerate().skip(first);
        kept.extend(
            late.filter(|(_, message)| message.unit.get() >= start)
                .map(|(at, _)| at),
        );
        if kept.get(early.wrapping_sub(1)) > kept.get(early) {
            kept.sort_unstable(); // a late result of a protected unit lies behind the cut
        }
        kept
    }

    /// Compare two cuts, both ascending positions of messages; positions that are none cost nothing.
    #[must_use]
    pub fn change(&self, before: &[usize], after: &[usize]) -> Change {
        let cost = |at: &usize| {
            self.messages
                .get(*at)
                .map_or(0, |message| u128::from(message.cost))
        };
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let mut freed = 0;
        let mut rest = after.get(same..).unwrap_or_default().iter().peekable();
        for at in before.get(same..).unwrap_or_default() {
            while rest.next_if(|other| *other < at).is_some() {}
            if rest.peek() != Some(&at) {
                freed += cost(at);
            }
        }
        Change {
            same,
            front: narrow(after.iter().take(same).map(cost).sum()),
            freed: narrow(freed),
        }
    }

    fn sum_since(&self, start: usize) -> u128 {
        self.sum_before(self.costs.len()) - self.sum_before(start.min(self.costs.len()))
    }

    fn sum_before(&self, end: usize) -> u128 {
        let mut sum = 0;
        let mut node = end;
        while node > 0 {
            sum += self.node(node);
            node -= lowest_bit(node);
        }
        sum
    }

    fn node(&self, node: usize) -> u128 {
        self.tree.get(node - 1).copied().unwrap_or_default()
    }
}

fn lowest_bit(node: usize) -> usize {
    node & node.wrapping_neg()
}

fn narrow(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}
