//! Columns: what the caller says of a cell or an entry beside its payload, typed, so that it can be
//! filtered by and ordered without reading a payload.
//!
//! ```text
//! columns   4 number of columns, then for each, in the order of their names:
//!           2 length of the name · the name in UTF-8 · its value
//! value     1 type, then       0 null          1 false        2 true
//!                              3 int: 8        4 float: 8     5 text: 4 length, UTF-8
//!                              6 time: 8, microseconds since 1970 UTC
//!                              7 list: 4 number of values, then each; no list among them
//! ```

use std::cmp::Ordering;
use std::fmt;

use crate::error::{Error, Result};

/// The longest name of a column, in bytes.
pub const MAX_NAME: usize = 255;
/// The most bytes that the columns of one cell or entry may take, encoded.
pub const MAX_COLUMNS: usize = 64 << 10;

/// A value of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// No value; a column that is missing has this one.
    #[default]
    Null,
    /// True or false; no number.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number, never NaN.
    Float(f64),
    /// Text.
    Text(String),
    /// A moment, in microseconds since 1970 UTC.
    Time(i64),
    /// Values in order, no list among them.
    List(Vec<Value>),
}

impl Value {
    /// How two values of one type compare, whole and other numbers exactly; `None` for two types, and for
    /// null, which is neither less nor greater.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) | (Self::Time(a), Self::Time(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => between(*a, *b),
            (Self::Float(a), Self::Int(b)) => between(*b, *a).map(Ordering::reverse),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::List(a), Self::List(b)) => lists(a, b),
            _ => None,
        }
    }

    /// Whether two values are the same: null is null, and one is 1.0.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }

    fn check(&self, name: &str, inside: bool) -> Result<()> {
        match self {
            Self::Float(number) if number.is_nan() => Err(refused(name, "a number", "NaN")),
            Self::List(_) if inside => Err(refused(name, "a list without lists in it", "a list")),
            Self::List(values) => values.iter().try_for_each(|value| value.check(name, true)),
            _ => Ok(()),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Null => out.push(0),
            Self::Bool(value) => out.push(1 + u8::from(*value)),
            Self::Int(value) => number(out, 3, value.to_le_bytes()),
            Self::Float(value) => number(out, 4, value.to_le_bytes()),
            Self::Text(value) => {
                out.push(5);
                out.extend(u32::try_from(value.len()).ok()?.to_le_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            Self::Time(value) => number(out, 6, value.to_le_bytes()),
            Self::List(values) => {
                out.push(7);
                out.extend(u32::try_from(values.len()).ok()?.to_le_bytes());
                for value in values {
                    value.encode(out)?;
                }
            }
        }
        Some(())
    }

    fn decode(bytes: &mut &[u8], inside: bool) -> Option<Self> {
        let [kind] = take(bytes)?;
        Some(match kind {
            0 => Self::Null,
            1 | 2 => Self::Bool(kind == 2),
            3 => Self::Int(i64::from_le_bytes(take(bytes)?)),
            4 => Self::Float(f64::from_le_bytes(take(bytes)?)),
            5 => {
                let len = u32::from_le_bytes(take(bytes)?);
                Self::Text(text(bytes, len)?)
            }
            6 => Self::Time(i64::from_le_bytes(take(bytes)?)),
            7 if !inside => {
                let count = u32::from_le_bytes(take(bytes)?);
                // The count is not trusted with an allocation: each value takes a byte at least.
                (0..count)
                    .map(|_| Self::decode(bytes, true))
                    .collect::<Option<_>>()
                    .map(Self::List)?
            }
            _ => return None,
        })
    }
}

/// How a whole number compares with another one, exactly.
fn between(whole: i64, other: f64) -> Option<Ordering> {
    // Two to the 63rd: every float from there on is above every whole number, and so below.
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    if other.is_nan() {
        return None;
    }
    if other >= TOP {
        return Some(Ordering::Less);
    }
    if other < -TOP {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::as_conversions,
        reason = "it lies between the bounds and has no fraction, so it is exact"
    )]
    let floor = other.floor() as i64;
    let rest = if other > other.floor() {
        Ordering::Less
    } else {
        Ordering::Equal
    };
    Some(whole.cmp(&floor).then(rest))
}

