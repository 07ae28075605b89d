//! The postings of one term: which documents have it, how often, in ascending order of documents.
//!
//! ```text
//! posting   0  4  document, counted within its side (the saved bytes, or a conversation's additions)
//!           4  2  how often, at most 65,535
//! ```
//!
//! In memory and on disk alike, so that one loop reads both. A term that a document has more often
//! than 65,535 times counts as that: BM25 does not tell such numbers apart by more than 10⁻⁴.

/// One document that has a term.
pub(super) type Posting = [u8; 6];

/// A posting's bytes.
pub(super) fn posting(doc: u32, times: u32) -> Posting {
    let times = u16::try_from(times).unwrap_or(u16::MAX);
    let mut out = [0; 6];
    if let Some((head, tail)) = out.split_first_chunk_mut() {
        *head = doc.to_le_bytes();
        tail.copy_from_slice(&times.to_le_bytes());
    }
    out
}

/// The document of a posting.
pub(super) fn doc([a, b, c, d, _, _]: Posting) -> u32 {
    u32::from_le_bytes([a, b, c, d])
}

/// How often the document has the term.
pub(super) fn times([_, _, _, _, e, f]: Posting) -> u16 {
    u16::from_le_bytes([e, f])
}

/// Postings that can grow. Most terms of a conversation are in one of its documents.
#[derive(Debug)]
pub(super) enum List {
    /// One document has the term.
    One(Posting),
    /// Several do; how often the one does that has it most often.
    Many(Vec<Posting>, u16),
}

impl List {
    pub(super) fn push(&mut self, new: Posting) {
        match self {
            Self::One(first) => {
                *self = Self::Many(vec![*first, new], times(*first).max(times(new)));
            }
            Self::Many(all, peak) => {
                all.push(new);
                *peak = times(new).max(*peak);
            }
        }
    }

    pub(super) fn as_slice(&self) -> &[Posting] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(all, _) => all,
        }
    }

    /// How often a document has the term at most.
    pub(super) fn peak(&self) -> u16 {
        match self {
            Self::One(only) => times(*only),
            Self::Many(_, peak) => *peak,
        }
    }
}

/// How many postings are of documents before `wanted`. Looks near the beginning first, so that
/// walking through a list costs what is walked.
pub(super) fn before(list: &[Posting], wanted: u32) -> usize {
    let below = |posting: &Posting| doc(*posting) < wanted;
    if !list.first().is_some_and(below) {
        return 0;
    }
    let mut step = 1;
    while list.get(step).is_some_and(below) {
        step *= 2;
    }
    let known = step / 2 + 1;
    let within = list.get(known..step.min(list.len())).unwrap_or_default();
    known + within.partition_point(below)
}

/// The postings from a document on.
pub(super) fn from(list: &[Posting], wanted: u32) -> &[Posting] {
    list.get(before(list, wanted)..).unwrap_or_default()
}

/// Documents that are marked, one bit each; takes room as marks come.
#[derive(Debug, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    pub(super) fn set(&mut self, doc: u32) {
        let (at, bit) = place(doc);
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            *word |= bit;
        }
    }

    pub(super) fn has(&self, doc: u32) -> bool {
        let (at, bit) = place(doc);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }
}

fn place(doc: u32) -> (usize, u64) {
    (super::position(doc / 64), 1 << (doc % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_finds_what_counting_finds() {
        let list: Vec<Posting> = [3, 4, 9, 10, 11, 12, 40, 41, 500]
            .map(|d| posting(d, 7))
            .into();
        for skip in 0..=list.len() {
            for wanted in 0..502 {
                let rest = list.get(skip..).unwrap();
                let counted = rest.iter().filter(|p| doc(**p) < wanted).count();
                assert_eq!(before(rest, wanted), counted, "{skip} {wanted}");
                assert_eq!(from(rest, wanted).len(), rest.len() - counted);
            }
        }
    }

    #[test]
    fn repeats_are_counted_up_to_a_limit() {
        assert_eq!(times(posting(1, 65_534)), 65_534);
        assert_eq!(times(posting(u32::MAX, 70_000)), u16::MAX);
        assert_eq!(doc(posting(u32::MAX, 70_000)), u32::MAX);
    }

    #[test]
    fn marks_are_kept_one_by_one() {
        let mut marks = Marks::default();
        marks.set(64);
        marks.set(3);
        assert_eq!(
            (0..200).filter(|d| marks.has(*d)).collect::<Vec<_>>(),
            [3, 64]
        );
    }
}
