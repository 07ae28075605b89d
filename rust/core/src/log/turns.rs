//! What conversations keep as JSON: beside a turn, and in checkpoints that say where a path ends and what
//! survivors of an erasure follow. Whoever writes it checks it; here it is only read.
//!
//! ```text
//! turn        {"at": seconds since 1970, "key": the caller's own id, "meta": {the caller's fields},
//!              "parent": the turn before it, where that is not the end of the path}
//! checkpoint  {"what": "head", "id": the last turn, 0 for none}
//!             {"what": "links", "of": [[turn, its ancestors, the nearest first], …],
//!              "head": [the last turn, its ancestors, the nearest first]}
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use crate::entry::Seq;

use super::attributes::Attributes;
use super::value::{Columns, MAX_NAME, Value};

/// How many parts the key of a conversation has: tenant and name.
pub(super) const DEPTH: usize = 2;

/// The fields beside a turn that the log needs; others are passed over. Text may have escapes that are half a
/// character, so what has text is read by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    at: f64,
    #[serde(borrow)]
    key: Option<&'a RawValue>,
    parent: Option<u64>,
    #[serde(borrow)]
    meta: Option<&'a RawValue>,
}

/// What a turn says: beside what, and which turn it follows, if that is not the end of the path.
pub(super) fn turn(meta: &[u8]) -> (Attributes, Option<Seq>) {
    let said: Fields<'_> = serde_json::from_slice(meta).unwrap_or_default();
    let key: Option<String> = said.key.and_then(read);
    let attributes = Attributes {
        at: microseconds(said.at),
        uid: key.map(String::into_bytes),
        columns: said.meta.and_then(read).map(columns).unwrap_or_default(),
        ..Attributes::default()
    };
    (attributes, said.parent.map(Seq))
}

/// The caller's fields beside a turn that a condition can compare; none if this is not the meta of one.
#[must_use]
pub fn turn_columns(meta: &[u8]) -> Columns {
    turn(meta).0.columns
}

/// The same meta without the turn that it follows; `None` unless it is a JSON object.
pub(super) fn without_parent(meta: &[u8]) -> Option<Vec<u8>> {
    let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(meta).ok()?;
    match fields.remove("parent") {
        Some(_) => serde_json::to_vec(&fields).ok(),
        None => Some(meta.to_vec()),
    }
}

/// What a checkpoint says of the path of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// Turns with their ancestors, the nearest first, up to one that stayed or 0 for none: where a turn is
    /// gone, what followed it follows the first of these that is there.
    pub(super) of: Vec<(Seq, Vec<Seq>)>,
    /// The last turn and its ancestors, likewise.
    pub(super) head: Vec<Seq>,
}

impl Links {
    /// Where the path is moved to; `None` where it stays as it is but for what is erased.
    pub(super) fn end(&self) -> Option<Seq> {
        self.head.first().filter(|_| self.of.is_empty()).copied()
    }
}

/// The fields of a checkpoint of a conversation.
#[derive(Debug, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Note {
    Head { id: u64 },
    Links { of: Vec<Vec<u64>>, head: Vec<u64> },
}

/// What a checkpoint says of the path; `None` for one of something else.
pub(super) fn links(meta: &[u8]) -> Option<Links> {
    let seqs = |all: Vec<u64>| all.into_iter().map(Seq);
    match serde_json::from_slice(meta).ok()? {
        Note::Head { id } => Some(Links {
            of: Vec::new(),
            head: vec![Seq(id)],
        }),
        Note::Links { of, head } => {
            let of = of.into_iter().filter_map(|row| {
                let mut row = seqs(row);
                Some((row.next()?, row.collect()))
            });
            Some(Links {
                of: of.collect(),
                head: seqs(head).collect(),
            })
        }
    }
}

/// The caller's fields that a condition can compare: plain values, and lists of them.
fn columns(fields: Map<String, Json>) -> Columns {
    let named = fields.into_iter();
    let named = named.filter(|(name, _)| (1..=MAX_NAME).contains(&name.len()));
    let named = named.filter_map(|(name, value)| Some((name, column(value)?)));
    Columns::new(named).unwrap_or_default()
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn column(value: Json) -> Option<Value> {
    Some(match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::Text(text),
        Json::Array(all) => {
            let plain = all.into_iter().map(|one| match one {
                Json::Array(_) => None,
                other => column(other),
            });
            Value::List(plain.collect::<Option<_>>()?)
        }
        Json::Object(_) => return None,
    })
}

/// Seconds since 1970 as microseconds.
fn microseconds(seconds: f64) -> i64 {
    let since = Duration::try_from_secs_f64(seconds.abs()).unwrap_or_default();
    let whole = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    if seconds < 0.0 { -whole } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_says_what_it_follows_and_its_name() {
        let meta = br#"{"at":1.5,"by":"Ann","key":"a 1","parent":7,"meta":{"n":2,"x":[1,"b"],"deep":{"y":1},"":1}}"#;
        let (said, parent) = turn(meta);
        assert_eq!((said.at, parent), (1_500_000, Some(Seq(7))));
        assert_eq!(said.uid.as_deref(), Some(&b"a 1"[..]));
        let list = Value::List(vec![Value::Int(1), Value::Text("b".into())]);
        let named: Vec<_> = said.columns.iter().collect();
        assert_eq!(named, [("n", &Value::Int(2)), ("x", &list)]);
        let bare = without_parent(meta).unwrap();
        assert_eq!(turn(&bare), (said, None));
        assert_eq!(without_parent(&bare), Some(bare));
    }

    #[test]
    fn half_a_character_hides_nothing_else() {
        let (said, parent) =
            turn(br#"{"at":1,"by":"\ud800","key":"\ud800","parent":7,"meta":{"a":"\ud800"}}"#);
        let expected = Attributes {
            at: 1_000_000,
            ..Attributes::default()
        };
        assert_eq!((said, parent), (expected, Some(Seq(7))));
    }

    #[test]
    fn a_checkpoint_says_where_a_path_leads() {
        let seqs = |all: &[u64]| all.iter().copied().map(Seq).collect::<Vec<_>>();
        let head = links(br#"{"what":"head","id":3}"#).unwrap();
        assert_eq!((head.of, head.head), (Vec::new(), seqs(&[3])));
        let both = links(br#"{"what":"links","of":[[5,4,1],[4,1]],"head":[5,4,1]}"#).unwrap();
        let of = vec![(Seq(5), seqs(&[4, 1])), (Seq(4), seqs(&[1]))];
        assert_eq!((both.of, both.head), (of, seqs(&[5, 4, 1])));
    }

    #[test]
    fn what_is_no_json_of_ours_says_nothing() {
        for meta in [
            "",
            "[]",
            "{",
            r#"{"what":"embedder","dim":3}"#,
            r#"{"what":"head"}"#,
        ] {
            assert_eq!(links(meta.as_bytes()), None, "{meta}");
        }
        for meta in ["", "7", "{", r#"{"parent":-1}"#] {
            assert_eq!(turn(meta.as_bytes()).1, None, "{meta}");
        }
        assert_eq!(without_parent(b"[]"), None);
    }
}
