//! Random batches of two writing handles, a reading one and one that is opened anew, against a dictionary.

use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::cold::{Durability, Encryption, Mode, Options, Ram, Read, Scope, Store};
use warmset_core::log::{Batch, Log};
use warmset_core::{Error, Seq};

use crate::asked::{self, agree, ids, key, written};
use crate::world::{Change, Id, Key, Refused, Taken, World};

const NOW: i64 = 1_000;

fn cells() -> Vec<Key> {
    vec![
        key(&[b"t", b"\xffs", b"a"]),
        key(&[b"t", b"\xffs", b"a", b"b"]),
        key(&[b"t", b"\xffs", b"a\0"]),
        key(&[b"u", b"\xffs", b"a"]),
    ]
}

fn lists() -> Vec<Key> {
    vec![
        key(&[b"t", b"\xffl", b"x"]),
        key(&[b"t", b"talk"]),
        key(&[b"t", b"\xffl", b"x", b"y"]),
    ]
}

fn prefixes() -> Vec<Key> {
    vec![
        key(&[b"t"]),
        key(&[b"t", b"\xffs"]),
        key(&[b"t", b"\xffs", b"a"]),
        key(&[b"t", b"\xffl", b"x"]),
        key(&[b"t", b"talk"]),
        key(&[b"nobody"]),
    ]
}

/// A row whose ids are chosen when it is made: the n-th entry of a list then.
#[derive(Clone, Debug)]
enum Plan {
    Row(Change),
    Cut { list: usize, at: usize },
    RemoveEntry { list: usize, at: usize },
}

#[derive(Clone, Copy, Debug)]
enum Hope {
    Version { key: usize, right: bool },
    Tail { list: usize, right: bool },
}

#[derive(Clone, Debug)]
enum Step {
    Write {
        rows: Vec<Plan>,
        hopes: Vec<Hope>,
    },
    /// All below a prefix, through the log or the store.
    Erase(usize, bool),
    /// The newest version of a cell, or an entry, so.
    EraseCell(usize, bool),
    EraseEntry(usize, usize, bool),
    /// Erased records go; with the log, all that nothing shows.
    Compact(bool),
    Sweep,
    Reopen,
    Later(i64),
}

fn expiry() -> impl Strategy<Value = Option<i64>> {
    prop::option::weighted(0.3, NOW..NOW + 30)
}

fn taken() -> impl Strategy<Value = Taken> {
    prop_oneof![Just(Taken::Replace), Just(Taken::Skip), Just(Taken::Fail)]
}

