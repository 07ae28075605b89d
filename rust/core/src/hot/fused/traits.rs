//! What the caller read out of each entry's text, beside its terms: questions, times, numbers.

use std::io::{self, Write};

use crate::error::Result;
use crate::hot::catalog::{Kept, Slot, position};
use crate::hot::file::{Saved, Writer};

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
pub(in crate::hot) struct TraitBook {
    /// One past the place of a slot's traits; 0 where it has none.
    places: Vec<u32>,
    known: Vec<Traits>,
    plain: Traits,
}

impl TraitBook {
    /// Takes note of an entry's traits.
    pub(in crate::hot) fn put(&mut self, slot: Slot, traits: Traits) {
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
    pub(in crate::hot) fn remove(&mut self, slot: Slot) {
        if self.place(slot).is_some() {
            self.put(slot, Traits::default());
        }
    }

    /// An entry's traits; an entry that was not described has none.
    pub(in crate::hot) fn of(&self, slot: Slot) -> &Traits {
        let known = self.place(slot).and_then(|at| self.known.get(at));
        known.unwrap_or(&self.plain)
    }

    /// Writes the traits of the kept slots.
    pub(in crate::hot) fn save<W: Write>(
        &self,
        out: &mut Writer<W>,
        kept: &Kept,
    ) -> io::Result<()> {
        let (mut entries, mut days) = (Vec::new(), Vec::new());
        for (slot, number) in kept.slots().zip(0_u32..) {
            let traits = self.of(slot);
            if *traits != self.plain {
                let flags = [traits.ends_asking, traits.tells_time, traits.tells_number];
                let flags = flags.into_iter().zip([1, 2, 4]);
                let flags: u32 = flags.map(|(set, bit)| if set { bit } else { 0 }).sum();
                let count = u32::try_from(traits.days.len()).unwrap_or(u32::MAX);
                entries.push([number, traits.asking.to_bits(), flags, count]);
                days.extend(traits.days.iter().map(|(first, last)| [*first, *last]));
            }
        }
        out.section("traits", |section| section.values(&entries))?;
        out.section("traits.days", |section| section.values(&days))
    }

    /// The saved traits of so many slots.
    pub(in crate::hot) fn open(saved: &Saved, slots: usize) -> Result<Self> {
        let entries = saved.column::<[u32; 4]>("traits")?.all();
        let days = saved.column::<[i32; 2]>("traits.days")?.all();
        saved.damage().check()?;
        let mut days = days.into_iter().map(|[first, last]| (first, last));
        let mut book = Self::default();
        for [slot, asking, flags, count] in entries {
            if position(slot) >= slots {
                return Err(saved.lacks("traits"));
            }
            let traits = Traits {
                asking: f32::from_bits(asking),
                ends_asking: flags & 1 != 0,
                tells_time: flags & 2 != 0,
                tells_number: flags & 4 != 0,
                days: days.by_ref().take(position(count)).collect(),
            };
            book.put(slot, traits);
        }
        Ok(book)
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
