//! Random sequences of calls against a map, with reopening, rotation and torn writes among them.

use crate::support::{Truth, draft, open, pages, readable, tiny};
use proptest::prelude::*;
use warmset_core::cold::{Draft, Medium, Ram, Read};
use warmset_core::{Error, Seq};

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Vec<u8>>),
    Reopen(u64),
    Torn(Vec<u8>),
    Get(u64),
    Page(u64, usize),
    Verify,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let payload = prop::collection::vec(any::<u8>(), 0..300);
    let step = prop_oneof![
        6 => prop::collection::vec(payload, 0..4).prop_map(Step::Append),
        2 => prop_oneof![Just(1), 700..3_000_u64].prop_map(Step::Reopen),
        1 => prop::collection::vec(any::<u8>(), 1..200).prop_map(Step::Torn),
        3 => (0..40_u64).prop_map(Step::Get),
        2 => (0..40_u64, 0..2_000_usize).prop_map(|(from, max)| Step::Page(from, max)),
        1 => Just(Step::Verify),
    ];
    prop::collection::vec(step, 1..40)
}

fn last_segment(ram: &Ram) -> String {
    let names = ram.list("").unwrap();
    names
        .into_iter()
        .filter(|name| name.starts_with("0000"))
        .max()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_store_is_a_map_that_grows(steps in steps(), segment_bytes in 1..3_000_u64) {
        let ram = Ram::new();
        let mut store = open(&ram, tiny(segment_bytes, Read::Map));
        let mut truth = Truth::new();
        let mut highest = 0;
        for step in steps {
            match step {
                Step::Append(payloads) => {
                    let batch: Vec<Draft<'_>> = payloads.iter().map(|p| draft(p)).collect();
                    let seqs = store.append(&batch).unwrap();
                    prop_assert_eq!(seqs.len(), payloads.len());
                    for (seq, payload) in seqs.into_iter().zip(payloads) {
                        prop_assert!(seq.0 > highest);
                        highest = seq.0;
                        truth.insert(seq.0, payload);
                    }
                }
                Step::Reopen(segment_bytes) => {
                    drop(store);
                    store = open(&ram, tiny(segment_bytes, Read::Positional));
                    prop_assert!(store.report().cuts.is_empty());
                }
                Step::Torn(junk) => {
                    drop(store);
                    let name = last_segment(&ram);
                    let bytes = ram.read(&name).unwrap();
                    ram.write(&name, [bytes, junk].concat());
                    store = open(&ram, tiny(segment_bytes, Read::Map));
                    prop_assert_eq!(store.report().cuts.len(), 1);
                }
                Step::Get(seq) => match (store.get(Seq(seq)), truth.get(&seq)) {
                    (Ok(record), Some(payload)) => prop_assert_eq!(&record.payload, payload),
                    (Err(Error::NotFound { .. }), None) => {}
                    (got, expected) => prop_assert!(false, "{got:?}, expected {expected:?}"),
                },
                Step::Page(from, max_bytes) => {
                    let page = store.page(Seq(from), max_bytes).unwrap();
                    let got: Vec<(u64, Vec<u8>)> =
                        page.into_iter().map(|r| (r.seq.0, r.payload)).collect();
                    let rest: Vec<(u64, Vec<u8>)> =
                        truth.range(from..).map(|(seq, p)| (*seq, p.clone())).collect();
                    prop_assert_eq!(&got[..], &rest[..got.len()]);
                    prop_assert_eq!(got.is_empty(), rest.is_empty());
                }
                Step::Verify => {
                    let verify = store.verify().unwrap();
                    prop_assert_eq!(verify.damages, vec![]);
                    prop_assert_eq!(verify.records, u64::try_from(truth.len()).unwrap());
                }
            }
        }
        prop_assert_eq!(readable(&store, &truth).len(), truth.len());
        let all: Vec<(u64, Vec<u8>)> = truth.into_iter().collect();
        prop_assert_eq!(pages(&store, 1_000), all);
        prop_assert!(store.report().damages.is_empty());
    }
}
