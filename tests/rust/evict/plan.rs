//! What leaves, against oracles that are too plain to be wrong.

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::evict::{Hold, Signals, Unit, Weights, Worthy, keep_worthy, leave_lowest, worth};

fn units(costs: &[u64], protected: &[bool]) -> Vec<Unit> {
    costs
        .iter()
        .zip(protected)
        .map(|(cost, protected)| Unit {
            cost: *cost,
            hold: if *protected {
                Hold::Protected
            } else {
                Hold::Evictable
            },
        })
        .collect()
}

/// Take the lowest out, one at a time, until the rest fits.
fn lowest(costs: &[u64], protected: &[bool], scores: &[f64], budget: u64) -> Option<Vec<usize>> {
    let mut staying: Vec<usize> = (0..costs.len()).collect();
    let mut left = Vec::new();
    while staying.iter().map(|at| costs[*at]).sum::<u64>() > budget {
        let mut worst: Option<usize> = None;
        for at in staying.iter().copied().filter(|at| !protected[*at]) {
            if worst.is_none_or(|known| scores[at] < scores[known]) {
                worst = Some(at);
            }
        }
        staying.retain(|at| Some(*at) != worst);
        left.push(worst?);
    }
    Some(left)
}

/// The worthiest of units that are in no order, said with a list and a best of it.
fn worthiest(
    values: &[f64],
    costs: &[u64],
    units: &[usize],
    must: &[bool],
    budget: u64,
) -> (Vec<usize>, Vec<usize>) {
    let members = |unit: usize| (0..units.len()).filter(move |at| units[*at] == unit);
    let cost = |unit: usize| members(unit).map(|at| costs[at]).sum::<u64>();
    let value = |unit: usize| {
        let values = members(unit).map(|at| values[at]);
        values.fold(f64::NEG_INFINITY, f64::max)
    };
    let all: Vec<usize> = (0..units.len())
        .filter(|unit| members(*unit).next().is_some())
        .collect();
    let (mut stay, mut open): (Vec<usize>, Vec<usize>) = all
        .into_iter()
        .partition(|unit| members(*unit).any(|at| must[at]));
    let mut spent: u64 = stay.iter().map(|unit| cost(*unit)).sum();
    let mut taken = Vec::new();
    while spent <= budget && !open.is_empty() {
        let before = |one: usize, other: usize| {
            let order = value(other).partial_cmp(&value(one)).unwrap();
            let order = order.then(members(one).next().cmp(&members(other).next()));
            order.is_lt()
        };
        let best = open[1..].iter().fold(
            open[0],
            |best, one| {
                if before(*one, best) { *one } else { best }
            },
        );
        open.retain(|unit| *unit != best);
        if spent + cost(best) <= budget {
            spent += cost(best);
            taken.push(best);
        }
    }
    stay.extend(&taken);
    let kept = (0..units.len()).filter(|at| stay.contains(&units[*at]));
    (kept.collect(), taken)
}

/// A signed zero among few different values, so that ties are common.
fn value() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![-1.5, -0.0, 0.0, 0.5, 2.0])
}

proptest! {
    #[test]
    fn the_worthiest_units_stay(
        list in prop::collection::vec((value(), 0_u64..20, any::<prop::sample::Index>(), prop::bool::weighted(0.1)), 1..16),
        budget in 0_u64..120,
    ) {
        let values: Vec<f64> = list.iter().map(|one| one.0).collect();
        let costs: Vec<u64> = list.iter().map(|one| one.1).collect();
        let units: Vec<usize> = list.iter().map(|one| one.2.index(list.len())).collect();
        let must: Vec<bool> = list.iter().map(|one| one.3).collect();
        let turns = Worthy { values: &values, costs: &costs, units: &units, must: &must };
        let wanted = worthiest(&values, &costs, &units, &must, budget);
        let found = keep_worthy(turns, budget).unwrap();
        prop_assert_eq!((found.kept, found.taken), wanted);
        // What stays would just fit again.
        let stays = keep_worthy(turns, budget).unwrap();
        let all: u64 = stays.kept.iter().map(|at| costs[*at]).sum();
        prop_assert_eq!(keep_worthy(turns, all).unwrap().kept, worthiest(&values, &costs, &units, &must, all).0);
    }

    #[test]
    fn worth_is_the_formula_said_plainly(
        list in prop::collection::vec((0_usize..3, -4_i8..=4, 0_i8..=4), 0..9),
        factors in prop::collection::vec(0_u8..4, 3),
        weights in prop::collection::vec(0_u8..4, 3),
    ) {
        let quarter = |number: i8| f64::from(number) / 4.0;
        let roles: Vec<usize> = list.iter().map(|one| one.0).collect();
        let similarity: Vec<f64> = list.iter().map(|one| quarter(one.1)).collect();
        let coverage: Vec<f64> = list.iter().map(|one| quarter(one.2)).collect();
        let factors: Vec<f64> = factors.into_iter().map(f64::from).collect();
        let [recency, near, unknown] = [0, 1, 2].map(|at| f64::from(weights[at]));
        let signals = Signals {
            roles: &roles,
            factors: &factors,
            similarity: &similarity,
            coverage: &coverage,
        };
        let weights = Weights { recency, similarity: near, coverage: unknown };
        let (values, news) = worth(signals, weights).unwrap();
        prop_assert_eq!((values.len(), news.len()), (list.len(), list.len()));
        let mut new = if list.len() == 1 { 1.0 } else { 0.1 };
        let step = 0.9 / f64::from(u32::try_from(list.len().max(2) - 1).unwrap());
        for at in 0..list.len() {
            let sum = recency * new + near * similarity[at] + unknown * (1.0 - coverage[at]);
            prop_assert!((news[at] - new).abs() < 1e-12, "{} for {new}", news[at]);
            prop_assert!((values[at] - factors[roles[at]] * sum).abs() < 1e-12);
            new += step;
        }
    }

    #[test]
    fn the_lowest_leave_until_the_rest_fits(
        list in prop::collection::vec((0_u64..30, any::<bool>(), -3_i8..3), 0..30),
        budget in 0_u64..300,
    ) {
        let costs: Vec<u64> = list.iter().map(|item| item.0).collect();
        let protected: Vec<bool> = list.iter().map(|item| item.1).collect();
        let scores: Vec<f64> = list.iter().map(|item| f64::from(item.2)).collect();
        let found = leave_lowest(&units(&costs, &protected), &scores, budget);
        if let Some(expected) = lowest(&costs, &protected, &scores, budget) {
            prop_assert_eq!(found.unwrap(), expected);
        } else {
            let need: u64 = list.iter().filter(|item| item.1).map(|item| item.0).sum();
            let told = matches!(
                found,
                Err(Error::BudgetTooSmall { need: told, have }) if told == need && have == budget
            );
            prop_assert!(told);
        }
    }
}

