//! The turns of all conversations of a store as columns in bytes.
//!
//! Opening reads a foot of constant size and the checks; a conversation's columns are read, and their
//! blocks checked, when it is first asked for. Whatever the bytes are, the worst that comes of them is
//! [`crate::Error::SavedIndex`]: what lies here can be made again from the records.
//!
//! ```text
//! conversations  80   end of: key 8, turns 8, path 8, links 8, names 8, beside 8; then the least id 8,
//!                     the greatest id 8, a hash of all that 16
//! keys                the keys, ascending, one behind the other
//! ids, parents   8    digests 16    rows 32    path 8      conversation by conversation
//! links               place 4, length 4, then the links of the message at that place
//! names               the names of roles, then those of speakers: count 4, then length 4 and bytes each
//! beside              bytes of the caller's
//! owners         12   every id, ascending, and the number of its conversation
//! vectors        24   entry 8, generation 4, view 4, ascending, then the record of the vectors 8
//! note                bytes of the caller's
//! ```

mod encode;
mod write;

use std::ops::Range;

use self::encode::{ROW, read_links, read_names, row_of};
use super::rows::Rows;
use super::talk::Turns;
use super::tree::{Digest, ROOT, Tree};
use crate::entry::Seq;
use crate::error::Result;
use crate::packed::{Packed, SharedBytes};

pub use write::{Contents, Conversation, write};

const MAGIC: [u8; 8] = *b"wmturns1";

/// The columns, in the order in which they lie.
#[derive(Clone, Copy)]
enum Column {
    Conversations,
    Keys,
    Ids,
    Parents,
    Digests,
    Rows,
    Paths,
    Links,
    Names,
    Beside,
    Owners,
    Vectors,
    Note,
}

impl Column {
    const COUNT: usize = 13;

    fn number(self) -> usize {
        match self {
            Self::Conversations => 0,
            Self::Keys => 1,
            Self::Ids => 2,
            Self::Parents => 3,
            Self::Digests => 4,
            Self::Rows => 5,
            Self::Paths => 6,
            Self::Links => 7,
            Self::Names => 8,
            Self::Beside => 9,
            Self::Owners => 10,
            Self::Vectors => 11,
            Self::Note => 12,
        }
    }
}

const ENTRY: usize = 80;
const OWNER: usize = 12;
const VECTOR: usize = 24;

/// Where a conversation's parts end in their columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    key: u64,
    turns: u64,
    path: u64,
    links: u64,
    names: u64,
    beside: u64,
}

impl Ends {
    fn words(self) -> [u64; 6] {
        [
            self.key,
            self.turns,
            self.path,
            self.links,
            self.names,
            self.beside,
        ]
    }

    fn read(entry: &[u8; ENTRY]) -> Self {
        let mut words = entry
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or_default();
        Self {
            key: next(),
            turns: next(),
            path: next(),
            links: next(),
            names: next(),
            beside: next(),
        }
    }
}

/// The record that has the vectors of an entry in one view, by one embedder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VectorRecord {
    /// The entry that they were made of.
    pub of: Seq,
    /// The embedder's generation.
    pub generation: u32,
    /// The number of the view.
    pub view: u32,
    /// The record.
    pub record: Seq,
}

impl VectorRecord {
    fn place(&self) -> (Seq, u32, u32) {
        (self.of, self.generation, self.view)
    }

    fn bytes(&self) -> [u8; VECTOR] {
        let view = u64::from(self.view) << 32 | u64::from(self.generation);
        let mut out = [0; VECTOR];
        let words = [self.of.0, view, self.record.0].map(u64::to_le_bytes);
        out.copy_from_slice(words.as_flattened());
        out
    }

    fn read(bytes: &[u8; VECTOR]) -> Self {
        let mut words = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .copied()
            .map(u64::from_le_bytes);
        let mut next = || words.next().unwrap_or_default();
        let (of, view, record) = (next(), next(), next());
        let low = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default();
        Self {
            of: Seq(of),
            generation: low(view),
            view: low(view >> 32),
            record: Seq(record),
        }
    }
}

/// Conversations that were saved.
#[derive(Debug)]
pub struct Saved {
    packed: Packed,
}