/// How two lists compare: by the first values that differ, then by length.
fn lists(a: &[Value], b: &[Value]) -> Option<Ordering> {
    for (a, b) in a.iter().zip(b) {
        if !a.equals(b) {
            return a.compare(b);
        }
    }
    Some(a.len().cmp(&b.len()))
}

fn number(out: &mut Vec<u8>, kind: u8, bytes: [u8; 8]) {
    out.push(kind);
    out.extend(bytes);
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*head)
}

fn text(bytes: &mut &[u8], len: u32) -> Option<String> {
    let (head, rest) = bytes.split_at_checked(usize::try_from(len).ok()?)?;
    *bytes = rest;
    String::from_utf8(head.to_vec()).ok()
}

fn refused(name: &str, expected: &str, found: &str) -> Error {
    Error::Argument {
        name: "columns",
        expected: format!("{expected} in {name:?}"),
        found: found.into(),
    }
}

/// Named values, one a name, in the order of their names.
#[derive(Clone, Default, PartialEq)]
pub struct Columns(Vec<(String, Value)>);

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.iter().map(|(name, value)| (name, value)))
            .finish()
    }
}

impl Columns {
    /// Columns of these names and values; of two with one name the later one counts.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an empty or too long name, a NaN, a list in a list, and for more than
    /// [`MAX_COLUMNS`] bytes.
    pub fn new(pairs: impl IntoIterator<Item = (String, Value)>) -> Result<Self> {
        let mut all: Vec<(String, Value)> = pairs.into_iter().collect();
        // Stable, so that of one name the last one given stands last.
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.reverse();
        all.dedup_by(|a, b| a.0 == b.0);
        all.reverse();
        for (name, value) in &all {
            if name.is_empty() || name.len() > MAX_NAME {
                let expected = format!("a name of 1 to {MAX_NAME} bytes");
                return Err(refused(name, &expected, &format!("{} bytes", name.len())));
            }
            value.check(name, false)?;
        }
        let columns = Self(all);
        let len = columns.encode().map_or(usize::MAX, |bytes| bytes.len());
        if len > MAX_COLUMNS {
            return Err(Error::Argument {
                name: "columns",
                expected: format!("at most {MAX_COLUMNS} bytes of names and values"),
                found: format!("{len}"),
            });
        }
        Ok(columns)
    }

    /// The value of a column; null if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> &Value {
        const NULL: &Value = &Value::Null;
        let at = self.0.binary_search_by(|(own, _)| own.as_str().cmp(name));
        at.ok()
            .and_then(|at| self.0.get(at))
            .map_or(NULL, |(_, value)| value)
    }

    /// Names and values, in the order of the names.
    #[must_use = "it does nothing but tell"]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes; `None` if a length does not fit its field.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        out.extend(u32::try_from(self.0.len()).ok()?.to_le_bytes());
        for (name, value) in &self.0 {
            out.extend(u16::try_from(name.len()).ok()?.to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            value.encode(&mut out)?;
        }
        Some(out)
    }

    /// What [`encode`](Self::encode) wrote; `None` unless the bytes are exactly that.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let count = u32::from_le_bytes(take(&mut bytes)?);
        let mut all: Vec<(String, Value)> = Vec::new();
        for _ in 0..count {
            let len = u16::from_le_bytes(take(&mut bytes)?);
            let name = text(&mut bytes, len.into())?;
            let ascends = all.last().is_none_or(|(last, _)| *last < name);
            ascends.then_some(())?;
            all.push((name, Value::decode(&mut bytes, false)?));
        }
        bytes.is_empty().then_some(Self(all))
    }
}

