//! The terms that are not saved, with their numbers.
//!
//! A term is kept for as long as a living document has it, and a while longer: when more terms than half
//! are in no document, they go, and their numbers are given to others. So terms that come and go, as
//! numbers and names do, take no more room than those that are there. Lists of documents that left may
//! still hold such a number; nobody asks for those documents.

use std::collections::HashMap;

/// Fewer unused terms than this are not worth looking at all of them; tests have few terms.
const FEW: usize = if cfg!(test) { 8 } else { 1024 };

#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    numbers: HashMap<Box<str>, u32>,
    /// The first number; those before it are of saved terms.
    base: u32,
    /// By number: how many living documents have the term.
    uses: Vec<u32>,
    /// Numbers of no term.
    free: Vec<u32>,
    /// How many terms are in no living document.
    unused: usize,
}

impl Vocabulary {
    /// No terms, numbered on from so many.
    pub(super) fn after(base: u32) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The terms with their numbers, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.numbers.iter().map(|(term, at)| (&**term, *at))
    }

    pub(super) fn number(&self, term: &str) -> Option<u32> {
        self.numbers.get(term).copied()
    }

    /// The number of a term, which gets one if it has none.
    pub(super) fn number_or_new(&mut self, term: &str) -> u32 {
        if let Some(number) = self.number(term) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            let next = u32::try_from(self.uses.len()).unwrap_or(u32::MAX);
            self.uses.push(0);
            self.base.saturating_add(next)
        });
        self.unused += 1;
        self.numbers.insert(term.into(), number);
        number
    }

    /// A document with these terms came; each is listed once.
    pub(super) fn take(&mut self, numbers: &[u32]) {
        for number in numbers {
            if let Some(uses) = self.uses_of(*number) {
                *uses += 1;
                self.unused -= usize::from(*uses == 1);
            }
        }
    }

    /// A document with these terms left.
    pub(super) fn release(&mut self, numbers: &[u32]) {
        for number in numbers {
            if let Some(uses) = self.uses_of(*number).filter(|uses| **uses > 0) {
                *uses -= 1;
                self.unused += usize::from(*uses == 0);
            }
        }
        if self.unused > FEW.max(self.numbers.len() / 2) {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        let Self {
            numbers,
            base,
            uses,
            free,
            ..
        } = self;
        numbers.retain(|_, number| {
            let at = usize::try_from(number.saturating_sub(*base)).ok();
            let used = at.and_then(|at| uses.get(at)).is_some_and(|uses| *uses > 0);
            if !used {
                free.push(*number);
            }
            used
        });
        numbers.shrink_to(numbers.len() * 2);
        self.unused = 0;
    }

    fn uses_of(&mut self, number: u32) -> Option<&mut u32> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.uses.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_come_and_go_take_no_room_and_no_number_of_another() {
        let mut all = Vocabulary::after(7);
        let stays = all.number_or_new("stays");
        all.take(&[stays]);
        for n in 0..50_000_u32 {
            let number = all.number_or_new(&n.to_string());
            assert_ne!(number, stays);
            all.take(&[number]);
            all.take(&[stays]);
            all.release(&[number]);
            all.release(&[stays]);
        }
        assert!(
            all.len() <= FEW + 2 && all.uses.len() <= FEW + 2,
            "{}",
            all.len()
        );
        assert_eq!(all.number("stays"), Some(stays));
        let mut numbers: Vec<u32> = all.iter().map(|(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all.len());
        assert!(numbers.iter().all(|number| *number >= 7));
        // Numbers of saved terms are somebody else's.
        all.release(&[0, 6]);
        all.take(&[6]);
        assert_eq!(
            all.number("49999"),
            all.iter().find(|one| one.0 == "49999").map(|one| one.1)
        );
    }
}