/// A conversation as it was saved.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its turns.
    pub turns: Turns,
    /// What was kept of it besides.
    pub beside: Vec<u8>,
}

impl Saved {
    /// Opens the section that ends at `end`.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] when the bytes are not such a section.
    pub fn open(bytes: SharedBytes, end: usize) -> Result<Self> {
        let packed = Packed::open(bytes, end, MAGIC, Column::COUNT)?;
        let saved = Self { packed };
        let last = match saved.len().checked_sub(1) {
            Some(last) => saved.ends(last)?,
            None => Ends::default(),
        };
        let fits = |column: Column, width: usize, count: u64| {
            long(saved.packed.len(column.number(), 1)) == count.saturating_mul(long(width))
        };
        let whole = fits(Column::Keys, 1, last.key)
            && fits(Column::Ids, 8, last.turns)
            && fits(Column::Parents, 8, last.turns)
            && fits(Column::Digests, 16, last.turns)
            && fits(Column::Rows, ROW, last.turns)
            && fits(Column::Paths, 8, last.path)
            && fits(Column::Links, 1, last.links)
            && fits(Column::Names, 1, last.names)
            && fits(Column::Beside, 1, last.beside)
            && fits(Column::Owners, OWNER, last.turns)
            && saved
                .packed
                .len(Column::Vectors.number(), 1)
                .is_multiple_of(VECTOR);
        if whole {
            Ok(saved)
        } else {
            Err(saved.packed.damaged("its columns do not fit each other"))
        }
    }

