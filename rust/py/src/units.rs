//! The units of a growing list: which messages belong together, and what they cost.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warmset_core::turns::{Fact, Kind, Units as Inner};

use crate::error::{invalid, raise};
use crate::facts::fact;
use crate::guarded::Guarded;
use crate::pack::{Indices, indices};

/// The units of a growing list, numbered by their first messages, and what they cost.
///
/// Messages are known by their positions. A cut takes the logarithm of the list's length.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Units {
    inner: Guarded<Inner>,
}

#[pymethods]
impl Units {
    #[new]
    fn new() -> Self {
        Self {
            inner: Guarded::default(),
        }
    }

    /// Find the units of a whole list, however they are tangled.
    ///
    /// Args:
    ///     facts: The facts of each message.
    ///     costs: What each costs.
    ///     may_continue: Whether the list may go on behind messages that the provider has stored.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn of(facts: Vec<Bound<'_, PyAny>>, costs: Vec<u64>, may_continue: bool) -> PyResult<Self> {
        let facts: Vec<Fact> = facts.iter().map(fact).collect::<PyResult<_>>()?;
        same_length(facts.len(), costs.len())?;
        Self::whole(&facts, &costs, may_continue)
    }

    /// Take the next messages up.
    ///
    /// Args:
    ///     facts: The facts of each.
    ///     costs: What each costs.
    ///     may_continue: Whether the list may go on behind messages that the provider has stored.
    ///
    /// Returns:
    ///     Whether that could be done: a message that answers calls of two units makes one of both,
    ///     and then `of` has to be asked about the whole list.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn take(
        &self,
        py: Python<'_>,
        facts: Vec<Bound<'_, PyAny>>,
        costs: Vec<u64>,
        may_continue: bool,
    ) -> PyResult<bool> {
        let facts: Vec<Fact> = facts.iter().map(fact).collect::<PyResult<_>>()?;
        same_length(facts.len(), costs.len())?;
        self.take_all(py, facts.into_iter().zip(costs), may_continue)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.inner.read(py).roll().len()
    }

    /// Return the number of messages.
    pub(crate) fn messages(&self, py: Python<'_>) -> usize {
        self.inner.read(py).messages()
    }

    /// Return a unit by its number: the positions of its messages, its kind, whether a call waits.
    ///
    /// Raises:
    ///     IndexError: There is no such unit.
    fn unit<'py>(
        &self,
        py: Python<'py>,
        number: usize,
    ) -> PyResult<(Bound<'py, PyTuple>, &'static str, bool)> {
        let unit = self.inner.read(py).unit(number);
        let unit = unit.ok_or_else(|| no("unit", number))?;
        Ok((PyTuple::new(py, unit.members)?, name(unit.kind), unit.open))
    }

    /// Return the positions of a unit's messages, ascending.
    ///
    /// Raises:
    ///     IndexError: There is no such unit.
    fn members(&self, py: Python<'_>, number: usize) -> PyResult<Vec<usize>> {
        let units = self.inner.read(py);
        let members: Vec<usize> = units.roll().members(number).collect();
        if members.is_empty() {
            return Err(no("unit", number));
        }
        Ok(members)
    }

    /// Return the number of a message's unit.
    ///
    /// Raises:
    ///     IndexError: There is no such message.
    fn home(&self, py: Python<'_>, message: usize) -> PyResult<usize> {
        let home = self.inner.read(py).home(message);
        home.ok_or_else(|| no("message", message))
    }

    /// Return the numbers of the units of all messages from a position on.
    fn homes<'py>(&self, py: Python<'py>, start: usize) -> Indices<'py> {
        let units = self.inner.read(py);
        let homes = (start..units.messages()).filter_map(|at| units.home(at));
        let homes = homes.collect();
        drop(units);
        indices(py, homes)
    }

    /// Return the numbers of the units that have messages at a position or behind it, ascending.
    fn units_since(&self, py: Python<'_>, message: usize) -> Vec<usize> {
        self.inner.read(py).since(message).into_iter().collect()
    }

    /// Return the numbers of the units of system messages, ascending.
    fn systems(&self, py: Python<'_>) -> Vec<usize> {
        self.inner.read(py).systems().to_vec()
    }

    /// Return the numbers of the units that stay wherever they are, ascending: system messages,
    /// compactions of the provider's, results of stored calls.
    fn fixed(&self, py: Python<'_>) -> Vec<usize> {
        self.inner.read(py).fixed().iter().copied().collect()
    }

    /// Return the numbers of the units that have calls without results, ascending.
    fn open(&self, py: Python<'_>) -> Vec<usize> {
        self.inner.read(py).open().collect()
    }

    /// Return the unit of the first request.
    fn task(&self, py: Python<'_>) -> Option<usize> {
        self.inner.read(py).task()
    }

    /// Return the unit and the position of the last request, where the current exchange begins.
    fn asked(&self, py: Python<'_>) -> Option<(usize, usize)> {
        self.inner.read(py).asked()
    }

    /// Return the unit of the last message in which a user says anything.
    fn said(&self, py: Python<'_>) -> Option<usize> {
        self.inner.read(py).said()
    }

    /// Return the unit of the newest message that is no system message.
    fn newest(&self, py: Python<'_>) -> Option<usize> {
        self.inner.read(py).newest()
    }

    /// Return whether a unit has calls that nobody will answer: somebody asked something since.
    fn is_left(&self, py: Python<'_>, number: usize) -> bool {
        self.inner.read(py).is_left(number)
    }

    /// Return the units from one on that no provider takes, ascending.
    fn unsendable(&self, py: Python<'_>, number: usize) -> Vec<usize> {
        self.inner.read(py).unsendable(number)
    }

    /// Return the units that must stay, ascending.
    ///
    /// Args:
    ///     pins: Positions of messages that must stay besides.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn protected(&self, py: Python<'_>, pins: Vec<usize>) -> Vec<usize> {
        let held = self.inner.read(py).protected(&pins);
        held.into_iter().collect()
    }

    /// Return the last unit up to one, before which no unit has a message behind it.
    ///
    /// Args:
    ///     number: A unit, or their number for the end.
    fn boundary(&self, py: Python<'_>, number: usize) -> usize {
        self.inner.read(py).boundary(number)
    }

    /// Return what a unit costs; 0 if there is no such unit.
    fn cost(&self, py: Python<'_>, number: usize) -> u64 {
        self.inner.read(py).roll().cost(number)
    }

    /// Return what the units from a position on cost.
    fn since(&self, py: Python<'_>, start: usize) -> u64 {
        self.inner.read(py).roll().since(start)
    }

    /// Find the longest suffix that fits beside the protected units.
    ///
    /// Args:
    ///     protected: Positions of units that stay, ascending.
    ///     budget: What everything that stays may cost.
    ///
    /// Returns:
    ///     The first position that stays although it is not protected, and what stays costs.
    ///
    /// Raises:
    ///     BudgetTooSmall: What is protected does not fit.
    ///     InvalidInputError: The positions do not ascend, or one is no unit.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a list from Python arrives as a Vec"
    )]
    fn cut(&self, py: Python<'_>, protected: Vec<usize>, budget: u64) -> PyResult<(usize, u64)> {
        let cut = self.inner.read(py).roll().cut(&protected, budget);
        let cut = cut.map_err(raise)?;
        Ok((cut.start, cut.tokens))
    }

    /// Return the messages of a cut.
    ///
    /// Args:
    ///     protected: Positions of units that stay, ascending.
    ///     start: The first unit that stays although it is not protected.
    ///
    /// Returns:
    ///     Positions of messages, ascending.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a list from Python arrives as a Vec"
    )]
    fn kept<'py>(&self, py: Python<'py>, protected: Vec<usize>, start: usize) -> Indices<'py> {
        let kept = self.inner.read(py).roll().kept(&protected, start);
        indices(py, kept)
    }

    /// Compare two cuts.
    ///
    /// Args:
    ///     before: What `kept` returned.
    ///     after: What it returned later.
    ///
    /// Returns:
    ///     How many messages at the front are the same, what those cost, and what those cost that
    ///     only the first has.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an array from Python arrives so"
    )]
    fn change(
        &self,
        py: Python<'_>,
        before: PyReadonlyArray1<'_, i64>,
        after: PyReadonlyArray1<'_, i64>,
    ) -> (usize, u64, u64) {
        let (before, after) = (places(&before), places(&after));
        let change = self.inner.read(py).roll().change(&before, &after);
        (change.same, change.front, change.freed)
    }
}

