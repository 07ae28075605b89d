//! Saved indexes: what was saved is found again, what is damaged is never taken for an answer.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::cold::Read;
use warmset_core::hot::{Batch, Filter, Head, Index, Labels, Metric, Opening, SharedBytes};
use warmset_core::simd::Lanes;
use warmset_core::{Error, Result, file};

const DIM: usize = 40;

/// Bytes that lie as those of a map do.
struct Aligned(Vec<Lanes>, usize);

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

fn aligned(bytes: &[u8]) -> SharedBytes {
    let mut blocks = vec![Lanes::ZERO; bytes.len().div_ceil(64)];
    bytemuck::cast_slice_mut(&mut blocks)[..bytes.len()].copy_from_slice(bytes);
    Arc::new(Aligned(blocks, bytes.len()))
}

fn open(bytes: &[u8]) -> Result<Index> {
    Index::open(&aligned(bytes), &Opening::new(Path::new("saved"), None)?)
}

fn saved(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.save(&mut bytes, Path::new("saved")).unwrap();
    bytes
}

fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..DIM)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bits = u32::try_from(state >> 41).unwrap();
            f32::from_bits(0x3f80_0000 | bits) - 1.5
        })
        .collect()
}

fn add(index: &mut Index, ids: impl Iterator<Item = u64>) {
    for id in ids {
        let labels = Labels {
            tenant: u32::try_from(id % 3).unwrap(),
            conversation: u32::try_from(id % 7).unwrap(),
            kind: u16::try_from(id % 2).unwrap(),
            at: i64::try_from(id).unwrap(),
            ..Labels::default()
        };
        let batch = Batch {
            ids: &[id],
            vectors: &vector(id),
            labels: &[labels],
        };
        index.add(batch).unwrap();
    }
}

type Found = Vec<(u64, u32)>;

/// Everything that can be asked, or the first error.
fn answers(index: &Index) -> Result<Vec<Found>> {
    let filters = [
        None,
        Some(Filter {
            conversation: Some(3),
            ..Filter::default()
        }),
        Some(Filter {
            since: Some(20),
            kinds: Some(vec![1]),
            ..Filter::default()
        }),
        Some(Filter {
            ids: Some(vec![4, 5, 6, 7_000]),
            ..Filter::default()
        }),
    ];
    let mut all = Vec::new();
    for filter in filters {
        for k in [3, 1_000] {
            let found = index.search(&vector(12), k, filter.as_ref())?;
            all.push(
                found
                    .into_iter()
                    .map(|(id, score)| (id, score.to_bits()))
                    .collect(),
            );
        }
    }
    let present = (0..60).filter_map(|id| match index.contains(id) {
        Ok(false) => None,
        Ok(true) => Some(Ok((id, 0))),
        Err(error) => Some(Err(error)),
    });
    all.push(present.collect::<Result<_>>()?);
    Ok(all)
}

fn is_typed(error: &Error) -> bool {
    matches!(
        error,
        Error::IndexDamaged { .. } | Error::NotAnIndex { .. } | Error::NewerIndex { .. }
    )
}

/// Which bytes of a file belong to a section, the table, the header or the end block.
fn covered(bytes: &[u8]) -> Vec<bool> {
    let (places, table) = sections(bytes);
    let mut covered = vec![false; bytes.len()];
    covered[..64].fill(true);
    covered[table..].fill(true);
    for (_, range) in places {
        covered[range].fill(true);
    }
    covered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_saved_index_goes_on_as_if_it_had_stayed(
        first in prop::collection::btree_set(0_u64..900, 0..500),
        steps in prop::collection::vec((0_u8..3, prop::collection::btree_set(0_u64..900, 0..60)), 1..8),
        metric in prop::sample::select(vec![Metric::Cosine, Metric::InnerProduct]),
        backwards in any::<bool>(),
    ) {
        let mut stays = Index::new(DIM, metric).unwrap();
        if backwards {
            add(&mut stays, first.iter().rev().copied());
        } else {
            add(&mut stays, first.iter().copied());
        }
        let mut moves = open(&saved(&stays)).unwrap();
        for (step, ids) in steps {
            let (here, gone): (Vec<u64>, Vec<u64>) =
                ids.iter().partition(|id| stays.contains(**id).unwrap());
            match step {
                0 => [&mut stays, &mut moves].into_iter().for_each(|i| add(i, gone.iter().copied())),
                1 => [&mut stays, &mut moves].into_iter().for_each(|i| i.remove(&here).unwrap()),
                _ => moves = open(&saved(&moves)).unwrap(),
            }
            prop_assert_eq!(answers(&moves).unwrap(), answers(&stays).unwrap());
            prop_assert_eq!((moves.len(), moves.metric()), (stays.len(), metric));
        }
        moves.verify().unwrap();
    }
}