    /// The number of conversations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packed.len(Column::Conversations.number(), ENTRY)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of a conversation, by its number; keys ascend.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn key(&self, number: usize) -> Result<&[u8]> {
        let (from, to) = self.between(number)?;
        self.packed
            .read(Column::Keys.number(), span(from.key, to.key))
    }

    /// The number of the conversation with a key.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn find(&self, key: &[u8]) -> Result<Option<usize>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok((low < self.len() && self.key(low)? == key).then_some(low))
    }

    /// The number of turns of a conversation.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn turns(&self, number: usize) -> Result<u64> {
        let (from, to) = self.between(number)?;
        Ok(to.turns.saturating_sub(from.turns))
    }

    /// The number of the conversation that has a message.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn owner(&self, id: Seq) -> Result<Option<usize>> {
        let column = Column::Owners.number();
        let count = self.packed.len(column, OWNER);
        let owner = |bytes: [u8; OWNER]| {
            let (id, number) = bytes.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
            let number = number.first_chunk::<4>().copied().unwrap_or_default();
            (Seq(u64::from_le_bytes(*id)), u32::from_le_bytes(number))
        };
        let below = |bytes| owner(bytes).0 < id;
        let at = self.packed.partition::<OWNER>(column, 0..count, below)?;
        if at == count {
            return Ok(None);
        }
        let (found, number) = owner(self.packed.entry::<OWNER>(column, at)?);
        Ok((found == id)
            .then(|| usize::try_from(number).ok())
            .flatten())
    }

    /// The first message of a conversation by id; 0 without any.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn first(&self, number: usize) -> Result<Seq> {
        let entry = self.entry(number)?;
        let id = entry.get(48..).and_then(|rest| rest.first_chunk::<8>());
        Ok(id.map_or(ROOT, |id| Seq(u64::from_le_bytes(*id))))
    }

    /// The fingerprint of a conversation; see [`Turns::fingerprint`].
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn fingerprint(&self, number: usize) -> Result<u128> {
        let entry = self.entry(number)?;
        Ok(entry
            .last_chunk()
            .map_or(0, |bytes| u128::from_le_bytes(*bytes)))
    }

    /// The ids of a conversation's messages, ascending.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn messages(&self, number: usize) -> Result<Vec<Seq>> {
        let (from, to) = self.between(number)?;
        self.ids(Column::Ids, span(from.turns, to.turns))
    }

    /// What was kept of a conversation besides its turns.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn beside(&self, number: usize) -> Result<&[u8]> {
        let (from, to) = self.between(number)?;
        self.packed
            .read(Column::Beside.number(), span(from.beside, to.beside))
    }

    /// The record with the vectors of an entry in a view, by an embedder's generation.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn vector(&self, of: Seq, generation: u32, view: u32) -> Result<Option<Seq>> {
        let column = Column::Vectors.number();
        let count = self.packed.len(column, VECTOR);
        let wanted = (of, generation, view);
        let below = |bytes| VectorRecord::read(&bytes).place() < wanted;
        let at = self.packed.partition::<VECTOR>(column, 0..count, below)?;
        if at == count {
            return Ok(None);
        }
        let found = VectorRecord::read(&self.packed.entry::<VECTOR>(column, at)?);
        Ok((found.place() == wanted).then_some(found.record))
    }

    /// All records of vectors, in order.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn vectors(&self) -> Result<impl ExactSizeIterator<Item = VectorRecord>> {
        let column = Column::Vectors.number();
        let all = self
            .packed
            .entries::<VECTOR>(column, 0..self.packed.len(column, VECTOR))?;
        Ok(all.iter().map(VectorRecord::read))
    }

    /// What the caller wrote beside all that.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn note(&self) -> Result<&[u8]> {
        let column = Column::Note.number();
        self.packed.read(column, 0..self.packed.len(column, 1))
    }

    /// A conversation by its number.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage, and for a number that is none.
    pub fn load(&self, number: usize) -> Result<Loaded> {
        let (from, to) = self.between(number)?;
        let turns = span(from.turns, to.turns);
        let odd = |what: &str| {
            self.packed
                .damaged(&format!("conversation {number}: {what}"))
        };
        let ids = self.ids(Column::Ids, turns.clone())?;
        let parents = self.ids(Column::Parents, turns.clone())?;
        let digests: &[Digest] = self
            .packed
            .entries(Column::Digests.number(), turns.clone())?;
        let path = self.ids(Column::Paths, span(from.path, to.path))?;
        let tree = Tree::restored(ids, parents, digests.to_vec(), path)
            .ok_or_else(|| odd("its messages do not make a tree"))?;
        let packed = self.packed.entries::<ROW>(Column::Rows.number(), turns)?;
        let mut rows = Vec::with_capacity(packed.len());
        for row in packed {
            rows.push(row_of(row).ok_or_else(|| odd("a row has unknown numbers"))?);
        }
        let mut rows = Rows::restored(rows);
        let bytes = self
            .packed
            .read(Column::Links.number(), span(from.links, to.links))?;
        read_links(bytes, &mut rows).ok_or_else(|| odd("its links do not fit"))?;
        let bytes = self
            .packed
            .read(Column::Names.number(), span(from.names, to.names))?;
        let (roles, speakers) = read_names(bytes).ok_or_else(|| odd("its names do not fit"))?;
        let turns = Turns::restored(tree, rows, roles, speakers)
            .ok_or_else(|| odd("a message has a name that is not there"))?;
        if self.fingerprint(number)? != turns.fingerprint() {
            return Err(odd("it is another one than was saved"));
        }
        Ok(Loaded {
            turns,
            beside: self.beside(number)?.to_vec(),
        })
    }

    /// Checks every byte.
    ///
    /// # Errors
    /// [`crate::Error::SavedIndex`] for damage.
    pub fn verify(&self) -> Result<()> {
        self.packed.verify()
    }

    fn ids(&self, column: Column, range: Range<usize>) -> Result<Vec<Seq>> {
        let words = self.packed.entries::<8>(column.number(), range)?;
        Ok(words
            .iter()
            .map(|word| Seq(u64::from_le_bytes(*word)))
            .collect())
    }

    fn ends(&self, number: usize) -> Result<Ends> {
        Ok(Ends::read(&self.entry(number)?))
    }

    fn entry(&self, number: usize) -> Result<[u8; ENTRY]> {
        self.packed.entry(Column::Conversations.number(), number)
    }

    fn between(&self, number: usize) -> Result<(Ends, Ends)> {
        let from = match number.checked_sub(1) {
            Some(before) => self.ends(before)?,
            None => Ends::default(),
        };
        Ok((from, self.ends(number)?))
    }
}

fn span(from: u64, to: u64) -> Range<usize> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    place(from)..place(to)
}

fn long(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
