//! Every byte of a small log changed, and each of its segments cut at every length: what is shown is right, or
//! an error, or missing where damage was found; never an older version, and nothing that was removed.
//!
//! Two limits of lists are known. What is cut off a segment may hold both copies of a removal. And where an
//! entry in the place of another one is lost, nothing else says that the other one was replaced.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use warmset_core::cold::{Encryption, OnBusy, Options};
use warmset_core::log::{Log, Outcome};
use warmset_core::{Error, Seq};

use crate::asked;
use crate::deeds::{Deed, NOW, Verb, cells, lists};
use crate::support::ops::{Image, Name};
use crate::support::sim::Sim;
use crate::world::{Entry, World};

/// What is done to the log. Nothing is erased: the store proves that.
const VERBS: [Verb; 11] = [
    Verb::Begin,
    Verb::Make,
    Verb::Put,
    Verb::Patch,
    Verb::RemoveEntry,
    Verb::Head,
    Verb::Replace,
    Verb::RemoveSource,
    Verb::Once,
    Verb::Suffix,
    Verb::Put,
];

/// A log that is whole, with what it holds.
struct Sample {
    image: Image,
    options: Options,
    world: World,
    named: (Deed, Vec<Outcome>),
    /// The highest id.
    last: Seq,
}

fn sample(encryption: Encryption, segment_bytes: u64) -> Sample {
    let sim = Sim::new(&Image::default());
    let options = Options {
        encryption,
        segment_bytes,
        on_busy: OnBusy::Fail,
        lock_wait: Duration::ZERO,
        ..Options::default()
    };
    let log = Log::new(Arc::new(sim.open_store(options).unwrap()));
    let (mut world, mut named) = (World::default(), None);
    for (n, verb) in VERBS.into_iter().enumerate() {
        let deed = Deed::of(verb, &world, n).unwrap();
        let foreseen = deed.apply(&mut world);
        let answer = deed.perform(&log);
        Deed::settle(&foreseen, &answer, &mut world).unwrap();
        if verb == Verb::Once {
            named = Some((deed, answer.unwrap()));
        }
    }
    let last = log.store().stats().unwrap().next_seq;
    log.store().close().unwrap();
    Sample {
        image: sim.image(),
        options,
        world,
        named: named.unwrap(),
        last: Seq(last.0 - 1),
    }
}

impl Sample {
    /// Looks at what a change of a file left; `is_cut` where a file ends earlier. Whether anything was missing.
    fn examine(&self, image: &Image, is_cut: bool, what: &str) -> bool {
        let sim = Sim::new(image);
        let open = || {
            let store = sim.open_store(self.options);
            Log::new(Arc::new(store.unwrap_or_else(|e| panic!("{what}: {e}"))))
        };
        let log = open();
        let report = log.store().report();
        let known = !report.damages.is_empty() || !report.cuts.is_empty();
        // A tail that is cut takes the newest commits with it.
        if !report.cuts.is_empty() || !known && is_cut {
            return true;
        }
        let missing = self.compare(&log, is_cut, what);
        if missing {
            let verify = log.store().verify().unwrap();
            let told = known || !verify.damages.is_empty();
            assert!(told, "{what}: something is missing, and nobody knows why");
        }
        // A name is answered as before, or the damage is.
        let (deed, outcomes) = &self.named;
        match deed.perform(&log) {
            Ok(again) => assert_eq!(again, *outcomes, "{what}"),
            Err(error) => assert!(is_damage(&error), "{what}: {error}"),
        }
        drop(log);
        assert_eq!(
            self.compare(&open(), is_cut, what),
            missing,
            "{what}, reopened"
        );
        missing
    }

