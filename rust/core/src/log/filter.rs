//! Which columns pass: a condition that is true or false of each cell, never neither.
//!
//! A column that is missing is null. Null equals null and nothing else, and is neither less nor greater than
//! anything; so is a value of another type. `Ne` and `NotIn` are true exactly where `Eq` and `In` are not.

use std::cmp::Ordering;

use crate::error::{Error, Result};

use super::value::{Columns, Value};

/// How deep conditions may lie in each other.
pub const MAX_FILTER_DEPTH: usize = 32;

/// A condition on the columns of a cell or an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// The column is this value; of a list, the whole list.
    Eq(String, Value),
    /// It is not.
    Ne(String, Value),
    /// It is less.
    Lt(String, Value),
    /// It is less, or this value.
    Lte(String, Value),
    /// It is greater.
    Gt(String, Value),
    /// It is greater, or this value.
    Gte(String, Value),
    /// It is one of these values.
    In(String, Vec<Value>),
    /// It is none of them.
    NotIn(String, Vec<Value>),
    /// It is not null.
    Exists(String),
    /// It is a list with this value in it.
    Contains(String, Value),
    /// All of these are true; of none, it is true.
    And(Vec<Filter>),
    /// One of these is true; of none, it is false.
    Or(Vec<Filter>),
    /// This is false.
    Not(Box<Filter>),
}

impl Filter {
    /// Refuses what cannot be compared with, and what lies too deep.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`].
    pub fn check(&self) -> Result<()> {
        self.check_below(MAX_FILTER_DEPTH)
    }

    fn check_below(&self, depth: usize) -> Result<()> {
        let refused = |expected: String, found: &str| Error::Argument {
            name: "where",
            expected,
            found: found.into(),
        };
        let Some(left) = depth.checked_sub(1) else {
            let expected = format!("at most {MAX_FILTER_DEPTH} conditions in each other");
            return Err(refused(expected, "more"));
        };
        let values: &[Value] = match self {
            Self::And(all) | Self::Or(all) => {
                return all.iter().try_for_each(|one| one.check_below(left));
            }
            Self::Not(one) => return one.check_below(left),
            Self::Exists(_) => &[],
            Self::In(_, values) | Self::NotIn(_, values) => values,
            Self::Eq(_, value)
            | Self::Ne(_, value)
            | Self::Lt(_, value)
            | Self::Lte(_, value)
            | Self::Gt(_, value)
            | Self::Gte(_, value)
            | Self::Contains(_, value) => std::slice::from_ref(value),
        };
        let nan = |value: &Value| matches!(value, Value::Float(number) if number.is_nan());
        let inside = |value: &Value| match value {
            Value::List(values) => values.iter().any(nan),
            other => nan(other),
        };
        if values.iter().any(inside) {
            return Err(refused("a number to compare with".into(), "NaN"));
        }
        Ok(())
    }

