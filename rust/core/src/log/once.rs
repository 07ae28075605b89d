//! A batch that is written once, however often it is sent: a cell remembers it with its answer for a day.
//!
//! ```text
//! key      whose the first row is · 0xFF 0xFF "once" · the batch's name
//! columns  content: the hash of its rows in hexadecimal digits
//! links    what became of each row
//! ```

use crate::cold::content_hash;
use crate::entry::Seq;
use crate::error::{Error, Result};

use super::attributes::MAX_UID;
use super::batch::{Batch, IfPresent, Item, Outcome, Row};
use super::order;
use super::value::{Columns, Value};

/// How long a batch is remembered, in microseconds.
const KEPT: i64 = 24 * 60 * 60 * 1_000_000;
/// The part of a key below which the cells lie: no text is so, nor the name of a space. No scan shows them.
const PLACE: &[u8] = b"\xff\xffonce";
const CONTENT: &str = "content";
/// How many parts name whose a record is, if the batch does not say.
const SCOPE: usize = 2;

/// What is remembered of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Once {
    /// The key of the cell.
    pub(super) key: Vec<Vec<u8>>,
    /// The hash of the rows.
    pub(super) content: String,
    pub(super) expires: i64,
}

impl Once {
    /// What is to be remembered of a batch, if it has a name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a name without a byte or with too many, and for a batch without rows.
    pub(super) fn of(batch: &Batch<'_>) -> Result<Option<Self>> {
        let Some(name) = batch.once else {
            return Ok(None);
        };
        let refused = |expected: &str, found: String| Error::Argument {
            name: "once",
            expected: expected.into(),
            found,
        };
        if name.is_empty() || name.len() > MAX_UID {
            let expected = format!("1 to {MAX_UID} bytes");
            return Err(refused(&expected, format!("{} bytes", name.len())));
        }
        let Some(first) = batch.rows.first() else {
            return Err(refused("a batch with rows", "none".into()));
        };
        let depth = match batch.depth {
            0 => SCOPE,
            depth => depth.into(),
        };
        let key = first.key();
        let whose = key.get(..depth).unwrap_or(key);
        let mut key: Vec<Vec<u8>> = whose.iter().map(|part| part.to_vec()).collect();
        key.push(PLACE.to_vec());
        key.push(name.to_vec());
        Ok(Some(Self {
            key,
            content: format!("{:032x}", content(batch.rows)),
            expires: batch.now.saturating_add(KEPT),
        }))
    }

    /// The columns of the cell.
    ///
    /// # Errors
    ///
    /// As [`Columns::new`]; none for this one.
    pub(super) fn columns(&self) -> Result<Columns> {
        Columns::new([(CONTENT.to_owned(), Value::Text(self.content.clone()))])
    }

    /// Whether a cell with these columns remembers the same rows.
    pub(super) fn is_of(&self, columns: &Columns) -> bool {
        *columns.get(CONTENT) == Value::Text(self.content.clone())
    }
}