#[test]
fn every_flipped_byte_is_found_or_does_no_harm() {
    let mut index = Index::new(DIM, Metric::Cosine)
        .unwrap()
        .with_fingerprint(Some("minilm".into()));
    add(&mut index, [9, 3, 5, 4, 7].into_iter().chain(10..40));
    let bytes = saved(&index);
    let expected = answers(&index).unwrap();
    let covered = covered(&bytes);
    let mut found = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let opened = match open(&flipped) {
            Ok(opened) => opened,
            Err(error) => {
                assert!(is_typed(&error), "byte {at}: {error}");
                assert!(covered[at], "byte {at}");
                found += 1;
                continue;
            }
        };
        match answers(&opened) {
            Ok(answers) => assert_eq!(answers, expected, "byte {at}"),
            Err(error) => {
                assert!(is_typed(&error), "byte {at}: {error}");
                let again = opened.search(&vector(1), 1, None).unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "byte {at}");
                assert!(opened.save(Vec::new(), Path::new("other")).is_err());
                found += 1;
            }
        }
        assert_eq!(opened.verify().is_err(), covered[at], "byte {at}");
    }
    assert!(
        found > bytes.len() / 20,
        "most damage is found without verify"
    );
}

#[test]
fn a_file_of_any_other_length_is_refused() {
    let mut index = Index::new(DIM, Metric::Cosine).unwrap();
    add(&mut index, 0..9);
    let mut bytes = saved(&index);
    for length in (0..bytes.len()).step_by(61).chain([bytes.len() - 1]) {
        let error = open(&bytes[..length]).unwrap_err();
        assert!(is_typed(&error), "{length}: {error}");
    }
    bytes.push(0);
    assert!(is_typed(&open(&bytes).unwrap_err()));
}

#[test]
fn a_newer_file_and_a_foreign_one_say_so() {
    let index = Index::new(DIM, Metric::Cosine).unwrap();
    for (at, value) in [(8, 2_u8), (16, 1)] {
        let mut bytes = saved(&index);
        bytes[at] = value;
        let sum = crc32c::crc32c(&bytes[..60]).to_le_bytes();
        bytes[60..64].copy_from_slice(&sum);
        let error = open(&bytes).unwrap_err();
        assert!(matches!(error, Error::NewerIndex { .. }), "{error}");
        assert!(error.to_string().contains("rebuild it"), "{error}");
    }
    let error = open(b"SQLite format 3\0").unwrap_err();
    assert!(matches!(error, Error::NotAnIndex { .. }), "{error}");
}

#[test]
fn what_was_removed_is_not_in_the_file() {
    let mut index = Index::new(DIM, Metric::InnerProduct).unwrap();
    add(&mut index, 0..600);
    let secret: Vec<u8> = vector(77).iter().flat_map(|x| x.to_le_bytes()).collect();
    let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret);
    assert!(holds(&saved(&index)));
    let mut opened = open(&saved(&index)).unwrap();
    for index in [&mut index, &mut opened] {
        index.remove(&[77]).unwrap();
        assert!(!holds(&saved(index)));
    }
    assert_eq!(
        saved(&index),
        saved(&opened),
        "the same entries, the same bytes"
    );
}

