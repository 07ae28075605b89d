//! All signals of fused search: against the formula said plainly, and a pool against a full scan.

use std::collections::BTreeMap;

use warmset_core::hot::{
    Cue, Filter, Labels, Precision, Retriever, Scored, Traits, Weights, terms,
};

const DAY: i64 = 86_400_000;
const DIM: usize = 64;
const WORDS: [&str; 12] = [
    "pool", "boat", "harbour", "tide", "engine", "crane", "sail", "rope", "anchor", "chart",
    "lamp", "deck",
];

const WEIGHTS: Weights = Weights {
    dense: 1.0,
    lexical: 1.0,
    speaker: 0.25,
    date: 0.2,
    when: 0.05,
    number: 0.05,
    asking: 0.1,
    reply: 0.1,
    near: 0.4,
    session: 0.2,
};

/// A small generator of numbers: the tests say what they see on every machine.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn small(&mut self) -> f32 {
        f32::from(u16::try_from(self.below(2_001)).unwrap()) / 1_000.0 - 1.0
    }

    fn row(&mut self) -> Vec<f32> {
        let raw: Vec<f32> = (0..DIM).map(|_| self.small()).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.into_iter().map(|x| x / norm).collect()
    }
}

struct Turn {
    labels: Labels,
    traits: Traits,
}

/// A conversation of `count` turns in sessions of `long`.
fn talk(count: u64, long: u64, noise: &mut Noise) -> (Retriever, BTreeMap<u64, Turn>) {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let mut turns = BTreeMap::new();
    for id in 1..=count {
        let session = u32::try_from(id / long).unwrap();
        let labels = Labels {
            session,
            speaker: u32::try_from(id % 2).unwrap(),
            role: u16::try_from(id % 3).unwrap(),
            at: i64::from(session) * DAY + 5,
            live: !id.is_multiple_of(7),
            ..Labels::default()
        };
        let asks = noise.below(3) == 0;
        let traits = Traits {
            asking: if asks { 0.5 } else { 0.0 },
            ends_asking: asks,
            tells_time: noise.below(3) == 0,
            tells_number: noise.below(3) == 0,
            days: if noise.below(4) == 0 {
                vec![(2, 3)]
            } else {
                vec![]
            },
        };
        let words: Vec<&str> = (0..4)
            .map(|_| WORDS[usize::try_from(noise.below(12)).unwrap()])
            .collect();
        retriever.add(id, labels, &terms(&words.join(" "))).unwrap();
        retriever.describe(id, traits.clone()).unwrap();
        retriever.put_vectors(id, &noise.row(), DIM).unwrap();
        turns.insert(id, Turn { labels, traits });
    }
    (retriever, turns)
}

fn cue() -> Cue {
    Cue {
        terms: terms("pool and anchor"),
        speakers: vec![1],
        roles: vec![2],
        days: vec![(3, 4)],
        when: true,
        number: true,
    }
}

