//! What was saved of conversations is what they were; damage is told, or does no harm.

use std::sync::Arc;

use proptest::prelude::*;
use warmset_core::turns::{
    Bond, Contents, Conversation, Fact, Id, Links, ROOT, Role, Row, Saved, Told, Turns,
    VectorRecord, write,
};
use warmset_core::{Error, Seq};

const NOTE: &[u8] = b"noted";

const fn vector(of: u64, generation: u32, view: u32, record: u64) -> VectorRecord {
    VectorRecord {
        of: Seq(of),
        generation,
        view,
        record: Seq(record),
    }
}

/// In no order, as they were made.
const VECTORS: [VectorRecord; 5] = [
    vector(8, 1, 0, 11),
    vector(2, 1, 1, 12),
    vector(2, 1, 0, 16),
    vector(2, 2, 0, 14),
    vector(u64::MAX, u32::MAX, u32::MAX, u64::MAX),
];

fn id(text: &str) -> Id {
    text.as_bytes().into()
}

fn some(texts: &'static [&'static str]) -> impl Strategy<Value = Id> {
    prop::sample::select(texts).prop_map(id)
}

fn told() -> impl Strategy<Value = Told> {
    let ids = || prop::collection::vec(some(&["a", "b", "", "é\u{1f600}"]), 0..3);
    let fact = (
        prop::sample::select(vec![Role::System, Role::Assistant, Role::Other]),
        ids(),
        ids(),
        any::<[bool; 3]>(),
        0_u8..6,
        prop::option::of(some(&["item", ""])),
    );
    let fact = fact.prop_map(|(role, calls, results, flags, bond, item)| Fact {
        role,
        calls,
        results,
        request: flags[0],
        keep: flags[1],
        thinks: flags[2],
        bond: Bond::of(bond).unwrap(),
        item,
    });
    let beside = prop::option::of(prop::collection::vec(any::<u8>(), 0..20));
    let names = (
        some(&["user", "assistant", "tool"]),
        prop::option::of(some(&["Ann", "Bob", ""])),
        prop::option::of(some(&["k1", "k2"])),
    );
    let numbers = (-1e9_f64..1e12, any::<u32>(), 0_u64..9, any::<[bool; 2]>());
    (fact, names, numbers, beside).prop_map(|(fact, names, numbers, beside)| Told {
        fact,
        role: names.0,
        speaker: names.1,
        at: numbers.0,
        tokens: u64::from(numbers.1),
        session: numbers.2,
        decision: numbers.3[0],
        blank: numbers.3[1],
        key: names.2,
        beside: beside.map(Into::into),
    })
}

/// Conversations that share the ids of a store; before some messages the path moves.
fn store() -> impl Strategy<Value = Vec<(Vec<u8>, Turns, Vec<u8>)>> {
    let step = (
        0_usize..3,
        told(),
        prop::option::weighted(0.2, any::<prop::sample::Index>()),
    );
    let steps = prop::collection::vec((step, any::<u8>(), 1_u64..3), 0..14);
    let beside = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 3);
    (steps, beside).prop_map(|(steps, beside)| {
        let keys: [&[u8]; 3] = [b"b", b"", b"a\0long key"];
        let mut made: Vec<(Vec<u8>, Turns, Vec<u8>)> = keys
            .iter()
            .zip(beside)
            .map(|(key, beside)| (key.to_vec(), Turns::default(), beside))
            .collect();
        let mut last = 0;
        for ((at, told, to), number, gap) in steps {
            let turns = &mut made[at].1;
            if let Some(to) = to {
                let heads = [&[ROOT][..], turns.tree().ids()].concat();
                turns
                    .tree_mut()
                    .move_to(heads[to.index(heads.len())])
                    .unwrap();
            }
            last += gap;
            turns.add(Seq(last), [number; 16], told).unwrap();
        }
        made
    })
}

fn bytes_of(store: &[(Vec<u8>, Turns, Vec<u8>)]) -> Vec<u8> {
    let conversations: Vec<Conversation<'_>> = store
        .iter()
        .map(|(key, turns, beside)| Conversation { key, turns, beside })
        .collect();
    let mut bytes = Vec::new();
    let contents = Contents {
        conversations: &conversations,
        vectors: &VECTORS,
        note: NOTE,
    };
    let length = write(&mut bytes, &contents).unwrap();
    assert_eq!(usize::try_from(length).unwrap(), bytes.len());
    bytes
}