    /// Whether it is true of these columns.
    #[must_use]
    pub fn passes(&self, columns: &Columns) -> bool {
        let ordered = |name: &str, value: &Value, passes: fn(Ordering) -> bool| {
            columns.get(name).compare(value).is_some_and(passes)
        };
        let equals = |name: &str, value: &Value| columns.get(name).equals(value);
        match self {
            Self::Eq(name, value) => equals(name, value),
            Self::Ne(name, value) => !equals(name, value),
            Self::Lt(name, value) => ordered(name, value, Ordering::is_lt),
            Self::Lte(name, value) => ordered(name, value, Ordering::is_le),
            Self::Gt(name, value) => ordered(name, value, Ordering::is_gt),
            Self::Gte(name, value) => ordered(name, value, Ordering::is_ge),
            Self::In(name, values) => values.iter().any(|value| equals(name, value)),
            Self::NotIn(name, values) => !values.iter().any(|value| equals(name, value)),
            Self::Exists(name) => !columns.get(name).equals(&Value::Null),
            Self::Contains(name, value) => match columns.get(name) {
                Value::List(values) => values.iter().any(|one| one.equals(value)),
                _ => false,
            },
            Self::And(all) => all.iter().all(|one| one.passes(columns)),
            Self::Or(all) => all.iter().any(|one| one.passes(columns)),
            Self::Not(one) => !one.passes(columns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(pairs: &[(&str, Value)]) -> Columns {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        Columns::new(pairs).unwrap()
    }

    fn text(value: &str) -> Value {
        Value::Text(value.into())
    }

    #[test]
    fn each_condition_is_true_where_it_says_so() {
        let list = Value::List(vec![Value::Int(1), text("x")]);
        let all = columns(&[
            ("int", Value::Int(2)),
            ("float", Value::Float(2.5)),
            ("text", text("b")),
            ("flag", Value::Bool(false)),
            ("time", Value::Time(7)),
            ("list", list.clone()),
            ("null", Value::Null),
        ]);
        let of = |make: fn(String, Value) -> Filter, name: &str, value: &Value| {
            make(name.into(), value.clone()).passes(&all)
        };
        let makes: [fn(String, Value) -> Filter; 6] = [
            Filter::Eq,
            Filter::Ne,
            Filter::Lt,
            Filter::Lte,
            Filter::Gt,
            Filter::Gte,
        ];
        let (less, same, greater) = (
            [false, true, false, false, true, true],
            [true, false, false, true, false, true],
            [false, true, true, true, false, false],
        );
        let apart = [false, true, false, false, false, false];
        // What the column is compared with, and which of the six are true.
        for (name, value, expected) in [
            ("int", Value::Int(1), less),
            ("int", Value::Int(2), same),
            ("int", Value::Float(2.0), same),
            ("int", Value::Float(2.5), greater),
            ("int", text("2"), apart),
            ("int", Value::Null, apart),
            ("float", Value::Int(2), less),
            ("float", Value::Int(3), greater),
            ("text", text("a"), less),
            ("text", text("b"), same),
            ("text", text("bb"), greater),
            ("flag", Value::Bool(true), greater),
            ("flag", Value::Int(0), apart),
            ("time", Value::Time(7), same),
            ("time", Value::Int(7), apart),
            ("list", list, same),
            ("list", Value::List(vec![Value::Int(1)]), less),
            ("list", Value::Int(1), apart),
        ] {
            let found = makes.map(|make| of(make, name, &value));
            assert_eq!(found, expected, "{name} {value:?}");
        }
        for name in ["null", "missing"] {
            let found = makes.map(|make| of(make, name, &Value::Null));
            assert_eq!(found, [true, false, false, false, false, false], "{name}");
            assert!(!Filter::Exists(name.into()).passes(&all));
            assert!(Filter::In(name.into(), vec![Value::Int(1), Value::Null]).passes(&all));
        }
        assert!(Filter::Exists("flag".into()).passes(&all));
        assert!(
            of(Filter::Contains, "list", &text("x"))
                && of(Filter::Contains, "list", &Value::Float(1.0))
        );
        assert!(
            !of(Filter::Contains, "list", &text("y")) && !of(Filter::Contains, "text", &text("b"))
        );
        assert!(Filter::And(vec![]).passes(&all) && !Filter::Or(vec![]).passes(&all));
    }

    fn leaf() -> impl Strategy<Value = Filter> {
        let value = prop_oneof![
            Just(Value::Null),
            (-1..2_i64).prop_map(Value::Int),
            any::<bool>().prop_map(Value::Bool),
            Just(Value::Float(0.5)),
            "[ab]".prop_map(Value::Text),
            Just(Value::List(vec![Value::Int(1), Value::Null])),
        ];
        let name = || prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
        let values = prop::collection::vec(value.clone(), 0..3);
        prop_oneof![
            (name(), value.clone()).prop_map(|(name, value)| Filter::Eq(name, value)),
            (name(), value.clone()).prop_map(|(name, value)| Filter::Lt(name, value)),
            (name(), value.clone()).prop_map(|(name, value)| Filter::Gte(name, value)),
            (name(), value).prop_map(|(name, value)| Filter::Contains(name, value)),
            (name(), values).prop_map(|(name, values)| Filter::In(name, values)),
            name().prop_map(Filter::Exists),
        ]
    }

    proptest! {
        #[test]
        fn complements_are_exact(
            one in leaf(),
            other in leaf(),
            a in prop::option::of(-1..2_i64),
            b in prop::option::of("[ab]"),
        ) {
            let pairs = a.map(|n| ("a".to_owned(), Value::Int(n)));
            let all = Columns::new(pairs.into_iter().chain(b.map(|t| ("b".to_owned(), Value::Text(t))))).unwrap();
            let (p, q) = (one.passes(&all), other.passes(&all));
            prop_assert_eq!(Filter::Not(Box::new(one.clone())).passes(&all), !p);
            prop_assert_eq!(Filter::And(vec![one.clone(), other.clone()]).passes(&all), p && q);
            prop_assert_eq!(Filter::Or(vec![one.clone(), other]).passes(&all), p || q);
            match one {
                Filter::Eq(name, value) => {
                    prop_assert_eq!(Filter::Ne(name, value).passes(&all), !p);
                }
                Filter::In(name, values) => {
                    let each = values.iter().any(|v| Filter::Eq(name.clone(), v.clone()).passes(&all));
                    prop_assert_eq!(each, p);
                    prop_assert_eq!(Filter::NotIn(name, values).passes(&all), !p);
                }
                Filter::Lt(name, value) => {
                    let is_less = all.get(&name).compare(&value) == Some(Ordering::Less);
                    prop_assert_eq!(p, is_less);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_with_or_lies_too_deep_is_refused() {
        let refused = |filter: &Filter| {
            let found = filter.check();
            assert!(
                matches!(found, Err(Error::Argument { name: "where", .. })),
                "{found:?}"
            );
        };
        let nan = Value::Float(f64::NAN);
        refused(&Filter::Eq("n".into(), nan.clone()));
        refused(&Filter::Lt("n".into(), Value::List(vec![nan.clone()])));
        refused(&Filter::Or(vec![Filter::In(
            "n".into(),
            vec![Value::Null, nan],
        )]));
        let mut deep = Filter::Exists("n".into());
        for _ in 1..MAX_FILTER_DEPTH {
            deep.check().unwrap();
            deep = Filter::Not(Box::new(deep));
        }
        deep.check().unwrap();
        refused(&Filter::And(vec![deep]));
    }
}