fn bit(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

/// The formula, turn by turn, from the dense and lexical scores alone.
fn plainly(found: &[Scored], turns: &BTreeMap<u64, Turn>, cue: &Cue) -> BTreeMap<u64, f32> {
    let mut said = BTreeMap::new();
    for hit in found {
        let turn = &turns[&hit.id];
        let day = i32::try_from(turn.labels.at / DAY).unwrap();
        let ranges = [&turn.traits.days[..], &[(day, day)]].concat();
        let dated = (-10..60).any(|one| {
            let within = |range: &(i32, i32)| (range.0..=range.1).contains(&one);
            ranges.iter().any(within) && cue.days.iter().any(within)
        });
        said.insert(
            hit.id,
            hit.dense
                + hit.lexical
                + 0.2 * bit(dated)
                + 0.05 * bit(cue.when && turn.traits.tells_time)
                + 0.05 * bit(cue.number && turn.traits.tells_number)
                - 0.1 * turn.traits.asking,
        );
    }
    let lives: Vec<u64> = turns
        .iter()
        .filter(|(_, t)| t.labels.live)
        .map(|(id, _)| *id)
        .collect();
    let same = |a: u64, b: u64| turns[&a].labels.session == turns[&b].labels.session;
    let mut base = BTreeMap::new();
    for (id, score) in &said {
        let at = lives.iter().position(|one| one == id).unwrap();
        let before = at.checked_sub(1).map(|one| lives[one]);
        let answers = before.filter(|one| same(*one, *id) && turns[one].traits.ends_asking);
        let reply = answers
            .and_then(|one| said.get(&one))
            .map_or(0.0, |s| s.max(0.0));
        let labels = turns[id].labels;
        let named = if labels.speaker == 0 {
            cue.roles.contains(&labels.role)
        } else {
            cue.speakers.contains(&labels.speaker)
        };
        base.insert(*id, score + 0.1 * reply + 0.25 * bit(named));
    }
    let best = |id: u64, reach: usize| -> f32 {
        let at = lives.iter().position(|one| *one == id).unwrap();
        let from = at.saturating_sub(reach);
        let to = at.saturating_add(reach).min(lives.len() - 1);
        lives[from..=to]
            .iter()
            .filter(|other| same(**other, id))
            .filter_map(|other| base.get(other))
            .fold(f32::MIN, |a, b| a.max(*b))
    };
    base.iter()
        .map(|(id, score)| {
            (
                *id,
                score + 0.4 * best(*id, 4) + 0.2 * best(*id, usize::MAX / 2),
            )
        })
        .collect()
}

#[test]
fn scores_are_those_of_the_formula_said_plainly() {
    for seed in 0..20 {
        let mut noise = Noise(seed);
        let (retriever, turns) = talk(120, 9, &mut noise);
        let query = noise.row();
        let cue = cue();
        let found = retriever
            .search(Some(&query), &cue, &Filter::default(), 200, WEIGHTS)
            .unwrap();
        assert_eq!(
            found.len(),
            turns.values().filter(|t| t.labels.live).count()
        );
        let want = plainly(&found, &turns, &cue);
        for hit in &found {
            assert!((hit.score - want[&hit.id]).abs() < 1e-5, "{seed}: {hit:?}");
        }
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        let all = [
            |hit: &Scored| hit.speaker,
            |hit: &Scored| hit.date,
            |hit: &Scored| hit.when,
            |hit: &Scored| hit.number,
            |hit: &Scored| -hit.asking,
            |hit: &Scored| hit.reply,
        ];
        assert!(all.iter().all(|of| found.iter().any(|hit| of(hit) > 0.0)));
    }
}

#[test]
fn a_signal_with_nothing_to_say_adds_nothing() {
    let mut noise = Noise(1);
    let (retriever, _) = talk(60, 9, &mut noise);
    let quiet = Cue {
        terms: terms("pool"),
        ..Cue::default()
    };
    for hit in retriever
        .search(None, &quiet, &Filter::default(), 60, WEIGHTS)
        .unwrap()
    {
        let said = [hit.dense, hit.speaker, hit.date, hit.when, hit.number];
        assert_eq!(
            said.map(f32::to_bits),
            [0.0_f32; 5].map(f32::to_bits),
            "{hit:?}"
        );
    }
}

#[test]
fn a_pool_finds_what_a_full_scan_finds_among_ten_thousand() {
    // Sessions have a subject: their turns lie around it, and share its words.
    let mut noise = Noise(7);
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let mut asked = Vec::new();
    for session in 0..400_u32 {
        let subject = noise.row();
        for at in 0..25_u32 {
            let id = u64::from(session * 25 + at);
            let mut around = noise.row();
            for (x, y) in around.iter_mut().zip(&subject) {
                *x = 0.6 * *x + 0.6 * y;
            }
            let words: Vec<String> = (0..8)
                .map(|_| format!("word{} topic{}", noise.below(900), session * 7 % 100))
                .collect();
            let labels = Labels {
                session,
                speaker: at % 2,
                at: i64::from(session / 4) * DAY,
                ..Labels::default()
            };
            let traits = Traits {
                ends_asking: at % 5 == 0,
                asking: f32::from(u8::from(at % 5 == 0)),
                tells_time: at % 3 == 0,
                tells_number: at % 4 == 0,
                days: vec![],
            };
            retriever.add(id, labels, &terms(&words.join(" "))).unwrap();
            retriever.describe(id, traits).unwrap();
            retriever.put_vectors(id, &around, DIM).unwrap();
            if session % 20 == 3 && at == 11 {
                asked.push((around, words));
            }
        }
    }
    assert_eq!(asked.len(), 20);
    for (query, words) in asked {
        let cue = Cue {
            terms: terms(&words[..2].join(" ")),
            ..cue()
        };
        let best = |k: usize| -> Vec<u64> {
            let found = retriever
                .search(Some(&query), &cue, &Filter::default(), k, WEIGHTS)
                .unwrap();
            found.iter().take(24).map(|hit| hit.id).collect()
        };
        assert_eq!(best(24), best(10_000));
    }
}

#[test]
fn what_stands_beside_the_best_is_found_however_weak_it_is_alone() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    for id in 0..1_000_u64 {
        let labels = Labels {
            session: u32::try_from(id / 2).unwrap(),
            ..Labels::default()
        };
        let toward = match id {
            500 => 1.0,
            501 => -0.1,
            _ => 0.2,
        };
        retriever.add(id, labels, &[]).unwrap();
        retriever.put_vectors(id, &[toward, 0.0], 2).unwrap();
    }
    let search = |weights: Weights| {
        retriever
            .search(
                Some(&[1.0, 0.0]),
                &Cue::default(),
                &Filter::default(),
                2,
                weights,
            )
            .unwrap()
    };
    let found = search(WEIGHTS);
    assert_eq!([found[0].id, found[1].id], [500, 501]);
    assert!((found[1].dense + 0.1).abs() < 1e-6 && (found[1].near - 1.0).abs() < 1e-6);
    let apart = search(Weights {
        near: 0.0,
        ..WEIGHTS
    });
    assert_eq!([apart[0].id, apart[1].id], [500, 0]);
}

