//! Whatever happens to the items, every ask finds what looking at each of them finds.

use proptest::prelude::*;
use warmset_core::Seq;
use warmset_core::cold::Scope;
use warmset_core::hot::Weights;
use warmset_core::items::{Age, Answer, Ask, Found, Item, Label, Question, Shelf, Wanted};
use warmset_core::log::{Batch, Log, Row, Value};

use crate::world::{PREFIX, all, columns, list, log, put, refresh, shelf, text};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const WORDS: [&str; 4] = ["ferry", "harbour", "ticket", "storm"];

/// What an item is given, as numbers.
type Given = (usize, usize, usize, usize, usize, i64, bool);

#[derive(Clone, Debug)]
enum Deed {
    Put(usize, Given),
    /// An item without a name.
    Add(Given),
    Archive(usize, Given, bool),
    Remove(usize),
    Erase(usize),
    RemoveAll,
    Refresh,
}

fn given() -> impl Strategy<Value = Given> {
    (
        0..3_usize,
        0..3_usize,
        0..8_usize,
        0..7_usize,
        0..16_usize,
        0..6_i64,
        any::<bool>(),
    )
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => (0..6_usize, given()).prop_map(|(name, given)| Deed::Put(name, given)),
        3 => given().prop_map(Deed::Add),
        3 => (0..6_usize, given(), any::<bool>()).prop_map(|(name, given, archived)| Deed::Archive(name, given, archived)),
        1 => (0..6_usize).prop_map(Deed::Remove),
        1 => (0..6_usize).prop_map(Deed::Erase),
        1 => Just(Deed::RemoveAll),
        3 => Just(Deed::Refresh),
    ]
}

fn written(given: Given) -> (String, Vec<(&'static str, Value)>) {
    let (kind, session, sections, replaces, words, at, decays) = given;
    let some = |bits: usize, of: &[&'static str]| -> Vec<&'static str> {
        let chosen = of.iter().enumerate();
        chosen
            .filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, one)| *one)
            .collect()
    };
    let mut more = vec![
        ("type", text(["note", "chunk", "fix"][kind])),
        ("sections", list(&some(sections, &["one", "two", "three"]))),
        ("time", Value::Time(at * 1_000 - 2_500)),
        ("decay", Value::Float(if decays { 0.5 } else { 1.0 })),
    ];
    if session > 0 {
        more.push(("session", text(["", "monday", "friday"][session])));
    }
    if replaces < NAMES.len() {
        more.push(("supersedes", list(&[NAMES[replaces]])));
    }
    (some(words, &WORDS).join(" "), more)
}

fn act(log: &Log, shelf: &mut Shelf, deed: &Deed, count: &mut u8) {
    let key = |name: &usize| [PREFIX[0], PREFIX[1], NAMES[*name].as_bytes()];
    let write = |row: Row<'_>| drop(log.write(&Batch::new(&[row])));
    match deed {
        Deed::Put(name, given) => {
            let (payload, more) = written(*given);
            put(log, NAMES[*name].as_bytes(), &payload, &more);
        }
        Deed::Add(given) => {
            let (payload, more) = written(*given);
            *count += 1;
            put(log, &[0xff, *count], &payload, &more);
        }
        Deed::Archive(name, given, archived) => {
            let (_, mut more) = written(*given);
            more.push(("archived", Value::Bool(*archived)));
            write(Row::Patch {
                key: &key(name),
                version: None,
                columns: &columns(&more),
                expires: None,
            });
        }
        Deed::Remove(name) => write(Row::Remove(&key(name))),
        Deed::Erase(name) => {
            let id = log.version(&key(name), 0).unwrap();
            if let Some(id) = id {
                log.erase(Scope::Records(&[id])).unwrap();
            }
        }
        Deed::RemoveAll => write(Row::RemoveBelow(PREFIX)),
        Deed::Refresh => drop(refresh(shelf, log)),
    }
}

