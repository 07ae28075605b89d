//! `Tree` against a list of parents that is searched for everything, and what is kept of messages.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;
use warmset_core::turns::{Bond, Digest, Fact, Flags, ROOT, Role, Told, Tree, Turns};
use warmset_core::{Error, Seq};

/// Each message with what it follows and what it says.
type Model = BTreeMap<Seq, (Seq, Digest)>;

fn content(number: u8) -> Digest {
    [number; 16]
}

fn chain(model: &Model, head: Seq) -> Vec<Seq> {
    let mut path = Vec::new();
    let mut at = head;
    while at != ROOT {
        path.insert(0, at);
        at = model[&at].0;
    }
    path
}

#[derive(Clone, Debug)]
enum Step {
    Add { content: u8, gap: u64 },
    Move(prop::sample::Index),
    Relink(prop::sample::Index, prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..3, 1_u64..4).prop_map(|(content, gap)| Step::Add { content, gap }),
        2 => any::<prop::sample::Index>().prop_map(Step::Move),
        1 => any::<(prop::sample::Index, prop::sample::Index)>()
            .prop_map(|(one, other)| Step::Relink(one, other)),
    ]
}

fn check(tree: &mut Tree, model: &Model, path: &[Seq], listed: &[u8]) {
    let ids: Vec<Seq> = model.keys().copied().collect();
    assert_eq!(tree.ids(), ids);
    assert_eq!(tree.path(), path);
    assert_eq!(tree.head(), path.last().copied().unwrap_or(ROOT));
    let says: Vec<Digest> = model.values().map(|known| known.1).collect();
    assert_eq!(tree.digests(), says);
    let beyond = Seq(ids.last().map_or(0, |last| last.0) + 1);
    for (place, id) in ids.iter().enumerate() {
        assert_eq!(tree.place(*id), Some(place));
        assert_eq!(tree.digest(*id), Some(model[id].1));
        assert_eq!(tree.parent(*id), Some(model[id].0));
        let mut above = chain(model, *id);
        above.pop();
        above.reverse();
        assert_eq!(tree.ancestors(*id).collect::<Vec<_>>(), above);
    }
    assert_eq!(tree.digest(beyond), None);
    for id in 0..=beyond.0 {
        let id = Seq(id);
        assert_eq!(
            tree.place_on_path(id),
            path.iter().position(|one| *one == id)
        );
        let before = ids.iter().rfind(|one| **one < id).copied();
        assert_eq!(tree.before(id), before);
        let behind: Vec<Seq> = ids
            .iter()
            .filter(|one| model[one].0 == id)
            .copied()
            .collect();
        assert_eq!(tree.following(id), behind);
        assert_eq!(tree.children(&HashSet::from([id])), behind);
        for number in 0..3 {
            let last = behind.iter().rfind(|one| model[one].1 == content(number));
            assert_eq!(tree.with_content(id, content(number)), last.copied());
        }
    }
    let wanted = HashSet::from([content(0), content(2)]);
    let newest: HashMap<Digest, Seq> = ids
        .iter()
        .filter(|id| wanted.contains(&model[id].1))
        .map(|id| (model[id].1, *id))
        .collect();
    assert_eq!(tree.among(&wanted), newest);
    let list: Vec<Digest> = listed.iter().map(|number| content(*number)).collect();
    let mut same = 0;
    while same < path.len() && same < list.len() && model[&path[same]].1 == list[same] {
        same += 1;
    }
    assert_eq!(tree.along_path(list.iter().copied()), same);
}

