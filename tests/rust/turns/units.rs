//! `Units` and `groups` against the rules, applied to the whole list for every message.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warmset_core::turns::{Bond, Fact, Group, Id, Kind, Role, Units, groups};

/// Ids of items: short ones, and long ones that begin or end like others.
const ITEMS: [&str; 7] = [
    "a",
    "bc",
    "aaaaaaaaaaaa1111",
    "aaaaaaaaaaaa2222",
    "1111bbbbbbbbbbbb",
    "2222bbbbbbbbbbbb",
    "äöüäöüäöüäöü1111",
];

fn id(text: &str) -> Id {
    text.as_bytes().into()
}

fn ids(texts: &[&str]) -> Vec<Id> {
    texts.iter().map(|text| id(text)).collect()
}

fn some_ids() -> impl Strategy<Value = Vec<Id>> {
    prop::collection::vec(prop::sample::select(vec![id("a"), id("b"), id("c")]), 0..3)
}

fn fact() -> impl Strategy<Value = Fact> {
    let role = prop::sample::select(vec![Role::System, Role::Assistant, Role::Other]);
    let bond = prop::sample::select(vec![0_u8, 0, 0, 1, 2, 3, 4, 5]);
    let item = prop::option::of(prop::sample::select(&ITEMS[..]));
    let flags = (any::<bool>(), prop::bool::weighted(0.1), any::<bool>());
    let links = (
        prop::bool::weighted(0.4),
        some_ids(),
        prop::bool::weighted(0.4),
        some_ids(),
    );
    (role, flags, links, bond, item).prop_map(|(role, flags, links, bond, item)| Fact {
        role,
        calls: if links.0 { links.1 } else { Vec::new() },
        results: if links.2 { links.3 } else { Vec::new() },
        request: flags.0 && role == Role::Other,
        keep: flags.1,
        thinks: flags.2 && role == Role::Assistant,
        bond: Bond::of(bond).unwrap(),
        item: item.map(id),
    })
}

/// The last message before one, since a plain message without bonds and results, that has a bond.
fn last_of(facts: &[Fact], at: usize, bond: Bond) -> Option<usize> {
    let plain = |one: &Fact| one.bond == Bond::None && one.results.is_empty();
    let since = (0..at).rev().find(|other| plain(&facts[*other]));
    let first = since.map_or(0, |other| other + 1);
    (first..at).rev().find(|other| facts[*other].bond == bond)
}

fn is_made_with(facts: &[Fact], reasoning: usize, at: usize) -> bool {
    let Some(one) = &facts[reasoning].item else {
        return false;
    };
    let Some(other) = &facts[at].item else {
        return false;
    };
    let one: Vec<char> = std::str::from_utf8(one).unwrap().chars().collect();
    let other: Vec<char> = std::str::from_utf8(other).unwrap().chars().collect();
    if one == other {
        return true;
    }
    if one.len() < 16 || other.len() < 16 {
        return facts[at].bond != Bond::Reasoning;
    }
    one[..12] == other[..12] || one[one.len() - 12..] == other[other.len() - 12..]
}

/// By the rules: a label for each message, the same within a unit, and how many calls wait.
fn by_the_rules(facts: &[Fact]) -> Vec<Group> {
    let mut label: Vec<usize> = (0..facts.len()).collect();
    let mut waiting: Vec<(usize, Id)> = Vec::new();
    let unite = |label: &mut Vec<usize>, one: usize, other: usize| {
        let (one, other) = (label[one], label[other]);
        for known in label.iter_mut().filter(|known| **known == one.max(other)) {
            *known = one.min(other);
        }
    };
    for (at, fact) in facts.iter().enumerate() {
        for result in &fact.results {
            if let Some(place) = waiting.iter().rposition(|(_, call)| call == result) {
                let (caller, _) = waiting.remove(place);
                unite(&mut label, caller, at);
            }
        }
        waiting.extend(fact.calls.iter().map(|call| (at, call.clone())));
        if fact.bond == Bond::Behind && at > 0 {
            unite(&mut label, at - 1, at);
        }
        if !matches!(fact.bond, Bond::None | Bond::Behind) {
            let near = at
                .checked_sub(1)
                .map_or(Bond::None, |before| facts[before].bond);
            if near != Bond::None && near.max(fact.bond) > Bond::Item {
                unite(&mut label, at - 1, at);
            }
            if let Some(reasoning) = last_of(facts, at, Bond::Reasoning)
                && is_made_with(facts, reasoning, at)
            {
                unite(&mut label, reasoning, at);
            }
        }
        if label[at] == at
            && !fact.results.is_empty()
            && fact.bond != Bond::Reference
            && let Some(reference) = last_of(facts, at, Bond::Reference)
        {
            unite(&mut label, reference, at);
        }
    }
    let waits = |at: usize| waiting.iter().filter(|(caller, _)| *caller == at).count();
    let firsts = label.iter().enumerate();
    firsts
        .map(|(at, first)| Group {
            first: *first,
            waiting: waits(at),
        })
        .collect()
}

