//! The lexical index by itself: batches, order, what is saved, and bytes that somebody spoiled.

use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::hot::{Bm25, LexicalIndex, terms};

const WORDS: [&str; 12] = [
    "red", "green", "blue", "fox", "dog", "pool", "size", "twelve", "lunch", "noon", "db_pool",
    "東京",
];

fn entry(id: u64, picks: &[u8]) -> (u64, Vec<String>) {
    let words: Vec<&str> = picks
        .iter()
        .map(|pick| WORDS[usize::from(*pick) % 12])
        .collect();
    (id, terms(&words.join(" ")))
}

fn filled(ids: impl Iterator<Item = u64>) -> LexicalIndex {
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    let entries: Vec<(u64, Vec<String>)> = ids
        .map(|id| {
            let seed = u8::try_from(id % 251).unwrap();
            entry(id, &[seed, seed / 3, seed / 5, seed.wrapping_mul(7)])
        })
        .collect();
    index.add(&entries).unwrap();
    index
}

fn written(index: &LexicalIndex) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.write(&mut bytes).unwrap();
    bytes
}

fn open(bytes: Vec<u8>) -> Result<LexicalIndex, Error> {
    LexicalIndex::open(Arc::new(bytes), Bm25::default())
}

/// What all searches of one word give.
fn answers(index: &LexicalIndex) -> Result<Vec<(u64, u32)>, Error> {
    let mut out = Vec::new();
    for word in WORDS {
        let found = index.search(&terms(&format!("{word} fox noon")), 40)?;
        out.extend(found.into_iter().map(|(id, score)| (id, score.to_bits())));
    }
    Ok(out)
}

#[test]
fn a_batch_goes_in_or_out_as_a_whole() {
    let mut index = filled([7, 3, 900].into_iter());
    let before = answers(&index).unwrap();
    let add = |index: &mut LexicalIndex, ids: &[u64]| {
        let entries: Vec<_> = ids.iter().map(|id| entry(*id, &[3, 9])).collect();
        index.add(&entries)
    };
    assert!(matches!(
        add(&mut index, &[1, 3]),
        Err(Error::DuplicateId { id: 3 })
    ));
    assert!(matches!(
        add(&mut index, &[1, 2, 1]),
        Err(Error::DuplicateId { id: 1 })
    ));
    assert!(matches!(
        index.remove(&[7, 8]),
        Err(Error::UnknownId { id: 8 })
    ));
    assert!(matches!(
        index.remove(&[7, 3, 7]),
        Err(Error::UnknownId { id: 7 })
    ));
    assert_eq!((index.len(), answers(&index).unwrap()), (3, before));
    index.remove(&[3]).unwrap();
    assert!(!index.contains(3).unwrap() && index.contains(7).unwrap());
    add(&mut index, &[3]).unwrap();
    assert_eq!(index.len(), 3);
}

#[test]
fn arguments_out_of_range_are_refused() {
    let index = filled(0..3);
    assert!(matches!(
        index.search(&terms("fox"), 0),
        Err(Error::Argument { name: "k", .. })
    ));
    for (k1, b, name) in [
        (-1.0, 0.5, "k1"),
        (f64::NAN, 0.5, "k1"),
        (1.2, 1.5, "b"),
        (1.2, f64::NAN, "b"),
    ] {
        let refused = LexicalIndex::new(Bm25 { k1, b });
        assert!(matches!(refused, Err(Error::Argument { name: found, .. }) if found == name));
    }
}

#[test]
fn ties_go_to_the_lower_id_whatever_the_order_of_arrival() {
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    let ids = [5, u64::MAX, 3, 1 << 63, 4, 0];
    index.add(&ids.map(|id| entry(id, &[3]))).unwrap();
    for index in [&index, &open(written(&index)).unwrap()] {
        let found = index.search(&terms("fox"), 4).unwrap();
        let order: Vec<u64> = found.iter().map(|hit| hit.0).collect();
        assert_eq!(order, [0, 3, 4, 5]);
    }
}

#[test]
fn ties_among_more_than_are_asked_for_go_to_the_lower_id() {
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    let entries: Vec<_> = (0..900).rev().map(|id| entry(id, &[3, 4])).collect();
    index.add(&entries).unwrap();
    for index in [&index, &open(written(&index)).unwrap()] {
        for k in [1, 7, 40] {
            let found = index.search(&terms("fox dog"), k).unwrap();
            assert!(found.iter().map(|hit| hit.0).eq((0..900).take(k)), "{k}");
        }
    }
}

#[test]
fn who_has_a_common_term_most_often_is_found_behind_many_others() {
    let mut index = LexicalIndex::new(Bm25::default()).unwrap();
    let mut entries: Vec<_> = (0..1_200).map(|id| entry(id, &[4, 4, 4])).collect();
    entries.push(entry(5_000, &[4; 60]));
    entries.extend((6_000..6_040).map(|id| entry(id, &[4, 3, 9])));
    index.add(&entries).unwrap();
    for index in [&index, &open(written(&index)).unwrap()] {
        let found = index.search(&terms("dog"), 1).unwrap();
        let all = index.search(&terms("dog"), 2_000).unwrap();
        assert_eq!((found[0].0, all.len()), (5_000, 1_241));
        assert_eq!(found[0], all[0]);
    }
}

