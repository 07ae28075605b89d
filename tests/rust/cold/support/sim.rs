//! A medium in memory that writes down what is asked of it: the raw material of crash states.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use warmset_core::Error;
use warmset_core::cold::{Access, Hold, Map, Medium, MediumFile, Options, Store};

use super::faults::{Faults, Series, Turn};
use super::ops::{Image, Name, Op, parent, put};

#[derive(Debug, Default)]
struct Inner {
    names: BTreeMap<Name, usize>,
    dirs: BTreeSet<Name>,
    files: Vec<Arc<Vec<u8>>>,
    log: Option<Vec<Op>>,
}

impl Inner {
    fn note(&mut self, op: impl FnOnce() -> Op) {
        if let Some(log) = &mut self.log {
            log.push(op());
        }
    }
}

/// The directory as one process has it; [`other`](Self::other) gives it to another process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sim {
    inner: Arc<Mutex<Inner>>,
    locked: Arc<AtomicBool>,
    dead: Arc<AtomicBool>,
    pub(crate) faults: Arc<Faults>,
}

#[derive(Debug)]
struct SimFile {
    sim: Sim,
    name: Name,
    number: usize,
}

impl Sim {
    pub(crate) fn new(image: &Image) -> Self {
        let files = image.files.values().cloned().collect();
        let names = image.files.keys().cloned().zip(0..).collect();
        let inner = Inner {
            names,
            dirs: image.dirs.clone(),
            files,
            log: None,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            ..Self::default()
        }
    }

    /// The same directory for a process of its own.
    pub(crate) fn other(&self) -> Self {
        Self {
            dead: Arc::default(),
            ..self.clone()
        }
    }

    /// From now on everything that this process asks for fails and nothing happens: it was killed.
    pub(crate) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    pub(crate) fn record(&self) {
        self.inner.lock().unwrap().log = Some(Vec::new());
    }

    /// How many operations were written down.
    pub(crate) fn recorded(&self) -> usize {
        self.inner.lock().unwrap().log.as_ref().map_or(0, Vec::len)
    }

    /// Ends the record.
    pub(crate) fn take(&self) -> Vec<Op> {
        self.inner.lock().unwrap().log.take().unwrap()
    }

    /// The lock, as another process takes it that nothing goes wrong for.
    pub(crate) fn other_lock(&self) -> Box<dyn Hold> {
        assert!(
            !self.locked.swap(true, Ordering::SeqCst),
            "the lock is taken"
        );
        Box::new(SimHold(Arc::clone(&self.locked)))
    }

    /// What reads show now, synced or not.
    pub(crate) fn image(&self) -> Image {
        let inner = self.inner.lock().unwrap();
        let files = inner.names.iter();
        let files = files.map(|(name, n)| (Arc::clone(name), Arc::clone(&inner.files[*n])));
        Image {
            files: files.collect(),
            dirs: inner.dirs.clone(),
        }
    }

    pub(crate) fn read(&self, name: &str) -> Option<Arc<Vec<u8>>> {
        let inner = self.inner.lock().unwrap();
        inner.names.get(name).map(|n| Arc::clone(&inner.files[*n]))
    }

    pub(crate) fn open_store(&self, options: Options) -> Result<Store, Error> {
        Store::with_medium(Box::new(self.clone()), options)
    }

    fn alive(&self) -> io::Result<MutexGuard<'_, Inner>> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(self.inner.lock().unwrap())
    }

    /// How a call goes; one that is the last of its process ends it.
    fn turn(&self, series: Series, op: &str, name: &str) -> Turn {
        let turn = self.faults.turn(series, op, name);
        if matches!(&turn, Turn::Fails(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            self.kill();
        }
        turn
    }

    /// As [`alive`](Self::alive), for a call that looks and may fail.
    fn look(&self, op: &str, name: &str) -> io::Result<MutexGuard<'_, Inner>> {
        let inner = self.alive()?;
        match self.turn(Series::Reads, op, name) {
            Turn::Fails(error) => Err(error),
            Turn::Well | Turn::Short => Ok(inner),
        }
    }

    /// As [`alive`](Self::alive), for a call that changes something and may fail.
    fn change(&self, op: &str, name: &str) -> io::Result<MutexGuard<'_, Inner>> {
        let inner = self.alive()?;
        match self.turn(Series::Changes, op, name) {
            Turn::Fails(error) => Err(error),
            Turn::Well | Turn::Short => Ok(inner),
        }
    }

    fn file(&self, name: &str, number: usize) -> Arc<dyn MediumFile> {
        let (sim, name) = (self.clone(), name.into());
        Arc::new(SimFile { sim, name, number })
    }
}