fn opened(bytes: &[u8]) -> Result<Saved, Error> {
    Saved::open(Arc::new(bytes.to_vec()), bytes.len())
}

type Known = (Seq, [u8; 16], Seq, Row, Option<Links>, Fact);

type All = (Vec<Known>, Vec<Seq>, Vec<Vec<u8>>, Vec<Option<Seq>>);

/// All that can be asked of turns.
fn known(turns: &Turns) -> All {
    let tree = turns.tree();
    let of = |id: &Seq| {
        (
            *id,
            tree.digest(*id).unwrap(),
            tree.parent(*id).unwrap(),
            *turns.row(*id).unwrap(),
            turns.links(*id).cloned(),
            turns.fact(*id).unwrap(),
        )
    };
    let names = turns.roles().all().chain(turns.speakers().all());
    (
        tree.ids().iter().map(of).collect(),
        tree.path().to_vec(),
        names.map(<[u8]>::to_vec).collect(),
        [&b"k1"[..], b"k2"].map(|key| turns.keyed(key)).to_vec(),
    )
}

proptest! {
    #[test]
    fn what_was_saved_is_what_was_there_and_goes_on_so(store in store(), more in told()) {
        let bytes = bytes_of(&store);
        let saved = opened(&bytes).unwrap();
        saved.verify().unwrap();
        prop_assert_eq!(saved.len(), store.len());
        let keys: Vec<&[u8]> = (0..3).map(|at| saved.key(at).unwrap()).collect();
        prop_assert!(keys.is_sorted());
        prop_assert_eq!(saved.find(b"another").unwrap(), None);
        prop_assert_eq!(saved.find(b"c").unwrap(), None);
        prop_assert_eq!(saved.owner(ROOT).unwrap(), None);
        prop_assert_eq!(saved.owner(Seq(99)).unwrap(), None);
        for (key, turns, beside) in &store {
            let number = saved.find(key).unwrap().unwrap();
            prop_assert_eq!(saved.key(number).unwrap(), &key[..]);
            let count = u64::try_from(turns.tree().ids().len()).unwrap();
            prop_assert_eq!(saved.turns(number).unwrap(), count);
            let first = turns.tree().ids().first();
            prop_assert_eq!(saved.first(number).unwrap(), first.copied().unwrap_or(ROOT));
            prop_assert_eq!(saved.fingerprint(number).unwrap(), turns.fingerprint());
            for id in turns.tree().ids() {
                prop_assert_eq!(saved.owner(*id).unwrap(), Some(number));
            }
            prop_assert_eq!(saved.messages(number).unwrap(), turns.tree().ids());
            prop_assert_eq!(saved.beside(number).unwrap(), &beside[..]);
            let mut loaded = saved.load(number).unwrap();
            prop_assert_eq!(&loaded.beside, beside);
            prop_assert_eq!(known(&loaded.turns), known(turns));
            let mut turns = turns.clone();
            for one in [&mut turns, &mut loaded.turns] {
                one.add(Seq(77), [7; 16], more.clone()).unwrap();
                one.tree_mut().move_to(Seq(77)).unwrap();
            }
            prop_assert_eq!(known(&loaded.turns), known(&turns));
        }
        prop_assert!(saved.load(3).is_err());
    }
}

/// Some conversations with everything in them.
fn sample() -> Vec<(Vec<u8>, Turns, Vec<u8>)> {
    let mut first = Turns::default();
    for number in 1..5_u64 {
        let told = Told {
            fact: Fact {
                calls: vec![id("call")],
                item: Some(id("item")),
                ..Fact::default()
            },
            role: id("user"),
            speaker: (number > 2).then(|| id("Ann")),
            at: 1.0,
            tokens: number,
            key: Some(id("k1")),
            beside: Some(id("more")),
            ..Told::default()
        };
        first.add(Seq(number * 2), [1; 16], told).unwrap();
    }
    first.tree_mut().move_to(Seq(4)).unwrap();
    let mut second = Turns::default();
    second.add(Seq(9), [2; 16], Told::default()).unwrap();
    vec![
        (b"one".to_vec(), first, b"beside".to_vec()),
        (b"two".to_vec(), second, Vec::new()),
    ]
}