#[cfg(test)]
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers of tests"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            prop_oneof![any::<i64>(), -3..3_i64].prop_map(Value::Int),
            prop_oneof![-3..3_i64, any::<i64>()].prop_map(|n| Value::Float(n as f64)),
            any::<f64>()
                .prop_filter("NaN", |n| !n.is_nan())
                .prop_map(Value::Float),
            "[a-c]{0,2}".prop_map(Value::Text),
            (-3..3_i64).prop_map(Value::Time),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            4 => single(),
            1 => prop::collection::vec(single(), 0..3).prop_map(Value::List),
        ]
    }

    proptest! {
        #[test]
        fn columns_come_back(pairs in prop::collection::vec(("[a-d]{1,2}", value()), 0..6)) {
            let columns = Columns::new(pairs.clone()).unwrap();
            let bytes = columns.encode().unwrap();
            prop_assert_eq!(Columns::decode(&bytes), Some(columns.clone()));
            prop_assert_eq!(Columns::decode(&bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(Columns::decode(&[&bytes[..], &[0]].concat()), None);
            for (name, _) in &pairs {
                let last = pairs.iter().rfind(|(own, _)| own == name).map(|(_, value)| value);
                prop_assert_eq!(Some(columns.get(name)), last);
            }
            prop_assert_eq!(columns.get("z"), &Value::Null);
        }

        #[test]
        fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(columns) = Columns::decode(&bytes) {
                prop_assert_eq!(columns.encode(), Some(bytes));
            }
        }

        #[test]
        fn values_compare_one_way_or_not_at_all(a in value(), b in value(), c in value()) {
            prop_assert_eq!(a.compare(&b), b.compare(&a).map(Ordering::reverse));
            prop_assert!(a.equals(&a));
            prop_assert_eq!(a.equals(&b), b.equals(&a));
            let less = Some(Ordering::Less);
            // A list may hold values of two types, which do not compare.
            if a.compare(&b) == less && b.compare(&c) == less && !matches!(a, Value::List(_)) {
                prop_assert_eq!(a.compare(&c), less);
            }
        }

        #[test]
        fn whole_and_other_numbers_compare_exactly(a in any::<i64>(), b in any::<f64>()) {
            prop_assume!(b.is_finite() && b.abs() < 1e18);
            // Twice each, as whole numbers of a wider type where b has no more than one binary place.
            let half = (b * 2.0).floor() / 2.0;
            let expected = (i128::from(a) * 2).cmp(&((half * 2.0) as i128));
            prop_assert_eq!(Value::Int(a).compare(&Value::Float(half)), Some(expected));
        }
    }

    #[test]
    fn the_edges_of_whole_numbers_compare_exactly() {
        let top = 9_223_372_036_854_775_808.0_f64;
        let cases = [
            (i64::MAX, top, Ordering::Less),
            (i64::MIN, -top, Ordering::Equal),
            (i64::MIN + 1, -top, Ordering::Greater),
            (i64::MAX, f64::NEG_INFINITY, Ordering::Greater),
            (i64::MIN, f64::INFINITY, Ordering::Less),
            (
                9_007_199_254_740_993,
                9_007_199_254_740_992.0,
                Ordering::Greater,
            ),
            (-1, -0.5, Ordering::Less),
            (0, -0.0, Ordering::Equal),
        ];
        for (whole, other, expected) in cases {
            let found = Value::Int(whole).compare(&Value::Float(other));
            assert_eq!(found, Some(expected), "{whole} {other}");
        }
    }

    #[test]
    fn what_cannot_be_a_column_is_refused_by_name() {
        let one = |name: &str, value: Value| Columns::new([(name.to_owned(), value)]);
        let list = |value| Value::List(vec![value]);
        let long = "x".repeat(MAX_NAME);
        assert!(one(&long, Value::Null).is_ok());
        for (name, value) in [
            ("", Value::Null),
            (&format!("{long}x"), Value::Null),
            ("n", Value::Float(f64::NAN)),
            ("n", list(Value::Float(f64::NAN))),
            ("n", list(list(Value::Null))),
            ("n", Value::Text("x".repeat(MAX_COLUMNS))),
        ] {
            let found = one(name, value);
            assert!(
                matches!(
                    found,
                    Err(Error::Argument {
                        name: "columns",
                        ..
                    })
                ),
                "{found:?}"
            );
        }
        // Type, length and name of one, and the number of columns.
        let most = MAX_COLUMNS - 4 - 2 - 1 - 1 - 4;
        assert!(one("n", Value::Text("x".repeat(most))).is_ok());
        assert!(one("n", Value::Text("x".repeat(most + 1))).is_err());
    }

    #[test]
    fn a_bool_is_no_number_and_null_no_order() {
        assert!(!Value::Bool(true).equals(&Value::Int(1)));
        assert_eq!(Value::Bool(true).compare(&Value::Int(0)), None);
        assert_eq!(Value::Null.compare(&Value::Null), None);
        assert!(Value::Null.equals(&Value::Null));
        assert!(!Value::Time(1).equals(&Value::Int(1)));
    }
}
