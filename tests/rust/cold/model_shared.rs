//! Random calls of two writing handles and a reading one, against a map: appends, batches left in the
//! spool, erasures, compactions, syncs, reopening; encrypted or not, synced at once or later.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::world::{CONVERSATIONS, Known, New, World, with};
use crate::support::{open, tiny};
use proptest::prelude::*;
use warmset_core::cold::{
    Appended, Durability, Encryption, Medium, Mode, OnBusy, Options, Ram, Read, Scope, Store,
};
use warmset_core::{Error, Kind, Seq};

/// What is done, and by which of the two handles.
#[derive(Clone, Copy, Debug)]
enum Step {
    Append { records: usize, length: usize },
    Spool { records: usize },
    EraseConversation(usize),
    EraseRecord(usize),
    Compact,
    Sync,
    Reopen { segment_bytes: u64 },
    Read,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        6 => (1..4_usize, 0..400_usize).prop_map(|(records, length)| Step::Append { records, length }),
        2 => (1..3_usize).prop_map(|records| Step::Spool { records }),
        1 => (0..2_usize).prop_map(Step::EraseConversation),
        2 => (0..40_usize).prop_map(Step::EraseRecord),
        2 => Just(Step::Compact),
        1 => Just(Step::Sync),
        2 => prop_oneof![Just(1), 700..3_000_u64].prop_map(|segment_bytes| Step::Reopen { segment_bytes }),
        3 => Just(Step::Read),
    ];
    prop::collection::vec((0..2_usize, step), 1..40)
}

fn settings() -> impl Strategy<Value = Options> {
    let encryption = prop_oneof![
        Just(Encryption::Off),
        Just(Encryption::Keys),
        Just(Encryption::Master([9; 32]))
    ];
    let durability = prop_oneof![Just(Durability::Fsync), Just(Durability::Os)];
    let segment_bytes = prop_oneof![Just(1), 700..3_000_u64, Just(1 << 20)];
    (encryption, durability, segment_bytes).prop_map(|(encryption, durability, segment_bytes)| {
        Options {
            encryption,
            durability,
            on_busy: OnBusy::Spool,
            lock_wait: Duration::ZERO,
            ..tiny(segment_bytes, Read::Map)
        }
    })
}

/// The handles and what they should show.
struct Model {
    ram: Ram,
    options: Options,
    writers: [Store; 2],
    reader: Store,
    world: World,
    waiting: Vec<Vec<New>>,
    count: usize,
}

impl Model {
    fn new(options: Options) -> Self {
        let ram = Ram::new();
        let writers = [open(&ram, options), open(&ram, options)];
        let mode = Mode::Read;
        let reader = open(&ram, Options { mode, ..options });
        Self {
            ram,
            options,
            writers,
            reader,
            world: World::default(),
            waiting: Vec::new(),
            count: 0,
        }
    }

    fn drafts(&mut self, records: usize, length: usize) -> Vec<New> {
        let source = self.world.first().and_then(|record| record.seq);
        let make = |at| {
            self.count += 1;
            let mut payload = format!("{:04} ", self.count).into_bytes();
            payload.resize(5 + length, b'x');
            New {
                payload,
                conversation: self.count % 2,
                source: source.filter(|_| at == 1),
            }
        };
        (0..records).map(make).collect()
    }