/// Entries whose one row scores so much by itself, all of one session.
fn scoring(scores: impl Iterator<Item = f32>) -> Retriever {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    for (id, score) in (0..).zip(scores) {
        let labels = Labels {
            role: u16::from(id % 5 == 0),
            ..Labels::default()
        };
        retriever.add(id, labels, &terms("boat")).unwrap();
        retriever.put_vectors(id, &[score, 0.0], 2).unwrap();
    }
    retriever
}

#[test]
fn more_may_be_asked_for_than_the_pool_takes_from_each_list() {
    let ladder = (0..400_u16).map(|at| 1.0 - f32::from(at) / 500.0);
    let retriever = scoring(ladder);
    let weights = Weights {
        dense: 1.0,
        ..Weights::default()
    };
    for k in [255, 256, 257, 399, 400, 500] {
        let query = Some(&[1.0, 0.0][..]);
        let found = retriever.search(query, &Cue::default(), &Filter::default(), k, weights);
        let ids: Vec<u64> = found.unwrap().iter().map(|hit| hit.id).collect();
        assert!(ids.iter().copied().eq((0..400).take(k)), "{k}");
    }
}

#[test]
fn what_is_found_by_words_alone_has_the_score_of_its_best_row() {
    for rows in [[0.25, -0.5], [-0.5, 0.25], [0.25, 0.25]] {
        let mut retriever = scoring(std::iter::repeat_n(0.5, 600));
        retriever
            .add(7_000, Labels::default(), &terms("anchor"))
            .unwrap();
        let both = [rows[0], 0.0, rows[1], 0.0];
        retriever.put_vectors(7_000, &both, 2).unwrap();
        let cue = Cue {
            terms: terms("anchor"),
            ..Cue::default()
        };
        let weights = Weights {
            near: 0.0,
            ..WEIGHTS
        };
        let found = retriever.search(Some(&[1.0, 0.0]), &cue, &Filter::default(), 1, weights);
        let found = found.unwrap();
        assert_eq!(
            (found[0].id, found[0].dense.to_bits()),
            (7_000, 0.25_f32.to_bits())
        );
    }
}

#[test]
fn what_a_filter_leaves_out_is_not_found_beside_the_best() {
    let retriever = scoring((0..1_000).map(|id| if id == 501 { 1.0 } else { 0.2 }));
    let filters = [
        Filter {
            roles: Some(vec![0]),
            ..Filter::default()
        },
        Filter {
            except: vec![500, 505],
            ..Filter::default()
        },
    ];
    for filter in filters {
        let query = Some(&[1.0, 0.0][..]);
        let found = retriever.search(query, &Cue::default(), &filter, 400, WEIGHTS);
        let ids: Vec<u64> = found.unwrap().iter().map(|hit| hit.id).collect();
        assert!(ids.contains(&502) && ids.contains(&499));
        assert!(!ids.contains(&500) && !ids.contains(&505), "{filter:?}");
    }
}