/// Ask for everything; what comes back is what was saved, or an error.
fn harmless(bytes: &[u8], store: &[(Vec<u8>, Turns, Vec<u8>)]) -> bool {
    let told = |error: Error| {
        assert!(matches!(error, Error::SavedIndex { .. }), "{error}");
        false
    };
    let saved = match opened(bytes) {
        Ok(saved) => saved,
        Err(error) => return told(error),
    };
    let mut right = true;
    for one in VECTORS {
        match saved.vector(one.of, one.generation, one.view) {
            Ok(found) => assert_eq!(found, Some(one.record)),
            Err(error) => right = told(error) && right,
        }
    }
    match saved.note() {
        Ok(note) => assert_eq!(note, NOTE),
        Err(error) => right = told(error) && right,
    }
    for (key, turns, beside) in store {
        let loaded = saved.find(key).and_then(|number| match number {
            Some(number) => saved.load(number).map(Some),
            None => Ok(None),
        });
        match loaded {
            Ok(Some(loaded)) => {
                assert_eq!(known(&loaded.turns), known(turns));
                assert_eq!(&loaded.beside, beside);
            }
            Ok(None) => panic!("a conversation is gone"),
            Err(error) => right = told(error) && right,
        }
        for id in turns.tree().ids() {
            match saved.owner(*id) {
                Ok(owner) => assert_eq!(owner, saved.find(key).ok().flatten()),
                Err(error) => right = told(error) && right,
            }
        }
    }
    right
}

#[test]
fn every_byte_that_is_changed_is_noticed() {
    let store = sample();
    let bytes = bytes_of(&store);
    assert!(harmless(&bytes, &store));
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            assert!(!harmless(&changed, &store), "byte {at}");
        }
    }
}

#[test]
fn a_part_of_a_section_is_none() {
    let store = sample();
    let bytes = bytes_of(&store);
    for length in 0..bytes.len() {
        assert!(!harmless(&bytes[..length], &store), "{length} bytes");
        assert!(
            !harmless(&bytes[bytes.len() - length..], &store) || length == bytes.len(),
            "the last {length} bytes"
        );
    }
    let behind = [&b"something before"[..], &bytes].concat();
    assert!(harmless(&behind, &store));
}

#[test]
fn no_conversations_are_a_section_too_and_no_key_is_there_twice() {
    let saved = opened(&bytes_of(&[])).unwrap();
    assert!(saved.is_empty());
    assert_eq!(saved.find(b"").unwrap(), None);
    assert_eq!(saved.owner(Seq(1)).unwrap(), None);
    let turns = Turns::default();
    let one = Conversation {
        key: b"one",
        turns: &turns,
        beside: b"",
    };
    let twice = Contents {
        conversations: &[one, one],
        ..Contents::default()
    };
    let twice = write(&mut Vec::new(), &twice);
    assert!(matches!(twice, Err(Error::Argument { .. })));
}

#[test]
fn vectors_are_found_by_entry_embedder_and_view() {
    let saved = opened(&bytes_of(&[])).unwrap();
    let all: Vec<VectorRecord> = saved.vectors().unwrap().collect();
    assert_eq!(
        all.iter().map(|one| one.record.0).collect::<Vec<_>>(),
        [16, 12, 14, 11, u64::MAX]
    );
    for one in VECTORS {
        let found = saved.vector(one.of, one.generation, one.view).unwrap();
        assert_eq!(found, Some(one.record));
    }
    for (of, generation, view) in [(1, 1, 0), (2, 0, 1), (2, 2, 1), (9, 1, 0), (8, 1, 1)] {
        assert_eq!(saved.vector(Seq(of), generation, view).unwrap(), None);
    }
    let twice = Contents {
        vectors: &[vector(2, 1, 1, 5), vector(2, 1, 1, 6)],
        ..Contents::default()
    };
    let twice = write(&mut Vec::new(), &twice);
    assert!(matches!(twice, Err(Error::Argument { .. })));
}
