//! A process forks: the child has one thread, and what the others had locked stays locked there.
//!
//! A handle knows its process and touches no lock in another one. Besides handles there are two locks
//! of the whole process, the list of locked files and that of whoever unpacks a vocabulary. The thread
//! that forks holds both meanwhile, so that no other one does.

use std::cell::RefCell;
use std::sync::MutexGuard;

use crate::cold::{Held, try_held};
use crate::tokens::try_loading;

type Locks = (MutexGuard<'static, Held>, MutexGuard<'static, ()>);

thread_local! {
    static FORKING: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

/// To be called before a fork, by the thread that forks, until it says `true`: it says `false` while
/// another thread uses what the child would find locked.
#[must_use]
pub fn before() -> bool {
    FORKING.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = try_loading().and_then(|loading| Some((try_held()?, loading)));
        }
        slot.is_some()
    })
}

/// To be called after a fork, by the thread that forked, in the parent and in the child.
pub fn after() {
    FORKING.take();
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn elsewhere() -> bool {
        let tried = || {
            let tried = before();
            after();
            tried
        };
        thread::spawn(tried).join().unwrap()
    }

    #[test]
    fn one_thread_forks_at_a_time_and_waits_for_those_that_are_busy() {
        // Other tests of this process lock files, too.
        let wait = |until: &dyn Fn() -> bool| {
            (0..10_000).any(|_| {
                until() || {
                    thread::sleep(std::time::Duration::from_millis(1));
                    false
                }
            })
        };
        assert!(wait(&before));
        assert!(before(), "it has the locks already");
        assert!(!elsewhere());
        after();
        after();
        assert!(wait(&elsewhere));
        for busy in 0..2 {
            let (list, loading) = (try_held(), try_loading());
            let kept = (list.filter(|_| busy == 0), loading.filter(|_| busy == 1));
            if kept.0.is_some() || kept.1.is_some() {
                assert!(!elsewhere(), "{busy}");
            }
        }
    }
}
