//! The crash states of recorded operations, one after the other.

use std::collections::HashSet;

use super::disk_model::{Disk, Fate};
use super::ops::{Image, Op};
use super::random::Random;

/// When the crash happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Whether the last call had returned.
    pub(crate) returned: bool,
    /// Whether only the process died: what was written is there, synced or not.
    pub(crate) killed: bool,
}

/// What must hold of whatever a crash leaves.
pub(crate) trait Promise {
    /// What a reader is shown.
    type Shown: PartialEq;

    /// Opens what the crash left, and checks everything that was promised; with `record`, what the opening
    /// does to the disk is written down.
    fn check(
        &self,
        moment: Moment,
        image: &Image,
        record: bool,
    ) -> Result<Recovered<Self::Shown>, String>;
}

/// What a recovery came to.
#[derive(Debug)]
pub(crate) struct Recovered<S> {
    pub(crate) shown: S,
    pub(crate) cuts: usize,
    /// What the recovery did to the disk, if that was asked for.
    pub(crate) ops: Vec<Op>,
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Random states for each point between two operations.
    pub(crate) random: usize,
    /// The lengths at which a write is stopped, at most, beside a few random ones.
    pub(crate) prefixes: usize,
    /// One state of so many is also crashed in while it recovers.
    pub(crate) dive_every: usize,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) workloads: usize,
    pub(crate) points: usize,
    pub(crate) states: usize,
    /// Of these, crashes inside of a recovery.
    pub(crate) deep: usize,
    pub(crate) cuts: usize,
}

impl Count {
    pub(crate) fn add(&mut self, other: Self) {
        self.workloads += other.workloads;
        self.points += other.points;
        self.states += other.states;
        self.deep += other.deep;
        self.cuts += other.cuts;
    }
}

/// One walk over the crash states of some operations.
struct Walk<'a, P: Promise> {
    promise: &'a P,
    moment: Moment,
    effort: Effort,
    random: Random,
    /// Images, and images with what was expected of them.
    seen: [HashSet<(u64, u8)>; 2],
    count: Count,
    /// In a recovery: what its reader was shown, and whether it was shown yet.
    recovery: Option<(&'a P::Shown, bool)>,
}

/// Crashes everywhere in the operations from `last` on, on a disk that had those before; the error says what
/// did not hold, and how to get there.
pub(crate) fn walk<P: Promise>(
    promise: &P,
    ops: &[Op],
    last: usize,
    effort: Effort,
    seed: u64,
) -> Result<Count, String> {
    let moment = Moment {
        returned: false,
        killed: false,
    };
    let mut walk = Walk {
        promise,
        moment,
        effort,
        random: Random(seed),
        seen: Default::default(),
        count: Count {
            workloads: 1,
            ..Count::default()
        },
        recovery: None,
    };
    let mut disk = Disk::default();
    for op in &ops[..last] {
        disk.apply(op);
    }
    walk.run(disk, &ops[last..])?;
    Ok(walk.count)
}