proptest! {
    #[test]
    fn a_tree_is_what_a_list_of_parents_says(
        steps in prop::collection::vec(step(), 0..24),
        asks in any::<bool>(),
        listed in prop::collection::vec(0_u8..3, 0..8),
    ) {
        let (mut tree, mut model, mut path) = (Tree::default(), Model::new(), Vec::<Seq>::new());
        for step in steps {
            let ids: Vec<Seq> = model.keys().copied().collect();
            match step {
                Step::Add { content: number, gap } => {
                    let id = Seq(ids.last().map_or(0, |last| last.0) + gap);
                    tree.add(id, content(number)).unwrap();
                    model.insert(id, (path.last().copied().unwrap_or(ROOT), content(number)));
                    path.push(id);
                }
                Step::Move(to) => {
                    let heads: Vec<Seq> = [&[ROOT][..], &ids].concat();
                    let head = heads[to.index(heads.len())];
                    let (left, joined) = tree.move_to(head).unwrap();
                    let now = chain(&model, head);
                    let of = |one: &[Seq], other: &[Seq]| -> Vec<Seq> {
                        one.iter().filter(|id| !other.contains(id)).copied().collect()
                    };
                    prop_assert_eq!(left, of(&path, &now));
                    prop_assert_eq!(joined, of(&now, &path));
                    path = now;
                }
                Step::Relink(one, to) if !ids.is_empty() => {
                    let id = ids[one.index(ids.len())];
                    let earlier: Vec<Seq> =
                        [ROOT].into_iter().chain(ids.into_iter().take_while(|known| *known < id)).collect();
                    let parent = earlier[to.index(earlier.len())];
                    tree.relink(&[(id, parent)]).unwrap();
                    model.get_mut(&id).unwrap().0 = parent;
                    // The path is another one only when it is moved, to the same end perhaps.
                    let head = path.last().copied().unwrap_or(ROOT);
                    tree.move_to(head).unwrap();
                    path = chain(&model, head);
                }
                Step::Relink(..) => {}
            }
            if asks {
                check(&mut tree, &model, &path, &listed);
            }
        }
        check(&mut tree, &model, &path, &listed);
    }
}

#[test]
fn what_is_no_tree_is_refused_and_changes_nothing() {
    let mut tree = Tree::default();
    tree.add(Seq(2), content(0)).unwrap();
    tree.add(Seq(5), content(1)).unwrap();
    let before = format!("{tree:?}");
    let refused = |done: Result<(), Error>| matches!(done, Err(Error::Argument { .. }));
    assert!(refused(tree.add(Seq(5), content(0))));
    assert!(refused(tree.add(Seq(3), content(0))));
    assert!(refused(Tree::default().add(ROOT, content(0))));
    assert!(refused(tree.relink(&[(Seq(2), ROOT), (Seq(5), Seq(5))])));
    assert!(refused(tree.relink(&[(Seq(2), ROOT), (Seq(4), Seq(2))])));
    assert!(refused(tree.move_to(Seq(4)).map(|_| ())));
    assert_eq!(format!("{tree:?}"), before);
}

fn told(number: u64) -> Told {
    Told {
        fact: Fact {
            role: Role::Assistant,
            calls: vec![b"a".as_slice().into(), b"b".as_slice().into()],
            results: vec![b"c".as_slice().into()],
            request: true,
            keep: false,
            thinks: true,
            bond: Bond::Reasoning,
            item: Some(b"item".as_slice().into()),
        },
        role: b"assistant".as_slice().into(),
        speaker: Some(format!("speaker {number}").into_bytes().into()),
        at: 1.5,
        tokens: number,
        session: number + 1,
        decision: true,
        blank: false,
        key: Some(b"key".as_slice().into()),
        beside: Some(b"more".as_slice().into()),
    }
}