/// A hash of what rows ask for; when they were made and when they expire may differ.
fn content(rows: &[Row<'_>]) -> u128 {
    let mut out = Vec::new();
    let mut part = |bytes: &[u8]| {
        out.extend(bytes.len().to_le_bytes());
        out.extend_from_slice(bytes);
    };
    // They have a limit of bytes, so they can be encoded.
    let columns = |columns: &Columns| columns.encode().unwrap_or_default();
    for row in rows {
        part(&order::encode(row.key()));
        match *row {
            Row::Put(item) | Row::Add(item) => {
                let Item {
                    payload,
                    uid,
                    codec,
                    own,
                    sources,
                    if_present,
                    ..
                } = item;
                let how = match if_present {
                    IfPresent::Replace => 0,
                    IfPresent::Skip => 1,
                    IfPresent::Fail => 2,
                };
                part(&[1 + u8::from(matches!(row, Row::Add(_))), how]);
                part(payload);
                part(uid.unwrap_or_default());
                part(codec.unwrap_or_default().as_bytes());
                part(own);
                part(&item.columns.map_or_else(Vec::new, columns));
                part(&words(sources));
            }
            Row::Patch {
                version,
                columns: named,
                ..
            } => {
                part(&[3]);
                part(&words(version.as_slice()));
                part(&columns(named));
            }
            Row::Cut { after, .. } => part(&[&[4], &after.0.to_le_bytes()[..]].concat()),
            Row::Remove(_) => part(&[5]),
            Row::RemoveBelow(_) => part(&[6]),
            Row::RemoveExpired(_) => part(&[7]),
            Row::RemoveEntries { entries, .. } => {
                part(&[8]);
                part(&words(entries));
            }
        }
    }
    content_hash(&out)
}

fn words(seqs: &[Seq]) -> Vec<u8> {
    seqs.iter().flat_map(|seq| seq.0.to_le_bytes()).collect()
}

/// Outcomes as numbers.
pub(super) fn encode(outcomes: &[Outcome]) -> Vec<u64> {
    let one = |outcome: &Outcome| match outcome {
        Outcome::Nothing | Outcome::Spooled => 0,
        Outcome::Written(seq) => seq.0 << 2 | 1,
        Outcome::Present(seq) => seq.0 << 2 | 2,
    };
    outcomes.iter().map(one).collect()
}

/// What [`encode`] made numbers of.
pub(super) fn decode(answers: &[u64]) -> Vec<Outcome> {
    let one = |answer: &u64| match (Seq(answer >> 2), answer & 3) {
        (seq, 1) => Outcome::Written(seq),
        (seq, 2) => Outcome::Present(seq),
        _ => Outcome::Nothing,
    };
    answers.iter().map(one).collect()
}

/// Whether a cell of this encoded key remembers a batch.
pub(super) fn is_place(key: &[u8]) -> bool {
    let end = key.strip_suffix(&[0, 0]);
    let name = end.and_then(|end| end.windows(2).rposition(|pair| pair == [0, 0]));
    let before = name.and_then(|at| key.get(..at));
    before.is_some_and(|before| before.ends_with(PLACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_remembered_lies_there() {
        let of = |parts: &[&[u8]]| is_place(&order::encode(parts));
        assert!(
            of(&[b"t", PLACE, b"name"]) && of(&[b"t", b"a", PLACE, b"a\0\0b"]) && of(&[PLACE, b""])
        );
        assert!(!of(&[b"t", PLACE]) && !of(&[b"t", PLACE, b"a", b"b"]) && !of(&[]));
        assert!(!of(&[b"t", b"\xffonce", b"name"]) && !of(&[b"t", b"\xff\xffonce\0", b"name"]));
    }

    #[test]
    fn answers_come_back() {
        let all = [
            Outcome::Nothing,
            Outcome::Written(Seq(1)),
            Outcome::Present(Seq(1 << 50)),
        ];
        assert_eq!(decode(&encode(&all)), all);
    }

    #[test]
    fn rows_differ_by_all_that_they_ask_for() {
        let (key, other): (&[&[u8]], &[&[u8]]) = (&[b"t", b"a"], &[b"t", b"b"]);
        let columns = Columns::new([("n".into(), Value::Int(1))]).unwrap();
        let none = Columns::default();
        let (one, two) = ([Seq(1)], [Seq(1), Seq(2)]);
        let item = Item::new(key, b"x");
        let patch = |columns, version| Row::Patch {
            key,
            version,
            columns,
            expires: None,
        };
        let rows = [
            Row::Put(item),
            Row::Add(item),
            Row::Put(Item::new(other, b"x")),
            Row::Put(Item::new(key, b"y")),
            Row::Put(Item {
                codec: Some("x"),
                ..item
            }),
            Row::Put(Item { own: b"x", ..item }),
            Row::Put(Item {
                columns: Some(&columns),
                ..item
            }),
            Row::Put(Item {
                sources: &one,
                ..item
            }),
            Row::Put(Item {
                if_present: IfPresent::Skip,
                ..item
            }),
            Row::Put(Item {
                if_present: IfPresent::Fail,
                ..item
            }),
            Row::Add(Item {
                uid: Some(b"x"),
                ..item
            }),
            patch(&columns, None),
            patch(&none, None),
            patch(&none, Some(Seq(1))),
            Row::Cut {
                list: key,
                after: Seq(1),
            },
            Row::Cut {
                list: key,
                after: Seq(2),
            },
            Row::Remove(key),
            Row::RemoveBelow(key),
            Row::RemoveExpired(key),
            Row::RemoveEntries {
                list: key,
                entries: &one,
            },
            Row::RemoveEntries {
                list: key,
                entries: &two,
            },
        ];
        let hash = |row: &Row<'_>| content(&[*row]);
        for (at, row) in rows.iter().enumerate() {
            for (beside, other) in rows.iter().enumerate() {
                assert_eq!(hash(row) == hash(other), at == beside, "{row:?} {other:?}");
            }
        }
        let late = Row::Put(Item {
            expires: Some(9),
            ..item
        });
        assert_eq!(hash(&late), hash(&rows[0]));
        assert_ne!(content(&[rows[0], rows[1]]), content(&[rows[1], rows[0]]));
    }
}
