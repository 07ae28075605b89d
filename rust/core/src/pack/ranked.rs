//! From ranked members to their groups.

use crate::error::Result;

/// The members that there are, in the order of their ids, and the groups that they are in.
#[derive(Clone, Copy, Debug)]
pub struct Members<'a> {
    /// Their ids, ascending.
    pub ids: &'a [i64],
    /// The group of each, by its number.
    pub groups: &'a [i64],
    /// Whether a group is worth more than its best member, by its number.
    pub raised: &'a [bool],
}

/// Ranked members by their groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// Where each of the ranked is among the members; -1 for what is none.
    pub places: Vec<i64>,
    /// The groups that they are in, the best first, then by number.
    pub groups: Vec<i64>,
    /// What each group is worth.
    pub values: Vec<f64>,
}

/// The groups of ranked members: each is worth its best, and `raise` more where it is raised.
///
/// # Errors
/// [`crate::Error::Argument`] for lengths that differ.
pub fn rank(members: Members<'_>, ids: &[i64], values: &[f64], raise: f64) -> Result<Ranked> {
    super::same_length("values", values.len(), ids.len())?;
    super::same_length("groups", members.groups.len(), members.ids.len())?;
    let mut ranked = Ranked::default();
    let mut found: Vec<(i64, f64)> = Vec::with_capacity(ids.len());
    for (id, value) in ids.iter().zip(values) {
        let place = place_of(members.ids, *id);
        let group = place.and_then(|place| members.groups.get(place));
        if let Some(group) = group {
            let at = usize::try_from(*group).ok();
            let raised = at.and_then(|at| members.raised.get(at)) == Some(&true);
            found.push((*group, if raised { value + raise } else { *value }));
        }
        let place = place.and_then(|place| i64::try_from(place).ok());
        ranked.places.push(place.unwrap_or(-1));
    }
    let order =
        |a: &(i64, f64), b: &(i64, f64)| b.1.partial_cmp(&a.1).unwrap_or(a.1.total_cmp(&b.1));
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(order(a, b)));
    found.dedup_by_key(|one| one.0);
    found.sort_by(order);
    (ranked.groups, ranked.values) = found.into_iter().unzip();
    Ok(ranked)
}

/// Where an id is among ascending ones.
fn place_of(ids: &[i64], id: i64) -> Option<usize> {
    // The ids of one conversation mostly follow one another.
    let guess = ids.first().and_then(|first| id.checked_sub(*first));
    let guess = guess.and_then(|at| usize::try_from(at).ok());
    guess
        .filter(|at| ids.get(*at) == Some(&id))
        .or_else(|| ids.binary_search(&id).ok())
}
