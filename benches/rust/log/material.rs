//! Stores of cells, and what is put into them.

use std::path::Path;
use std::sync::Arc;

use warmset_core::Seq;
use warmset_core::cold::{Durability, Encryption, Options, SPACE, Store};
use warmset_core::log::{Batch, Columns, Item, Log, Outcome, Row, Value};

/// How many cells the stores have.
pub(crate) const CELLS: usize = 100_000;
/// How many spaces they lie in.
pub(crate) const SPACES: usize = 100;
/// How long a payload is.
pub(crate) const LEN: usize = 1_024;

/// Numbers without a pattern.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// The key of the cell with a number: tenant, space, name.
pub(crate) fn key(at: usize) -> [Vec<u8>; 3] {
    let mut space = vec![SPACE];
    space.extend(format!("space {:03}", at % SPACES).bytes());
    let name = format!("cell {:06}", at / SPACES);
    [b"acme".to_vec(), space, name.into_bytes()]
}

/// The parts of a key as calls take them.
pub(crate) fn parts<const N: usize>(key: &[Vec<u8>; N]) -> [&[u8]; N] {
    key.each_ref().map(Vec::as_slice)
}

/// The payload of a version of a cell: its number, and bytes that nothing makes smaller.
pub(crate) fn payload(at: usize, version: u64) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ ((at as u64) << 20) ^ version);
    let mut out = [(at as u64).to_le_bytes(), version.to_le_bytes()].concat();
    while out.len() < LEN {
        out.extend(random.next().to_le_bytes());
    }
    out
}

/// What a filter asks for: a kind of ten, and a number.
pub(crate) fn columns(at: usize) -> Columns {
    let kind = Value::Text(format!("kind {}", at / SPACES % 10));
    let score = Value::Int(i64::try_from(at / SPACES).unwrap());
    Columns::new([("kind".to_owned(), kind), ("score".to_owned(), score)]).unwrap()
}

pub(crate) fn options() -> Options {
    Options {
        durability: Durability::Os,
        ..Options::default()
    }
}

/// A log on a disk, or in memory, where nothing waits for one.
pub(crate) fn log(place: Option<&Path>, encryption: Encryption) -> Log {
    let options = Options {
        encryption,
        ..options()
    };
    let store = match place {
        Some(place) => Store::open(place, options),
        None => Store::in_memory(options),
    };
    Log::new(Arc::new(store.unwrap()))
}

/// Puts the first version of each cell; gives their ids. With a depth of 3 each has an owner of its own.
pub(crate) fn fill(log: &Log, cells: usize, depth: u8) -> Vec<Seq> {
    let mut out = Vec::with_capacity(cells);
    for from in (0..cells).step_by(1_000) {
        let made: Vec<_> = (from..cells.min(from + 1_000))
            .map(|at| (key(at), payload(at, 0), columns(at)))
            .collect();
        let keys: Vec<[&[u8]; 3]> = made.iter().map(|(key, ..)| parts(key)).collect();
        let rows: Vec<Row<'_>> = made
            .iter()
            .zip(&keys)
            .map(|((_, payload, columns), key)| {
                Row::Put(Item {
                    columns: Some(columns),
                    ..Item::new(key, payload)
                })
            })
            .collect();
        let outcomes = log.write(&Batch {
            depth,
            ..Batch::new(&rows)
        });
        out.extend(outcomes.unwrap().iter().map(written));
    }
    out
}

/// The id under which a row was written.
pub(crate) fn written(outcome: &Outcome) -> Seq {
    match outcome {
        Outcome::Written(seq) => *seq,
        other => panic!("{other:?}"),
    }
}

/// Writes one row; gives its id.
pub(crate) fn write(log: &Log, row: Row<'_>) -> Seq {
    written(&log.write(&Batch::new(&[row])).unwrap()[0])
}