#[test]
fn of_both_zeros_the_older_leaves_first() {
    let two = units(&[1, 1], &[false; 2]);
    for scores in [[0.0, -0.0], [-0.0, 0.0]] {
        assert_eq!(leave_lowest(&two, &scores, 1).unwrap(), [0], "{scores:?}");
    }
}

#[test]
fn counts_saturate() {
    let huge = units(&[u64::MAX; 3], &[false; 3]);
    assert_eq!(leave_lowest(&huge, &[0.0; 3], u64::MAX).unwrap(), [0, 1]);
}

#[test]
fn what_is_no_list_is_refused() {
    let two = units(&[1, 1], &[false; 2]);
    assert!(matches!(
        leave_lowest(&two, &[0.0], 9),
        Err(Error::Argument { .. })
    ));
    assert!(matches!(
        leave_lowest(&two, &[0.0, f64::NAN], 9),
        Err(Error::Argument { .. })
    ));
}

#[test]
fn what_is_worth_most_stays_and_ties_go_to_the_earlier() {
    let turns = Worthy {
        values: &[0.5, 0.9, 0.5, 0.1, 0.5],
        costs: &[3, 9, 3, 1, 3],
        units: &[0, 1, 2, 3, 2],
        must: &[false, false, false, true, false],
    };
    let stays = keep_worthy(turns, 8).expect("it fits");
    assert_eq!((stays.kept, stays.taken), (vec![0, 3], vec![0]));
    let all = keep_worthy(turns, u64::MAX).expect("it fits");
    assert_eq!(all.taken, [1, 0, 2]);
    let none = keep_worthy(turns, 0).expect("what must stay stays");
    assert_eq!(none.kept, [3]);
}

#[test]
fn costs_never_wrap_and_broken_columns_are_refused() {
    let mut turns = Worthy {
        values: &[0.5, 0.6],
        costs: &[u64::MAX, u64::MAX],
        units: &[0, 0],
        must: &[false, false],
    };
    assert!(
        keep_worthy(turns, u64::MAX)
            .expect("one list")
            .kept
            .is_empty()
    );
    turns.values = &[0.5, f64::NAN];
    assert!(keep_worthy(turns, 5).is_err());
    turns.values = &[0.5];
    assert!(keep_worthy(turns, 5).is_err());
    turns.values = &[0.5, 0.6];
    turns.units = &[0, 2];
    assert!(keep_worthy(turns, 5).is_err());
}

#[test]
fn a_single_turn_is_as_new_as_can_be() {
    let signals = Signals {
        roles: &[1],
        factors: &[1.0, 0.5],
        similarity: &[0.5],
        coverage: &[1.0],
    };
    let weights = Weights {
        recency: 0.3,
        similarity: 0.4,
        coverage: 0.3,
    };
    let (values, recency) = worth(signals, weights).expect("in range");
    assert_eq!(recency, [1.0]);
    assert!((values[0] - 0.25).abs() < 1e-15);
    let outside = Signals {
        coverage: &[1.1],
        ..signals
    };
    assert!(worth(outside, weights).is_err());
}
