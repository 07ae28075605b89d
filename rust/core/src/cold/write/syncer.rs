//! The thread that syncs at intervals what was written and not synced yet.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::cold::shelf::Shelf;
use crate::cold::write::writer::Writer;

/// Runs until it is dropped.
#[derive(Debug)]
pub(in crate::cold) struct Syncer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Syncer {
    pub(in crate::cold) fn start(
        shelf: Arc<Shelf>,
        writer: Arc<Mutex<Option<Writer>>>,
        every: Duration,
    ) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stop);
        let run = move || {
            loop {
                let (flag, bell) = &*told;
                let flag = flag.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = bell.wait_timeout_while(flag, every, |stop| !*stop);
                let (stop, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if *stop {
                    return;
                }
                drop(stop);
                let Ok(mut slot) = writer.lock() else {
                    return;
                };
                let Some(writer) = slot.as_mut() else {
                    return;
                };
                // A failure poisons the writer, which the next append says; a busy lock is tried
                // again at the next turn.
                if writer.used {
                    writer.alone = true;
                    if let Ok(_hold) = writer.begin(&shelf) {
                        let _ = writer.sync(&shelf);
                    }
                    writer.alone = false;
                }
            }
        };
        let thread = Builder::new().name("warmset-sync".into()).spawn(run).ok();
        Self {
            stop,
            thread,
            pid: std::process::id(),
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // The child of a fork has not got the thread, and nobody gives back what it had locked.
            return;
        }
        let (flag, bell) = &*self.stop;
        *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        bell.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_of_a_fork_does_not_wait_for_the_thread() {
        let store = crate::cold::Store::in_memory(crate::cold::Options::default()).unwrap();
        let writer = Arc::new(Mutex::new(None));
        let mut syncer = Syncer::start(
            Arc::clone(&store.shelf),
            Arc::clone(&writer),
            Duration::from_hours(1),
        );
        syncer.pid = syncer.pid.wrapping_add(1);
        let (flag, bell) = &*Arc::clone(&syncer.stop);
        // As the thread may have held it when the process forked.
        let mut held = flag.lock().unwrap();
        drop(syncer);
        *held = true;
        bell.notify_all();
    }
}
