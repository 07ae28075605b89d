//! What turns are worth, and which are worth keeping.
//!
//! ```text
//! worth = factor of its role × (a·recency + b·similarity + c·(1 − coverage))
//! a unit is worth its best member
//! keep what must stay; then each other unit by worth, ties by its first message:
//!     keep it if it still fits, else pass it over and go on
//! ```

use crate::error::{Error, Result};

/// The recency of the oldest turn; the newest has 1.
const OLDEST: f64 = 0.1;

/// How much each signal counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of how new a turn is.
    pub recency: f64,
    /// Of how near it is to what is asked.
    pub similarity: f64,
    /// Of how little of it is known elsewhere.
    pub coverage: f64,
}

/// What is known of turns; all slices are one value a turn, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Signals<'a> {
    /// The number of each turn's role.
    pub roles: &'a [usize],
    /// What each role is worth, by its number.
    pub factors: &'a [f64],
    /// Cosines with what is asked.
    pub similarity: &'a [f64],
    /// How far each is known elsewhere, 0 to 1.
    pub coverage: &'a [f64],
}

/// What each turn is worth, and the recency in it.
///
/// # Errors
/// [`Error::Argument`] for lengths that differ, a role without a factor, a weight or factor that is
/// negative or not finite, a similarity outside of −1 to 1, a coverage outside of 0 to 1.
pub fn worth(signals: Signals<'_>, weights: Weights) -> Result<(Vec<f64>, Vec<f64>)> {
    let count = signals.roles.len();
    super::same_length("similarity", signals.similarity.len(), count)?;
    super::same_length("coverage", signals.coverage.len(), count)?;
    within("similarity", signals.similarity, -1.0)?;
    within("coverage", signals.coverage, 0.0)?;
    for factor in signals.factors {
        check("factors", *factor)?;
    }
    for weight in [weights.recency, weights.similarity, weights.coverage] {
        check("weights", weight)?;
    }
    let recency = recency(count);
    let mut values = Vec::with_capacity(count);
    let columns = signals.similarity.iter().zip(signals.coverage);
    for ((role, new), (near, known)) in signals.roles.iter().zip(&recency).zip(columns) {
        let factor = signals.factors.get(*role).ok_or_else(|| Error::Argument {
            name: "roles",
            expected: format!("numbers below {}", signals.factors.len()),
            found: role.to_string(),
        })?;
        let sum =
            weights.recency * new + weights.similarity * near + weights.coverage * (1.0 - known);
        values.push(factor * sum);
    }
    Ok((values, recency))
}

/// Units to choose from; all slices are one value a turn.
#[derive(Clone, Copy, Debug)]
pub struct Worthy<'a> {
    /// What each turn is worth.
    pub values: &'a [f64],
    /// What each costs, in tokens.
    pub costs: &'a [u64],
    /// The number of the unit that each is in.
    pub units: &'a [usize],
    /// Whether each must stay, and with it its unit.
    pub must: &'a [bool],
}

/// What stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Positions of the turns that stay, ascending.
    pub kept: Vec<usize>,
    /// Numbers of the units that stay and need not, best first.
    pub taken: Vec<usize>,
}

/// Keep what must stay, and of the other units the worthiest that fit.
///
/// Where what must stay is over the budget alone, nothing else stays.
///
/// # Errors
/// [`Error::Argument`] for lengths that differ, a value that is not finite, or a unit's number that
/// is not below the number of turns.
pub fn keep_worthy(turns: Worthy<'_>, budget: u64) -> Result<Stays> {
    let count = turns.values.len();
    super::same_length("costs", turns.costs.len(), count)?;
    super::same_length("units", turns.units.len(), count)?;
    super::same_length("must", turns.must.len(), count)?;
    let mut all = gather(turns)?;
    let need: u128 = all.iter().filter(|one| one.must).map(|one| one.cost).sum();
    let room = u128::from(budget).checked_sub(need);
    let mut left = room.unwrap_or_default();
    let mut order: Vec<usize> = (0..all.len()).collect();
    // Without room nothing else stays, not even what costs nothing.
    order.retain(|at| {
        let one = all.get(*at);
        room.is_some() && one.is_some_and(|one| one.first.is_some() && !one.must)
    });
    order.sort_by(|a, b| {
        let (Some(a), Some(b)) = (all.get(*a), all.get(*b)) else {
            return std::cmp::Ordering::Equal;
        };
        b.value.total_cmp(&a.value).then(a.first.cmp(&b.first))
    });
    let mut taken = Vec::new();
    for at in order {
        if let Some(one) = all.get_mut(at)
            && one.cost <= left
        {
            left -= one.cost;
            one.must = true;
            taken.push(at);
        }
    }
    let stays = |unit: &usize| all.get(*unit).is_some_and(|one| one.must);
    let kept = turns.units.iter().enumerate();
    Ok(Stays {
        kept: kept
            .filter(|(_, unit)| stays(unit))
            .map(|(at, _)| at)
            .collect(),
        taken,
    })
}

/// One unit.
#[derive(Clone, Copy, Debug, Default)]
struct One {
    first: Option<usize>,
    /// Wider than the costs that it sums, so that it never wraps.
    cost: u128,
    value: f64,
    must: bool,
}

fn gather(turns: Worthy<'_>) -> Result<Vec<One>> {
    let count = turns.units.len();
    let mut all = vec![One::default(); count];
    let columns = turns.values.iter().zip(turns.costs).zip(turns.must);
    for (at, (((value, cost), must), unit)) in columns.zip(turns.units).enumerate() {
        if !value.is_finite() {
            return Err(Error::Argument {
                name: "values",
                expected: "finite numbers".into(),
                found: format!("{value} at {at}"),
            });
        }
        let one = all.get_mut(*unit).ok_or_else(|| Error::Argument {
            name: "units",
            expected: format!("numbers below {count}"),
            found: unit.to_string(),
        })?;
        let value = value + 0.0; // both zeros are one
        one.value = if one.first.is_some() {
            one.value.max(value)
        } else {
            value
        };
        one.first = one.first.or(Some(at));
        one.cost += u128::from(*cost);
        one.must |= must;
    }
    Ok(all)
}

/// From [`OLDEST`] to 1, in equal steps; 1 for a single turn.
fn recency(count: usize) -> Vec<f64> {
    let last = position(count.saturating_sub(1));
    let step = |at: usize| OLDEST + (1.0 - OLDEST) * (position(at) / last);
    match count {
        1 => vec![1.0],
        _ => (0..count).map(step).collect(),
    }
}

/// A position as a number; lists are shorter than 2³² turns.
fn position(at: usize) -> f64 {
    u32::try_from(at).map_or(f64::from(u32::MAX), f64::from)
}

fn within(name: &'static str, values: &[f64], least: f64) -> Result<()> {
    let outside = values
        .iter()
        .position(|value| !(least..=1.0).contains(value));
    outside.map_or(Ok(()), |at| {
        Err(Error::Argument {
            name,
            expected: format!("numbers from {least} to 1"),
            found: format!("{:?} at {at}", values.get(at)),
        })
    })
}

fn check(name: &'static str, weight: f64) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Error::Argument {
        name,
        expected: "finite numbers of at least 0".into(),
        found: weight.to_string(),
    })
}
