//! Processes that write one log, compact it and leave turns in its spool are killed at random moments: what was
//! acknowledged is there, conditions held, and what was removed stays away.
//!
//! `WARMSET_KILLS=3000` says how many processes are killed, `WARMSET_SEED` chooses other moments.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warmset_core::cold::{Appended, Draft, Durability, OnBusy, Options, Store};
use warmset_core::log::{Batch, Expect, IfPresent, Item, Key, Log, Outcome, Row};
use warmset_core::{Error, Kind, Seq};

use crate::support::random::Random;

const COUNTER: Key<'static> = &[b"t", b"\xffs", b"counter"];
const LIST: Key<'static> = &[b"t", b"\xffl", b"list"];
const WAIT: Key<'static> = &[b"t", b"wait"];
const SEEN: Key<'static> = &[b"t", b"\xffs", b"seen"];
/// How many rounds of three kills one store lives through.
const LIFE: u64 = 4;
/// How many names there are to be claimed.
const CLAIMS: usize = 400;

fn open(dir: &Path, seed: u64) -> Result<Log, Error> {
    let options = Options {
        durability: [Durability::Fsync, Durability::Os][usize::from(seed.is_multiple_of(2))],
        on_busy: OnBusy::Spool,
        lock_wait: Duration::from_millis([1, 50][usize::from(seed.is_multiple_of(3))]),
        segment_bytes: 6_000,
        ..Options::default()
    };
    Ok(Log::new(Arc::new(Store::open(dir, options)?)))
}

/// Writes a line that whoever kills this process reads.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("@{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// What may happen among processes and must be tried again.
fn is_usual(error: &Error) -> bool {
    matches!(error, Error::Conflict { .. } | Error::Locked { .. })
}

/// Adds one to the counter, with an entry that says so.
fn count(log: &Log, name: &str) -> Result<String, Error> {
    let cell = log.get(COUNTER, 0)?;
    let version = cell.as_ref().map_or(Seq(0), |cell| cell.version);
    let value = cell.map_or(0, |cell| number(&cell.payload)) + 1;
    let (payload, entry) = (value.to_string(), format!("{value} {name}"));
    let rows = [
        Row::Put(Item::new(COUNTER, payload.as_bytes())),
        Row::Add(Item {
            uid: Some(name.as_bytes()),
            if_present: IfPresent::Fail,
            ..Item::new(LIST, entry.as_bytes())
        }),
    ];
    let outcomes = log.write(&Batch {
        expect: &[Expect::Version(COUNTER, version)],
        ..Batch::new(&rows)
    })?;
    let [_, Outcome::Written(seq)] = outcomes[..] else {
        panic!("{outcomes:?}");
    };
    Ok(format!("A {entry} {seq}"))
}

/// Puts a name that nobody may have yet.
fn claim(log: &Log, at: usize, name: &str) -> Result<String, Error> {
    let own = at.to_string();
    let key: [&[u8]; 4] = [b"t", b"\xffs", b"claim", own.as_bytes()];
    let rows = [Row::Put(Item {
        if_present: IfPresent::Skip,
        ..Item::new(&key, name.as_bytes())
    })];
    let outcome = log.write(&Batch::new(&rows))?[0];
    let taken = matches!(outcome, Outcome::Written(_));
    Ok(format!("{} {at} {name}", if taken { "C" } else { "O" }))
}

/// Puts something, and removes it.
fn remove(log: &Log, name: &str) -> Result<String, Error> {
    let key: [&[u8]; 4] = [b"t", b"\xffs", b"own", name.as_bytes()];
    log.write(&Batch::new(&[Row::Put(Item::new(&key, &[7; 300]))]))?;
    log.write(&Batch::new(&[Row::Remove(&key)]))?;
    Ok(format!("R {name}"))
}

/// Appends a turn, or leaves it in the spool where the lock is busy.
fn spool(log: &Log, name: &str) -> Result<String, Error> {
    let draft = Draft {
        kind: Kind::Turn,
        key: WAIT,
        meta: b"{}",
        sources: &[],
        payload: name.as_bytes(),
    };
    let left = log.store().append_or_spool(&[draft])?;
    let spooled = matches!(left, Appended::Spooled(_));
    Ok(format!("{} {name}", if spooled { "S" } else { "T" }))
}

/// Notes the end of what was appended so, if nothing comes between.
fn look(log: &Log) -> Result<String, Error> {
    let tail = log.tail(WAIT)?;
    let rows = [Row::Put(Item::new(SEEN, b"x"))];
    let outcomes = log.write(&Batch {
        expect: &[Expect::Tail(WAIT, tail)],
        ..Batch::new(&rows)
    })?;
    let [Outcome::Written(seq)] = outcomes[..] else {
        panic!("{outcomes:?}");
    };
    Ok(format!("W {tail} {seq}"))
}

fn number(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).unwrap().parse().unwrap()
}