#[test]
fn what_is_told_of_a_message_is_what_is_known() {
    let mut turns = Turns::default();
    turns.add(Seq(3), content(0), told(7)).unwrap();
    turns.add(Seq(4), content(1), Told::default()).unwrap();
    let (row, links) = (*turns.row(Seq(3)).unwrap(), turns.links(Seq(3)).unwrap());
    assert_eq!((row.at, row.tokens, row.session), (1.5, 7, 8));
    assert_eq!(turns.roles().name(row.role), Some(&b"assistant"[..]));
    let speaker = turns.speakers().name(row.speaker.unwrap());
    assert_eq!(speaker, Some(&b"speaker 7"[..]));
    assert_eq!(links.key.as_deref(), Some(&b"key"[..]));
    assert_eq!(links.beside.as_deref(), Some(&b"more"[..]));
    assert_eq!(turns.fact(Seq(3)).unwrap(), told(7).fact);
    let flags = [Flags::REQUEST, Flags::THINKS, Flags::DECISION];
    assert!(flags.iter().all(|flag| row.flags.has(*flag)));
    assert!(!row.flags.has(Flags::KEEP) && !row.flags.has(Flags::BLANK));
    assert_eq!(turns.links(Seq(4)), None);
    assert_eq!(turns.fact(Seq(4)).unwrap(), Fact::default());
    assert_eq!(turns.row(Seq(4)).unwrap().speaker, None);
    assert_eq!(turns.row(Seq(5)), None);
    turns.decide(Seq(3), false);
    turns.decide(Seq(4), true);
    turns.decide(Seq(9), true);
    assert!(!turns.row(Seq(3)).unwrap().flags.has(Flags::DECISION));
    assert!(turns.row(Seq(3)).unwrap().flags.has(Flags::THINKS));
    assert!(turns.row(Seq(4)).unwrap().flags.has(Flags::DECISION));
}

#[test]
fn a_key_is_that_of_a_message_on_the_path() {
    let mut turns = Turns::default();
    for id in 1..4 {
        turns.add(Seq(id), content(0), Told::default()).unwrap();
    }
    turns.tree_mut().move_to(Seq(1)).unwrap();
    turns.add(Seq(4), content(1), told(1)).unwrap();
    turns.tree_mut().move_to(Seq(1)).unwrap();
    assert_eq!(turns.keyed(b"key"), None);
    turns.add(Seq(5), content(1), told(1)).unwrap();
    assert_eq!(turns.keyed(b"key"), Some(Seq(5)));
    turns.tree_mut().move_to(Seq(4)).unwrap();
    assert_eq!(turns.keyed(b"key"), Some(Seq(4)));
    assert_eq!(turns.keyed(b"other"), None);
}

#[test]
fn turns_with_other_ids_contents_links_sessions_or_paths_have_another_fingerprint() {
    let grown = |ids: &[u64], number: u8, session: u64, back: bool| {
        let mut turns = Turns::default();
        for (at, id) in ids.iter().enumerate() {
            if back && at == 2 {
                turns.tree_mut().move_to(Seq(ids[0])).unwrap();
            }
            let told = Told {
                session,
                ..Told::default()
            };
            turns.add(Seq(*id), content(number), told).unwrap();
        }
        turns
    };
    let all = [
        grown(&[1, 2, 3], 0, 0, false),
        grown(&[1, 2, 4], 0, 0, false),
        grown(&[1, 2, 3], 1, 0, false),
        grown(&[1, 2, 3], 0, 1, false),
        grown(&[1, 2, 3], 0, 0, true),
        grown(&[1, 2], 0, 0, false),
        Turns::default(),
    ];
    let prints: HashSet<u128> = all.iter().map(Turns::fingerprint).collect();
    assert_eq!(prints.len(), all.len());
    let mut moved = all[0].clone();
    assert_eq!(moved.fingerprint(), all[0].fingerprint());
    moved.tree_mut().move_to(Seq(2)).unwrap();
    assert!(!prints.contains(&moved.fingerprint()));
}

#[test]
fn large_numbers_saturate_and_a_refused_message_leaves_nothing() {
    let mut turns = Turns::default();
    let large = Told {
        tokens: u64::MAX,
        session: u64::MAX,
        ..Told::default()
    };
    turns.add(Seq(1), content(0), large).unwrap();
    let row = turns.row(Seq(1)).unwrap();
    assert_eq!((row.tokens, row.session), (u32::MAX, u32::MAX));
    assert!(turns.add(Seq(1), content(0), told(1)).is_err());
    assert_eq!(turns.keyed(b"key"), None);
    assert_eq!(turns.tree().ids(), [Seq(1)]);
}