#[test]
fn an_index_goes_on_after_it_was_opened() {
    let mut plain = filled(0..500);
    let mut saved = open(written(&plain)).unwrap();
    for round in 0..3_u64 {
        for index in [&mut plain, &mut saved] {
            let gone: Vec<u64> = (0..500).filter(|id| id % 7 == round).collect();
            index.remove(&gone).unwrap();
            let back: Vec<_> = gone
                .iter()
                .step_by(2)
                .map(|id| entry(*id, &[1, 10, 3]))
                .collect();
            index.add(&back).unwrap();
            index.add(&[entry(1000 + round, &[11, 10])]).unwrap();
        }
        assert_eq!(saved.len(), plain.len());
        assert_eq!(answers(&saved).unwrap(), answers(&plain).unwrap());
        for id in 0..500 {
            assert_eq!(saved.contains(id).unwrap(), plain.contains(id).unwrap());
        }
        saved.verify().unwrap();
        saved = open(written(&saved)).unwrap();
        assert_eq!(saved.len(), plain.len());
    }
    assert!(matches!(
        saved.add(&[entry(1000, &[])]),
        Err(Error::DuplicateId { id: 1000 })
    ));
    let empty = open(written(&LexicalIndex::new(Bm25::default()).unwrap())).unwrap();
    assert!(empty.is_empty() && empty.search(&terms("fox"), 3).unwrap().is_empty());
}

#[test]
fn what_was_removed_is_not_in_the_bytes() {
    let mut index = filled(0..20);
    index
        .add(&[(99, terms("a word nobody else says: hippopotamus"))])
        .unwrap();
    let holds = |bytes: &[u8]| bytes.windows(6).any(|six| six == b"hippop");
    let with = written(&index);
    assert!(holds(&with));
    let mut opened = open(with).unwrap();
    opened.remove(&[99]).unwrap();
    assert!(!holds(&written(&opened)));
}

/// The same bytes with one changed, and with checksums that agree to it.
fn forged(mut bytes: Vec<u8>, at: usize, to: u8) -> Vec<u8> {
    let end = bytes.len();
    // Where things lie is read off the bytes as they were.
    let plain = bytes.clone();
    bytes[at] = to;
    // From the last section to the first: foot, checks, blocks.
    let mut stop = end;
    while stop > 0 {
        let long = |at: usize| {
            usize::try_from(u64::from_le_bytes(plain[at..at + 8].try_into().unwrap())).unwrap()
        };
        let word = u32::from_le_bytes(plain[stop - 12..stop - 8].try_into().unwrap());
        let foot = stop - 40 - 16 * usize::try_from(word).unwrap();
        let start = stop - long(stop - 32);
        let checks = start + long(stop - 40);
        if at < checks && at >= start {
            let block = (at - start) / 16_384;
            let span = start + block * 16_384..checks.min(start + (block + 1) * 16_384);
            let sum = crc32c::crc32c(&bytes[span]).to_le_bytes();
            bytes[checks + 4 * block..checks + 4 * block + 4].copy_from_slice(&sum);
        }
        let sum = crc32c::crc32c(&bytes[checks..foot]).to_le_bytes();
        bytes[stop - 8..stop - 4].copy_from_slice(&sum);
        let sum = crc32c::crc32c(&bytes[foot..stop - 4]).to_le_bytes();
        bytes[stop - 4..stop].copy_from_slice(&sum);
        stop = start;
    }
    bytes
}

/// Nothing here may panic or take memory without end, whatever it returns.
fn poke(bytes: Vec<u8>) -> Result<(), Error> {
    let mut index = open(bytes)?;
    index.verify()?;
    answers(&index)?;
    index.contains(77)?;
    index.add(&[entry(5000, &[1, 2, 3])])?;
    index.remove(&[5000, 77, 78])?;
    answers(&index)?;
    let mut again = Vec::new();
    index.write(&mut again)?;
    open(again).map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_changed_byte_is_noticed_or_was_not_read(at in any::<prop::sample::Index>(), by in 1_u8..=255) {
        let mut bytes = written(&filled(0..2_000));
        let at = at.index(bytes.len());
        let right = answers(&open(bytes.clone()).unwrap()).unwrap();
        bytes[at] ^= by;
        if let Ok(index) = open(bytes) {
            let noticed = matches!(index.verify(), Err(Error::SavedIndex { .. }));
            prop_assert!(noticed, "byte {at}");
            match answers(&index) {
                Ok(found) => prop_assert_eq!(found, right),
                Err(Error::SavedIndex { .. }) => {}
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn bytes_that_lie_with_the_right_checksums_cannot_make_it_panic(
        at in any::<prop::sample::Index>(), to in any::<u8>(),
    ) {
        let bytes = written(&filled(0..300));
        let at = at.index(bytes.len());
        drop(poke(forged(bytes, at, to)));
    }

    #[test]
    fn any_other_bytes_are_refused(
        noise in prop::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>(),
    ) {
        let bytes = written(&filled(0..100));
        let cut = cut.index(bytes.len());
        let refused = |found| matches!(found, Err(Error::SavedIndex { .. }));
        prop_assert!(refused(open(bytes[..cut].to_vec())));
        prop_assert!(refused(open(noise.clone())));
        prop_assert!(refused(open([bytes, vec![0]].concat())));
    }
}
