//! Cut, flipped, missing and faked bytes: never a wrong payload, and no loss goes unreported.

use crate::support::{Truth, append, copy, open, pages, readable, reported, segment, small, tiny};
use warmset_core::cold::{DamageKind, Options, Ram, Read, Scope};
use warmset_core::{Error, Seq};

fn one_file(bytes: Vec<u8>) -> Ram {
    let ram = Ram::new();
    ram.write(&segment(1), bytes);
    ram
}

#[test]
fn a_cut_at_every_length_leaves_whole_batches() {
    let (ram, truth, batches) = small();
    let bytes = ram.read(&segment(1)).unwrap();
    for len in 0..=bytes.len() {
        let cut = one_file(bytes[..len].to_vec());
        let store = open(&cut, Options::default());
        let ends = batches.iter().skip(1).map(|b| b.0).chain([bytes.len()]);
        let whole: Vec<u64> = batches
            .iter()
            .zip(ends.clone())
            .filter(|(_, end)| *end <= len)
            .flat_map(|(batch, _)| batch.1.clone())
            .collect();
        assert_eq!(readable(&store, &truth), whole, "cut at {len}");

        let report = store.report();
        let clean = len == batches[0].0 || ends.clone().any(|end| end == len);
        assert_eq!(report.cuts.is_empty(), clean, "cut at {len}");
        assert_eq!(report.damages, vec![]);
        for cut_off in &report.cuts {
            let kept = usize::try_from(cut_off.offset).unwrap();
            let name = cut_off.aside.strip_prefix(":memory:").unwrap();
            let aside = cut.read(name.to_str().unwrap()).unwrap();
            assert_eq!(aside, bytes[kept..len], "cut at {len}");
        }

        // An id is not given again as long as the header of any record of its batch is left.
        let next = append(&store, &[b"next"])[0];
        let seen = batches.iter().filter(|(start, _)| start + 80 <= len);
        assert!(next > seen.flat_map(|batch| batch.1.clone()).max().unwrap_or(0));
        drop(store);
        let store = open(&cut, Options::default());
        assert_eq!(
            store.report().cuts,
            vec![],
            "recovery of a cut at {len} is not complete"
        );
        assert_eq!(store.get(Seq(next)).unwrap().payload, b"next");
        assert_eq!(pages(&store, usize::MAX).len(), whole.len() + 1);
        assert_eq!(store.verify().unwrap().damages, vec![]);
    }
}

#[test]
fn ids_that_can_be_read_in_a_cut_tail_are_not_given_again() {
    let (ram, _, batches) = small();
    let mut bytes = ram.read(&segment(1)).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let store = open(&one_file(bytes), Options::default());
    assert_eq!(store.report().cuts.len(), 1);
    let seen = *batches[2].1.last().unwrap();
    assert!(append(&store, &[b"next"])[0] > seen);
}

#[test]
fn unsynced_sectors_lost_in_any_combination_cost_the_last_batch_only() {
    let (ram, truth, _) = small();
    let start = ram.read(&segment(1)).unwrap().len();
    let store = open(&ram, Options::default());
    let payloads: [&[u8]; 3] = [&[1; 700], &[2; 900], &[3; 600]];
    let last = append(&store, &payloads);
    let bytes = ram.read(&segment(1)).unwrap();
    let sectors: Vec<usize> = (start / 512..bytes.len().div_ceil(512)).collect();
    assert!(sectors.len() >= 5);
    for kept in 0..1_usize << sectors.len() {
        for junk in [0, 0xa5] {
            let mut image = bytes.clone();
            for (bit, sector) in sectors.iter().enumerate() {
                if kept >> bit & 1 == 0 {
                    let end = (sector * 512 + 512).min(image.len());
                    image[(sector * 512).max(start)..end].fill(junk);
                }
            }
            let whole = image == bytes;
            let store = open(&one_file(image), Options::default());
            assert_eq!(readable(&store, &truth).len(), truth.len());
            let there = last.iter().filter(|seq| store.get(Seq(**seq)).is_ok());
            assert_eq!(there.count(), if whole { 3 } else { 0 }, "sectors {kept:b}");
            assert_eq!(store.report().cuts.is_empty(), whole);
            assert_eq!(store.report().damages, vec![]);
        }
    }
}