    fn step(&mut self, who: usize, step: Step) {
        match step {
            Step::Append { records, length } => {
                let drafts = self.drafts(records, length);
                let seqs = with(&drafts, |batch| self.writers[who].append(batch).unwrap());
                self.take_up(seqs[0].0);
                assert!(seqs[0].0 > self.world.highest(), "an id was given again");
                self.world.add(Some(&seqs), &drafts);
            }
            Step::Spool { records } => {
                let drafts = self.drafts(records, 10);
                let hold = self.ram.try_lock().unwrap().unwrap();
                let left = with(&drafts, |batch| self.writers[who].append_or_spool(batch));
                assert!(matches!(left, Ok(Appended::Spooled(_))), "{left:?}");
                drop(hold);
                self.waiting.push(drafts);
            }
            Step::EraseConversation(whose) => {
                let prefix: [&[u8]; 2] = [b"tenant", CONVERSATIONS[whose]];
                self.writers[who].erase(Scope::Prefix(&prefix)).unwrap();
                self.take_up(u64::MAX);
                self.world
                    .erase(false, |record| record.conversation == whose);
            }
            Step::EraseRecord(at) => {
                let count = self.world.records.len().max(1);
                let record = self.world.records.get(at % count);
                if let Some(seq) = record.and_then(|record| record.seq) {
                    self.writers[who]
                        .erase(Scope::Records(&[Seq(seq)]))
                        .unwrap();
                    self.take_up(u64::MAX);
                    self.world.erase(false, |record| record.seq == Some(seq));
                }
            }
            Step::Compact => {
                self.writers[who].compact().unwrap();
                self.take_up(u64::MAX);
                assert_eq!(self.writers[who].erasure_report().unwrap().pending, 0);
            }
            Step::Sync => {
                let seq = self.writers[who].sync().unwrap();
                self.take_up(u64::MAX);
                assert!(seq.0 >= self.world.highest(), "synced up to {seq}");
            }
            Step::Reopen { segment_bytes } => {
                self.writers[who].close().unwrap();
                let options = Options {
                    segment_bytes,
                    ..self.options
                };
                self.writers[who] = open(&self.ram, options);
                self.take_up(u64::MAX);
                assert_eq!(self.writers[who].report().cuts, vec![]);
            }
            Step::Read => {
                for store in self.writers.iter().chain([&self.reader]) {
                    self.compare(store);
                }
            }
        }
    }

    /// Notes the ids, below `end`, of the batches that waited: every call that writes takes them up.
    fn take_up(&mut self, end: u64) {
        let mut ids = BTreeMap::new();
        if !self.waiting.is_empty() {
            let from = Seq(self.world.highest() + 1);
            for record in self.writers[0].page(from, usize::MAX).unwrap() {
                ids.insert(record.payload, record.seq);
            }
        }
        let mut batches = Vec::new();
        for drafts in std::mem::take(&mut self.waiting) {
            // What was erased by the call that took it up is not shown; ids of a batch are in a row.
            let mut shown = drafts.iter().zip(0..);
            let first = shown.find_map(|(new, at)| Some(ids.get(&new.payload)?.0 - at));
            let ids = first.into_iter().flat_map(|first| first..);
            let seqs: Vec<Seq> = ids.take(drafts.len()).map(Seq).collect();
            assert!(seqs.iter().all(|seq| seq.0 < end), "taken up too late");
            batches.push((seqs, drafts));
        }
        batches.sort_by_key(|batch| batch.0.first().copied());
        for (seqs, drafts) in batches {
            self.world
                .add((!seqs.is_empty()).then_some(&seqs[..]), &drafts);
        }
    }

    fn compare(&self, store: &Store) {
        let turn = |record: &warmset_core::cold::Record| record.kind == Kind::Turn;
        let page = store.page(Seq(0), usize::MAX).unwrap();
        let mut shown = page.into_iter().filter(turn);
        for known in &self.world.records {
            let got = known.seq.map(|seq| store.get(Seq(seq)));
            if known.erased {
                assert!(
                    matches!(got, None | Some(Err(Error::Erased { .. }))),
                    "{got:?}"
                );
                continue;
            }
            let got = got.unwrap().unwrap();
            assert!(is(&got, known), "{got:?} is not {known:?}");
            assert_eq!(shown.next().as_ref(), Some(&got));
        }
        assert_eq!(shown.next(), None);
        assert!(store.durable_seq().unwrap() < store.stats().unwrap().next_seq);
        assert_eq!(store.verify().unwrap().damages, vec![]);
    }
}

fn is(record: &warmset_core::cold::Record, known: &Known) -> bool {
    let sources: Vec<u64> = record.sources.iter().map(|seq| seq.0).collect();
    record.payload == known.payload
        && record.meta == b"meta"
        && record.key == [&b"tenant"[..], CONVERSATIONS[known.conversation]]
        && sources == Vec::from_iter(known.source)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn handles_show_one_map(steps in steps(), options in settings()) {
        let mut model = Model::new(options);
        for (who, step) in steps {
            model.step(who, step);
        }
        model.step(0, Step::Sync);
        model.step(0, Step::Read);
    }
}