fn asks() -> impl Strategy<Value = Ask> {
    let wanted = prop_oneof![
        (
            Just(Label::Type),
            prop::sample::subsequence(vec!["note", "chunk", "fix", "none"], 0..3)
        ),
        (
            Just(Label::Session),
            prop::sample::subsequence(vec!["", "monday", "friday"], 1..3)
        ),
        (
            Just(Label::Section),
            prop::sample::subsequence(vec!["", "one", "two", "three"], 1..3)
        ),
    ];
    let wanted = (wanted, prop::bool::weighted(0.7)).prop_map(|((label, names), among)| Wanted {
        label,
        names: names.into_iter().map(str::to_owned).collect(),
        among,
    });
    let time = || prop::option::weighted(0.3, -3..5_i64);
    let floor = prop::option::of(prop_oneof![Just(0.0_f32), Just(0.3)]);
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.3));
    let k = prop_oneof![0..4_usize, Just(usize::MAX)];
    (
        prop::collection::vec(wanted, 0..3),
        time(),
        time(),
        flags,
        floor,
        k,
    )
        .prop_map(
            |(wanted, since, before, (archived, superseded), floor, k)| Ask {
                wanted,
                since,
                before,
                archived,
                superseded,
                floor,
                k,
            },
        )
}

fn has(item: &Item, wanted: &Wanted) -> bool {
    let own = item.names(wanted.label);
    let met = wanted.names.iter().any(|name| {
        if name.is_empty() {
            own.is_empty()
        } else {
            own.contains(name)
        }
    });
    met == wanted.among
}

/// What looking at each item answers, without the similarities.
fn slowly(items: &[Item], ask: &Ask) -> (Vec<u64>, Vec<u64>, Vec<(Label, u64)>) {
    let spans = |item: &&Item| {
        let at = item.at.div_euclid(1_000);
        ask.since.is_none_or(|since| at >= since) && ask.before.is_none_or(|before| at < before)
    };
    let is_replaced = |item: &Item| {
        items.iter().any(|heir| {
            heir.id > item.id && !heir.archived && heir.supersedes.contains(&item.memory_id)
        })
    };
    let shown: Vec<&Item> = items
        .iter()
        .filter(|one| ask.archived || !one.archived)
        .collect();
    let met = |item: &Item, but: Option<usize>| {
        let others = ask
            .wanted
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != but);
        others.into_iter().all(|(_, wanted)| has(item, wanted))
    };
    let newest = |replaced: bool| {
        let keeps = |item: &&&Item| met(item, None) && (is_replaced(item) == replaced);
        let mut found: Vec<&Item> = shown
            .iter()
            .filter(keeps)
            .copied()
            .filter(|one| spans(one))
            .collect();
        found.sort_by_key(|item| std::cmp::Reverse((item.at, item.id)));
        found.iter().map(|item| item.id).collect::<Vec<u64>>()
    };
    let lacking = ask.wanted.iter().enumerate().filter_map(|(at, wanted)| {
        if !wanted.among || wanted.names.iter().any(String::is_empty) {
            return None;
        }
        let lacks = |item: &&&Item| item.names(wanted.label).is_empty() && met(item, Some(at));
        let count = shown.iter().filter(lacks).count();
        (count > 0).then(|| (wanted.label, count.try_into().unwrap()))
    });
    let lacking = lacking.collect();
    let (mut found, mut replaced) = (newest(false), newest(true));
    if ask.superseded {
        found.append(&mut replaced);
        found.sort_by_key(|id| {
            let item = items.iter().find(|item| item.id == *id).unwrap();
            std::cmp::Reverse((item.at, item.id))
        });
    }
    (found, replaced, lacking)
}

fn by_relevance(found: &mut [Found]) {
    found.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.id.cmp(&b.id)));
}

fn ids(found: &[Found]) -> Vec<u64> {
    found.iter().map(|one| one.id).collect()
}

