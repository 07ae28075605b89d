//! What a record of the log is tied to: words behind its sources, told from ids by their top bit.
//!
//! ```text
//! word     63      1     set: no id is so large         56..62 7   what it says
//!          0..55   56    a number, an id or microseconds since 1970 UTC
//!
//!          1   the entry before this one on its path, 0 for none
//!          2   the id of the first version of a cell    3   when that one was put
//!          4   the record that a patch changes, that an entry replaces (0 for none), or that this one is the
//!              second copy of
//!          5   what became of a row of a batch, one word a row, in their order: four times an id, and
//!              0 nothing, 1 written under it, 2 left out for what is there under it
//! ```
//!
//! They lie beside what is encrypted, so that the writer can say under its lock what nobody knows before,
//! and so that the order of a list is known without a key.

use crate::entry::Seq;

const TIE: u64 = 1 << 63;
const BITS: u32 = 56;
const MASK: u64 = (1 << BITS) - 1;
const PARENT: u64 = 1;
const BORN: u64 = 2;
const BORN_AT: u64 = 3;
const OF: u64 = 4;
const ANSWER: u64 = 5;

/// The first version of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born {
    /// Its id.
    pub seq: Seq,
    /// When it was put, in microseconds since 1970 UTC.
    pub at: u64,
}

/// What a record is tied to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The entry before this one on its path; id 0 where it is the first.
    pub parent: Option<Seq>,
    /// The first version of the cell, where that one is gone.
    pub born: Option<Born>,
    /// The record that this one changes, or the entry that it replaces, 0 for none; of the second copy of a
    /// record, the first one.
    pub of: Option<Seq>,
    /// Of a cell that remembers a batch: what became of its rows, as numbers.
    pub answers: Vec<u64>,
}

impl Links {
    /// An id that is not known yet: the writer fills it in under its lock. It is never on disk.
    pub const AT_COMMIT: Seq = Seq(MASK);

    /// The words, in the order of their numbers.
    pub(in crate::cold) fn words(&self) -> Vec<u64> {
        let mut out = Vec::new();
        let mut put = |what: u64, value: u64| out.push(TIE | what << BITS | (value & MASK));
        if let Some(parent) = self.parent {
            put(PARENT, parent.0);
        }
        if let Some(born) = self.born {
            put(BORN, born.seq.0);
            put(BORN_AT, born.at);
        }
        if let Some(of) = self.of {
            put(OF, of.0);
        }
        for answer in &self.answers {
            put(ANSWER, *answer);
        }
        out
    }

    /// The ids among these words, and what the others say, if there are any; a word of a newer version
    /// says nothing.
    pub(in crate::cold) fn split(
        words: impl Iterator<Item = u64>,
    ) -> (Vec<Seq>, Option<Box<Self>>) {
        let (mut sources, mut found) = (Vec::new(), None::<Box<Self>>);
        let (mut born, mut at) = (None, 0);
        for word in words {
            if word & TIE == 0 {
                sources.push(Seq(word));
                continue;
            }
            let links = found.get_or_insert_default();
            let (what, value) = ((word & !TIE) >> BITS, word & MASK);
            match what {
                PARENT => links.parent = Some(Seq(value)),
                BORN => born = Some(Seq(value)),
                BORN_AT => at = value,
                OF => links.of = Some(Seq(value)),
                ANSWER => links.answers.push(value),
                _ => {}
            }
        }
        if let Some(links) = &mut found {
            links.born = born.map(|seq| Born { seq, at });
        }
        (sources, found)
    }

    /// Whether a number can be an id: its top bit is not set.
    pub(in crate::cold) fn is_id(number: u64) -> bool {
        number & TIE == 0
    }

    /// Whether a word says the same thing as another one, of whatever record.
    pub(in crate::cold) fn says_the_same(word: u64, other: u64) -> bool {
        word >> BITS == other >> BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids() -> impl Strategy<Value = Option<Seq>> {
        prop::option::of((0..=MASK).prop_map(Seq))
    }

    proptest! {
        #[test]
        fn links_come_back_and_are_no_ids(
            parent in ids(),
            born in prop::option::of((0..=MASK, 0..=MASK)),
            of in ids(),
            answers in prop::collection::vec(0..=MASK, 0..4),
            sources in prop::collection::vec(0..TIE, 0..4),
        ) {
            let born = born.map(|(seq, at)| Born { seq: Seq(seq), at });
            let links = Links { parent, born, of, answers };
            let words = links.words();
            prop_assert!(words.iter().all(|word| !Links::is_id(*word)));
            prop_assert!(sources.iter().all(|source| Links::is_id(*source)));
            for word in &words {
                let same = words.iter().filter(|other| Links::says_the_same(*word, **other));
                let is_answer = Links::says_the_same(*word, TIE | ANSWER << BITS);
                prop_assert!(is_answer || same.count() == 1, "{:x}", word);
            }
            let mixed = sources.iter().copied().chain(words);
            let (found, back) = Links::split(mixed);
            prop_assert_eq!(found, sources.into_iter().map(Seq).collect::<Vec<_>>());
            let expected = (links != Links::default()).then(|| Box::new(links));
            prop_assert_eq!(back, expected);
        }

        #[test]
        fn no_word_is_fatal(words in prop::collection::vec(any::<u64>(), 0..12)) {
            let (sources, links) = Links::split(words.iter().copied());
            prop_assert!(sources.len() <= words.len());
            let links = links.map(|links| *links).unwrap_or_default();
            let (none, again) = Links::split(links.words().into_iter());
            prop_assert!(none.is_empty());
            prop_assert_eq!(again.map(|links| *links).unwrap_or_default(), links);
        }
    }

    #[test]
    fn a_word_of_a_newer_version_says_nothing() {
        let (sources, links) = Links::split([TIE | 99 << BITS | 5, 7].into_iter());
        assert_eq!((sources, links), (vec![Seq(7)], Some(Box::default())));
    }
}
