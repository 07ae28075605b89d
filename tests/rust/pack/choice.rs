//! `pack`, `pack_batch` and `keep_newest` against oracles that are too plain to be wrong.

use proptest::prelude::*;
use warmset_core::Error;
use warmset_core::evict::{Hold, Unit, keep_newest};
use warmset_core::pack::{Items, Members, pack, pack_batch, rank};

/// Greedy by value over whole groups, said with sorting and sets only.
fn oracle(
    costs: &[u64],
    values: &[f64],
    groups: &[i64],
    budget: u64,
    must: &[usize],
) -> Result<Vec<usize>, (u64, u64)> {
    let members = |index: usize| -> Vec<usize> {
        (0..costs.len())
            .filter(|other| groups[*other] == groups[index])
            .collect()
    };
    let mut chosen: Vec<usize> = must.iter().flat_map(|index| members(*index)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let mut spent: u64 = chosen.iter().map(|index| costs[*index]).sum();
    if spent > budget {
        return Err((spent, budget));
    }
    let mut firsts: Vec<usize> = (0..costs.len())
        .filter(|index| members(*index)[0] == *index && !chosen.contains(index))
        .collect();
    let worth = |index: usize| {
        members(index)
            .iter()
            .map(|m| values[*m])
            .fold(f64::NEG_INFINITY, f64::max)
    };
    firsts.sort_by(|a, b| worth(*b).partial_cmp(&worth(*a)).unwrap().then(a.cmp(b)));
    for first in firsts {
        let cost: u64 = members(first).iter().map(|m| costs[*m]).sum();
        if spent + cost <= budget {
            spent += cost;
            chosen.extend(members(first));
        }
    }
    chosen.sort_unstable();
    Ok(chosen)
}

prop_compose! {
    fn case()(n in 0_usize..24)(
        costs in prop::collection::vec(0_u64..40, n),
        // Few distinct values, so that ties are common.
        values in prop::collection::vec(
            prop::sample::select(vec![-3.0, -1.0, -0.0, 0.0, 1.0, 2.5]), n),
        groups in prop::collection::vec(0_i64..8, n),
        budget in 0_u64..300,
        must in prop::collection::vec(0..n.max(1), 0..3),
    ) -> (Vec<u64>, Vec<f64>, Vec<i64>, u64, Vec<usize>) {
        let must = must.into_iter().filter(|index| *index < costs.len()).collect();
        (costs, values, groups, budget, must)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pack_equals_the_oracle((costs, values, groups, budget, must) in case()) {
        let items = Items { costs: &costs, values: &values, groups: Some(&groups) };
        let got = match pack(items, budget, &must) {
            Ok(chosen) => Ok(chosen),
            Err(Error::BudgetTooSmall { need, have }) => Err((need, have)),
            Err(other) => panic!("{other}"),
        };
        prop_assert_eq!(got, oracle(&costs, &values, &groups, budget, &must));
    }

    #[test]
    fn without_groups_each_item_is_its_own((costs, values, _, budget, must) in case()) {
        let own: Vec<i64> = (0..).take(costs.len()).collect();
        let items = Items { costs: &costs, values: &values, groups: None };
        let twice = [&must[..], &must].concat();
        let got = match pack(items, budget, &twice) {
            Ok(chosen) => Ok(chosen),
            Err(Error::BudgetTooSmall { need, have }) => Err((need, have)),
            Err(other) => panic!("{other}"),
        };
        prop_assert_eq!(got, oracle(&costs, &values, &own, budget, &must));
    }

    #[test]
    fn a_group_is_worth_its_best_member(
        homes in prop::collection::vec(0_i64..6, 0..12),
        ranked in prop::collection::vec((0_i64..30, -2_i8..4), 0..14),
        raised in prop::collection::vec(any::<bool>(), 6),
    ) {
        let ids: Vec<i64> = (0..).map(|at| at * 2 + 1).take(homes.len()).collect();
        let members = Members { ids: &ids, groups: &homes, raised: &raised };
        let (wanted, values): (Vec<i64>, Vec<f64>) =
            ranked.iter().map(|(id, value)| (*id, f64::from(*value))).unzip();
        let place = |id: i64| ids.iter().position(|own| *own == id);
        let mut want: Vec<(i64, f64)> = (0..6_i64).filter_map(|group| {
            let own = ranked.iter().filter(|one| place(one.0).is_some_and(|at| homes[at] == group));
            let best = own.map(|one| one.1).max()?;
            let more = if raised[usize::try_from(group).unwrap()] { 0.5 } else { 0.0 };
            Some((group, f64::from(best) + more))
        }).collect();
        want.sort_by(|a, b| b.1.total_cmp(&a.1));
        let got = rank(members, &wanted, &values, 0.5).unwrap();
        let places: Vec<i64> = wanted.iter()
            .map(|id| place(*id).map_or(-1, |at| i64::try_from(at).unwrap())).collect();
        prop_assert_eq!(got.places, places);
        let groups: Vec<(i64, f64)> = got.groups.into_iter().zip(got.values).collect();
        prop_assert_eq!(groups, want);
    }

    #[test]
    fn a_batch_is_its_lists(lists in prop::collection::vec(case(), 0..6)) {
        let (mut offsets, mut costs, mut values, mut budgets) = (vec![0], vec![], vec![], vec![]);
        let mut want = Vec::new();
        for (list_costs, list_values, _, budget, _) in &lists {
            let items = Items { costs: list_costs, values: list_values, groups: None };
            want.extend(pack(items, *budget, &[]).unwrap().iter().map(|at| at + costs.len()));
            costs.extend(list_costs);
            values.extend(list_values);
            budgets.push(*budget);
            offsets.push(costs.len());
        }
        let (chosen, ends) = pack_batch(&offsets, &costs, &values, &budgets).unwrap();
        prop_assert_eq!(&chosen, &want);
        prop_assert_eq!(ends.len(), lists.len() + 1);
        prop_assert_eq!(ends.last().copied(), Some(want.len()));
    }

    #[test]
    fn the_newest_stay_without_holes(
        costs in prop::collection::vec(0_u64..30, 0..20),
        held in prop::collection::vec(any::<bool>(), 20),
        budget in 0_u64..300,
    ) {
        let units: Vec<Unit> = costs.iter().zip(&held).map(|(cost, held)| Unit {
            cost: *cost,
            hold: if *held { Hold::Protected } else { Hold::Evictable },
        }).collect();
        let need: u64 = units.iter().filter(|u| u.hold == Hold::Protected).map(|u| u.cost).sum();
        match keep_newest(&units, budget) {
            Err(Error::BudgetTooSmall { need: said, have }) => {
                prop_assert!(need > budget);
                prop_assert_eq!((said, have), (need, budget));
            }
            Err(other) => panic!("{other}"),
            Ok(kept) => {
                let total: u64 = kept.iter().map(|at| units[*at].cost).sum();
                prop_assert!(total <= budget);
                let free: Vec<usize> =
                    (0..units.len()).filter(|at| units[*at].hold == Hold::Evictable).collect();
                let stays: Vec<usize> =
                    free.iter().copied().filter(|at| kept.contains(at)).collect();
                // What stays of the evictable ones is their end, and one more would not fit.
                prop_assert_eq!(&free[free.len() - stays.len()..], &stays[..]);
                if let Some(next) = free.len().checked_sub(stays.len() + 1) {
                    prop_assert!(total + units[free[next]].cost > budget);
                }
                let protected = units.iter().filter(|u| u.hold == Hold::Protected).count();
                prop_assert_eq!(kept.len(), stays.len() + protected);
            }
        }
    }
}

#[test]
fn bad_input_is_named() {
    let items = Items {
        costs: &[1],
        values: &[f64::NAN],
        groups: None,
    };
    assert!(matches!(
        pack(items, 1, &[]),
        Err(Error::Argument { name: "values", .. })
    ));
    let items = Items {
        costs: &[1],
        values: &[],
        groups: None,
    };
    assert!(matches!(
        pack(items, 1, &[]),
        Err(Error::Argument { name: "values", .. })
    ));
    let items = Items {
        costs: &[1],
        values: &[1.0],
        groups: None,
    };
    assert!(matches!(
        pack(items, 1, &[7]),
        Err(Error::Argument { name: "must", .. })
    ));
    for offsets in [vec![], vec![0], vec![1, 2], vec![0, 2, 1, 2]] {
        let found = pack_batch(&offsets, &[1, 1], &[1.0, 1.0], &[1]);
        assert!(
            matches!(
                found,
                Err(Error::Argument {
                    name: "offsets",
                    ..
                })
            ),
            "{offsets:?}"
        );
    }
}