/// Take a list up message by message, and anew where that is asked for.
fn grown(facts: &[Fact], costs: &[u64], stored: bool) -> Units {
    let mut units = Units::new(stored);
    for (at, fact) in facts.iter().enumerate() {
        let before = format!("{units:?}");
        if !units.take(fact, costs[at]).unwrap() {
            assert_eq!(format!("{units:?}"), before, "nothing has changed");
            units = Units::of(&facts[..=at], &costs[..=at], stored).unwrap();
        }
    }
    units
}

fn kind(facts: &[Fact], first: usize, stored: bool) -> Kind {
    let called = facts[..first].iter().any(|one| !one.calls.is_empty());
    match Kind::of(&facts[first]) {
        Kind::Orphan if stored && !called => Kind::Tool,
        kind => kind,
    }
}

/// Where the current exchange begins.
fn asked(facts: &[Fact]) -> Option<usize> {
    let plain = facts
        .iter()
        .rposition(|one| one.request && one.results.is_empty());
    plain.or_else(|| facts.iter().rposition(|one| one.request))
}

proptest! {
    #[test]
    fn groups_are_those_of_the_rules(facts in prop::collection::vec(fact(), 0..16)) {
        prop_assert_eq!(groups(&facts), by_the_rules(&facts));
    }

    #[test]
    fn units_are_those_of_the_whole_list_however_it_grew(
        facts in prop::collection::vec(fact(), 0..16),
        stored in any::<bool>(),
        pin in any::<prop::sample::Index>(),
    ) {
        let costs: Vec<u64> = (0..facts.len()).map(|at| 1 << at).collect();
        let units = grown(&facts, &costs, stored);
        let rules = by_the_rules(&facts);
        let firsts: Vec<usize> = (0..facts.len()).filter(|at| rules[*at].first == *at).collect();
        let members = |unit: usize| -> Vec<usize> {
            (0..facts.len()).filter(|at| rules[*at].first == firsts[unit]).collect()
        };
        let last = |unit: usize| *members(unit).last().unwrap();
        let home = |at: usize| firsts.iter().position(|first| *first == rules[at].first).unwrap();
        let all = 0..firsts.len();
        let open: Vec<usize> = all.clone()
            .filter(|unit| members(*unit).iter().any(|at| rules[*at].waiting > 0))
            .collect();

        prop_assert_eq!(units.roll().len(), firsts.len());
        prop_assert_eq!(units.messages(), facts.len());
        for unit in all.clone() {
            let found = units.unit(unit).unwrap();
            prop_assert_eq!(&found.members, &members(unit));
            prop_assert_eq!(found.open, open.contains(&unit));
            prop_assert_eq!(found.kind, kind(&facts, firsts[unit], stored));
            prop_assert_eq!(units.roll().cost(unit), members(unit).iter().map(|at| 1 << at).sum::<u64>());
            prop_assert_eq!(units.roll().last(unit), Some(last(unit)));
        }
        prop_assert_eq!(units.unit(firsts.len()), None);
        for at in 0..facts.len() {
            prop_assert_eq!(units.home(at), Some(home(at)));
            let since: BTreeSet<usize> = all.clone().filter(|unit| last(*unit) >= at).collect();
            prop_assert_eq!(units.since(at), since);
        }
        prop_assert_eq!(units.home(facts.len()), None);

        let system = |one: &Fact| one.role == Role::System;
        let systems: Vec<usize> = all.clone()
            .filter(|unit| Kind::of(&facts[firsts[*unit]]) == Kind::System)
            .collect();
        prop_assert_eq!(units.systems(), systems);
        let fixed: BTreeSet<usize> = all.clone()
            .filter(|unit| {
                let stays = |at: &usize| system(&facts[*at]) || facts[*at].keep;
                let first = firsts[*unit];
                let answers_stored = Kind::of(&facts[first]) == Kind::Orphan
                    && kind(&facts, first, stored) == Kind::Tool;
                members(*unit).iter().any(stays) || answers_stored
            })
            .collect();
        prop_assert_eq!(units.fixed(), &fixed);
        prop_assert_eq!(units.open().collect::<Vec<_>>(), open.clone());

        let asked = asked(&facts);
        prop_assert_eq!(units.asked(), asked.map(|at| (home(at), at)));
        let task = facts.iter().position(|one| one.request).map(home);
        prop_assert_eq!(units.task(), task);
        let said = facts.iter().rposition(|one| one.request).map(home);
        prop_assert_eq!(units.said(), said);
        let spoken = facts.iter().rposition(|one| !system(one));
        prop_assert_eq!(units.newest(), spoken.map(home));

        let is_left = |unit: usize| open.contains(&unit) && asked.is_some_and(|at| last(unit) < at);
        for unit in all.clone() {
            prop_assert_eq!(units.is_left(unit), is_left(unit));
        }
        for from in 0..=firsts.len() {
            let orphan = |unit: usize| kind(&facts, firsts[unit], stored) == Kind::Orphan;
            let thinks = |at: &usize| facts[*at].bond == Bond::Reasoning;
            let thought = |unit: usize| {
                members(unit).iter().all(thinks) && units.newest() != Some(unit)
            };
            let unsendable: Vec<usize> = (from..firsts.len())
                .filter(|unit| is_left(*unit) || orphan(*unit) || thought(*unit))
                .collect();
            prop_assert_eq!(units.unsendable(from), unsendable);
            let boundary = (0..=from).rev().find(|end| {
                let first = firsts.get(*end).copied().unwrap_or(facts.len());
                (0..*end).all(|unit| last(unit) < first)
            });
            prop_assert_eq!(Some(units.boundary(from)), boundary);
        }

        let pins: Vec<usize> = if facts.is_empty() { vec![] } else { vec![pin.index(facts.len())] };
        let mut stays = fixed;
        stays.extend(pins.iter().map(|at| home(*at)));
        stays.extend(task);
        stays.extend(said);
        stays.extend(asked.map(home).or(spoken.map(home)));
        stays.extend(open.iter().filter(|unit| asked.is_none_or(|at| last(**unit) > at)));
        let since = asked.map_or(0, |at| at + 1);
        let reply = (since..facts.len()).find(|at| facts[*at].role == Role::Assistant);
        let unfinished = spoken.is_some_and(|at| facts[at].is_unfinished());
        stays.extend(reply.filter(|at| facts[*at].thinks && unfinished).map(home));
        prop_assert_eq!(units.protected(&pins), stays);
    }
}