fn check(shelf: &Shelf, items: &[Item], ask: &Ask, terms: &[String]) {
    let weights = Weights {
        lexical: 1.0,
        near: 5.0,
        session: 5.0,
        ..Weights::default()
    };
    let question = Question {
        vector: None,
        terms,
        weights,
    };
    let age = Age::Turns(vec![-1_000, 1_000]);
    let answer = |ask: &Ask, question: Option<&Question<'_>>| -> Answer {
        shelf
            .find(std::slice::from_ref(ask), question, &age)
            .unwrap()
            .remove(0)
    };
    let (newest, replaced, lacking) = slowly(items, ask);
    let plain = answer(ask, None);
    assert_eq!(
        plain.matched,
        u64::try_from(newest.len()).unwrap(),
        "{ask:?}"
    );
    let most = |ids: &[u64]| ids[..ids.len().min(ask.k)].to_vec();
    assert_eq!(plain.superseded, most(&replaced), "{ask:?}");
    assert_eq!(plain.lacking, lacking, "{ask:?}");
    let mut expected: Vec<Found> = most(&newest)
        .into_iter()
        .map(|id| {
            let item = items.iter().find(|item| item.id == id).unwrap();
            let age = i32::from(item.at < -1_000) + i32::from(item.at < 1_000);
            Found {
                id,
                relevance: item.decay.powi(age),
                ..Found::default()
            }
        })
        .collect();
    by_relevance(&mut expected);
    assert_eq!(ids(&plain.found), ids(&expected), "{ask:?}");
    for (one, other) in plain.found.iter().zip(&expected) {
        assert!(
            (one.relevance - other.relevance).abs() < 1e-9,
            "{one:?} {other:?}"
        );
    }
    // All that match, each with what it has in common with the question.
    let every = Ask {
        floor: None,
        k: usize::MAX,
        ..ask.clone()
    };
    let every = answer(&every, Some(&question)).found;
    for one in &every {
        let item = items.iter().find(|item| item.id == one.id).unwrap();
        let left = plain_share(item);
        assert!((f64::from(one.similarity) * left - one.relevance).abs() < 1e-6);
    }
    let found = answer(ask, Some(&question)).found;
    let mut expected: Vec<Found> = match ask.floor {
        None => every
            .into_iter()
            .filter(|one| most(&newest).contains(&one.id))
            .collect(),
        Some(floor) => {
            let mut hits: Vec<Found> = every;
            hits.retain(|one| one.similarity > 0.0);
            hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
            hits.truncate(ask.k);
            hits.retain(|one| one.similarity >= floor);
            hits
        }
    };
    by_relevance(&mut expected);
    assert_eq!(found, expected, "{ask:?}");
}

fn plain_share(item: &Item) -> f64 {
    let age = i32::from(item.at < -1_000) + i32::from(item.at < 1_000);
    item.decay.powi(age)
}

proptest! {
    #[test]
    fn asks_find_what_looking_at_each_item_finds(
        deeds in prop::collection::vec(deed(), 1..40),
        asks in prop::collection::vec(asks(), 1..12),
        terms in prop::sample::subsequence(WORDS.to_vec(), 1..3),
    ) {
        let (log, mut shelf, mut count) = (log(), shelf(), 0);
        for deed in &deeds {
            act(&log, &mut shelf, deed, &mut count);
        }
        refresh(&mut shelf, &log);
        let items: Vec<Item> = all(&log).into_iter().map(|(item, _)| item).collect();
        assert_eq!(shelf.ids(), items.iter().map(|one| one.id).collect::<Vec<_>>());
        assert_eq!(shelf.len(), items.len());
        for item in &items {
            assert_eq!(shelf.get(item.id).as_deref(), Some(item));
            assert_eq!(shelf.named(&item.memory_id).as_deref(), Some(item));
        }
        for name in NAMES {
            let is_there = items.iter().any(|item| item.memory_id == name);
            assert_eq!(shelf.named(name).is_some(), is_there);
        }
        let terms: Vec<String> = terms.iter().flat_map(|one| warmset_core::hot::terms(one)).collect();
        for ask in &asks {
            check(&shelf, &items, ask, &terms);
        }
        let mut heirs = shelf.heirs();
        heirs.sort();
        let mut expected = Vec::new();
        for name in NAMES {
            let shown = items.iter().filter(|one| !one.archived);
            let heir = shown.filter(|one| one.supersedes.iter().any(|other| other == name)).max_by_key(|one| one.id);
            expected.extend(heir.map(|heir| (name.to_owned(), heir.id)));
        }
        assert_eq!(heirs, expected);
    }
}