#[test]
fn another_embedder_is_refused() {
    let named = |name: Option<&str>| {
        let index = Index::new(DIM, Metric::Cosine).unwrap();
        aligned(&saved(&index.with_fingerprint(name.map(str::to_owned))))
    };
    let open = |bytes: &SharedBytes, given| {
        Index::open(bytes, &Opening::new(Path::new("saved"), given).unwrap())
    };
    let (ours, nobody) = (named(Some("ours")), named(None));
    assert_eq!(
        open(&ours, Some("ours")).unwrap().fingerprint(),
        Some("ours")
    );
    assert_eq!(open(&ours, None).unwrap().fingerprint(), Some("ours"));
    assert_eq!(open(&nobody, None).unwrap().fingerprint(), None);
    for (bytes, stored) in [(ours, "ours"), (nobody, "nobody")] {
        let error = open(&bytes, Some("theirs")).unwrap_err();
        assert!(matches!(error, Error::EmbedderMismatch { .. }));
        let text = error.to_string();
        assert!(text.contains(stored) && text.contains("theirs"), "{text}");
    }
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = Index::new(DIM, Metric::Cosine).unwrap();
    add(&mut index, 0..300);
    let save = |index: &Index| file::replace(&path, |out| index.save(out, &path));
    save(&index).unwrap();
    for read in [Read::Map, Read::Positional] {
        let how = Opening::new(&path, None).unwrap();
        let old = Index::open(&file::bytes(&path, read).unwrap(), &how).unwrap();
        index
            .remove(&[if read == Read::Map { 12 } else { 13 }])
            .unwrap();
        save(&index).unwrap();
        // The old file's bytes stay as long as somebody reads them.
        old.verify().unwrap();
        assert_eq!(old.len(), index.len() + 1);
        let new = Index::open(&file::bytes(&path, read).unwrap(), &how).unwrap();
        assert_eq!(answers(&new).unwrap(), answers(&index).unwrap());
    }
    let before = std::fs::read(&path).unwrap();
    let failed = file::replace(&path, |out| {
        out.write_all(b"half").unwrap();
        Err(Error::Interrupted)
    });
    assert!(matches!(failed, Err(Error::Interrupted)));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// Where each section lies, and the table's own place.
fn sections(bytes: &[u8]) -> (Vec<(usize, std::ops::Range<usize>)>, usize) {
    let number = |at: usize| {
        let bytes: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(bytes)).unwrap()
    };
    let end = bytes.len() - 64;
    let (table, length) = (number(end + 8), number(end + 16));
    let mut found = Vec::new();
    let mut at = table;
    while at < table + length {
        let (offset, length) = (number(at + 32), number(at + 40));
        found.push((at + 48, offset..offset + length));
        at += 48 + 4 * length.div_ceil(1 << 20);
    }
    (found, table)
}

/// Makes all checksums right, whatever the sections say.
fn seal(bytes: &mut [u8]) {
    let (sections, table) = sections(bytes);
    for (sums, range) in sections {
        let blocks: Vec<u32> = bytes[range].chunks(1 << 20).map(crc32c::crc32c).collect();
        for (at, sum) in (sums..).step_by(4).zip(blocks) {
            bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let end = bytes.len() - 64;
    let sum = crc32c::crc32c(&bytes[table..end]);
    bytes[end + 40..end + 44].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32c::crc32c(&bytes[end..end + 60]);
    bytes[end + 60..].copy_from_slice(&sum.to_le_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nonsense_with_right_checksums_is_never_fatal(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..5),
        head in prop::sample::select(vec![Head::Auto, Head::Int8]),
        removed in prop::collection::btree_set(0_u64..300, 1..40),
    ) {
        let mut index = Index::new(DIM, Metric::InnerProduct).unwrap();
        add(&mut index, (0..300).rev());
        let mut bytes = saved(&index);
        let (places, _) = sections(&bytes);
        for (section, place, value) in changes {
            let (_, range) = &places[section.index(places.len())];
            if !range.is_empty() {
                bytes[range.start + place.index(range.len())] = value;
            }
        }
        seal(&mut bytes);
        let how = Opening { head, ..Opening::new(Path::new("saved"), None).unwrap() };
        if let Ok(mut index) = Index::open(&aligned(&bytes), &how) {
            let _ = answers(&index);
            let mine: Vec<u64> = removed.into_iter().filter(|id| index.contains(*id).unwrap()).collect();
            let _ = index.remove(&mine);
            let _ = answers(&index);
            let ids: Vec<u64> = (1_000..1_300).collect();
            let rows: Vec<f32> = ids.iter().flat_map(|id| vector(*id)).collect();
            if index.dim() == DIM {
                let labels = [Labels::default()];
                let _ = index.add(Batch { ids: &ids, vectors: &rows, labels: &labels });
            }
            let _ = answers(&index);
            let again = saved(&index);
            let _ = open(&again).map(|index| answers(&index));
        }
    }
}