    /// Whether anything is missing of what should be shown. What should not be is not.
    fn compare(&self, log: &Log, is_cut: bool, what: &str) -> bool {
        let mut missing = false;
        for key in cells() {
            let expected = self.world.cells.get(&key);
            match asked::cell(log, &key, NOW) {
                Ok(found) => assert_eq!(found.as_ref(), expected, "{what}: {key:?}"),
                Err(error) => {
                    assert!(is_damage(&error), "{what}: {error}");
                    missing = true;
                }
            }
        }
        for list in lists() {
            let expected = self.world.lists.get(&list).cloned().unwrap_or_default();
            match asked::entries(log, &list, NOW) {
                Ok(found) => {
                    let known: BTreeSet<String> = expected.iter().map(shown).collect();
                    let there: BTreeSet<String> = found.iter().map(shown).collect();
                    let lost: Vec<&Entry> = expected
                        .iter()
                        .filter(|entry| !there.contains(&shown(entry)))
                        .collect();
                    let replaced = |one: &Entry| {
                        one.uid.is_some() && lost.iter().any(|entry| entry.uid == one.uid)
                    };
                    let right = |one: &Entry| known.contains(&shown(one)) || replaced(one);
                    assert!(
                        is_cut || found.iter().all(right),
                        "{what}: {found:?}, of {expected:?}"
                    );
                    missing |= !lost.is_empty();
                }
                Err(error) => {
                    assert!(is_damage(&error), "{what}: {error}");
                    missing = true;
                }
            }
        }
        missing
    }
}

fn shown(entry: &Entry) -> String {
    format!("{entry:?}")
}

fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::Uncertain { .. }
            | Error::Truncated { .. }
            | Error::NoKey { .. }
            | Error::NotFound { .. }
    )
}

fn segments(image: &Image) -> Vec<(Name, Vec<u8>)> {
    let files = image.files.iter();
    let segments = files.filter(|(name, _)| name.ends_with(".seg"));
    segments
        .map(|(name, bytes)| (Arc::clone(name), bytes.to_vec()))
        .collect()
}

fn samples() -> impl Iterator<Item = (String, Sample)> {
    let all = [(Encryption::Off, 1 << 20), (Encryption::Keys, 1_200)];
    all.into_iter().map(|(encryption, len)| {
        let sample = sample(encryption, len);
        let whole = sample.compare(
            &Log::new(Arc::new(
                Sim::new(&sample.image).open_store(sample.options).unwrap(),
            )),
            false,
            "whole",
        );
        assert!(!whole, "the sample is not whole");
        (format!("{encryption:?} {len}, {} ids", sample.last), sample)
    })
}

#[test]
fn a_changed_byte_shows_nothing_old() {
    for (name, sample) in samples() {
        let (mut tried, mut missing) = (0, 0);
        // All of the plain one; the other one is larger, and its bytes are as many places.
        let every = if sample.options.encryption == Encryption::Off {
            1
        } else {
            7
        };
        for (file, bytes) in segments(&sample.image) {
            for at in (0..bytes.len()).step_by(every) {
                let mut image = sample.image.clone();
                let mut broken = bytes.clone();
                broken[at] ^= 1 << (at % 8);
                image.files.insert(Arc::clone(&file), Arc::new(broken));
                let what = format!("{name}, byte {at} of {file}");
                missing += usize::from(sample.examine(&image, false, &what));
                tried += 1;
            }
        }
        println!("{name}: {tried} bytes, something missing after {missing}");
        assert!(missing > 50, "{name}: hardly any change was met");
    }
}

#[test]
fn a_segment_that_is_cut_shows_nothing_old() {
    for (name, sample) in samples() {
        let (mut tried, mut missing) = (0, 0);
        let all = segments(&sample.image);
        for (place, (file, bytes)) in all.iter().enumerate() {
            // Nothing tells that the last records were there, if the last segment ends between two batches.
            if place + 1 == all.len() {
                continue;
            }
            for len in (0..bytes.len()).step_by(5) {
                let mut image = sample.image.clone();
                let cut = bytes[..len].to_vec();
                image.files.insert(Arc::clone(file), Arc::new(cut));
                let what = format!("{name}, {file} at {len}");
                missing += usize::from(sample.examine(&image, true, &what));
                tried += 1;
            }
        }
        println!("{name}: {tried} lengths, something missing after {missing}");
    }
}
