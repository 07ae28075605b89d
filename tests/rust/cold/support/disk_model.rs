//! What a disk may hold after a loss of power: what was synced, and any part of what was not.
//!
//! ```text
//! bytes    old before a sync of the file: each 512-byte sector of what was written since may be as it
//!          was, as it is, as it was in between, zeros, junk, or stale bytes of another file
//! lengths  any that the file had since its last sync; what is missing below it is zeros
//! names    kept or lost each for itself until the sync of its directory; a rename in one step
//! ```
//!
//! Bytes beside those that were written never change, and the files of a lost directory are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ops::{Image, Name, Op, parent, put};
use super::random::Random;

const SECTOR: usize = 512;

/// What becomes of one thing that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Lost,
    Zeros,
    Junk(u64),
    Stale(u64),
    /// As it was after so many of the changes.
    After(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Arc<[u8]>),
    Len(usize),
}

#[derive(Clone, Debug, Default)]
struct File {
    synced: Arc<Vec<u8>>,
    now: Arc<Vec<u8>>,
    /// Since the last sync.
    changes: Vec<Change>,
    /// Whether a sync failed, so that the disk and what reads show have parted.
    parted: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    op: Op,
    durable: bool,
}

/// A disk between two operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    names: BTreeMap<Name, usize>,
    dirs: BTreeSet<Name>,
    /// Changes of names, oldest first, from the first one on that is not durable.
    entries: Vec<Entry>,
    files: Vec<File>,
}

/// A part of one file that may be kept or lost for itself: within one sector.
type Piece = (usize, usize);

impl Disk {
    /// A disk on which everything is durable.
    pub(crate) fn new(image: &Image) -> Self {
        let file = |bytes: &Arc<Vec<u8>>| File {
            synced: Arc::clone(bytes),
            now: Arc::clone(bytes),
            changes: Vec::new(),
            parted: false,
        };
        Self {
            names: image.files.keys().cloned().zip(0..).collect(),
            dirs: image.dirs.clone(),
            entries: Vec::new(),
            files: image.files.values().map(file).collect(),
        }
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Create(..) | Op::Rename(..) | Op::Remove(..) | Op::MakeDir(..) => {
                if let Op::Create(_, number) = op {
                    assert_eq!(*number, self.files.len());
                    self.files.push(File::default());
                }
                let (op, durable) = (op.clone(), false);
                self.entries.push(Entry { op, durable });
            }
            Op::Write(number, start, bytes) => {
                let file = &mut self.files[*number];
                put(Arc::make_mut(&mut file.now), *start, bytes);
                file.changes.push(Change::Write(*start, Arc::clone(bytes)));
            }
            Op::SetLen(number, len) => {
                let file = &mut self.files[*number];
                Arc::make_mut(&mut file.now).resize(*len, 0);
                file.changes.push(Change::Len(*len));
            }
            Op::Sync(number) => {
                let file = &mut self.files[*number];
                file.synced = if file.parted {
                    Arc::new(file.after(file.changes.len()))
                } else {
                    Arc::clone(&file.now)
                };
                file.changes.clear();
            }
            Op::SyncFailed(number) => {
                let file = &mut self.files[*number];
                file.changes.clear();
                file.parted = true;
            }
            Op::SyncDir(dir) => self.sync_dir(dir),
        }
    }

    fn sync_dir(&mut self, dir: &str) {
        for entry in &mut self.entries {
            entry.durable |= match &entry.op {
                Op::Create(name, _) | Op::Remove(name) | Op::MakeDir(name) => parent(name) == dir,
                Op::Rename(from, to, _) => parent(from) == dir || parent(to) == dir,
                _ => false,
            };
        }
        let settled = self.entries.iter().take_while(|e| e.durable).count();
        for entry in self.entries.drain(..settled) {
            rename(&mut self.names, &mut self.dirs, &entry.op);
        }
    }

    /// Begins a write that stops after `len` bytes; [`undo`](Self::undo) takes it back.
    pub(crate) fn begin(&mut self, op: &Op, len: usize) -> Option<(usize, Arc<Vec<u8>>)> {
        let Op::Write(number, start, bytes) = op else {
            return None;
        };
        let before = Arc::clone(&self.files[*number].now);
        self.apply(&Op::Write(*number, *start, bytes[..len].into()));
        Some((*number, before))
    }

    pub(crate) fn undo(&mut self, begun: (usize, Arc<Vec<u8>>)) {
        let file = &mut self.files[begun.0];
        file.changes.pop();
        file.now = begun.1;
    }

    /// What is left when power is lost now. `fate` is asked for each thing that was not synced, with
    /// how many changes there were, in an order that depends on the disk alone.
    pub(crate) fn image(&self, mut fate: impl FnMut(usize) -> Fate) -> Image {
        let (mut names, mut dirs) = (self.names.clone(), self.dirs.clone());
        for entry in &self.entries {
            if entry.durable || fate(1) == Fate::Kept {
                rename(&mut names, &mut dirs, &entry.op);
            }
        }
        let mut files = BTreeMap::new();
        for (name, number) in names {
            let lost = !parent(&name).is_empty() && !dirs.contains(parent(&name));
            if !lost {
                files.insert(name, self.content(number, &mut fate));
            }
        }
        Image { files, dirs }
    }

    fn content(&self, number: usize, fate: &mut impl FnMut(usize) -> Fate) -> Arc<Vec<u8>> {
        let file = &self.files[number];
        if file.changes.is_empty() {
            return Arc::clone(&file.synced);
        }
        let count = file.changes.len();
        let grown = match fate(count) {
            Fate::Kept => file.now.len(),
            Fate::After(n) => file.after(n).len(),
            _ => file.synced.len(),
        };
        let mut bytes = file.synced.to_vec();
        bytes.resize(grown, 0);
        for (start, end) in file.pieces() {
            let end = end.min(grown);
            let fate = fate(count);
            if start >= end {
                continue;
            }
            match fate {
                Fate::Kept => copy(&mut bytes, start..end, &file.now, start),
                Fate::Lost => {}
                Fate::Zeros => bytes[start..end].fill(0),
                Fate::Junk(seed) => {
                    let mut random = Random(seed);
                    bytes[start..end].fill_with(|| random.next().to_le_bytes()[0]);
                }
                Fate::Stale(seed) => {
                    let mut random = Random(seed);
                    let other = &self.files[random.below(self.files.len())].synced;
                    let from = random.below(other.len().max(1)) / 8 * 8;
                    copy(&mut bytes, start..end, other, from);
                }
                Fate::After(n) => {
                    let then = file.after(n);
                    copy(&mut bytes, start..end, &then, start);
                }
            }
        }
        Arc::new(bytes)
    }
}

