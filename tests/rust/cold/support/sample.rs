//! A small store of every kind of file, and what a change of one of them may cost.
//!
//! What "reported" means depends on the file:
//!
//! - segments: a damage or a cut, at open or by `verify`;
//! - the spool: a damage, and the batch is set aside as it is; if only its key is lost, it waits;
//! - keys: `NoKey` for each record of their conversation, and for no other;
//! - the mark, the bell and the second copy of what was erased: nothing. What they say can be had
//!   without them.

use std::collections::BTreeSet;
use std::time::Duration;

use warmset_core::cold::{Appended, Encryption, OnBusy, Options, Scope, Store};
use warmset_core::{Error, Seq};

use super::ops::{Image, Name};
use super::sim::Sim;
use super::world::{CONVERSATIONS, New, with};

/// A record of the sample: its id, what was handed in, and the number of its segment.
struct Told {
    seq: u64,
    new: New,
    segment: u64,
}

/// A store whose every file is small.
pub(crate) struct Sample {
    image: Image,
    options: Options,
    told: Vec<Told>,
    erased: u64,
    tombstone: u64,
    spooled: Vec<New>,
}

/// What is left of it.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    lost: BTreeSet<u64>,
    without_key: BTreeSet<u64>,
    /// Whether the batch of the spool was taken up.
    taken: bool,
    /// Whether the erased record can be read.
    back: bool,
}

