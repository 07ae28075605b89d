//! What ages leave of the relevance of items.

use warmset_core::hot::Weights;
use warmset_core::items::{Age, Ask, Question, Shelf};
use warmset_core::log::Value;

use crate::world::{log, put, refresh, shelf};

const HOUR: i64 = 3_600_000_000;

fn asked() -> Ask {
    Ask {
        wanted: Vec::new(),
        since: None,
        before: None,
        archived: false,
        superseded: false,
        floor: None,
        k: usize::MAX,
    }
}

#[test]
fn an_hour_or_a_turn_takes_its_share_once() {
    let (log, mut shelf) = (log(), shelf());
    let mut ids = Vec::new();
    for (at, decay) in [
        (0, 0.5),
        (2 * HOUR, 0.5),
        (0, 1.0),
        (0, 0.0),
        (5 * HOUR, 0.5),
    ] {
        let more = [("time", Value::Time(at)), ("decay", Value::Float(decay))];
        ids.push(put(
            &log,
            &[u8::try_from(ids.len()).unwrap()],
            "ferry",
            &more,
        ));
    }
    refresh(&mut shelf, &log);
    let now = 3 * HOUR;
    let cases = [
        (Age::None, [1.0, 1.0, 1.0, 1.0, 1.0]),
        (Age::Hours(now), [0.125, 0.5, 1.0, 0.0, 1.0]),
        (
            Age::Hours(now + HOUR / 2),
            [0.5_f64.powf(3.5), 0.5_f64.powf(1.5), 1.0, 0.0, 1.0],
        ),
        // A message of the same moment is no later one.
        (
            Age::Turns(vec![0, HOUR, 2 * HOUR, now]),
            [0.125, 0.5, 1.0, 0.0, 1.0],
        ),
        (Age::Turns(Vec::new()), [1.0, 1.0, 1.0, 1.0, 1.0]),
    ];
    let terms = ["ferri".to_owned(), "storm".to_owned()];
    let weights = Weights {
        lexical: 0.5,
        dense: 0.5,
        ..Weights::default()
    };
    let question = Question {
        vector: None,
        terms: &terms,
        weights,
    };
    for (age, expected) in cases {
        let plain = shelf.find(&[asked()], None, &age).unwrap().remove(0).found;
        let asked = shelf
            .find(&[asked()], Some(&question), &age)
            .unwrap()
            .remove(0)
            .found;
        for (id, share) in ids.iter().zip(expected) {
            let one = plain.iter().find(|one| one.id == *id).unwrap();
            assert!((one.relevance - share).abs() < 1e-9, "{age:?} {one:?}");
            let one = asked.iter().find(|one| one.id == *id).unwrap();
            assert!(one.similarity > 0.0 && one.similarity < 1.0);
            assert!((one.relevance - share * f64::from(one.similarity)).abs() < 1e-6);
        }
    }
}

#[test]
fn similarity_is_the_weighted_mean_of_vectors_and_words() {
    let (log, mut shelf) = (log(), shelf());
    let far = put(&log, b"far", "storm", &[]);
    let near = put(&log, b"near", "ferry", &[]);
    refresh(&mut shelf, &log);
    shelf.put_vectors(near, &[0.6, 0.8], 2).unwrap();
    shelf.put_vectors(far, &[-1.0, 0.0], 2).unwrap();
    let terms = ["ferri".to_owned()];
    let weights = Weights {
        dense: 3.0,
        lexical: 1.0,
        ..Weights::default()
    };
    let with = |vector| Question {
        vector,
        terms: &terms,
        weights,
    };
    let found = |shelf: &Shelf, question: &Question<'_>, floor| {
        let ask = Ask { floor, ..asked() };
        shelf
            .find(&[ask], Some(question), &Age::None)
            .unwrap()
            .remove(0)
            .found
    };
    let words = found(&shelf, &with(None), None);
    assert_eq!((words[0].id, words[1].similarity), (near, 0.0));
    let lexical = words[0].similarity;
    let both = found(&shelf, &with(Some(&[1.0, 0.0])), None);
    assert!((both[0].similarity - (3.0 * 0.6 + lexical) / 4.0).abs() < 1e-6);
    assert!((both[0].score - (3.0 * 0.6 + lexical)).abs() < 1e-6);
    assert_eq!((both[1].id, both[1].similarity), (far, 0.0));
    assert_eq!(found(&shelf, &with(Some(&[1.0, 0.0])), Some(0.0)).len(), 1);
    let exact = both[0].similarity;
    assert_eq!(
        found(&shelf, &with(Some(&[1.0, 0.0])), Some(exact)).len(),
        1
    );
    assert_eq!(
        found(&shelf, &with(Some(&[1.0, 0.0])), Some(exact + 1e-3)).len(),
        0
    );
    shelf.clear_vectors();
    let similarity = found(&shelf, &with(Some(&[1.0, 0.0])), None)[0].similarity;
    assert!((similarity - lexical / 4.0).abs() < 1e-6);
}