#[test]
fn a_result_for_two_units_makes_one_of_both() {
    let call = |name| Fact {
        role: Role::Assistant,
        calls: ids(&[name]),
        ..Fact::default()
    };
    let both = Fact {
        results: ids(&["a", "b"]),
        ..Fact::default()
    };
    let mut units = Units::new(false);
    assert!(units.take(&call("a"), 1).unwrap());
    assert!(units.take(&call("b"), 2).unwrap());
    assert!(!units.take(&both, 4).unwrap());
    assert_eq!(units.messages(), 2);
    let units = Units::of(&[call("a"), call("b"), both], &[1, 2, 4], false).unwrap();
    assert_eq!(units.unit(0).unwrap().members, [0, 1, 2]);
    assert_eq!(units.roll().since(0), 7);
}

#[test]
fn items_belong_together_by_twelve_characters_at_either_end() {
    let fact = |bond, name: &str| Fact {
        role: Role::Assistant,
        bond,
        item: Some(id(name)),
        ..Fact::default()
    };
    let between = Fact {
        results: ids(&["x"]),
        ..Fact::default()
    };
    for (reasoning, item, together) in [
        ("aaaaaaaaaaaa1111", "aaaaaaaaaaaa2222", true),
        ("aaaaaaaaaaa11111", "aaaaaaaaaaa22222", false),
        ("1111bbbbbbbbbbbb", "2222bbbbbbbbbbbb", true),
        ("11111bbbbbbbbbbb", "22222bbbbbbbbbbb", false),
        ("1111äöüäöüäöüäöü", "2222äöüäöüäöüäöü", true),
        ("11111äöüäöüäöüäö", "22222äöüäöüäöüäö", false),
        ("aaaaaaaaaaaa1111", "abcdefghijklmno", true),
        ("aaaaaaaaaaaa1111", "abcdefghijklmnop", false),
        ("aaaaaaaaaaaa111", "abcdefghijklmnop", true),
    ] {
        let facts = [
            fact(Bond::Reasoning, reasoning),
            between.clone(),
            fact(Bond::Item, item),
        ];
        let units = Units::of(&facts, &[1, 1, 1], false).unwrap();
        let members = units.unit(0).unwrap().members;
        assert_eq!(members.contains(&2), together, "{reasoning} {item}");
    }
}

#[test]
fn bonds_have_the_numbers_of_their_order() {
    let all = [
        Bond::None,
        Bond::Item,
        Bond::Calls,
        Bond::Reasoning,
        Bond::Behind,
        Bond::Reference,
    ];
    let numbers = (0_u8..6).map(|number| Bond::of(number).unwrap());
    assert!(numbers.eq(all));
    assert!(all.iter().map(|bond| bond.number()).eq(0..6));
    assert_eq!(Bond::of(6), None);
}
