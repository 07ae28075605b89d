//! How far each turn of a list is known elsewhere: in memories, and in later turns that stay.
//!
//! ```text
//! a text counts for a turn while it stands in a later one that stays
//! covers of a turn = its nearest three texts that count, then its memories, by cosine
//! coverage = 0 without covers, or where a fact of the turn is in none of the first three
//!          = the highest cosine otherwise
//! strike(stays): of each text, the last turn that counts is the last of those that stayed
//! ```
//!
//! Nothing that was struck out comes back, so choosing and striking in turn comes to an end.

use std::collections::HashMap;

use super::sayings::{Facts, Sayings, Twin};
use crate::error::Result;

/// Covers that are looked at for each turn.
pub const COVERS: usize = 3;

/// A list: what each turn says, and what counts as the same.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The text of each turn, oldest first; none where nothing is said.
    pub texts: &'a [Option<u64>],
    /// What is known of the texts.
    pub sayings: &'a Sayings,
    /// Twins within the list of texts that have too many to be kept, nearest first.
    pub crowded: &'a [(u64, Vec<Twin>)],
    /// The least cosine of twins.
    pub same: f64,
    /// Whether facts are compared.
    pub check: bool,
}

/// Memories near the turns of a list; of each turn `counts`, in a row of [`COVERS`].
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    /// What the memories state.
    pub sayings: &'a Sayings,
    /// The nearest memories.
    pub ids: &'a [u64],
    /// Their cosines.
    pub cosines: &'a [f32],
    /// How many of each row count.
    pub counts: &'a [usize],
}

/// What covers the turns of a list.
#[derive(Debug)]
pub struct Coverage {
    /// What memories alone cover.
    base: Vec<f64>,
    texts: Vec<Text>,
    turns: Vec<Turn>,
    check: bool,
}

/// A text that stands in several turns, or that has twins in the list.
#[derive(Debug)]
struct Text {
    /// Where it stands, ascending.
    places: Vec<usize>,
    /// How many of these are left of the last turn that counts, and that turn.
    counting: usize,
    /// The texts that say the same, nearest first, itself before them.
    twins: Vec<(f64, usize)>,
    facts: Option<Facts>,
}

/// A turn that other turns can cover.
#[derive(Debug)]
struct Turn {
    place: usize,
    text: usize,
    memories: Vec<(f64, Option<Facts>)>,
}

/// A cosine, and what is stated there.
type Cover<'a> = (f64, &'a [i64]);

impl Coverage {
    /// Gathers what can cover the turns of a list.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for lengths that differ.
    pub fn new(listed: Listed<'_>, near: Option<Near<'_>>) -> Result<Self> {
        let base = match near {
            Some(near) => remembered(listed, near)?,
            None => vec![0.0; listed.texts.len()],
        };
        let (texts, turns) = gathered(listed, near);
        Ok(Self {
            base,
            texts,
            turns,
            check: listed.check,
        })
    }

    /// The coverage of each turn by what counts at present.
    #[must_use]
    pub fn now(&self) -> Vec<f64> {
        let mut out = self.base.clone();
        for turn in &self.turns {
            let covered = self.covered(turn);
            if let Some(place) = out.get_mut(turn.place) {
                *place = covered;
            }
        }
        out
    }

    /// Strikes out the turns that did not stay: they count no more.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for another number of turns.
    pub fn strike(&mut self, stays: &[bool]) -> Result<()> {
        super::same_length("stays", stays.len(), self.base.len())?;
        for text in &mut self.texts {
            while let Some(last) = text.last()
                && stays.get(last) == Some(&false)
            {
                text.counting -= 1;
            }
        }
        Ok(())
    }

    fn covered(&self, turn: &Turn) -> f64 {
        let Some(own) = self.texts.get(turn.text) else {
            return 0.0;
        };
        let counting = own.twins.iter().filter_map(|(cosine, text)| {
            let text = self.texts.get(*text)?;
            text.last().filter(|last| *last > turn.place)?;
            Some((*cosine, known(text.facts.as_ref())))
        });
        let mut covers: Vec<Cover<'_>> = counting.take(COVERS).collect();
        let memories = turn.memories.iter();
        covers.extend(memories.map(|(cosine, facts)| (*cosine, known(facts.as_ref()))));
        // Stable: of equal ones, what is in the list goes first.
        covers.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
        cover(self.check.then(|| known(own.facts.as_ref())), &covers)
    }
}

