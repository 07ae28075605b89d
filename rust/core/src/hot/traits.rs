//! What the caller read out of each entry's text, beside its terms: questions, times, numbers.

use super::catalog::{Slot, position};

/// Days since 1970, the first and the last of a range.
pub type Days = (i32, i32);

/// What is known of one entry's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// The part of its words that stand in questions, 0 to 1.
    pub asking: f32,
    /// Whether it ends with a question, so that the next entry answers it.
    pub ends_asking: bool,
    /// Whether it tells when something was, is or will be.
    pub tells_time: bool,
    /// Whether it has a number.
    pub tells_number: bool,
    /// The days that it speaks of.
    pub days: Vec<Days>,
}

impl Traits {
    /// Whether the entry was said on, or speaks of, a day that is asked for.
    ///
    /// `said` is the day of the entry, `asked` what the query speaks of.
    #[must_use]
    pub fn meets(&self, said: i32, asked: &[Days]) -> bool {
        let shared =
            |first: i32, last: i32| asked.iter().any(|(from, to)| first <= *to && *from <= last);
        shared(said, said) || self.days.iter().any(|(first, last)| shared(*first, *last))
    }
}

/// The traits of every entry that has any.
#[derive(Debug, Default)]
pub(super) struct TraitBook {
    /// One past the place of a slot's traits; 0 where it has none.
    places: Vec<u32>,
    known: Vec<Traits>,
    plain: Traits,
}

impl TraitBook {
    /// Takes note of an entry's traits.
    pub(super) fn put(&mut self, slot: Slot, traits: Traits) {
        let at = position(slot);
        if let Some(known) = self.place(slot).and_then(|at| self.known.get_mut(at)) {
            *known = traits;
        } else if traits != self.plain {
            if self.places.len() <= at {
                self.places.resize(at + 1, 0);
            }
            self.known.push(traits);
            if let Some(place) = self.places.get_mut(at) {
                *place = u32::try_from(self.known.len()).unwrap_or_default();
            }
        }
    }

    /// Forgets an entry.
    pub(super) fn remove(&mut self, slot: Slot) {
        if self.place(slot).is_some() {
            self.put(slot, Traits::default());
        }
    }

    /// An entry's traits; an entry that was not described has none.
    pub(super) fn of(&self, slot: Slot) -> &Traits {
        let known = self.place(slot).and_then(|at| self.known.get(at));
        known.unwrap_or(&self.plain)
    }

    fn place(&self, slot: Slot) -> Option<usize> {
        let place = self.places.get(position(slot)).copied()?;
        usize::try_from(place).ok()?.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_where_they_share_a_day() {
        let traits = Traits {
            days: vec![(20, 29)],
            ..Traits::default()
        };
        assert!(traits.meets(10, &[(29, 40)]) && traits.meets(10, &[(0, 10)]));
        assert!(!traits.meets(10, &[(11, 19), (30, 30)]) && !traits.meets(10, &[]));
    }
}
