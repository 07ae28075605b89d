//! What an item's columns say, field by field.

use warmset_core::items::Label;
use warmset_core::log::Value;

use crate::world::{list, log, put, refresh, shelf, text};

#[test]
fn every_column_is_read() {
    let (log, mut shelf) = (log(), shelf());
    let more = [
        ("type", text("chunk")),
        ("conversation", text("talk")),
        ("session", text("monday")),
        ("module", text("margin")),
        ("pipeline", text("run")),
        ("sections", list(&["one", "two"])),
        ("keys", list(&["key"])),
        ("entities", list(&["ACME"])),
        ("origin", text("tool")),
        ("digest", text("abc")),
        ("time", Value::Time(-7)),
        ("tokens", Value::Int(12)),
        ("decay", Value::Float(0.25)),
        ("reward", Value::Float(0.5)),
        ("confidence", Value::Int(1)),
        ("archived", Value::Bool(true)),
        ("supersedes", list(&["old"])),
        ("derived_from", list(&["raw"])),
        ("dependencies", list(&["table"])),
    ];
    let id = put(&log, b"a", "ferry", &more);
    put(&log, &[0xff, 1], "", &[]);
    refresh(&mut shelf, &log);
    let item = shelf.get(id).unwrap();
    let expected = [
        vec!["chunk"],
        vec!["talk"],
        vec!["monday"],
        vec!["margin"],
        vec!["run"],
        vec!["one", "two"],
        vec!["key"],
        vec!["ACME"],
    ];
    for (label, names) in Label::ALL.into_iter().zip(expected) {
        assert_eq!(item.names(label), names, "{label:?}");
    }
    assert_eq!(
        (item.name.as_slice(), item.memory_id.as_str()),
        (&b"a"[..], "a")
    );
    assert_eq!(
        (item.origin.as_str(), item.digest.as_str()),
        ("tool", "abc")
    );
    assert_eq!((item.at, item.tokens, item.archived), (-7, 12, true));
    assert_eq!(
        (item.decay, item.reward, item.confidence),
        (0.25, Some(0.5), 1.0)
    );
    assert_eq!(
        (&item.supersedes[..], &item.derived_from[..]),
        (&["old".to_owned()][..], &["raw".to_owned()][..])
    );
    assert_eq!(item.dependencies, ["table"]);
    let plain = shelf.named(&format!("item:{}", id + 1)).unwrap();
    assert_eq!((plain.at, plain.tokens, plain.archived), (0, 0, false));
    assert_eq!(
        (plain.decay, plain.reward, plain.confidence),
        (1.0, None, 0.0)
    );
    assert!(plain.supersedes.is_empty() && plain.names(Label::Session).is_empty());
    assert!(shelf.heirs().is_empty());
}
