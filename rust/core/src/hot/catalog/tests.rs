//! The catalogue against a plain list, with entries that are saved, grown, removed and added again.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::packed::SharedBytes;

/// What is known of every entry, said plainly.
type List = Vec<(u64, Labels)>;

#[derive(Clone, Debug)]
struct Shape {
    /// Ids ascend by steps, or jump about.
    ascends: bool,
    /// The slots of one tenant lie together, or not.
    grouped: bool,
    seed: u64,
}

fn shape() -> impl Strategy<Value = Shape> {
    (any::<bool>(), any::<bool>(), any::<u64>()).prop_map(|(ascends, grouped, seed)| Shape {
        ascends,
        grouped,
        seed,
    })
}

/// A source of numbers, and how many ids were made.
struct Random(u64, u32);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % bound
    }
}

fn grow(catalog: &mut Catalog, list: &mut List, shape: &Shape, count: u32, random: &mut Random) {
    for _ in 0..count {
        let at = random.1;
        random.1 += 1;
        let id = if shape.ascends {
            u64::from(at) * 3
        } else {
            u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let labels = Labels {
            tenant: if shape.grouped {
                at / 900
            } else {
                random.below(40)
            },
            conversation: random.below(9),
            session: random.below(3),
            speaker: random.below(3),
            kind: u16::try_from(random.below(3) * 64).unwrap(),
            role: u16::try_from(random.below(4)).unwrap(),
            at: i64::from(at) * 10 + i64::from(random.below(900)),
            live: random.below(5) > 0,
        };
        catalog.add(id, labels).unwrap();
        list.push((id, labels));
    }
}

fn shrink(catalog: &mut Catalog, list: &mut List, random: &mut Random) {
    for _ in 0..list.len() / 6 {
        let at = usize::try_from(random.below(u32::try_from(list.len()).unwrap())).unwrap();
        let (id, labels) = list.swap_remove(at);
        catalog.remove(id).unwrap();
        assert!(!catalog.contains(id));
        assert!(matches!(catalog.remove(id), Err(Error::UnknownId { .. })));
        if random.below(3) == 0 {
            catalog.add(id, labels).unwrap();
            list.push((id, labels));
        }
    }
    for (id, labels) in list.iter_mut().step_by(37) {
        labels.live = !labels.live;
        catalog.set_live(*id, labels.live).unwrap();
    }
}

fn reopened(catalog: &Catalog) -> Catalog {
    let mut out = Writer::new(Vec::new()).unwrap();
    let kept = catalog.kept();
    catalog.save(&mut out, &kept).unwrap();
    let bytes: SharedBytes = Arc::new(out.finish().unwrap());
    let saved = Saved::open(&bytes, Path::new("test")).unwrap();
    saved.verify().unwrap();
    Catalog::open(&saved, kept.len()).unwrap()
}

fn filters(list: &List, random: &mut Random) -> Vec<Filter> {
    let mut filters = vec![Filter::default()];
    // The bounds of blocks are within: the first and the last time, and those beside them.
    let times = || list.iter().map(|(_, labels)| labels.at);
    for at in times().min().into_iter().chain(times().max()) {
        for at in at - 1..=at + 1 {
            let since = Some(at);
            filters.push(Filter {
                since,
                ..Filter::default()
            });
            filters.push(Filter {
                before: since,
                ..Filter::default()
            });
        }
    }
    for _ in 0..60 {
        let mut one =
            |odds: u32, bound: u32| (random.below(odds) == 0).then(|| random.below(bound));
        let small = |value: u32| u16::try_from(value).unwrap();
        let tenant = one(3, 42);
        let conversation = one(3, 10);
        let kinds = one(3, 3).map(|kind| vec![small(kind * 64), small(kind)]);
        let roles = one(3, 5).map(|role| vec![small(role)]);
        let since = one(3, 100_000).map(i64::from);
        let before = one(3, 100_000).map(i64::from);
        let branches = match one(2, 1) {
            None => Branches::Live,
            Some(_) => Branches::All,
        };
        let some = one(3, 300).map(|step| step + 1);
        let except = one(3, 60).map(|step| step + 1);
        let every = |step: u32| -> Vec<u64> {
            let step = usize::try_from(step).unwrap();
            // Ids that there are, and more that there are not.
            let some = list.iter().step_by(step).map(|entry| entry.0);
            let mut ids: Vec<u64> = some
                .flat_map(|id| [id, id.wrapping_add(1), id.wrapping_add(2)])
                .chain([1, u64::MAX])
                .collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        filters.push(Filter {
            tenant,
            conversation,
            kinds,
            roles,
            since,
            before,
            ids: some.map(every),
            except: except.map(every).unwrap_or_default(),
            branches,
        });
    }
    filters
}

fn agrees(catalog: &Catalog, list: &List, random: &mut Random) {
    assert_eq!(catalog.len(), list.len());
    for (id, labels) in list.iter().step_by(11) {
        let slot = catalog.slot(*id).unwrap();
        assert_eq!(catalog.id(slot), Some(*id));
        assert_eq!(catalog.labels_of(slot), Some(*labels));
        let gap = catalog.ids.find(id + 1, |slot| catalog.present.get(slot));
        assert_eq!(gap, None);
    }
    for filter in filters(list, random) {
        let slots = catalog.selection(&filter).slots();
        assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{filter:?}");
        let mut found: Vec<u64> = slots
            .iter()
            .map(|slot| catalog.id(*slot).unwrap())
            .collect();
        found.sort_unstable();
        let passing = list
            .iter()
            .filter(|(id, labels)| filter.admits(*id, labels));
        let mut expected: Vec<u64> = passing.map(|entry| entry.0).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{filter:?}");
        let mut keys: Vec<(u32, u32)> = list
            .iter()
            .map(|(_, labels)| (labels.tenant, labels.conversation))
            .filter(|(tenant, own)| {
                filter.tenant.is_none_or(|wanted| wanted == *tenant)
                    && filter.conversation.is_none_or(|wanted| wanted == *own)
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(catalog.conversations(&filter), keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_catalogue_is_a_list(shape in shape(), first in 1_u32..9_000, more in 1_u32..6_000) {
        let mut random = Random(shape.seed, 0);
        let (mut catalog, mut list) = (Catalog::default(), List::new());
        grow(&mut catalog, &mut list, &shape, first, &mut random);
        agrees(&catalog, &list, &mut random);
        shrink(&mut catalog, &mut list, &mut random);
        agrees(&catalog, &list, &mut random);
        let mut catalog = reopened(&catalog);
        agrees(&catalog, &list, &mut random);
        let mut shape = shape;
        shape.ascends = false;
        grow(&mut catalog, &mut list, &shape, more, &mut random);
        agrees(&catalog, &list, &mut random);
        shrink(&mut catalog, &mut list, &mut random);
        agrees(&catalog, &list, &mut random);
        agrees(&reopened(&catalog), &list, &mut random);
    }
}