impl File {
    /// The file as it was after so many changes.
    fn after(&self, count: usize) -> Vec<u8> {
        let mut bytes = self.synced.to_vec();
        for change in self.changes.iter().take(count) {
            match change {
                Change::Write(start, written) => put(&mut bytes, *start, written),
                Change::Len(len) => bytes.resize(*len, 0),
            }
        }
        bytes
    }

    /// The sectors, as far as they were written since the last sync.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for change in &self.changes {
            let Change::Write(start, bytes) = change else {
                continue;
            };
            let (mut at, end) = (*start, start + bytes.len());
            while at < end {
                let stop = end.min((at / SECTOR + 1) * SECTOR);
                match pieces.iter_mut().find(|p| p.0 / SECTOR == at / SECTOR) {
                    Some(piece) => *piece = (piece.0.min(at), piece.1.max(stop)),
                    None => pieces.push((at, stop)),
                }
                at = stop;
            }
        }
        pieces
    }
}

fn copy(to: &mut [u8], range: std::ops::Range<usize>, from: &[u8], start: usize) {
    let from = from.get(start..).unwrap_or_default();
    let count = range.len().min(from.len());
    to[range.start..range.start + count].copy_from_slice(&from[..count]);
}

fn rename(names: &mut BTreeMap<Name, usize>, dirs: &mut BTreeSet<Name>, op: &Op) {
    match op {
        Op::Create(name, number) => {
            names.insert(Arc::clone(name), *number);
        }
        Op::Rename(from, to, number) => {
            names.remove(from);
            names.insert(Arc::clone(to), *number);
        }
        Op::Remove(name) => {
            names.remove(name);
        }
        Op::MakeDir(name) => {
            dirs.insert(Arc::clone(name));
        }
        _ => {}
    }
}
