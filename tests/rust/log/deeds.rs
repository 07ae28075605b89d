//! What the workloads of crashes and faults do to a log, with what the dictionary makes of it.

use std::collections::BTreeMap;

use warmset_core::cold::{Ack, Scope};
use warmset_core::log::{Batch, Log, Outcome};
use warmset_core::{Error, Seq};

use crate::asked::{self, Hoped, ids, key, written};
use crate::world::{Came, Cell, Change, Entry, Id, Key, Refused, Taken, World};

/// The clock of all batches and reads.
pub(crate) const NOW: i64 = 1_000;
/// When what expires does so, and when it is swept.
const EXPIRES: i64 = 2_000;
const LATE: i64 = 3_000;

pub(crate) fn a() -> Key {
    key(&[b"t", b"\xffs", b"a"])
}
fn b() -> Key {
    key(&[b"t", b"\xffs", b"b"])
}
fn short_lived() -> Key {
    key(&[b"t", b"\xffs", b"short-lived"])
}
fn named() -> Key {
    key(&[b"t", b"\xffo", b"named"])
}
fn source() -> Key {
    key(&[b"t", b"\xffm", b"source"])
}
fn made() -> Key {
    key(&[b"u", b"\xffm", b"made"])
}
pub(crate) fn list() -> Key {
    key(&[b"t", b"\xffl", b"list"])
}
fn talk() -> Key {
    key(&[b"t", b"talk"])
}
fn prefix() -> Key {
    key(&[b"t", b"\xffs"])
}

pub(crate) fn cells() -> [Key; 6] {
    [a(), b(), short_lived(), named(), source(), made()]
}

pub(crate) fn lists() -> [Key; 2] {
    [list(), talk()]
}

/// One thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// A first state in which every other one has something to do.
    Begin,
    Put,
    /// As `Put`, not synced whatever the options say.
    Unsynced,
    /// A put, a patch of it, an entry, and a payload that is longer than a sector.
    Batch,
    /// An entry in the place of the one of its name.
    Replace,
    Patch,
    /// A batch whose condition does not hold.
    Refused,
    /// The end of the list anew, if it is as expected.
    Suffix,
    /// The head of a conversation moves back, and goes on from there.
    Head,
    Remove,
    RemoveBelow,
    RemoveEntry,
    /// A cell that is made from another one, or that other one if it is not there.
    Make,
    RemoveSource,
    EraseSource,
    EraseCell,
    EraseBelow,
    Sweep,
    /// A batch with a name.
    Once,
    Compact,
}

/// It, with all that was chosen.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Write {
        rows: Vec<Change>,
        hopes: Vec<Hoped>,
        once: Option<Vec<u8>>,
        ack: Ack,
    },
    EraseCell(Key, Seq),
    EraseBelow,
    Sweep,
    Compact,
}

fn put(key: Key, n: usize, len: usize) -> Change {
    let mut payload = format!("{n:04} ").into_bytes();
    payload.resize(len + 5, b'x');
    Change::Put {
        key,
        payload,
        expires: None,
        column: i64::try_from(n).unwrap(),
        sources: Vec::new(),
        taken: Taken::Replace,
    }
}

fn add(list: Key, n: usize, uid: Option<&[u8]>) -> Change {
    Change::Add {
        list,
        uid: uid.map(<[u8]>::to_vec),
        payload: format!("entry {n:04}").into_bytes(),
        expires: None,
        taken: Taken::Replace,
    }
}

fn known(id: Option<Id>) -> Seq {
    match id {
        Some(Id::Known(seq)) => seq,
        _ => Seq(0),
    }
}

/// The rows of a first state.
fn first(n: usize) -> Vec<Change> {
    let mut lived = put(short_lived(), n, 3);
    if let Change::Put { expires, .. } = &mut lived {
        *expires = Some(EXPIRES);
    }
    vec![
        put(a(), n, 10),
        put(b(), n, 10),
        lived,
        put(source(), n, 5),
        add(list(), n, Some(b"one")),
        add(list(), n, None),
        add(list(), n, Some(b"two")),
        add(talk(), n, None),
        add(talk(), n, None),
    ]
}

