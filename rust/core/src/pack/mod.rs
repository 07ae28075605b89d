//! Choosing under a budget.
//!
//! Promises: the chosen never cost more than the budget; what must be in is in, or the error says need
//! and have; a group is chosen whole or not at all; the order of the input does not change the answer.
//!
//! ```text
//! take everything that must be in, with its groups        over budget: BudgetTooSmall
//! for each other group, by value descending, then by its first index:
//!     take it if it still fits, else skip it and go on
//! ```

mod greedy;
mod ranked;

use std::collections::HashMap;

use self::greedy::Walk;
pub use self::ranked::{Members, Ranked, rank};
use crate::error::{Error, Result};

/// What there is to choose from; all slices are one value an item.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// What each item costs, in tokens.
    pub costs: &'a [u64],
    /// What each item is worth; a group is worth its best member.
    pub values: &'a [f64],
    /// Which group each item is in; without groups each item is its own.
    pub groups: Option<&'a [i64]>,
}

/// The indices that are chosen, ascending.
///
/// # Errors
/// [`Error::Argument`] for lengths that differ, a value that is NaN, or a `must` out of range;
/// [`Error::BudgetTooSmall`] when what must be in does not fit.
pub fn pack(items: Items<'_>, budget: u64, must: &[usize]) -> Result<Vec<usize>> {
    let Some(labels) = items.groups else {
        same_length("values", items.values.len(), items.costs.len())?;
        let mut chosen = Vec::new();
        Walk::default().run((items.costs, items.values), budget, must, 0, &mut chosen)?;
        return Ok(chosen);
    };
    let mut groups = gather(items, labels)?;
    let home: HashMap<usize, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.members.iter().map(move |member| (*member, at)))
        .collect();
    for index in must {
        let group = home.get(index).and_then(|at| groups.get_mut(*at));
        group
            .ok_or_else(|| no_index(*index, items.costs.len()))?
            .must = true;
    }
    let need: u128 = groups
        .iter()
        .filter(|group| group.must)
        .map(|group| group.cost)
        .sum();
    let mut left = u128::from(remaining(budget, need)?);
    groups.sort_by(|a, b| {
        (b.must.cmp(&a.must))
            .then(
                b.value
                    .partial_cmp(&a.value)
                    .unwrap_or(std::cmp::Ordering::Equal),
            )
            .then(a.members.cmp(&b.members))
    });
    let mut chosen = Vec::new();
    for group in groups {
        if group.must {
            chosen.extend(group.members);
        } else if group.cost <= left {
            left -= group.cost;
            chosen.extend(group.members);
        }
    }
    chosen.sort_unstable();
    Ok(chosen)
}

/// [`pack`] for many lists that lie end to end: list `i` is `offsets[i]..offsets[i + 1]`.
///
/// Returns the chosen indices into the flat columns, list after list, and the offsets of each list's
/// part of them.
///
/// # Errors
/// As [`pack`], and [`Error::Argument`] for offsets that do not ascend from 0 to the columns' length,
/// or another number of budgets than lists.
pub fn pack_batch(
    offsets: &[usize],
    costs: &[u64],
    values: &[f64],
    budgets: &[u64],
) -> Result<(Vec<usize>, Vec<usize>)> {
    let ascending = offsets.is_sorted() && offsets.first() == Some(&0);
    if !ascending || offsets.last() != Some(&costs.len()) {
        return Err(Error::Argument {
            name: "offsets",
            expected: format!("ascending from 0 to {}", costs.len()),
            found: format!(
                "{} offsets from {:?} to {:?}",
                offsets.len(),
                offsets.first(),
                offsets.last()
            ),
        });
    }
    same_length("values", values.len(), costs.len())?;
    same_length("budgets", budgets.len(), offsets.len() - 1)?;
    let mut chosen = Vec::new();
    let mut ends = vec![0];
    let mut walk = Walk::default();
    for (list, budget) in offsets.windows(2).zip(budgets) {
        if let [start, end] = *list {
            let columns = (
                costs.get(start..end).unwrap_or_default(),
                values.get(start..end).unwrap_or_default(),
            );
            walk.run(columns, *budget, &[], start, &mut chosen)?;
            ends.push(chosen.len());
        }
    }
    Ok((chosen, ends))
}

/// What is chosen together.
struct Group {
    members: Vec<usize>,
    /// A sum of costs; wider than each, so that it never wraps.
    cost: u128,
    value: f64,
    must: bool,
}

fn gather(items: Items<'_>, labels: &[i64]) -> Result<Vec<Group>> {
    same_length("values", items.values.len(), items.costs.len())?;
    same_length("groups", labels.len(), items.costs.len())?;
    let mut out: Vec<Group> = Vec::new();
    let mut at: HashMap<i64, usize> = HashMap::new();
    for (index, ((cost, value), label)) in
        items.costs.iter().zip(items.values).zip(labels).enumerate()
    {
        if value.is_nan() {
            return Err(not_a_number(index));
        }
        let position = *at.entry(*label).or_insert(out.len());
        if let Some(group) = out.get_mut(position) {
            group.members.push(index);
            group.cost += u128::from(*cost);
            group.value = group.value.max(*value);
        } else {
            out.push(Group {
                members: vec![index],
                cost: u128::from(*cost),
                value: *value,
                must: false,
            });
        }
    }
    Ok(out)
}

/// What is left of a budget when what must be in is taken.
fn remaining(budget: u64, need: u128) -> Result<u64> {
    let need = u64::try_from(need).unwrap_or(u64::MAX);
    budget
        .checked_sub(need)
        .ok_or(Error::BudgetTooSmall { need, have: budget })
}

fn no_index(index: usize, length: usize) -> Error {
    Error::Argument {
        name: "must",
        expected: format!("indices below {length}"),
        found: index.to_string(),
    }
}

fn not_a_number(index: usize) -> Error {
    Error::Argument {
        name: "values",
        expected: "numbers".into(),
        found: format!("NaN at {index}"),
    }
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