/// Positions of messages; one that is none costs nothing.
fn places(array: &PyReadonlyArray1<'_, i64>) -> Vec<usize> {
    let place = |at: &i64| usize::try_from(*at).unwrap_or(usize::MAX);
    array.as_array().iter().map(place).collect()
}

impl Units {
    /// The units of a whole list.
    pub(crate) fn whole(facts: &[Fact], costs: &[u64], may_continue: bool) -> PyResult<Self> {
        let made = Inner::of(facts, costs, may_continue).map_err(raise)?;
        Ok(Self {
            inner: Guarded::new(made),
        })
    }

    /// Take messages up, each with what it costs; whether that could be done.
    pub(crate) fn take_all(
        &self,
        py: Python<'_>,
        messages: impl Iterator<Item = (Fact, u64)>,
        may_continue: bool,
    ) -> PyResult<bool> {
        let mut units = self.inner.write(py);
        units.set_may_continue(may_continue);
        units.reserve(messages.size_hint().0);
        for (fact, cost) in messages {
            if !units.take(&fact, cost).map_err(raise)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn no(what: &str, number: usize) -> PyErr {
    PyIndexError::new_err(format!("no {what} has the number {number}"))
}

fn same_length(facts: usize, costs: usize) -> PyResult<()> {
    if facts == costs {
        return Ok(());
    }
    Err(invalid(&format!(
        "costs: expected {facts} values, found {costs}"
    )))
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::System => "system",
        Kind::User => "user",
        Kind::Assistant => "assistant",
        Kind::Tool => "tool",
        Kind::Orphan => "orphan",
    }
}
