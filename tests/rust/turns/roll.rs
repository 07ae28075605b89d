//! `Roll` against oracles that are too plain to be wrong.

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::evict::{Hold, Unit, keep_newest};
use warmset_core::turns::{Change, Roll};

fn units(costs: &[u64], protected: &[bool]) -> Vec<Unit> {
    let hold = |protected: &bool| {
        if *protected {
            Hold::Protected
        } else {
            Hold::Evictable
        }
    };
    let pairs = costs.iter().zip(protected);
    pairs
        .map(|(cost, protected)| Unit {
            cost: *cost,
            hold: hold(protected),
        })
        .collect()
}

/// Try every start, the earliest first.
fn suffix(costs: &[u64], protected: &[usize], budget: u64) -> Option<(usize, u64)> {
    (0..=costs.len()).find_map(|start| {
        let tokens = (0..costs.len())
            .filter(|at| *at >= start || protected.contains(at))
            .map(|at| costs[at])
            .sum();
        (tokens <= budget).then_some((start, tokens))
    })
}

proptest! {
    #[test]
    fn a_roll_cuts_where_trying_every_start_does(
        steps in prop::collection::vec((0_u8..8, 0_u64..30, any::<prop::sample::Index>()), 1..60),
        protected in prop::collection::btree_set(0_usize..60, 0..8),
        budget in 0_u64..400,
    ) {
        let mut roll = Roll::default();
        let mut costs: Vec<u64> = Vec::new();
        let mut home = Vec::new();
        let mut tokens = Vec::new();
        for (step, cost, place) in steps {
            tokens.push(cost);
            if costs.is_empty() || step < 5 {
                prop_assert_eq!(roll.push(cost), costs.len());
                home.push(costs.len());
                costs.push(cost);
            } else {
                let unit = place.index(costs.len());
                roll.join(unit, cost).unwrap();
                home.push(unit);
                costs[unit] += cost;
            }
        }
        prop_assert_eq!(roll.len(), costs.len());
        for start in 0..=costs.len() {
            prop_assert_eq!(roll.since(start), costs[start..].iter().sum::<u64>());
        }
        let protected: Vec<usize> =
            protected.into_iter().filter(|unit| *unit < costs.len()).collect();
        let found = roll.cut(&protected, budget).map(|cut| (cut.start, cut.tokens)).ok();
        prop_assert_eq!(found, suffix(&costs, &protected, budget));
        let flags: Vec<bool> = (0..costs.len()).map(|at| protected.contains(&at)).collect();
        if let Some((start, _)) = found {
            let kept: Vec<usize> =
                (0..costs.len()).filter(|at| *at >= start || flags[*at]).collect();
            let messages: Vec<usize> =
                (0..home.len()).filter(|at| kept.contains(&home[*at])).collect();
            prop_assert_eq!(&roll.kept(&protected, start), &messages);
            let later = roll.kept(&[], costs.len() / 2);
            let same = messages.iter().zip(&later).take_while(|(a, b)| a == b).count();
            let cost = |list: &[usize]| list.iter().map(|at| tokens[*at]).sum::<u64>();
            let lost: Vec<usize> =
                messages.iter().copied().filter(|at| !later.contains(at)).collect();
            let expected = Change { same, front: cost(&later[..same]), freed: cost(&lost) };
            prop_assert_eq!(roll.change(&messages, &later), expected);
            prop_assert_eq!(keep_newest(&units(&costs, &flags), budget).unwrap(), kept);
        }
    }
}

#[test]
fn counts_saturate() {
    let mut roll = Roll::default();
    for _ in 0..3 {
        roll.push(u64::MAX);
    }
    roll.join(0, u64::MAX).unwrap();
    assert_eq!(roll.since(0), u64::MAX);
    assert_eq!(roll.cut(&[], u64::MAX).unwrap().start, 2);
    let error = roll.cut(&[0, 1], u64::MAX - 1).unwrap_err();
    assert!(matches!(
        error,
        Error::BudgetTooSmall { need: u64::MAX, .. }
    ));
}

#[test]
fn what_is_no_list_is_refused() {
    let mut roll = Roll::default();
    roll.push(1);
    roll.push(1);
    for protected in [&[1_usize, 0][..], &[0, 0], &[2]] {
        assert!(matches!(
            roll.cut(protected, 9),
            Err(Error::Argument { .. })
        ));
    }
    assert!(matches!(roll.join(2, 1), Err(Error::Argument { .. })));
}