#[test]
fn what_is_no_item_is_named_and_left_out() {
    let (log, mut shelf) = (log(), shelf());
    put(&log, b"good", "", &[]);
    put(&log, b"origin", "", &[("origin", text("nobody"))]);
    put(&log, b"type", "", &[("type", Value::Int(5))]);
    put(&log, b"\xfename", "", &[]);
    let refreshed = refresh(&mut shelf, &log);
    assert_eq!(shelf.len(), 1);
    assert_eq!(refreshed.faults.len(), 3);
    assert!(
        refreshed
            .faults
            .iter()
            .any(|fault| fault.contains("origin") && fault.contains("no type or no origin"))
    );
}

#[test]
fn a_refresh_names_what_came_and_what_went() {
    let (log, mut shelf) = (log(), shelf());
    let first = put(&log, b"a", "", &[]);
    let other = put(&log, b"b", "", &[]);
    let refreshed = refresh(&mut shelf, &log);
    assert_eq!(
        (refreshed.fresh, refreshed.gone),
        (vec![first, other], vec![])
    );
    let second = put(&log, b"a", "", &[]);
    let refreshed = refresh(&mut shelf, &log);
    assert_eq!(
        (refreshed.fresh, refreshed.gone),
        (vec![second], vec![first])
    );
    log.erase(Scope::Records(&[Seq(other)])).unwrap();
    let refreshed = refresh(&mut shelf, &log);
    assert_eq!((refreshed.fresh, refreshed.gone), (vec![], vec![other]));
    assert_eq!(
        refresh(&mut shelf, &log),
        warmset_core::items::Refreshed::default()
    );
}

#[test]
fn a_long_list_of_items_is_looked_through_by_time() {
    let (log, mut shelf) = (log(), shelf());
    let mut made = Vec::new();
    for at in 0..3_000_i64 {
        // In another order than their times.
        let time = at * 7_919 % 3_000;
        let kind = if time % 3 == 0 { "chunk" } else { "note" };
        let more = [("time", Value::Time(time * 1_000)), ("type", text(kind))];
        let id = put(&log, format!("i{at}").as_bytes(), "ferry", &more);
        made.push((time, id, kind));
        if at == 1_000 {
            refresh(&mut shelf, &log);
        }
    }
    refresh(&mut shelf, &log);
    made.sort_unstable();
    for (since, before) in [
        (None, None),
        (Some(100), None),
        (None, Some(2_900)),
        (Some(5), Some(40)),
    ] {
        for kind in [None, Some("note"), Some("chunk")] {
            let wanted = kind.map(|kind| Wanted {
                label: Label::Type,
                names: vec![kind.into()],
                among: true,
            });
            let ask = Ask {
                wanted: wanted.into_iter().collect(),
                since,
                before,
                archived: false,
                superseded: false,
                floor: None,
                k: 10,
            };
            let answer = shelf.find(&[ask], None, &Age::None).unwrap().remove(0);
            let within = made.iter().rev().filter(|(at, _, own)| {
                since.is_none_or(|since| *at >= since)
                    && before.is_none_or(|before| *at < before)
                    && kind.is_none_or(|kind| kind == *own)
            });
            let within: Vec<u64> = within.map(|(_, id, _)| *id).collect();
            assert_eq!(answer.matched, u64::try_from(within.len()).unwrap());
            let mut newest = within[..10].to_vec();
            newest.sort_unstable();
            assert_eq!(ids(&answer.found), newest);
        }
    }
}
