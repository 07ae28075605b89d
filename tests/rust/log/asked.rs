//! What the dictionary has, as the log takes it, and what the log shows, as the dictionary has it.

use warmset_core::log::{Batch, Columns, Expect, IfPresent, Item, Log, Outcome, Row, Value};
use warmset_core::{Error, Seq};

use crate::world::{Came, Cell, Change, Entry, Id, Key, Taken};

/// A key from its parts.
pub(crate) fn key(parts: &[&[u8]]) -> Key {
    parts.iter().map(|part| part.to_vec()).collect()
}

/// The cell of a key, if there is one.
pub(crate) fn cell(log: &Log, key: &Key, now: i64) -> Result<Option<Cell>, Error> {
    let parts: Vec<&[u8]> = key.iter().map(Vec::as_slice).collect();
    let Some(cell) = log.get(&parts, now)? else {
        return Ok(None);
    };
    assert_eq!(cell.key, *key);
    let Value::Int(column) = *cell.columns.get("n") else {
        panic!("{:?}", cell.columns);
    };
    Ok(Some(Cell {
        version: Id::Known(cell.version),
        born: Id::Known(cell.born.seq),
        at: cell.at,
        payload: cell.payload,
        expires: cell.expires,
        column,
    }))
}

/// The entries of a list, which follow each other.
pub(crate) fn entries(log: &Log, list: &Key, now: i64) -> Result<Vec<Entry>, Error> {
    let parts: Vec<&[u8]> = list.iter().map(Vec::as_slice).collect();
    let found = log.entries(&parts, None, usize::MAX, false, now)?;
    let entry = |entry: warmset_core::log::Entry| Entry {
        seq: Id::Known(entry.seq),
        uid: entry.uid,
        payload: entry.payload,
        expires: entry.expires,
    };
    Ok(found.into_iter().map(entry).collect())
}

/// A condition, owned: whether it is about a tail, whose, and which id is expected.
pub(crate) type Hoped = (bool, Key, Seq);

/// Writes owned rows.
pub(crate) fn written(
    log: &Log,
    rows: &[Change],
    expected: &[Hoped],
    with: &Batch<'_>,
) -> Result<Vec<Outcome>, Error> {
    let how = |taken: &Taken| match taken {
        Taken::Replace => IfPresent::Replace,
        Taken::Skip => IfPresent::Skip,
        Taken::Fail => IfPresent::Fail,
    };
    let column = |n: i64| Columns::new([("n".to_owned(), Value::Int(n))]).unwrap();
    let columns: Vec<Columns> = rows
        .iter()
        .map(|row| match row {
            Change::Put { column: n, .. } | Change::Patch { column: n, .. } => column(*n),
            _ => Columns::default(),
        })
        .collect();
    let keys: Vec<Vec<&[u8]>> = rows
        .iter()
        .map(|row| {
            let (Change::Put { key, .. }
            | Change::Add { list: key, .. }
            | Change::Patch { key, .. }
            | Change::Cut { list: key, .. }
            | Change::Remove(key)
            | Change::RemoveBelow(key)
            | Change::RemoveEntries { list: key, .. }) = row;
            key.iter().map(Vec::as_slice).collect()
        })
        .collect();
    let borrowed: Vec<Row<'_>> = rows
        .iter()
        .zip(&keys)
        .zip(&columns)
        .map(|((row, key), columns)| match row {
            Change::Put {
                payload,
                expires,
                sources,
                taken,
                ..
            } => Row::Put(Item {
                expires: *expires,
                sources,
                columns: Some(columns),
                if_present: how(taken),
                ..Item::new(key, payload)
            }),
            Change::Add {
                uid,
                payload,
                expires,
                taken,
                ..
            } => Row::Add(Item {
                uid: uid.as_deref(),
                expires: *expires,
                if_present: how(taken),
                ..Item::new(key, payload)
            }),
            Change::Patch { expires, .. } => Row::Patch {
                key,
                version: None,
                columns,
                expires: *expires,
            },
            Change::Cut { after, .. } => Row::Cut {
                list: key,
                after: *after,
            },
            Change::Remove(_) => Row::Remove(key),
            Change::RemoveBelow(_) => Row::RemoveBelow(key),
            Change::RemoveEntries { entries, .. } => Row::RemoveEntries { list: key, entries },
        })
        .collect();
    let hoped: Vec<Vec<&[u8]>> = expected
        .iter()
        .map(|(_, key, _)| key.iter().map(Vec::as_slice).collect())
        .collect();
    let expect: Vec<Expect<'_>> = expected
        .iter()
        .zip(&hoped)
        .map(|((is_tail, _, seq), key)| {
            if *is_tail {
                Expect::Tail(key, *seq)
            } else {
                Expect::Version(key, *seq)
            }
        })
        .collect();
    log.write(&Batch {
        rows: &borrowed,
        expect: &expect,
        ..*with
    })
}

/// The ids of the rows that were written.
pub(crate) fn ids(outcomes: &[Outcome]) -> Vec<Option<Seq>> {
    let written = |outcome: &Outcome| match outcome {
        Outcome::Written(seq) => Some(*seq),
        Outcome::Present(_) | Outcome::Nothing | Outcome::Spooled => None,
    };
    outcomes.iter().map(written).collect()
}

/// Whether each row came to what the dictionary foresaw.
pub(crate) fn agree(came: &[Came], outcomes: &[Outcome]) -> Result<(), String> {
    let ids = ids(outcomes);
    for (came, outcome) in came.iter().zip(outcomes) {
        let same = match (came, outcome) {
            (Came::Written, Outcome::Written(_))
            | (Came::Nothing, Outcome::Nothing)
            | (Came::Either, Outcome::Nothing | Outcome::Written(_)) => true,
            (Came::Present(Id::Known(a)), Outcome::Present(b)) => a == b,
            (Came::Present(Id::New(row)), Outcome::Present(b)) => ids[*row] == Some(*b),
            _ => false,
        };
        if !same {
            return Err(format!("{outcome:?} in place of {came:?}"));
        }
    }
    Ok(())
}
