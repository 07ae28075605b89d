//! Writing conversations as one section.

use std::io::Write;

use super::encode::{links_of, names_of, row_bytes};
use super::{Ends, MAGIC, VectorRecord, long};
use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::packed::Stream;
use crate::turns::talk::Turns;

/// One conversation that is to be saved.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// Its key, as bytes that no other conversation has.
    pub key: &'a [u8],
    /// Its turns.
    pub turns: &'a Turns,
    /// Whatever else is kept of it, as bytes that this stage does not read.
    pub beside: &'a [u8],
}

/// What is to be saved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// The conversations, in any order.
    pub conversations: &'a [Conversation<'a>],
    /// Where their vectors lie, in any order.
    pub vectors: &'a [VectorRecord],
    /// Whatever else is kept, as bytes that this stage does not read.
    pub note: &'a [u8],
}

/// Writes what one conversation has in a column.
type Part = fn(&Turns, &mut Stream<'_>) -> Result<()>;

/// Write conversations as one section, and say how long it is.
///
/// # Errors
/// [`Error::Io`] from `out`; [`Error::Argument`] when two have the same key, or one view has two
/// records of vectors.
pub fn write(out: &mut dyn Write, contents: &Contents<'_>) -> Result<u64> {
    let mut sorted: Vec<&Conversation<'_>> = contents.conversations.iter().collect();
    sorted.sort_unstable_by_key(|one| one.key);
    each_once("conversations", sorted.iter().map(|one| one.key))?;
    let mut vectors = contents.vectors.to_vec();
    vectors.sort_unstable();
    each_once("vectors", vectors.iter().map(VectorRecord::place))?;
    let links: Vec<Vec<u8>> = sorted.iter().map(|one| links_of(one.turns)).collect();
    let names: Vec<Vec<u8>> = sorted.iter().map(|one| names_of(one.turns)).collect();
    let mut stream = Stream::new(out, MAGIC)?;
    let mut ends = Ends::default();
    stream.column()?;
    for ((one, links), names) in sorted.iter().zip(&links).zip(&names) {
        let tree = one.turns.tree();
        ends.key += long(one.key.len());
        ends.turns += long(tree.ids().len());
        ends.path += long(tree.path().len());
        ends.links += long(links.len());
        ends.names += long(names.len());
        ends.beside += long(one.beside.len());
        for word in ends.words() {
            stream.put(&word.to_le_bytes())?;
        }
        for id in [tree.ids().first(), tree.ids().last()] {
            stream.put(&id.copied().unwrap_or_default().0.to_le_bytes())?;
        }
        stream.put(&one.turns.fingerprint().to_le_bytes())?;
    }
    stream.column()?;
    sorted.iter().try_for_each(|one| stream.put(one.key))?;
    let parts: [Part; 5] = [
        |turns, stream| put_ids(stream, turns.tree().ids()),
        |turns, stream| put_ids(stream, turns.tree().parents()),
        |turns, stream| stream.put(turns.tree().digests().as_flattened()),
        |turns, stream| {
            let mut rows = turns.rows().all().iter();
            rows.try_for_each(|row| stream.put(&row_bytes(row)))
        },
        |turns, stream| put_ids(stream, turns.tree().path()),
    ];
    for part in parts {
        stream.column()?;
        sorted
            .iter()
            .try_for_each(|one| part(one.turns, &mut stream))?;
    }
    stream.column()?;
    links.iter().try_for_each(|bytes| stream.put(bytes))?;
    stream.column()?;
    names.iter().try_for_each(|bytes| stream.put(bytes))?;
    stream.column()?;
    sorted.iter().try_for_each(|one| stream.put(one.beside))?;
    let mut owners: Vec<(Seq, u32)> = Vec::new();
    for (number, one) in (0_u32..).zip(&sorted) {
        owners.extend(one.turns.tree().ids().iter().map(|id| (*id, number)));
    }
    owners.sort_unstable();
    stream.column()?;
    for (id, number) in owners {
        stream.put(&id.0.to_le_bytes())?;
        stream.put(&number.to_le_bytes())?;
    }
    stream.column()?;
    vectors
        .iter()
        .try_for_each(|one| stream.put(&one.bytes()))?;
    stream.column()?;
    stream.put(contents.note)?;
    stream.finish()
}

/// Refuse what is there twice, among what is in order.
fn each_once<T: PartialEq>(name: &'static str, all: impl Iterator<Item = T> + Clone) -> Result<()> {
    if all.clone().zip(all.skip(1)).any(|(one, next)| one == next) {
        return Err(Error::Argument {
            name,
            expected: "each of them once".into(),
            found: "one twice".into(),
        });
    }
    Ok(())
}

fn put_ids(stream: &mut Stream<'_>, ids: &[Seq]) -> Result<()> {
    ids.iter()
        .try_for_each(|id| stream.put(&id.0.to_le_bytes()))
}