impl Medium for Sim {
    fn path(&self, name: &str) -> PathBuf {
        Path::new(":sim:").join(name)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let inner = self.look("list", dir)?;
        let all = inner.names.keys().chain(&inner.dirs);
        let here = all.filter(|name| parent(name) == dir);
        Ok(here
            .map(|name| name.rsplit('/').next().unwrap().to_owned())
            .collect())
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn MediumFile>> {
        let mut inner = self.change("create", name)?;
        if inner.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !parent(name).is_empty() && !inner.dirs.contains(parent(name)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let number = inner.files.len();
        inner.files.push(Arc::default());
        inner.names.insert(name.into(), number);
        inner.note(|| Op::Create(name.into(), number));
        drop(inner);
        Ok(self.file(name, number))
    }
    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn MediumFile>> {
        let number = self.look("open", name)?.names.get(name).copied();
        number
            .map(|number| self.file(name, number))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.change("rename", to)?;
        let number = inner.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.names.insert(to.into(), number);
        inner.note(|| Op::Rename(from.into(), to.into(), number));
        Ok(())
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.change("remove", name)?;
        inner.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        inner.note(|| Op::Remove(name.into()));
        Ok(())
    }
    fn make_dir(&self, name: &str) -> io::Result<()> {
        let mut inner = self.change("make_dir", name)?;
        if inner.dirs.insert(name.into()) {
            inner.note(|| Op::MakeDir(name.into()));
        }
        Ok(())
    }
    fn sync_dir(&self, name: &str) -> io::Result<()> {
        let mut inner = self.change("sync_dir", name)?;
        inner.note(|| Op::SyncDir(name.into()));
        Ok(())
    }
    fn try_lock(&self) -> io::Result<Option<Box<dyn Hold>>> {
        let mut inner = self.look("lock", "")?;
        if !inner.names.contains_key("lock") {
            let number = inner.files.len();
            inner.files.push(Arc::default());
            inner.names.insert("lock".into(), number);
            inner.note(|| Op::Create("lock".into(), number));
        }
        drop(inner);
        let taken = self.locked.swap(true, Ordering::SeqCst);
        Ok((!taken).then(|| -> Box<dyn Hold> { Box::new(SimHold(Arc::clone(&self.locked))) }))
    }
    fn owner(&self) -> String {
        "somebody else".to_owned()
    }
}

#[derive(Debug)]
struct SimHold(Arc<AtomicBool>);

impl Hold for SimHold {}

impl Drop for SimHold {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl MediumFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let inner = self.sim.look("len", &self.name)?;
        Ok(u64::try_from(inner.files[self.number].len()).unwrap())
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let inner = self.sim.alive()?;
        let bytes = &inner.files[self.number];
        let start = usize::try_from(offset).unwrap().min(bytes.len());
        let mut count = buffer.len().min(bytes.len() - start);
        match self.sim.turn(Series::Reads, "read", &self.name) {
            Turn::Fails(error) => return Err(error),
            Turn::Short => count = count.div_ceil(2).min(100),
            Turn::Well => {}
        }
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.sim.alive()?;
        let start = usize::try_from(offset).unwrap();
        let turn = self.sim.turn(Series::Changes, "write", &self.name);
        let bytes = match &turn {
            Turn::Well => bytes,
            Turn::Fails(error) if error.kind() == io::ErrorKind::Interrupted => &[],
            Turn::Fails(_) => &bytes[..bytes.len() / 2],
            Turn::Short => &bytes[..bytes.len().div_ceil(2).min(100)],
        };
        if !bytes.is_empty() {
            put(Arc::make_mut(&mut inner.files[self.number]), start, bytes);
            inner.note(|| Op::Write(self.number, start, bytes.into()));
        }
        match turn {
            Turn::Fails(error) => Err(error),
            Turn::Well | Turn::Short => Ok(bytes.len()),
        }
    }
    fn sync_data(&self) -> io::Result<()> {
        let mut inner = self.sim.alive()?;
        match self.sim.turn(Series::Changes, "sync", &self.name) {
            Turn::Fails(error) => {
                if !self.sim.is_killed() {
                    inner.note(|| Op::SyncFailed(self.number));
                }
                Err(error)
            }
            Turn::Well | Turn::Short => {
                inner.note(|| Op::Sync(self.number));
                Ok(())
            }
        }
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inner = self.sim.change("set_len", &self.name)?;
        let len = usize::try_from(len).unwrap();
        Arc::make_mut(&mut inner.files[self.number]).resize(len, 0);
        inner.note(|| Op::SetLen(self.number, len));
        Ok(())
    }
    fn map(&self, _len: u64) -> io::Result<Map> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
