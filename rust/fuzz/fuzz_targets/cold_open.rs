//! A store whose last segment was damaged: it opens or is refused, and never serves what was not
//! written.
//!
//! Salts are random at each run, so an input is not bytes of a file but edits of one: cuts, flips,
//! copies of its own bytes, and junk behind it.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use warmset_core::cold::{Draft, Options, Ram, Record, Store, content_hash};
use warmset_core::{Error, Kind, Seq};

#[derive(Arbitrary, Debug)]
struct Input {
    /// Sizes of payloads, one batch an entry.
    batches: Vec<[u8; 2]>,
    /// Whether segments are so short that the last one follows sealed ones.
    short: bool,
    edits: Vec<Edit>,
}

#[derive(Arbitrary, Debug)]
enum Edit {
    Cut { bytes: u16 },
    Flip { at: u16, bits: u8 },
    Zero { at: u16, len: u8 },
    Copy { from: u16, to: u16, len: u16 },
    Append { bytes: Vec<u8> },
    AppendCopy { from: u16, len: u16 },
}

impl Edit {
    /// Whether it leaves every byte that was written where it was.
    fn is_behind(&self) -> bool {
        matches!(self, Self::Append { .. } | Self::AppendCopy { .. })
    }

    fn apply(&self, file: &mut Vec<u8>) {
        let size = file.len();
        let place = |at: u16| usize::from(at) % size.max(1);
        match self {
            Self::Cut { bytes } => file.truncate(size.saturating_sub(usize::from(*bytes))),
            Self::Flip { at, bits } => {
                if let Some(byte) = file.get_mut(place(*at)) {
                    *byte ^= bits;
                }
            }
            Self::Zero { at, len } => {
                let start = place(*at);
                let end = (start + usize::from(*len)).min(size);
                file[start.min(end)..end].fill(0);
            }
            Self::Copy { from, to, len } => {
                let (from, to) = (place(*from), place(*to));
                let len = usize::from(*len).min(size - from.max(to).min(size));
                file.copy_within(from..from + len, to);
            }
            Self::Append { bytes } => file.extend_from_slice(bytes),
            Self::AppendCopy { from, len } => {
                let from = place(*from).min(size);
                let end = (from + usize::from(*len)).min(size);
                file.extend_from_within(from..end);
            }
        }
    }
}

type Truth = BTreeMap<u64, Vec<u8>>;

fn append(store: &Store, payloads: &[Vec<u8>]) -> Vec<u64> {
    let drafts: Vec<Draft<'_>> = payloads
        .iter()
        .map(|payload| Draft {
            kind: Kind::Turn,
            key: &[b"tenant", b"log"],
            meta: b"meta",
            sources: &[],
            payload,
        })
        .collect();
    let seqs = store.append(&drafts).expect("memory takes everything");
    seqs.into_iter().map(|seq| seq.0).collect()
}

/// Everything that pages give; each record is looked at.
fn pages(store: &Store, truth: &Truth) -> Truth {
    let mut found = Truth::new();
    let mut from = 1;
    loop {
        let page = store
            .page(Seq(from), 2_000)
            .expect("damage is left out, not raised");
        let Some(last) = page.last() else {
            return found;
        };
        from = last.seq.0 + 1;
        for record in page {
            look(&record, truth);
            assert_eq!(found.insert(record.seq.0, record.payload), None);
        }
    }
}

fn look(record: &Record, truth: &Truth) {
    assert_eq!(record.hash, content_hash(&record.payload));
    assert_eq!(
        truth.get(&record.seq.0),
        Some(&record.payload),
        "{} was not written",
        record.seq
    );
    assert_eq!(record.kind, Kind::Turn);
    assert_eq!(record.key, [b"tenant".to_vec(), b"log".to_vec()]);
    assert_eq!(record.meta, b"meta");
}

fuzz_target!(|input: Input| {
    let options = Options {
        segment_bytes: if input.short { 2_000 } else { 64 << 20 },
        ..Options::default()
    };
    let ram = Ram::new();
    let mut truth = Truth::new();
    let store = Store::with_medium(Box::new(ram.clone()), options).expect("a new store");
    for (at, sizes) in input.batches.iter().take(12).enumerate() {
        let fill = u8::try_from(at).expect("few");
        let payloads = sizes.map(|size| vec![fill; usize::from(size) * 2]);
        truth.extend(append(&store, &payloads).into_iter().zip(payloads));
    }
    drop(store);

    let last = (1..)
        .map(|n| format!("{n:020}.seg"))
        .take_while(|n| ram.read(n).is_some())
        .last();
    let name = last.expect("a store has a segment");
    let mut file = ram.read(&name).expect("it was there");
    for edit in input.edits.iter().take(12) {
        edit.apply(&mut file);
    }
    ram.write(&name, file);

    let store = match Store::with_medium(Box::new(ram.clone()), options) {
        Ok(store) => store,
        Err(Error::NewerFormat { .. } | Error::NotAStore { .. } | Error::ForeignSegment { .. }) => {
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let found = pages(&store, &truth);
    for seq in truth.keys() {
        match store.get(Seq(*seq)) {
            Ok(record) => {
                look(&record, &truth);
                assert!(
                    found.contains_key(seq),
                    "#{seq} is read by id and not by page"
                );
            }
            Err(Error::NotFound { .. } | Error::Corrupt { .. } | Error::Truncated { .. }) => {
                assert!(
                    !found.contains_key(seq),
                    "#{seq} is read by page and not by id"
                );
            }
            Err(other) => panic!("{other}"),
        }
    }
    let verified = store.verify().expect("damage is reported, not raised");
    assert_eq!(verified.records, u64::try_from(found.len()).expect("fits"));
    if input.edits.iter().take(12).all(Edit::is_behind) {
        assert_eq!(found, truth, "junk behind the tail cost a record");
    }
    let report = store.report();
    if report.cuts.is_empty() && report.damages.is_empty() {
        // Only a cut between two batches leaves no trace, and it costs the newest alone.
        assert!(
            truth.keys().take(found.len()).eq(found.keys()),
            "a silent loss"
        );
    }

    // Life goes on: new ids, and a second open that finds what this one left.
    let payloads = [vec![0xee; 100]];
    let fresh = append(&store, &payloads);
    let highest = found.keys().max().copied().unwrap_or(0);
    assert!(fresh[0] > highest, "an id was given twice");
    let mut expected = found;
    expected.insert(fresh[0], payloads[0].clone());
    drop(store);
    let store = Store::with_medium(Box::new(ram), options).expect("it was mended");
    assert_eq!(pages(&store, &expected), expected);
    assert!(store.report().cuts.is_empty(), "a tail was cut twice");
});