/// Not a test: what one of the processes does, until it is killed.
#[test]
#[ignore = "one of the processes of another test"]
fn process() {
    let Ok(dir) = std::env::var("WARMSET_KILL_DIR") else {
        return;
    };
    let seed: u64 = std::env::var("WARMSET_KILL_SEED").unwrap().parse().unwrap();
    let compacts = seed % 3 == 2;
    let mut random = Random(seed);
    let mut n = 0_u64;
    let log = loop {
        match open(Path::new(&dir), seed) {
            Ok(log) => break log,
            Err(error) if is_usual(&error) => {}
            Err(error) => return say(&format!("! open: {error:?}")),
        }
    };
    loop {
        n += 1;
        let name = format!("{seed}.{n}");
        let done = if compacts {
            log.compact(0).map(|_| "P".to_owned())
        } else {
            match random.below(8) {
                0..=2 => count(&log, &name),
                3 => claim(&log, random.below(CLAIMS), &name),
                4 => remove(&log, &name),
                5 | 6 => spool(&log, &name),
                _ => look(&log),
            }
        };
        match done {
            Ok(line) => say(&line),
            Err(error) if is_usual(&error) => {}
            Err(error) => return say(&format!("! {error:?}")),
        }
        if compacts {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn start(dir: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::process", "--ignored", "--nocapture"])
        .env("WARMSET_KILL_DIR", dir)
        .env("WARMSET_KILL_SEED", seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a killed process had said.
fn told(mut child: Child, out: &mut Vec<String>) {
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    child.wait().unwrap();
    let whole = said.rfind('\n').map_or("", |end| &said[..end]);
    let lines = whole.lines().filter_map(|line| line.split_once('@'));
    out.extend(lines.map(|(_, line)| line.to_owned()));
}

#[test]
fn what_killed_processes_had_acknowledged_is_there() {
    let number = |name: &str, default: u64| {
        let given = std::env::var(name);
        given.map_or(default, |given| given.parse().unwrap())
    };
    let (kills, seed) = (number("WARMSET_KILLS", 90), number("WARMSET_SEED", 1));
    let mut random = Random(seed);
    let mut dir = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for round in 0..kills.div_ceil(3) {
        if round % LIFE == 0 {
            dir = tempfile::tempdir().unwrap();
            lines.clear();
        }
        let first = seed * 3_000_000 + round * 3;
        let mut children: Vec<Child> = (0..3).map(|at| start(dir.path(), first + at)).collect();
        let known = lines.len();
        while !children.is_empty() {
            let wait = 2 + random.below(if children.len() == 3 { 60 } else { 12 });
            thread::sleep(Duration::from_millis(u64::try_from(wait).unwrap()));
            let mut child = children.swap_remove(random.below(children.len()));
            child.kill().unwrap();
            told(child, &mut lines);
        }
        for line in &lines[known..] {
            *counts.entry(line.chars().next().unwrap()).or_default() += 1;
        }
        check(dir.path(), &lines).unwrap_or_else(|error| panic!("seed {seed}, {round}: {error}"));
    }
    println!("{kills} kills, seed {seed}: {counts:?}");
    for what in ['A', 'C', 'R', 'T', 'W', 'P'] {
        assert!(counts.contains_key(&what), "no {what}: {counts:?}");
    }
}

/// Compares what is there with what was acknowledged.
fn check(dir: &Path, lines: &[String]) -> Result<(), String> {
    let words = |error: Error| error.to_string();
    let log = open(dir, 1).map_err(words)?;
    let entries = log.entries(LIST, None, usize::MAX, false, 0);
    let entries = entries.map_err(words)?;
    let counter = log.get(COUNTER, 0).map_err(words)?;
    let counter = counter.map_or(0, |cell| number(&cell.payload));
    let mut by_payload = BTreeMap::new();
    for (value, entry) in (1_u64..).zip(&entries) {
        let payload = String::from_utf8(entry.payload.clone()).unwrap();
        if payload.split(' ').next() != Some(value.to_string().as_str()) {
            return Err(format!("{payload} is the entry {value}"));
        }
        by_payload.insert(payload, entry.seq);
    }
    if counter != u64::try_from(entries.len()).unwrap() {
        return Err(format!("counted {counter}, with {} entries", entries.len()));
    }
    let waited = log.entries(WAIT, None, usize::MAX, false, 0);
    let waited: Vec<(Seq, String)> = waited
        .map_err(words)?
        .into_iter()
        .map(|entry| (entry.seq, String::from_utf8(entry.payload).unwrap()))
        .collect();
    let mut claimed = BTreeMap::new();
    for line in lines {
        let parts: Vec<&str> = line.split(' ').collect();
        let right = match parts[..] {
            ["A", value, name, seq] => {
                let found = by_payload.get(&format!("{value} {name}"));
                found.is_some_and(|found| found.to_string() == seq)
            }
            ["C", at, name] => {
                let key: [&[u8]; 4] = [b"t", b"\xffs", b"claim", at.as_bytes()];
                let found = log.get(&key, 0).map_err(words)?;
                let before = claimed.insert(at, name);
                before.is_none() && found.is_some_and(|cell| cell.payload == name.as_bytes())
            }
            ["R", name] => {
                let key: [&[u8]; 4] = [b"t", b"\xffs", b"own", name.as_bytes()];
                log.get(&key, 0).map_err(words)?.is_none()
            }
            ["S" | "T", name] => waited.iter().filter(|(_, own)| own == name).count() == 1,
            ["W", tail, seq] => {
                let [after, before] = [tail, seq].map(|one| {
                    let digits = one.trim_start_matches(|c: char| !c.is_ascii_digit());
                    number(digits.as_bytes())
                });
                let between = |seq: &Seq| after < seq.0 && seq.0 < before;
                !waited.iter().any(|(seq, _)| between(seq))
            }
            ["O", ..] | ["P"] => true,
            _ => false,
        };
        if !right {
            return Err(format!("acknowledged, and not so: {line}"));
        }
    }
    let damages = log.store().report().damages;
    if damages.is_empty() {
        Ok(())
    } else {
        Err(format!("{damages:?}"))
    }
}