pub(crate) fn sample(encryption: Encryption) -> Sample {
    let sim = Sim::new(&Image::default());
    let process = sim.other();
    let options = Options {
        encryption,
        segment_bytes: 1_000,
        on_busy: OnBusy::Spool,
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    let store = process.open_store(options).unwrap();
    let mut sample = Sample {
        image: Image::default(),
        options,
        told: Vec::new(),
        erased: 0,
        tombstone: 0,
        spooled: Vec::new(),
    };
    let new = |n: usize, source| New {
        payload: format!("payload {n}").into_bytes(),
        conversation: n % 2,
        source,
    };
    let mut n = 0;
    for count in [1, 2, 3, 1] {
        let source = sample.told.first().map(|told| told.seq);
        let batch: Vec<New> = (n..n + count).map(|n| new(n, source)).collect();
        n += count;
        let seqs = with(&batch, |drafts| store.append(drafts).unwrap());
        let segment = store.stats().unwrap().segments;
        let told = seqs.into_iter().zip(batch);
        sample.told.extend(told.map(|(seq, new)| Told {
            seq: seq.0,
            new,
            segment,
        }));
        if n == 3 {
            // Nothing is made from the second one.
            sample.erased = sample.told.remove(1).seq;
            let erased = store.erase(Scope::Records(&[Seq(sample.erased)])).unwrap();
            assert_eq!((erased.records, erased.derived), (1, 0));
            sample.tombstone = store.stats().unwrap().next_seq.0 - 1;
        }
    }
    let hold = sim.other_lock();
    sample.spooled = vec![new(100, None), new(101, None)];
    let left = with(&sample.spooled, |drafts| store.append_or_spool(drafts));
    assert!(matches!(left.unwrap(), Appended::Spooled(_)));
    drop(hold);
    process.kill();
    drop(store);
    sample.image = sim.image();
    let last = sample.told.last().unwrap().segment;
    assert!(last > 2, "only {last} segments");
    sample
}

impl Sample {
    /// Opens a changed image twice, appends to it, and gives what is left and whether it was reported.
    fn examine(&self, image: &Image, what: &str) -> (Left, bool) {
        let sim = Sim::new(image);
        let store = sim
            .open_store(self.options)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        let left = self.left(&store, what);
        let (report, verify) = (store.report(), store.verify().unwrap());
        let reported =
            !report.cuts.is_empty() || !report.damages.is_empty() || !verify.damages.is_empty();
        let next = New {
            payload: b"next".to_vec(),
            conversation: 1,
            source: None,
        };
        let next = with(&[next], |drafts| store.append(drafts)).unwrap()[0];
        assert!(
            next.0 > self.told.last().unwrap().seq,
            "{what}: an id again"
        );
        drop(store);
        let store = sim.open_store(self.options).unwrap();
        assert_eq!(store.get(next).unwrap().payload, b"next", "{what}");
        assert_eq!(self.left(&store, what), left, "{what}, reopened");
        (left, reported)
    }

    fn left(&self, store: &Store, what: &str) -> Left {
        let mut left = Left {
            lost: BTreeSet::new(),
            without_key: BTreeSet::new(),
            taken: false,
            back: store.get(Seq(self.erased)).is_ok(),
        };
        for told in &self.told {
            match store.get(Seq(told.seq)) {
                Ok(record) => {
                    let whose = CONVERSATIONS[told.new.conversation];
                    assert_eq!(record.payload, told.new.payload, "{what}: {}", told.seq);
                    assert_eq!(
                        (&record.meta[..], &record.key[1][..]),
                        (&b"meta"[..], whose)
                    );
                }
                Err(Error::NoKey { .. }) => {
                    left.without_key.insert(told.seq);
                }
                Err(Error::Corrupt { .. } | Error::Truncated { .. } | Error::NotFound { .. }) => {
                    left.lost.insert(told.seq);
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
        let after = self.told.last().unwrap().seq + 1;
        let late = store.page(Seq(after), usize::MAX).unwrap();
        let there = |new: &New| late.iter().any(|record| record.payload == new.payload);
        left.taken = self.spooled.iter().all(there);
        assert_eq!(
            left.taken,
            self.spooled.iter().any(there),
            "{what}: half a batch"
        );
        left
    }

    /// What a change of a file may cost, and must be reported by.
    fn judge(&self, name: &str, what: &str, left: &Left, reported: bool) {
        let none = left.lost.is_empty() && left.without_key.is_empty();
        if name.starts_with("00") {
            assert!(reported, "{what} went unnoticed");
            assert!(
                left.without_key.is_empty() && left.taken,
                "{what}: {left:?}"
            );
        } else if name.starts_with("spool/") && name != "spool/bell" {
            assert!(none && !left.taken && reported, "{what}: {left:?}");
        } else if name.starts_with("keys/") && left.taken {
            let whose: BTreeSet<usize> = self
                .told
                .iter()
                .filter(|t| left.without_key.contains(&t.seq))
                .map(|t| t.new.conversation)
                .collect();
            let all = self
                .told
                .iter()
                .filter(|t| whose.contains(&t.new.conversation));
            assert!(left.lost.is_empty() && whose.len() == 1, "{what}: {left:?}");
            assert_eq!(left.without_key.len(), all.count(), "{what}: {left:?}");
        } else if name.starts_with("keys/") {
            assert!(none, "{what}: {left:?}");
        } else {
            assert!(none && left.taken, "{what}: {left:?}");
        }
        assert!(!left.back, "{what}: what was erased is back");
    }

    fn with(&self, name: &Name, bytes: Vec<u8>) -> Image {
        let mut image = self.image.clone();
        image.files.insert(name.clone(), bytes.into());
        image
    }

    pub(crate) fn flip_every_bit(&self) -> usize {
        let mut count = 0;
        let master = matches!(self.options.encryption, Encryption::Master(_));
        for (name, healthy) in &self.image.files {
            if master && name.starts_with("00") {
                // Its segments are those of a store without a master key.
                continue;
            }
            for at in 0..healthy.len() {
                for bit in 0..8 {
                    let mut bytes = healthy.to_vec();
                    bytes[at] ^= 1 << bit;
                    let what = format!("bit {bit} of {name}:{at}");
                    let (left, reported) = self.examine(&self.with(name, bytes), &what);
                    self.judge(name, &what, &left, reported);
                    assert!(left.lost.len() <= 1, "{what}: {left:?}");
                    count += 1;
                }
            }
        }
        count
    }

    pub(crate) fn cut_everywhere(&self) -> usize {
        let mut count = 0;
        for (name, healthy) in &self.image.files {
            let number = name.strip_suffix(".seg").map(|n| n.parse().unwrap());
            let mut before = usize::MAX;
            for len in 0..healthy.len() {
                let what = format!("{name} cut at {len}");
                let bytes = healthy[..len].to_vec();
                let (left, reported) = self.examine(&self.with(name, bytes), &what);
                self.judge(name, &what, &left, reported);
                // What is lost is the end of that segment, and the less the later the cut.
                let inside = self.told.iter().filter(|t| Some(t.segment) == number);
                let end: BTreeSet<u64> =
                    inside.map(|t| t.seq).rev().take(left.lost.len()).collect();
                assert_eq!(left.lost, end, "{what}");
                assert!(left.lost.len() <= before, "{what}: {left:?}");
                before = left.lost.len();
                count += 1;
            }
        }
        count
    }
}
