//! A medium in memory that fails on purpose, at the n-th call that changes something.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use warmset_core::Error;
use warmset_core::cold::{Access, Hold, Map, Medium, MediumFile, Options, Ram, Store};

/// What fails, and how.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Calls so far, of those that change something.
    pub(crate) calls: AtomicU64,
    /// From which call on everything fails; 0 for never.
    from: AtomicU64,
    /// Whether only that one call fails.
    once: AtomicBool,
    kind: Mutex<Option<io::ErrorKind>>,
    /// Writes take a few bytes at a time and are interrupted in between.
    pub(crate) stutter: AtomicBool,
    /// How many lists still name a segment that is gone when it is opened.
    pub(crate) phantoms: AtomicU64,
    /// How many lists do not name yet what is there.
    pub(crate) early: AtomicU64,
    pub(crate) log: Mutex<Vec<&'static str>>,
    /// What happens elsewhere right before a rename; afterwards every call fails.
    pub(crate) at_rename: Mutex<Option<Elsewhere>>,
    /// What happens elsewhere right before a segment that is written anew gets its file, and right after
    /// its bytes.
    pub(crate) meanwhile: [Mutex<Vec<Elsewhere>>; 2],
}

/// Something that another handle does.
pub(crate) struct Elsewhere(pub(crate) Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Plan {
    fn elsewhere(&self, name: &str, at: usize) {
        if name.ends_with("new") {
            let next = self.meanwhile[at].lock().unwrap().pop();
            if let Some(next) = next {
                (next.0)();
            }
        }
    }

    fn step(&self, op: &'static str) -> io::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.log.lock().unwrap().push(op);
        let from = self.from.load(Ordering::SeqCst);
        let once = self.once.load(Ordering::SeqCst);
        if from > 0 && (call == from || (call > from && !once)) {
            return Err(self
                .kind
                .lock()
                .unwrap()
                .unwrap_or(io::ErrorKind::Other)
                .into());
        }
        Ok(())
    }

    /// Fails the n-th changing call from now.
    pub(crate) fn fail(&self, n: u64, once: bool, kind: io::ErrorKind) {
        *self.kind.lock().unwrap() = Some(kind);
        self.once.store(once, Ordering::SeqCst);
        self.from
            .store(self.calls.load(Ordering::SeqCst) + n, Ordering::SeqCst);
        self.log.lock().unwrap().clear();
    }

    pub(crate) fn heal(&self) {
        self.from.store(0, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Faulty {
    pub(crate) ram: Ram,
    pub(crate) plan: Arc<Plan>,
}

#[derive(Debug)]
pub(crate) struct FaultyFile {
    file: Arc<dyn MediumFile>,
    /// The mark's writes have a name of their own in the log.
    name: String,
    plan: Arc<Plan>,
}

impl Faulty {
    fn wrap(&self, name: &str, file: Arc<dyn MediumFile>) -> Arc<dyn MediumFile> {
        let plan = Arc::clone(&self.plan);
        let name = name.to_owned();
        Arc::new(FaultyFile { file, name, plan })
    }

    pub(crate) fn open_store(&self, options: Options) -> Result<Store, Error> {
        Store::with_medium(Box::new(self.clone()), options)
    }
}

impl Medium for Faulty {
    fn path(&self, name: &str) -> PathBuf {
        self.ram.path(name)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut names = self.ram.list(dir)?;
        let left = self.plan.phantoms.load(Ordering::SeqCst);
        if dir.is_empty() && left > 0 {
            self.plan.phantoms.store(left - 1, Ordering::SeqCst);
            names.push(super::segment(77));
        }
        let left = self.plan.early.load(Ordering::SeqCst);
        if dir.is_empty() && left > 0 {
            self.plan.early.store(left - 1, Ordering::SeqCst);
            names.clear();
        }
        Ok(names)
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn MediumFile>> {
        self.plan.step("create")?;
        self.plan.elsewhere(name, 0);
        Ok(self.wrap(name, self.ram.create(name)?))
    }
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn MediumFile>> {
        Ok(self.wrap(name, self.ram.open(name, access)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.plan.step("rename")?;
        let elsewhere = self.plan.at_rename.lock().unwrap().take();
        let Some(elsewhere) = elsewhere else {
            return self.ram.rename(from, to);
        };
        (elsewhere.0)();
        self.ram.rename(from, to)?;
        self.plan.fail(1, false, io::ErrorKind::Other);
        Ok(())
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.plan.step("remove")?;
        self.ram.remove(name)
    }
    fn make_dir(&self, name: &str) -> io::Result<()> {
        self.plan.step("make_dir")?;
        self.ram.make_dir(name)
    }
    fn sync_dir(&self, name: &str) -> io::Result<()> {
        self.plan.step("sync_dir")?;
        self.ram.sync_dir(name)
    }
    fn try_lock(&self) -> io::Result<Option<Box<dyn Hold>>> {
        self.ram.try_lock()
    }
    fn owner(&self) -> String {
        self.ram.owner()
    }
}

impl MediumFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if self.plan.stutter.load(Ordering::SeqCst) {
            let call = self.plan.calls.fetch_add(1, Ordering::SeqCst);
            if call.is_multiple_of(2) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            return self.file.write_at(&bytes[..bytes.len().min(7)], offset);
        }
        if let Err(error) = self
            .plan
            .step(if self.name == "mark" { "mark" } else { "write" })
        {
            // Half of it arrives before the medium gives up.
            self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(error);
        }
        self.file.write_at(bytes, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.plan.step("sync")?;
        self.file.sync_data()?;
        self.plan.elsewhere(&self.name, 1);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.plan.step("set_len")?;
        self.file.set_len(len)
    }
    fn map(&self, len: u64) -> io::Result<Map> {
        self.file.map(len)
    }
}
