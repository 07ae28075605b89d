//! What must leave so that the rest fits.
//!
//! Promises: units leave whole, because a unit is all that this stage sees; protected units never
//! leave; a plan that cannot fit is an error that says need and have; with one unit more at the end,
//! what leaves is a superset of what left before.

mod cover;
mod sayings;
mod worth;

use crate::error::{Error, Result, remaining};

pub use cover::{COVERS, Coverage, Listed, Near};
pub use sayings::{Sayings, Twin};
pub use worth::{Signals, Stays, Weights, Worthy, keep_worthy, worth};

/// One unit of a list: what stays or leaves together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// What it costs, in tokens.
    pub cost: u64,
    /// Whether it may leave.
    pub hold: Hold,
}

/// Whether a unit may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It leaves when it is old enough and room is needed.
    Evictable,
    /// It never leaves.
    Protected,
}

/// The positions that stay, ascending: all that is protected, then the newest that fit.
///
/// The walk goes from the end backwards and stops at the first evictable unit that does not fit, so
/// that what stays of the evictable units is a suffix without holes.
///
/// # Errors
/// [`Error::BudgetTooSmall`] when the protected units alone are over the budget.
pub fn keep_newest(units: &[Unit], budget: u64) -> Result<Vec<usize>> {
    let mut left = remaining(budget, held(units))?;
    let mut open = true;
    let mut kept: Vec<usize> = Vec::new();
    for (at, unit) in units.iter().enumerate().rev() {
        if unit.hold == Hold::Protected {
            kept.push(at);
        } else if open && unit.cost <= left {
            left -= unit.cost;
            kept.push(at);
        } else {
            open = false;
        }
    }
    kept.reverse();
    Ok(kept)
}

/// The positions that leave, in the order in which they leave, until the rest fits.
///
/// The lowest score leaves first, of equal scores the oldest; protected units never do. Nothing
/// leaves from a list that fits.
///
/// # Errors
/// [`Error::BudgetTooSmall`] when the protected units alone are over the budget;
/// [`Error::Argument`] for a score that is NaN, or another number of scores than units.
pub fn leave_lowest(units: &[Unit], scores: &[f64], budget: u64) -> Result<Vec<usize>> {
    same_length("scores", scores.len(), units.len())?;
    if let Some(at) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::Argument {
            name: "scores",
            expected: "numbers".into(),
            found: format!("NaN at {at}"),
        });
    }
    remaining(budget, held(units))?;
    let mut total: u128 = units.iter().map(|unit| u128::from(unit.cost)).sum();
    let mut order: Vec<(f64, usize, u64)> = units
        .iter()
        .zip(scores)
        .enumerate()
        .filter(|(_, (unit, _))| unit.hold == Hold::Evictable)
        .map(|(at, (unit, score))| (score + 0.0, at, unit.cost))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut leaving = Vec::new();
    for (_, at, cost) in order {
        if total <= u128::from(budget) {
            break;
        }
        total -= u128::from(cost);
        leaving.push(at);
    }
    Ok(leaving)
}

/// What the protected units cost.
fn held(units: &[Unit]) -> u128 {
    units
        .iter()
        .filter(|unit| unit.hold == Hold::Protected)
        .map(|unit| u128::from(unit.cost))
        .sum()
}

fn same_length(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Argument {
        name,
        expected: format!("{expected} values"),
        found: found.to_string(),
    })
}