fn version(world: &World, key: &Key) -> Seq {
    known(world.version(key, i64::MIN))
}

/// The n-th rows of a verb that writes; `None` where there is nothing for it to do.
fn rows(verb: Verb, world: &World, n: usize) -> Option<Vec<Change>> {
    let entry = |list: &Key, at: usize| {
        let entries = world.lists.get(list)?;
        entries.get(at).map(|entry| known(Some(entry.seq)))
    };
    Some(match verb {
        Verb::Begin => first(n),
        Verb::Put => vec![put(a(), n, 20)],
        Verb::Unsynced => vec![put(a(), n, 25)],
        Verb::Batch => vec![
            put(b(), n, 700),
            add(list(), n, None),
            Change::Patch {
                key: b(),
                column: -1,
                expires: Some(EXPIRES),
            },
            put(a(), n, 5),
        ],
        Verb::Replace => vec![add(list(), n, Some(b"one"))],
        Verb::Patch => {
            world.version(&a(), NOW)?;
            vec![Change::Patch {
                key: a(),
                column: -i64::try_from(n).unwrap(),
                expires: None,
            }]
        }
        Verb::Refused => vec![
            put(b(), n, 20),
            add(list(), n, None),
            Change::Remove(source()),
        ],
        Verb::Suffix => {
            let after = entry(&list(), 0)?;
            let cut = Change::Cut {
                list: list(),
                after,
            };
            vec![cut, add(list(), n, None), add(list(), n, Some(b"two"))]
        }
        Verb::Head => {
            let after = entry(&talk(), 0)?;
            let list = talk();
            vec![Change::Cut { list, after }, add(talk(), n, None)]
        }
        Verb::Remove => vec![Change::Remove(a())],
        Verb::RemoveBelow => vec![Change::RemoveBelow(prefix())],
        Verb::RemoveEntry => {
            let entries = vec![entry(&list(), 1)?];
            let list = list();
            vec![Change::RemoveEntries { list, entries }]
        }
        Verb::Make if version(world, &source()) == Seq(0) => vec![put(source(), n, 5)],
        Verb::Make => {
            let mut derived = put(made(), n, 5);
            if let Change::Put { sources, .. } = &mut derived {
                sources.push(version(world, &source()));
            }
            vec![derived]
        }
        Verb::RemoveSource => vec![Change::Remove(source())],
        Verb::Once => vec![
            put(named(), n, 9),
            Change::Remove(b()),
            add(list(), n, None),
        ],
        Verb::EraseSource | Verb::EraseCell | Verb::EraseBelow | Verb::Sweep | Verb::Compact => {
            return None;
        }
    })
}

impl Deed {
    /// The n-th deed; `None` where there is nothing for it to do.
    pub(crate) fn of(verb: Verb, world: &World, n: usize) -> Option<Self> {
        let erase = |key: Key| {
            let seq = version(world, &key);
            (seq != Seq(0)).then_some(Self::EraseCell(key, seq))
        };
        match verb {
            Verb::EraseSource => return erase(source()),
            Verb::EraseCell => return erase(a()),
            Verb::EraseBelow => return Some(Self::EraseBelow),
            Verb::Sweep => return Some(Self::Sweep),
            Verb::Compact => return Some(Self::Compact),
            _ => {}
        }
        let hopes = match verb {
            Verb::Refused => vec![(false, a(), Seq(version(world, &a()).0 + 1))],
            Verb::Suffix => vec![(true, list(), known(world.tail(&list())))],
            _ => Vec::new(),
        };
        Some(Self::Write {
            rows: rows(verb, world, n)?,
            hopes,
            once: (verb == Verb::Once).then(|| format!("name {n}").into_bytes()),
            ack: match verb {
                Verb::Unsynced => Ack::Written,
                _ => Ack::Durable,
            },
        })
    }