/// Flips every bit of a store's files, and checks that at most what it touches is lost.
fn flip_all(ram: &Ram, truth: &Truth, files: u64, options: Options, most: usize) {
    let names: Vec<String> = (1..=files).map(segment).collect();
    for name in &names {
        let healthy = ram.read(name).unwrap();
        for at in 0..healthy.len() {
            for bit in 0..8 {
                let other = copy(ram, &names);
                let mut bytes = healthy.clone();
                bytes[at] ^= 1 << bit;
                other.write(name, bytes);
                let store = open(&other, options);
                let seen = readable(&store, truth);
                let lost = truth.len() - seen.len();
                assert!(
                    lost <= most,
                    "{lost} records lost by bit {bit} of {name}:{at}"
                );
                assert!(reported(&store), "bit {bit} of {name}:{at} went unnoticed");
                if bit == 0 {
                    assert!(append(&store, &[b"next"])[0] > *truth.keys().last().unwrap());
                    drop(store);
                    let store = open(&other, options);
                    assert_eq!(
                        readable(&store, truth),
                        seen,
                        "bit {bit} of {name}:{at}, reopened"
                    );
                }
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_tail_costs_one_record_or_the_last_batch() {
    let (ram, truth, batches) = small();
    flip_all(&ram, &truth, 1, Options::default(), batches[2].1.len());
}

#[test]
fn every_flipped_bit_of_sealed_segments_costs_one_record() {
    let ram = Ram::new();
    let options = tiny(900, Read::Map);
    let store = open(&ram, options);
    let mut truth = Truth::new();
    for payload in [&b"one"[..], b"two", b"three"] {
        truth.extend(
            append(&store, &[payload])
                .into_iter()
                .map(|seq| (seq, payload.to_vec())),
        );
    }
    assert_eq!(store.stats().unwrap().segments, 2);
    flip_all(&ram, &truth, 2, options, 1);
}

#[test]
fn damage_in_the_middle_is_named_and_stays_in_place() {
    let (ram, truth, batches) = small();
    let mut bytes = ram.read(&segment(1)).unwrap();
    // Twice: in a payload, and in a header, where the length is lost as well.
    for within in [100, 10] {
        bytes[batches[1].0 + within] ^= 0x40;
        let damaged = one_file(bytes.clone());
        for _ in 0..2 {
            let store = open(&damaged, Options::default());
            assert_eq!(readable(&store, &truth), [1, 3, 4, 5, 6]);
            let report = store.report();
            assert_eq!(report.cuts, vec![]);
            assert_eq!(report.damages.len(), 1);
            let damage = &report.damages[0];
            assert_eq!((damage.segment, damage.kind), (1, DamageKind::Corrupt));
            assert_eq!(damage.bytes.start, u64::try_from(batches[1].0).unwrap());
            assert_eq!(damage.seqs, Some(Seq(2)..=Seq(2)));
            assert_eq!(store.verify().unwrap().damages, report.damages);
            match store.get(Seq(2)) {
                Err(Error::Corrupt { offset, .. }) => assert_eq!(offset, damage.bytes.start),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(damaged.read(&segment(1)).as_ref(), Some(&bytes));
        let store = open(&damaged, Options::default());
        assert_eq!(append(&store, &[b"seven"]), [7]);
        drop(store);
        let store = open(&damaged, Options::default());
        assert_eq!(store.get(Seq(7)).unwrap().payload, b"seven");
        assert_eq!(store.report().damages.len(), 1, "the damage was forgotten");
    }
}

#[test]
fn damage_before_a_torn_tail_is_not_forgotten_when_the_tail_is_cut() {
    let (ram, truth, batches) = small();
    let mut bytes = ram.read(&segment(1)).unwrap();
    bytes[batches[1].0 + 100] ^= 0x40;
    bytes.pop();
    let damaged = one_file(bytes);
    for round in 0..3 {
        let store = open(&damaged, Options::default());
        assert_eq!(readable(&store, &truth), [1, 3]);
        let report = store.report();
        assert_eq!(report.cuts.len(), usize::from(round == 0));
        assert_eq!(report.damages.len(), 1, "round {round}");
        assert_eq!(report.damages[0].seqs, Some(Seq(2)..=Seq(2)));
        assert!(matches!(store.get(Seq(2)), Err(Error::Corrupt { .. })));
        if round == 1 {
            assert!(append(&store, &[b"next"])[0] > 6, "an id is given again");
        }
    }
}

#[test]
fn damage_that_a_read_finds_is_skipped_and_counted() {
    let ram = Ram::new();
    let options = tiny(1, Read::Positional);
    let store = open(&ram, options);
    append(&store, &[b"aaaa", b"bbbb"]);
    append(&store, &[b"cccc"]);
    drop(store);
    let mut bytes = ram.read(&segment(1)).unwrap();
    let at = bytes.windows(4).position(|w| w == b"aaaa").unwrap();
    bytes[at] = b'x';
    ram.write(&segment(1), bytes);
    let store = open(&ram, options);
    assert_eq!(store.report().damages, vec![]);
    for _ in 0..2 {
        let seqs: Vec<u64> = pages(&store, 0).into_iter().map(|(seq, _)| seq).collect();
        assert_eq!(seqs, [2, 3]);
        assert_eq!(store.report().damages.len(), 1);
    }
    assert_eq!(store.report().damages[0].seqs, Some(Seq(1)..=Seq(1)));
    assert_eq!(store.verify().unwrap().damages.len(), 1);
}

#[test]
fn a_payload_of_store_bytes_is_never_taken_for_a_record() {
    let (ram, truth, _) = small();
    let start = ram.read(&segment(1)).unwrap().len();
    // A copy of the store lives on: its next records have our salt, and ids that we have not given.
    let theirs = copy(&ram, &[segment(1)]);
    let other = open(&theirs, Options::default());
    for _ in 0..4 {
        append(&other, &[b"fake", b"fake"]);
    }
    let fakes = theirs.read(&segment(1)).unwrap()[start..].to_vec();
    for shift in 0..16 {
        let ours = copy(&ram, &[segment(1)]);
        let store = open(&ours, Options::default());
        append(&store, &[&[&vec![0; shift][..], &fakes].concat()]);
        append(&store, &[b"mine"]);
        drop(store);
        let bytes = ours.read(&segment(1)).unwrap();
        // Whole, without its header, and cut: then the payload's bytes are all that there is to scan.
        for flip in [0, 0xff] {
            for len in (start..=bytes.len()).step_by(8) {
                let mut bytes = bytes[..len].to_vec();
                if let Some(byte) = bytes.get_mut(start + 40) {
                    *byte ^= flip;
                }
                let store = open(&one_file(bytes), Options::default());
                assert_eq!(readable(&store, &truth).len(), truth.len());
                for (seq, payload) in pages(&store, usize::MAX) {
                    assert!(
                        payload != b"fake",
                        "a fake {seq}, shift {shift}, cut at {len}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_end_block_without_its_seal_is_a_torn_end_whatever_an_older_mark_says() {
    let ram = Ram::new();
    let store = open(&ram, tiny(4_096, Read::Positional));
    let long = vec![b'x'; 2_000];
    let first = append(&store, &[&long, b"kept", b"newest"]);
    let (mark, before) = (ram.read("mark").unwrap(), ram.read(&segment(1)).unwrap());
    store.erase(Scope::Records(&[Seq(first[0])])).unwrap();
    store.compact().unwrap();
    let records = ram.read(&segment(1)).unwrap().len();
    // It does not fit any more: the first segment is sealed.
    append(&store, &[&vec![b'y'; 3_900]]);
    drop(store);
    let mut sealed = ram.read(&segment(1)).unwrap();
    assert!(records < sealed.len() && sealed.len() <= before.len());
    // A loss of power that took the mark back, and the next segment, and left of the seal its last sector only.
    sealed[records..records + 80].fill(0);
    let torn = copy(&ram, &["erased".into()]);
    torn.write("mark", mark);
    torn.write(&segment(1), sealed);
    for _ in 0..2 {
        let store = open(&torn, Options::default());
        assert_eq!(store.report().damages, vec![]);
        let all = pages(&store, usize::MAX);
        let texts = all.iter().map(|(_, payload)| payload.as_slice());
        assert!(
            texts.clone().any(|text| text == b"kept")
                && texts.clone().any(|text| text == b"newest")
        );
        assert_eq!(store.verify().unwrap().damages, vec![]);
    }
}
