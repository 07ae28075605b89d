//! A store with items, and how they are put.

use std::sync::Arc;

use warmset_core::cold::{Durability, Options, Ram, Store};
use warmset_core::items::{Item, Refreshed, Shelf};
use warmset_core::log::{Batch, Cell, Columns, Key, Log, Order, Outcome, Row, Scan, Value, now};

pub(crate) const PREFIX: Key<'static> = &[b"t", b"\xffitems"];

pub(crate) fn log() -> Log {
    let options = Options {
        durability: Durability::Os,
        ..Options::default()
    };
    let store = Store::with_medium(Box::new(Ram::new()), options).unwrap();
    Log::new(Arc::new(store))
}

pub(crate) fn shelf() -> Shelf {
    Shelf::new(PREFIX.iter().map(|part| part.to_vec()).collect()).unwrap()
}

pub(crate) fn refresh(shelf: &mut Shelf, log: &Log) -> Refreshed {
    let news = shelf.news(log, now()).unwrap().unwrap();
    shelf.take(news).unwrap()
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub(crate) fn list(all: &[&str]) -> Value {
    Value::List(all.iter().map(|one| text(one)).collect())
}

/// Columns of an item, and more, which may be others in their stead.
pub(crate) fn columns(more: &[(&str, Value)]) -> Columns {
    let own = [("type", text("note")), ("origin", text("import"))];
    let all = own.iter().chain(more);
    Columns::new(all.map(|(name, value)| ((*name).to_owned(), value.clone()))).unwrap()
}

/// Puts an item and returns its id.
pub(crate) fn put(log: &Log, name: &[u8], payload: &str, more: &[(&str, Value)]) -> u64 {
    let (columns, key) = (columns(more), [PREFIX[0], PREFIX[1], name]);
    let item = warmset_core::log::Item {
        columns: Some(&columns),
        ..warmset_core::log::Item::new(&key, payload.as_bytes())
    };
    match log.write(&Batch::new(&[Row::Put(item)])).unwrap()[0] {
        Outcome::Written(seq) => seq.0,
        ref other => panic!("{other:?}"),
    }
}

/// Every item that the log shows, by id.
pub(crate) fn all(log: &Log) -> Vec<(Item, String)> {
    let scan = Scan {
        prefix: PREFIX,
        filter: None,
        order: Order::Key,
        reverse: false,
        beyond: None,
        limit: usize::MAX,
        now: now(),
    };
    let listed = log.scan(&scan).unwrap();
    let cells = listed.iter().map(|one| -> Cell {
        let key: Vec<&[u8]> = one.key.iter().map(Vec::as_slice).collect();
        log.get(&key, now()).unwrap().unwrap()
    });
    let mut all: Vec<(Item, String)> = cells
        .filter_map(|cell| Some((Item::of(&cell).ok()?, String::from_utf8(cell.payload).ok()?)))
        .collect();
    all.sort_by_key(|(item, _)| item.id);
    all
}