    /// What it makes of the world; the world is as before where it is refused.
    pub(crate) fn apply(&self, world: &mut World) -> Result<Vec<Came>, Refused> {
        match self {
            Self::Write { rows, hopes, .. } => {
                for (is_tail, key, seq) in hopes {
                    let (found, reason) = if *is_tail {
                        (world.tail(key), "tail")
                    } else {
                        (world.version(key, NOW), "version")
                    };
                    if known(found) != *seq {
                        return Err(Refused::Conflict(None, reason));
                    }
                }
                return world.apply(rows, NOW);
            }
            Self::EraseCell(key, _) => {
                world.remove_cell(key);
            }
            Self::EraseBelow => world.remove_below(&prefix()),
            Self::Sweep => world.sweep(LATE),
            Self::Compact => {}
        }
        Ok(Vec::new())
    }

    /// Does it.
    pub(crate) fn perform(&self, log: &Log) -> Result<Vec<Outcome>, Error> {
        match self {
            Self::Write {
                rows,
                hopes,
                once,
                ack,
            } => {
                let with = Batch {
                    once: once.as_deref(),
                    now: NOW,
                    ack: *ack,
                    ..Batch::new(&[])
                };
                return written(log, rows, hopes, &with);
            }
            Self::EraseCell(_, seq) => drop(log.erase(Scope::Records(&[*seq]))?),
            Self::EraseBelow => {
                let parts = prefix();
                let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                log.erase(Scope::Prefix(&parts))?;
            }
            Self::Sweep => drop(log.sweep(LATE)?),
            Self::Compact => drop(log.compact(NOW)?),
        }
        Ok(Vec::new())
    }

    /// Whether the log answered what the dictionary foresaw; then ids are known in the world.
    pub(crate) fn settle(
        foreseen: &Result<Vec<Came>, Refused>,
        answer: &Result<Vec<Outcome>, Error>,
        world: &mut World,
    ) -> Result<(), String> {
        match (foreseen, answer) {
            (Ok(came), Ok(outcomes)) => {
                asked::agree(came, outcomes)?;
                world.name(&ids(outcomes));
                Ok(())
            }
            (
                Err(Refused::Conflict(row, reason)),
                Err(Error::Conflict {
                    row: at,
                    reason: why,
                    ..
                }),
            ) if row == at && reason == why => Ok(()),
            (foreseen, answer) => Err(format!("{answer:?} in place of {foreseen:?}")),
        }
    }
}

/// What is shown of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    cells: BTreeMap<Key, Cell>,
    lists: BTreeMap<Key, Vec<Entry>>,
}

impl Shown {
    /// What a log shows.
    pub(crate) fn by(log: &Log) -> Result<Self, Error> {
        let mut shown = Self {
            cells: BTreeMap::new(),
            lists: BTreeMap::new(),
        };
        for key in cells() {
            if let Some(cell) = asked::cell(log, &key, NOW)? {
                shown.cells.insert(key, cell);
            }
        }
        for key in lists() {
            let entries = asked::entries(log, &key, NOW)?;
            let parts: Vec<&[u8]> = key.iter().map(Vec::as_slice).collect();
            let last = entries.last().map(|entry| entry.seq);
            assert_eq!(log.tail(&parts)?, known(last), "the tail of {key:?}");
            if !entries.is_empty() {
                shown.lists.insert(key, entries);
            }
        }
        Ok(shown)
    }

    /// What is there by the dictionary.
    pub(crate) fn of(world: &World) -> Self {
        let live = |cell: &Cell| cell.expires.is_none_or(|at| NOW < at);
        let cells = world.cells.iter().filter(|(_, cell)| live(cell));
        let lists = world.lists.iter().filter(|(_, all)| !all.is_empty());
        Self {
            cells: cells
                .map(|(key, cell)| (key.clone(), cell.clone()))
                .collect(),
            lists: lists.map(|(key, all)| (key.clone(), all.clone())).collect(),
        }
    }
}