impl Text {
    /// The last turn that counts.
    fn last(&self) -> Option<usize> {
        let at = self.counting.checked_sub(1)?;
        self.places.get(at).copied()
    }
}

impl<'a> Near<'a> {
    /// The memories near a turn, nearest first.
    fn of(self, at: usize) -> impl Iterator<Item = (f64, Option<&'a Facts>)> {
        let count = self.counts.get(at).copied().unwrap_or_default();
        let row = at * COVERS..at * COVERS + count.min(COVERS);
        let ids = self.ids.get(row.clone()).unwrap_or_default();
        let cosines = self.cosines.get(row).unwrap_or_default();
        let pairs = ids.iter().zip(cosines);
        pairs.map(move |(id, cosine)| (f64::from(*cosine), self.sayings.stated(*id)))
    }
}

fn known(facts: Option<&Facts>) -> &[i64] {
    facts.map_or(&[], |facts| facts)
}

/// The highest cosine of covers in order, if every fact is in one of the first three.
fn cover(facts: Option<&[i64]>, covers: &[Cover<'_>]) -> f64 {
    let Some((cosine, _)) = covers.first().filter(|(cosine, _)| *cosine > 0.0) else {
        return 0.0;
    };
    let looked = covers.iter().take(COVERS);
    let there = |fact: &i64| {
        looked
            .clone()
            .any(|(_, facts)| facts.binary_search(fact).is_ok())
    };
    if facts.is_some_and(|facts| !facts.iter().all(there)) {
        return 0.0;
    }
    cosine.min(1.0)
}

/// How far memories alone cover each turn.
fn remembered(listed: Listed<'_>, near: Near<'_>) -> Result<Vec<f64>> {
    let count = listed.texts.len();
    super::same_length("ids", near.ids.len(), count * COVERS)?;
    super::same_length("cosines", near.cosines.len(), count * COVERS)?;
    super::same_length("counts", near.counts.len(), count)?;
    let texts = listed.texts.iter().enumerate();
    let covered = texts.map(|(at, text)| {
        let Some(text) = text else { return 0.0 };
        let covers = near.of(at).map(|(cosine, facts)| (cosine, known(facts)));
        let covers: Vec<Cover<'_>> = covers.collect();
        let own = || known(listed.sayings.stated(*text));
        cover(listed.check.then(own), &covers)
    });
    Ok(covered.collect())
}

/// The texts that can cover, and the turns that they can.
fn gathered(listed: Listed<'_>, near: Option<Near<'_>>) -> (Vec<Text>, Vec<Turn>) {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::with_capacity(listed.texts.len());
    for (at, text) in listed.texts.iter().enumerate() {
        if let Some(text) = text {
            places.entry(*text).or_default().push(at);
        }
    }
    let crowded: HashMap<u64, &Vec<Twin>> = listed.crowded.iter().map(|(a, b)| (*a, b)).collect();
    let twins = |text: u64| {
        let kept = listed.sayings.twins(text);
        let all = crowded.get(&text).copied().or(kept).into_iter().flatten();
        all.filter(|one| one.cosine >= listed.same && places.contains_key(&one.text))
    };
    let mut order: Vec<(u64, &Vec<usize>)> = places
        .iter()
        .filter(|(text, at)| at.len() > 1 || twins(**text).next().is_some())
        .map(|(text, at)| (*text, at))
        .collect();
    order.sort_unstable_by_key(|(_, at)| at.first().copied());
    let numbers = order.iter().enumerate().map(|(at, (text, _))| (*text, at));
    let numbers: HashMap<u64, usize> = numbers.collect();
    let mut turns: Vec<Turn> = Vec::new();
    let mut texts: Vec<Text> = Vec::with_capacity(order.len());
    for (number, (text, at)) in order.into_iter().enumerate() {
        let others = twins(text).filter_map(|one| Some((one.cosine, *numbers.get(&one.text)?)));
        texts.push(Text {
            twins: std::iter::once((1.0, number)).chain(others).collect(),
            counting: at.len(),
            places: at.clone(),
            facts: listed.sayings.stated(text).cloned(),
        });
        turns.extend(at.iter().map(|place| {
            Turn {
                place: *place,
                text: number,
                memories: near
                    .into_iter()
                    .flat_map(|near| near.of(*place))
                    .map(|(cosine, facts)| (cosine, facts.cloned()))
                    .collect(),
            }
        }));
    }
    (texts, turns)
}
