//! Writing a lexicon: what was saved and what was added since, without what left, as one section.

use std::collections::HashMap;
use std::io::Write;

use super::part::Part;
use super::postings::{Posting, doc, posting, times};
use super::saved::{MAGIC, Saved, Share};
use super::{Key, Lexicon, Slot, position};
use crate::error::Result;
use crate::packed::Stream;

/// The number of a document that is left out.
const OUT: u32 = u32::MAX;

/// Where a document was before.
#[derive(Clone, Copy)]
enum Origin<'a> {
    Saved(&'a Saved, u32),
    Added(&'a Part, u32),
}

/// The documents in their new order, and their new numbers by where they were.
struct Order<'a> {
    documents: Vec<(Slot, u32, Origin<'a>)>,
    parts: Vec<(Key, Share)>,
    saved: Vec<u32>,
    added: HashMap<Key, Vec<u32>>,
}

impl Lexicon {
    /// Writes everything that lives as one section, which [`Lexicon::open`] reads, and says how long
    /// it is. `renumber` gives the slot that an entry will have when the section is opened, or leaves
    /// it out. Takes the memory of the terms' texts, and some 40 bytes an entry.
    ///
    /// # Errors
    /// [`crate::Error::Io`] from `out`; [`crate::Error::SavedIndex`] if saved bytes are damaged.
    pub(in crate::hot) fn write(
        &self,
        out: &mut dyn Write,
        renumber: &dyn Fn(Slot) -> Option<Slot>,
    ) -> Result<u64> {
        let order = self.order(renumber)?;
        let mut stream = Stream::new(out, MAGIC)?;
        // Old number of a term ─▶ new one; and what the columns of terms will hold.
        let mut ranks: HashMap<u32, u32> = HashMap::new();
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        let mut lists: HashMap<u32, Vec<(Key, &[Posting])>> = HashMap::new();
        for (key, part) in &self.parts {
            for (number, list) in &part.lists {
                lists
                    .entry(*number)
                    .or_default()
                    .push((*key, list.as_slice()));
            }
        }
        let mut written = 0_u64;
        let mut found: Vec<Posting> = Vec::new();
        stream.column()?;
        for (term, number) in self.vocabulary()? {
            found.clear();
            self.gather(number, &order, &lists, &mut found)?;
            if found.is_empty() {
                continue;
            }
            ranks.insert(number, u32::try_from(ranks.len()).unwrap_or(OUT));
            written += long(found.len());
            text.extend_from_slice(term);
            ends.extend(long(text.len()).to_le_bytes());
            ends.extend(written.to_le_bytes());
            let peak = found.iter().map(|posting| times(*posting)).max();
            ends.extend(u64::from(peak.unwrap_or(0)).to_le_bytes());
            stream.put(found.as_flattened())?;
        }
        stream.column()?;
        stream.put(&ends)?;
        stream.column()?;
        stream.put(&text)?;
        order.write(&mut stream, &ranks)?;
        stream.finish()
    }

    /// All terms in order of their bytes, with their numbers.
    fn vocabulary(&self) -> Result<Vec<(&[u8], u32)>> {
        let mut all = Vec::with_capacity(self.numbers.len());
        if let Some(saved) = &self.saved {
            for number in 0..saved.terms() {
                all.push((saved.text(number)?, number));
            }
        }
        all.extend(
            self.numbers
                .iter()
                .map(|(term, number)| (term.as_bytes(), number)),
        );
        all.sort_unstable();
        Ok(all)
    }

    /// The postings of a term, under their new numbers.
    fn gather(
        &self,
        number: u32,
        order: &Order<'_>,
        lists: &HashMap<u32, Vec<(Key, &[Posting])>>,
        out: &mut Vec<Posting>,
    ) -> Result<()> {
        let mut take = |list: &[Posting], numbers: &[u32]| {
            for old in list {
                let new = numbers.get(position(doc(*old))).copied().unwrap_or(OUT);
                if new != OUT {
                    out.push(posting(new, u32::from(times(*old))));
                }
            }
        };
        if let Some(saved) = &self.saved {
            take(saved.postings(number, 0, u32::MAX)?, &order.saved);
        }
        for (key, list) in lists.get(&number).into_iter().flatten() {
            take(list, order.added.get(key).map_or(&[], Vec::as_slice));
        }
        out.sort_unstable_by_key(|posting| doc(*posting));
        Ok(())
    }

    fn order(&self, renumber: &dyn Fn(Slot) -> Option<Slot>) -> Result<Order<'_>> {
        let mut keys: Vec<Key> = self.parts.keys().copied().collect();
        let saved = self.saved.as_ref();
        for at in 0..saved.map_or(0, Saved::parts) {
            keys.extend(
                saved
                    .map(|saved| saved.part(at))
                    .transpose()?
                    .map(|part| part.0),
            );
        }
        keys.sort_unstable();
        keys.dedup();
        let mut order = Order {
            documents: Vec::new(),
            parts: Vec::with_capacity(keys.len()),
            saved: vec![OUT; saved.map_or(0, |saved| position(saved.documents()))],
            added: HashMap::new(),
        };
        for key in keys {
            let mut mine = Vec::new();
            if let Some(saved) = saved
                && let Some(share) = saved.share(key)?
            {
                for old in (share.first..share.end()).filter(|old| !self.dead.has(*old)) {
                    let length = saved.lengths(old, old.saturating_add(1))?.first().copied();
                    let length = length.map_or(0, u32::from_le_bytes);
                    let slot = renumber(saved.slot(old)?);
                    mine.extend(slot.map(|slot| (slot, length, Origin::Saved(saved, old))));
                }
            }
            if let Some(part) = self.parts.get(&key) {
                order.added.insert(key, vec![OUT; part.slots.len()]);
                for (old, slot) in (0..).zip(&part.slots) {
                    let slot = renumber(u32::from_le_bytes(*slot)).filter(|_| !part.dead.has(old));
                    let origin = Origin::Added(part, old);
                    mine.extend(slot.map(|slot| (slot, part.length_of(old), origin)));
                }
            }
            mine.sort_unstable_by_key(|document| document.0);
            order.extend(key, mine);
        }
        Ok(order)
    }
}