fn plan() -> impl Strategy<Value = Plan> {
    let payload = || prop::collection::vec(any::<u8>(), 0..4);
    let uid = prop::option::weighted(0.6, prop::collection::vec(0..3_u8, 1..2));
    let put = (0..4_usize, payload(), expiry(), 0..3_i64, taken()).prop_map(
        |(at, payload, expires, column, taken)| Change::Put {
            key: cells()[at].clone(),
            payload,
            expires,
            column,
            sources: Vec::new(),
            taken,
        },
    );
    let add = (0..3_usize, uid, payload(), expiry(), taken()).prop_map(
        |(at, uid, payload, expires, taken)| Change::Add {
            list: lists()[at].clone(),
            uid,
            payload,
            expires,
            taken,
        },
    );
    let patch = (0..4_usize, 0..3_i64, expiry()).prop_map(|(at, column, expires)| Change::Patch {
        key: cells()[at].clone(),
        column,
        expires,
    });
    prop_oneof![
        5 => put.prop_map(Plan::Row),
        6 => add.prop_map(Plan::Row),
        1 => patch.prop_map(Plan::Row),
        1 => (0..4_usize).prop_map(|at| Plan::Row(Change::Remove(cells()[at].clone()))),
        1 => (0..6_usize).prop_map(|at| Plan::Row(Change::RemoveBelow(prefixes()[at].clone()))),
        2 => (0..3_usize, 0..6_usize).prop_map(|(list, at)| Plan::Cut { list, at }),
        1 => (0..3_usize, 0..6_usize).prop_map(|(list, at)| Plan::RemoveEntry { list, at }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let hope = prop_oneof![
        (0..4_usize, prop::bool::weighted(0.8))
            .prop_map(|(key, right)| Hope::Version { key, right }),
        (0..3_usize, prop::bool::weighted(0.8))
            .prop_map(|(list, right)| Hope::Tail { list, right }),
    ];
    let hopes = prop::collection::vec(hope, 0..2);
    let step = prop_oneof![
        12 => (prop::collection::vec(plan(), 1..5), hopes)
            .prop_map(|(rows, hopes)| Step::Write { rows, hopes }),
        1 => (0..6_usize, any::<bool>()).prop_map(|(at, log)| Step::Erase(at, log)),
        1 => (0..4_usize, any::<bool>()).prop_map(|(at, log)| Step::EraseCell(at, log)),
        1 => (0..3_usize, 0..5_usize, any::<bool>())
            .prop_map(|(list, at, log)| Step::EraseEntry(list, at, log)),
        2 => any::<bool>().prop_map(Step::Compact),
        1 => Just(Step::Sweep),
        2 => Just(Step::Reopen),
        2 => (1..12_i64).prop_map(Step::Later),
    ];
    prop::collection::vec((0..2_usize, step), 1..30)
}

fn settings() -> impl Strategy<Value = Options> {
    let encryption = prop_oneof![Just(Encryption::Off), Just(Encryption::Keys)];
    let segment_bytes = prop_oneof![Just(1), 900..4_000_u64, Just(1 << 20)];
    (encryption, segment_bytes).prop_map(|(encryption, segment_bytes)| Options {
        encryption,
        segment_bytes,
        durability: Durability::Os,
        read: Read::Positional,
        ..Options::default()
    })
}

fn open(ram: &Ram, options: Options) -> Log {
    Log::new(Arc::new(
        Store::with_medium(Box::new(ram.clone()), options).unwrap(),
    ))
}

struct Model {
    ram: Ram,
    options: Options,
    writers: [Log; 2],
    reader: Log,
    world: World,
    now: i64,
}

impl Model {
    fn new(options: Options) -> Self {
        let ram = Ram::new();
        let writers = [open(&ram, options), open(&ram, options)];
        let read = Options {
            mode: Mode::Read,
            ..options
        };
        let reader = open(&ram, read);
        Self {
            ram,
            options,
            writers,
            reader,
            world: World::default(),
            now: NOW,
        }
    }

    /// The id of the n-th entry of a list; 0 where there are fewer, and one of nobody for the last.
    fn entry(&self, list: usize, at: usize) -> Seq {
        if at == 5 {
            return Seq(1 << 40);
        }
        let entries = self.world.lists.get(&lists()[list]);
        let entry = entries.and_then(|entries| entries.get(at));
        match entry.map(|entry| entry.seq) {
            Some(Id::Known(seq)) => seq,
            _ => Seq(0),
        }
    }

    fn step(&mut self, who: usize, step: Step) {
        match step {
            Step::Write { rows, hopes } => {
                let rows: Vec<Change> = rows
                    .into_iter()
                    .map(|plan| match plan {
                        Plan::Row(change) => change,
                        Plan::Cut { list, at } => Change::Cut {
                            list: lists()[list].clone(),
                            after: self.entry(list, at),
                        },
                        Plan::RemoveEntry { list, at } => Change::RemoveEntries {
                            list: lists()[list].clone(),
                            entries: vec![self.entry(list, at)],
                        },
                    })
                    .collect();
                self.write(who, &rows, &hopes);
            }
            Step::EraseCell(at, log) => {
                let key = &cells()[at];
                let Some(Id::Known(seq)) = self.world.version(key, i64::MIN) else {
                    return;
                };
                self.erase(who, Scope::Records(&[seq]), log);
                self.world.cells.remove(key);
            }
            Step::EraseEntry(list, at, log) => {
                let seq = self.entry(list, at);
                if seq == Seq(0) {
                    return;
                }
                self.erase(who, Scope::Records(&[seq]), log);
                let all = self.world.lists.get_mut(&lists()[list]);
                all.unwrap().retain(|entry| entry.seq != Id::Known(seq));
            }
            Step::Erase(at, log) => {
                let prefix = &prefixes()[at];
                let parts: Vec<&[u8]> = prefix.iter().map(Vec::as_slice).collect();
                self.erase(who, Scope::Prefix(&parts), log);
                self.world.cells.retain(|key, _| !key.starts_with(prefix));
                self.world.lists.retain(|key, _| !key.starts_with(prefix));
            }
            Step::Compact(log) => {
                let writer = &self.writers[who];
                let told = if log {
                    self.world.sweep(self.now);
                    writer.compact(self.now)
                } else {
                    writer.store().compact()
                };
                told.unwrap();
            }
            Step::Sweep => {
                self.writers[who].sweep(self.now).unwrap();
                self.world.sweep(self.now);
            }
            Step::Reopen => {
                self.writers[who].store().close().unwrap();
                self.writers[who] = open(&self.ram, self.options);
            }
            Step::Later(by) => self.now += by,
        }
    }

    fn erase(&self, who: usize, scope: Scope<'_>, log: bool) {
        let writer = &self.writers[who];
        let told = if log {
            writer.erase(scope)
        } else {
            writer.store().erase(scope)
        };
        told.unwrap();
    }

    fn write(&mut self, who: usize, rows: &[Change], hopes: &[Hope]) {
        let mut expected: Vec<asked::Hoped> = Vec::new();
        let mut wrong = None;
        for hope in hopes {
            let (is_tail, key, found, right) = match *hope {
                Hope::Version { key, right } => {
                    let key = cells()[key].clone();
                    let found = self.world.version(&key, self.now);
                    (false, key, found, right)
                }
                Hope::Tail { list, right } => {
                    let list = lists()[list].clone();
                    let found = self.world.tail(&list);
                    (true, list, found, right)
                }
            };
            let found = match found {
                Some(Id::Known(seq)) => seq,
                _ => Seq(0),
            };
            let asked = if right { found } else { Seq(found.0 + 1) };
            if !right {
                wrong = wrong.or(Some(is_tail));
            }
            expected.push((is_tail, key, asked));
        }
        let outcome = match wrong {
            Some(is_tail) => {
                let reason = if is_tail { "tail" } else { "version" };
                Err(Refused::Conflict(None, reason))
            }
            None => self.world.apply(rows, self.now),
        };
        let found = written(
            &self.writers[who],
            rows,
            &expected,
            &Batch {
                now: self.now,
                ..Batch::new(&[])
            },
        );
        match (outcome, found) {
            (Ok(came), Ok(outcomes)) => {
                assert_eq!(agree(&came, &outcomes), Ok(()), "{rows:?}");
                self.world.name(&ids(&outcomes));
            }
            (
                Err(Refused::Conflict(row, reason)),
                Err(Error::Conflict {
                    row: at,
                    reason: why,
                    ..
                }),
            ) => {
                assert_eq!((row, reason), (at, why), "{rows:?}");
            }
            (Err(Refused::NotFound), Err(Error::NotFound { .. })) => {}
            (expected, found) => panic!("{expected:?} {found:?} of {rows:?}"),
        }
    }

    fn check(&self) {
        let anew = open(
            &self.ram,
            Options {
                mode: Mode::Read,
                ..self.options
            },
        );
        for log in [&self.writers[0], &self.writers[1], &self.reader, &anew] {
            for key in cells() {
                let parts: Vec<&[u8]> = key.iter().map(Vec::as_slice).collect();
                let expected = self.world.cells.get(&key);
                let expected = expected.filter(|cell| cell.expires.is_none_or(|at| self.now < at));
                let found = asked::cell(log, &key, self.now).unwrap();
                assert_eq!(found.as_ref(), expected, "{key:?}");
                assert_eq!(
                    log.version(&parts, self.now).unwrap().map(Id::Known),
                    found.map(|c| c.version)
                );
            }
            for list in lists() {
                let parts: Vec<&[u8]> = list.iter().map(Vec::as_slice).collect();
                let all = self.world.lists.get(&list).cloned().unwrap_or_default();
                let tail = all.last().map_or(Id::Known(Seq(0)), |entry| entry.seq);
                assert_eq!(Id::Known(log.tail(&parts).unwrap()), tail, "{list:?}");
                let live = all
                    .into_iter()
                    .filter(|e| e.expires.is_none_or(|at| self.now < at));
                let live: Vec<_> = live.collect();
                let found = asked::entries(log, &list, self.now).unwrap();
                assert_eq!(found, live, "{list:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(400)))]

    #[test]
    fn every_handle_shows_what_a_dictionary_would(options in settings(), steps in steps()) {
        let mut model = Model::new(options);
        for (who, step) in steps {
            model.step(who, step);
            model.check();
        }
    }
}
