//! Each classic mistake, made on purpose, is caught by the check that is there for it; without it the
//! same check passes. A harness that cannot fail proves nothing.

use crate::catching::{Checked, catches};
use crate::support::disk_model::{Disk, Fate};
use crate::support::explore::explore;
use crate::support::faults::{Fault, Series};
use crate::support::ops::{Image, Op};
use crate::support::sample::sample;
use crate::support::script::{Step, play};
use crate::support::sim::Sim;
use crate::support::walk::Effort;
use crate::support::workloads::{WORKLOADS, every_call};
use crate::support::{append, copy, draft, open, pages, segment, small};
use warmset_core::Error;
use warmset_core::cold::{Defect, Draft, Durability, Encryption, Mode, Options, Ram, Scope, Store};

/// The crash states of every beginning of a sequence.
fn crashes(steps: &[Step], options: Options) -> Checked {
    let effort = Effort {
        random: 30,
        prefixes: 16,
        dive_every: 50,
    };
    for end in 0..=steps.len() {
        explore(&steps[..end], options, effort, 1)?;
    }
    Ok(())
}

fn of(durability: Durability, segment_bytes: u64) -> Options {
    Options {
        durability,
        segment_bytes,
        ..Options::default()
    }
}

/// A fault at every changing call of the plain workloads.
fn faults(fault: Fault, once: bool) -> Checked {
    for workload in &WORKLOADS[..2] {
        every_call(workload, Series::Changes, fault, once)?;
    }
    Ok(())
}

#[test]
fn no_directory_sync_is_caught() {
    let options = of(Durability::Fsync, 1);
    catches(Defect::NoDirectorySync, || {
        crashes(&[Step::Append, Step::Append], options)
    });
}

#[test]
fn an_acknowledgement_before_the_sync_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::AckBeforeSync, || crashes(&[Step::Append], options));
}

#[test]
fn a_failed_sync_that_is_tried_again_is_caught() {
    catches(Defect::SyncRetried, || faults(Fault::Broken, true));
}

#[test]
fn a_failed_sync_that_is_forgotten_is_caught() {
    catches(Defect::FailedSyncForgotten, || faults(Fault::Broken, true));
}

#[test]
fn a_failed_write_that_is_not_taken_back_is_caught() {
    use crate::support::faulty::Faulty;
    catches(Defect::NoTruncate, || {
        let medium = Faulty::default();
        let store = medium.open_store(Options::default()).unwrap();
        append(&store, &[b"one"]);
        let before = medium.ram.read(&segment(1));
        medium.plan.fail(1, true, std::io::ErrorKind::StorageFull);
        let refused = store.append(&[draft(b"two")]);
        assert!(matches!(refused, Err(Error::Full { .. })));
        assert_eq!(medium.ram.read(&segment(1)), before, "half a batch is left");
        Ok(())
    });
}

#[test]
fn a_checksum_without_salt_and_place_is_caught() {
    catches(Defect::UnsaltedChecksum, || {
        let (ram, _, _) = small();
        let start = ram.read(&segment(1)).unwrap().len();
        // Another store, whose records come later than ours; one of them is stored here.
        let theirs = Ram::new();
        let other = open(&theirs, Options::default());
        (0..20).for_each(|_| drop(append(&other, &[b"fake"])));
        let fakes = theirs.read(&segment(1)).unwrap()[640..].to_vec();
        let ours = copy(&ram, &[segment(1)]);
        let store = open(&ours, Options::default());
        append(&store, &[&[&vec![0; 2][..], &fakes].concat()]);
        append(&store, &[b"mine"]);
        drop(store);
        for shift in 0..8 {
            let mut bytes = ours.read(&segment(1)).unwrap();
            bytes[start + 40] ^= 0xff;
            bytes.drain(start + 88..start + 88 + shift);
            let damaged = Ram::new();
            damaged.write(&segment(1), bytes);
            let found = pages(&open(&damaged, Options::default()), usize::MAX);
            if found.iter().any(|(_, payload)| payload == b"fake") {
                return Err("a stored record was taken for one of ours".into());
            }
        }
        Ok(())
    });
}

#[test]
fn keys_joined_with_a_delimiter_are_caught() {
    catches(Defect::JoinedKeys, || {
        let store = Store::in_memory(Options::default()).unwrap();
        let theirs: [&[u8]; 2] = [b"a:b", b"c"];
        let of = |key| Draft { key, ..draft(b"x") };
        let seq = store.append(&[of(&theirs)]).unwrap()[0];
        store.append(&[of(&[b"a", b"b:c"])]).unwrap();
        store.erase(Scope::Prefix(&[b"a"])).unwrap();
        let record = store.get(seq).map_err(|error| error.to_string())?;
        assert_eq!(record.key, theirs);
        Ok(())
    });
}

#[test]
fn a_mark_that_is_ahead_of_the_sync_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::MarkBeforeSync, || crashes(&[Step::Append], options));
}

#[test]
fn a_rename_before_the_sync_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    let steps = [Step::Append, Step::EraseRecord, Step::Compact];
    catches(Defect::RenameBeforeSync, || crashes(&steps, options));
}

#[test]
fn a_batch_that_leaves_the_spool_too_early_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    let steps = [Step::Spool, Step::Append];
    catches(Defect::SpoolRemovedFirst, || crashes(&steps, options));
}

#[test]
fn a_tombstone_without_a_sync_is_caught() {
    let options = of(Durability::Os, 1 << 20);
    let steps = [Step::Append, Step::Sync, Step::EraseRecord];
    catches(Defect::TombstoneUnsynced, || crashes(&steps, options));
}

#[test]
fn an_erasure_that_does_not_cascade_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    let steps = [Step::Append, Step::Batch, Step::EraseRecord];
    catches(Defect::NoCascade, || crashes(&steps, options));
}

#[test]
fn a_reader_that_looks_beyond_the_mark_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::ReadBeyondMark, || {
        let tape = play(&[Step::Append, Step::Append], options);
        let written = |op: &Op| matches!(op, Op::Write(_, start, _) if *start >= 640);
        let at = tape.ops.iter().rposition(written).unwrap();
        let mut disk = Disk::default();
        tape.ops[..=at].iter().for_each(|op| disk.apply(op));
        let image: Image = disk.image(|_| Fate::Kept);
        let mode = Mode::Read;
        let reader = Sim::new(&image)
            .open_store(Options { mode, ..options })
            .unwrap();
        match pages(&reader, usize::MAX).len() {
            1 => Ok(()),
            n => Err(format!("{n} records are shown, one is acknowledged")),
        }
    });
}

#[test]
fn a_header_without_a_checksum_is_caught() {
    catches(Defect::HeaderUnchecked, || {
        sample(Encryption::Off).flip_every_bit();
        Ok(())
    });
}

#[test]
fn a_payload_without_a_hash_is_caught() {
    catches(Defect::PayloadUnchecked, || {
        sample(Encryption::Off).flip_every_bit();
        Ok(())
    });
}

#[test]
fn half_a_batch_in_recovery_is_caught() {
    let options = of(Durability::Fsync, 1 << 20);
    catches(Defect::HalfBatch, || crashes(&[Step::Batch], options));
}