impl<'a> Order<'a> {
    /// Numbers the documents of the next conversation.
    fn extend(&mut self, key: Key, mine: Vec<(Slot, u32, Origin<'a>)>) {
        if mine.is_empty() {
            return;
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(OUT);
        let share = Share {
            first: count(self.documents.len()),
            count: count(mine.len()),
            length: mine.iter().map(|document| u64::from(document.1)).sum(),
        };
        for ((_, _, origin), new) in mine.iter().zip(share.first..) {
            let (numbers, old) = match origin {
                Origin::Saved(_, old) => (Some(&mut self.saved), *old),
                Origin::Added(_, old) => (self.added.get_mut(&key), *old),
            };
            if let Some(number) = numbers.and_then(|numbers| numbers.get_mut(position(old))) {
                *number = new;
            }
        }
        self.documents.extend(mine);
        self.parts.push((key, share));
    }

    /// The columns that have an entry a document or a conversation.
    fn write(&self, stream: &mut Stream<'_>, ranks: &HashMap<u32, u32>) -> Result<()> {
        let mut ends = Vec::with_capacity(self.documents.len() * 8);
        let mut terms: Vec<u32> = Vec::new();
        let mut written = 0_u64;
        stream.column()?;
        for (_, _, origin) in &self.documents {
            terms.clear();
            let rank = |number: u32| ranks.get(&number).copied();
            match origin {
                Origin::Saved(saved, old) => terms.extend(saved.terms_of(*old)?.filter_map(rank)),
                Origin::Added(part, old) => {
                    terms.extend(part.terms_of(*old).iter().copied().filter_map(rank));
                }
            }
            terms.sort_unstable();
            written += long(terms.len());
            ends.extend(written.to_le_bytes());
            for term in &terms {
                stream.put(&term.to_le_bytes())?;
            }
        }
        stream.column()?;
        stream.put(&ends)?;
        stream.column()?;
        for (_, length, _) in &self.documents {
            stream.put(&length.to_le_bytes())?;
        }
        stream.column()?;
        for (slot, _, _) in &self.documents {
            stream.put(&slot.to_le_bytes())?;
        }
        stream.column()?;
        for ((tenant, conversation), share) in &self.parts {
            for word in [*tenant, *conversation, share.first, share.count] {
                stream.put(&word.to_le_bytes())?;
            }
            stream.put(&share.length.to_le_bytes())?;
        }
        Ok(())
    }
}

fn long(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
