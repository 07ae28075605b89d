//! What must leave so that the rest fits.
//!
//! Promises: units leave whole, because a unit is all that this stage sees; protected units never
//! leave; a plan that cannot fit is an error that says need and have; with one unit more at the end,
//! what leaves is a superset of what left before.

use crate::error::{Error, Result};

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
    let need = units
        .iter()
        .filter(|unit| unit.hold == Hold::Protected)
        .fold(0_u64, |sum, unit| sum.saturating_add(unit.cost));
    let mut left = budget
        .checked_sub(need)
        .ok_or(Error::BudgetTooSmall { need, have: budget })?;
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