impl<P: Promise> Walk<'_, P> {
    fn run(&mut self, mut disk: Disk, ops: &[Op]) -> Result<(), String> {
        for at in 0..=ops.len() {
            self.count.points += 1;
            match &mut self.recovery {
                Some((_, shown)) => *shown = at == ops.len(),
                None => self.moment.returned = at == ops.len(),
            }
            let place = |detail| format!("before operation {at} of {ops:?}: {detail}");
            self.between(&disk).map_err(place)?;
            let Some(op) = ops.get(at) else {
                break;
            };
            if let Op::Write(_, _, bytes) = op {
                for len in self.prefixes(bytes.len()) {
                    let begun = disk.begin(op, len).unwrap();
                    let place = |detail| format!("{len} bytes of {at} of {ops:?}: {detail}");
                    self.within(&disk).map_err(place)?;
                    disk.undo(begun);
                }
            }
            disk.apply(op);
        }
        Ok(())
    }

    /// The lengths at which a write is stopped: every eighth, and some between.
    fn prefixes(&mut self, len: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (1..len).step_by(8).collect();
        let most = self.effort.prefixes;
        while all.len() > most {
            let at = self.random.below(all.len());
            all.swap_remove(at);
        }
        for _ in 0..most / 8 {
            all.push(self.random.below(len));
        }
        all
    }

    /// Between two operations.
    fn between(&mut self, disk: &Disk) -> Result<(), String> {
        self.state(disk, true, |_, _| Fate::Kept)?;
        self.state(disk, false, |_, _| Fate::Lost)?;
        let only = |one, this, rest| move |at, _| if at == one { this } else { rest };
        for one in 0..units(disk) {
            let (junk, stale) = (self.random.next(), self.random.next());
            for fate in [
                Fate::Lost,
                Fate::Zeros,
                Fate::Junk(junk),
                Fate::Stale(stale),
            ] {
                self.state(disk, false, only(one, fate, Fate::Kept))?;
            }
            self.state(disk, false, only(one, Fate::Kept, Fate::Lost))?;
        }
        self.random(disk, self.effort.random)
    }

    /// Within a write: its first bytes arrived, and what was before it may have or not.
    fn within(&mut self, disk: &Disk) -> Result<(), String> {
        self.state(disk, true, |_, _| Fate::Kept)?;
        self.random(disk, 1)
    }

    fn random(&mut self, disk: &Disk, times: usize) -> Result<(), String> {
        for _ in 0..times {
            let mut random = Random(self.random.next());
            let lean = 1 + random.below(8);
            self.state(disk, false, |_, changes| match random.below(5 + lean) {
                0 => Fate::Lost,
                1 => Fate::Zeros,
                2 => Fate::Junk(random.next()),
                3 => Fate::Stale(random.next()),
                4 => Fate::After(random.below(changes + 1)),
                _ => Fate::Kept,
            })?;
        }
        Ok(())
    }

    /// Checks one state, unless it was checked before.
    fn state(
        &mut self,
        disk: &Disk,
        killed: bool,
        mut fate: impl FnMut(usize, usize) -> Fate,
    ) -> Result<(), String> {
        let mut fates = Vec::new();
        let image = disk.image(|changes| {
            let next = fate(fates.len(), changes);
            fates.push(next);
            next
        });
        let deep = self.recovery.is_some();
        let shown = self.recovery.as_ref().filter(|recovery| recovery.1);
        let shown = shown.map(|(shown, _)| *shown);
        let mut moment = self.moment;
        moment.killed |= killed && !deep;
        let expected = [moment.returned, moment.killed, shown.is_some()];
        let expected = expected
            .iter()
            .fold(0, |sum, flag| sum * 2 + u8::from(*flag));
        let hash = image.hash();
        if !self.seen[1].insert((hash, expected)) {
            return Ok(());
        }
        if self.seen[0].insert((hash, 0)) {
            self.count.states += 1;
            self.count.deep += usize::from(deep);
        }
        let dive = !deep && self.random.below(self.effort.dive_every) == 0;
        let place = |detail: String| format!("{fates:?}, killed: {killed}, deep: {deep}: {detail}");
        let found = self.promise.check(moment, &image, dive);
        let found = found.map_err(place)?;
        self.count.cuts += found.cuts;
        if let Some(shown) = shown
            && *shown != found.shown
        {
            return Err(place(
                "a record that was read is gone, or another one came".into(),
            ));
        }
        if dive && !found.ops.is_empty() {
            self.dive(moment, &image, &found).map_err(place)?;
        }
        Ok(())
    }

    /// Crashes everywhere in the recovery of a state.
    fn dive(
        &mut self,
        moment: Moment,
        image: &Image,
        found: &Recovered<P::Shown>,
    ) -> Result<(), String> {
        let mut walk = Walk {
            promise: self.promise,
            moment,
            effort: Effort {
                prefixes: 1,
                ..self.effort
            },
            random: Random(self.random.next()),
            seen: std::mem::take(&mut self.seen),
            count: Count::default(),
            recovery: Some((&found.shown, false)),
        };
        let result = walk.run(Disk::new(image), &found.ops);
        self.seen = std::mem::take(&mut walk.seen);
        self.count.add(walk.count);
        result
    }
}

/// How many things are not synced.
fn units(disk: &Disk) -> usize {
    let mut count = 0;
    disk.image(|_| {
        count += 1;
        Fate::Kept
    });
    count
}