#[test]
fn four_entries_to_either_side_are_close() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    for id in 0..1_000_u64 {
        let toward = match id {
            500 => 1.0,
            490..=510 => -0.05,
            _ => 0.2,
        };
        retriever.add(id, Labels::default(), &[]).unwrap();
        retriever.put_vectors(id, &[toward, 0.0], 2).unwrap();
    }
    let found = retriever
        .search(
            Some(&[1.0, 0.0]),
            &Cue::default(),
            &Filter::default(),
            10,
            WEIGHTS,
        )
        .unwrap();
    let ids: Vec<u64> = found.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [500, 496, 497, 498, 499, 501, 502, 503, 504, 0]);
}

#[test]
fn a_session_is_one_of_its_conversation_and_a_role_stands_for_no_other_speaker() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    for (id, conversation, speaker, words) in [
        (1, 1, 3, "pool pool"),
        (2, 1, 0, "boat"),
        (3, 2, 0, "boat"),
        (4, 2, 3, "boat"),
    ] {
        let labels = Labels {
            conversation,
            speaker,
            role: 2,
            ..Labels::default()
        };
        retriever.add(id, labels, &terms(words)).unwrap();
    }
    let cue = Cue {
        terms: terms("pool boat"),
        roles: vec![2],
        ..Cue::default()
    };
    let found = retriever.search(None, &cue, &Filter::default(), 9, WEIGHTS);
    let found: BTreeMap<u64, Scored> = found.unwrap().iter().map(|hit| (hit.id, *hit)).collect();
    let named = found.values().map(|hit| hit.speaker.to_bits());
    assert!(named.eq([0.0, 1.0, 1.0, 0.0].map(f32::to_bits)));
    let best = |conversation: [u64; 2]| {
        let base = |id: &u64| found[id].lexical + 0.25 * found[id].speaker;
        conversation.iter().map(base).fold(f32::MIN, f32::max)
    };
    for (id, conversation) in [(1, [1, 2]), (2, [1, 2]), (3, [3, 4]), (4, [3, 4])] {
        assert!(
            (found[&id].session - best(conversation)).abs() < 1e-6,
            "{id}"
        );
    }
    assert!((best([1, 2]) - best([3, 4])).abs() > 0.01);
}

#[test]
fn times_before_1970_have_days_too() {
    let mut retriever = Retriever::new(Precision::Full).unwrap();
    let times = [-DAY - 1, -DAY, -1, 0, DAY - 1, DAY];
    for (id, at) in (1..).zip(times) {
        let labels = Labels {
            at,
            ..Labels::default()
        };
        retriever.add(id, labels, &terms("pool")).unwrap();
    }
    for (day, ids) in [
        (-2, vec![1]),
        (-1, vec![2, 3]),
        (0, vec![4, 5]),
        (1, vec![6]),
    ] {
        let cue = Cue {
            days: vec![(day, day)],
            ..cue()
        };
        let found = retriever.search(None, &cue, &Filter::default(), 9, WEIGHTS);
        let mut dated: Vec<u64> = found
            .unwrap()
            .iter()
            .filter(|hit| hit.date > 0.0)
            .map(|hit| hit.id)
            .collect();
        dated.sort_unstable();
        assert_eq!(dated, ids, "day {day}");
    }
}

#[test]
fn a_new_description_takes_the_place_of_the_old_one_and_leaves_with_its_entry() {
    let mut noise = Noise(3);
    let (mut retriever, _) = talk(10, 20, &mut noise);
    let dated = |retriever: &Retriever| -> f32 {
        let found = retriever
            .search(Some(&[1.0; DIM]), &cue(), &Filter::default(), 10, WEIGHTS)
            .unwrap();
        found
            .iter()
            .find(|hit| hit.id == 2)
            .map_or(-1.0, |hit| hit.when)
    };
    for tells_time in [true, false] {
        let traits = Traits {
            tells_time,
            ..Traits::default()
        };
        retriever.describe(2, traits).unwrap();
        assert_eq!(dated(&retriever).to_bits(), bit(tells_time).to_bits());
    }
    retriever.remove(2).unwrap();
    assert!(retriever.describe(2, Traits::default()).is_err());
}
