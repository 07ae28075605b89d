//! A batch that found the lock busy: what it asks for lies in the spool, and is judged when the next writer
//! with a log takes it up.
//!
//! ```text
//! conditions  1 version (1) · 8 the clock of the batch · for each row: 0 replaces, 1 is left out
//! verdict     for each row that was still wanted: 8, as a batch with a name remembers it
//! ```
//!
//! The records behind the conditions are puts and additions as a batch makes them, but for their ties.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cold::{Record, Taker, Write};
use crate::entry::Kind;
use crate::error::{Error, Result};

use super::attributes::Attributes;
use super::batch::{Batch, IfPresent, Item, Row};
use super::judge::Pending;
use super::records::Records;
use super::shared::Shared;

const VERSION: u8 = 1;

/// The conditions of a batch that may be left for the next writer.
///
/// # Errors
///
/// [`Error::Argument`] for one that needs an answer: a row that may fail or is no put and no addition, an
/// expectation, a name.
pub(super) fn conditions(batch: &Batch<'_>) -> Result<Vec<u8>> {
    let refused = |found: &str| Error::Argument {
        name: "spool",
        expected: "puts and additions that replace or are left out, without expect and once".into(),
        found: found.into(),
    };
    if !batch.expect.is_empty() {
        return Err(refused("expect"));
    }
    if batch.once.is_some() {
        return Err(refused("once"));
    }
    let mut out = vec![VERSION];
    out.extend(batch.now.to_le_bytes());
    for row in batch.rows {
        let (Row::Put(item) | Row::Add(item)) = row else {
            return Err(refused("a row of another kind"));
        };
        out.push(match item.if_present {
            IfPresent::Replace => 0,
            IfPresent::Skip => 1,
            IfPresent::Fail => return Err(refused("a row that may fail")),
        });
    }
    Ok(out)
}

/// The clock and what each row does where there is something by its name; `None` unless the bytes are whole.
fn decode(conditions: &[u8]) -> Option<(i64, Vec<IfPresent>)> {
    let (version, rest) = conditions.split_first()?;
    let (now, rows) = rest.split_first_chunk()?;
    (*version == VERSION).then_some(())?;
    let row = |how: &u8| match how {
        0 => Some(IfPresent::Replace),
        1 => Some(IfPresent::Skip),
        _ => None,
    };
    let rows: Option<Vec<IfPresent>> = rows.iter().map(row).collect();
    Some((i64::from_le_bytes(*now), rows?))
}

/// What a record asks for, with what it says beside its payload.
fn asked(record: &Record, how: &[IfPresent], at: usize) -> Option<(IfPresent, Option<Attributes>)> {
    let said = match record.kind {
        Kind::Cell | Kind::Entry => Some(Attributes::decode(&record.meta)?),
        Kind::Turn => None,
        _ => return None,
    };
    Some((*how.get(at)?, said))
}

impl Taker for Shared {
    fn take_up(
        self: Arc<Self>,
        conditions: &[u8],
        records: &[(usize, &Record)],
        write: &mut Write<'_>,
    ) -> Result<()> {
        let broken = || Error::Corrupt {
            path: PathBuf::new(),
            offset: 0,
            seqs: "a batch in the spool".into(),
            detail: "its conditions make no sense".into(),
        };
        let (now, how) = decode(conditions).ok_or_else(broken)?;
        let asked: Option<Vec<_>> = records
            .iter()
            .map(|(at, record)| {
                let key: Vec<&[u8]> = record.key.iter().map(Vec::as_slice).collect();
                Some((*record, key, asked(record, &how, *at)?))
            })
            .collect();
        let asked = asked.ok_or_else(broken)?;
        let rows: Vec<Row<'_>> = asked
            .iter()
            .map(|(record, key, (how, said))| {
                let mut item = Item {
                    sources: &record.sources,
                    if_present: *how,
                    ..Item::new(key, &record.payload)
                };
                if let Some(said) = said {
                    item.uid = said.uid.as_deref();
                    item.codec = said.codec.as_deref();
                    item.expires = said.expires;
                    item.columns = Some(&said.columns);
                    item.own = &said.own;
                } else {
                    item.turn = Some(&record.meta);
                }
                match record.kind {
                    Kind::Cell => Row::Put(item),
                    _ => Row::Add(item),
                }
            })
            .collect();
        let depth = records.first().map_or(0, |(_, record)| record.depth);
        let batch = Batch {
            now,
            depth,
            ..Batch::new(&rows)
        };
        let made = Records::of(&batch, None, |uid| self.name(uid))?;
        let pending = Pending::new(Arc::clone(&self), made.steps, &batch, None);
        let rows: Vec<_> = made.made.iter().map(|made| made.row(depth)).collect();
        write(&rows, &pending)
    }
}
