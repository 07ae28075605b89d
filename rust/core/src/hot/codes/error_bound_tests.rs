use super::*;
use crate::hot::codes::basis::Basis;
use crate::simd::codes::{Packing, Terms, estimate, margin};
use crate::simd::{Lanes, Scanner, canonical_dot};

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = u32::try_from(self.0 >> 41).unwrap();
        f32::from_bits(0x3f80_0000 | bits) - 1.5
    }

    fn vector(&mut self, dim: usize, scale: f32) -> Vec<f32> {
        (0..dim).map(|_| self.next() * scale).collect()
    }

    /// One value all over: its codes miss next to nothing, and its sums round one way.
    fn level(&mut self, dim: usize) -> Vec<f32> {
        vec![self.next() + 1.0; dim]
    }
}

fn fit(packing: Packing, vector: &[f32], codes: &mut [u8]) -> Fit {
    let mut blocks = Vec::new();
    Lanes::extend(&mut blocks, vector);
    let mut all = vec![0; 16 * blocks.len()];
    let fit = Scanner::best().fit(packing, vector.len(), &blocks, &mut all);
    codes.copy_from_slice(&all[..codes.len()]);
    fit
}

fn signed(codes: &[u8], zero: u8) -> Vec<i32> {
    codes
        .iter()
        .map(|code| i32::from(*code) - i32::from(zero))
        .collect()
}

/// Whether the canonical sum of `x` and `y` is outside of what the codes of `a` and `b` tell.
fn outside(
    (x, y): (&[f32], &[f32]),
    (a, b): (&[i32], &[i32]),
    (row, query): (&Fit, &Fit),
    factors: [f32; 3],
    terms: &Terms,
) -> bool {
    let sum = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let score = estimate(sum, row.scale, query.scale);
    let margin = margin(factors, terms);
    let exact = canonical_dot(x, y);
    exact < score - margin || exact > score + margin
}

/// Whether a pair's canonical sum is outside of its bounds, by codes of the vectors themselves.
fn escapes(slack: &Slack, packing: Packing, x: &[f32], y: &[f32]) -> bool {
    let (mut c, mut q) = (vec![0; x.len()], vec![0; y.len()]);
    let (row, query) = (fit(packing, x, &mut c), fit(Packing::Eight, y, &mut q));
    let codes = (&signed(&c, packing.offset())[..], &signed(&q, 128)[..]);
    outside(
        (x, y),
        codes,
        (&row, &query),
        slack.row(&row),
        &slack.query(&query),
    )
}

/// The same by codes of their projections.
fn escapes_projected(slack: &Slack, skew: &Skew, basis: &Basis, x: &[f32], y: &[f32]) -> bool {
    let projected = |vector: &[f32]| {
        let mut lanes = Vec::new();
        Lanes::extend(&mut lanes, vector);
        let out = basis.project_one(Scanner::best(), &lanes);
        let seen: Vec<f32> = out.iter().flatten().flat_map(|lanes| lanes.0).collect();
        let mut codes = vec![0; seen.len()];
        let fit = fit(Packing::Eight, &seen, &mut codes);
        let norm = vector
            .iter()
            .map(|v| f64::from(*v) * f64::from(*v))
            .sum::<f64>()
            .sqrt();
        (signed(&codes, 128), fit, norm)
    };
    let ((c, row, x_norm), (q, query, y_norm)) = (projected(x), projected(y));
    let factors = slack.projected_row(skew, &row, x_norm);
    let terms = slack.projected_query(skew, &query, y_norm);
    outside((x, y), (&c, &q), (&row, &query), factors, &terms)
}

/// Pairs that come close to each part of the bound, and pairs of every size.
fn pairs(dims: &[usize], turns: usize, mut visit: impl FnMut(&[f32], &[f32])) {
    let mut noise = Noise(11);
    for turn in 0..turns {
        let dim = dims[turn % dims.len()];
        for scale in [1e-40, 1e-23, 1e-10, 1.0, 1e6, 1e16] {
            let x = noise.vector(dim, scale);
            visit(&x, &noise.vector(dim, 1.0));
            visit(&x, &noise.vector(dim, scale));
            visit(&x, &x);
            // The row lies along what the query's codes miss.
            let mut codes = vec![0; dim];
            let fit = fit(Packing::Eight, &x, &mut codes);
            let missed: Vec<f32> = codes
                .iter()
                .zip(&x)
                .map(|(code, value)| value - fit.scale * (f32::from(*code) - 128.0))
                .collect();
            visit(&missed, &x);
            visit(&x, &missed);
        }
        let (level, spike) = (noise.level(dim), noise.level(1));
        visit(&level, &noise.level(dim));
        let mut x = noise.vector(dim, 1e-3);
        x[0] = spike[0] * 1e12;
        visit(&x, &noise.vector(dim, 1.0));
        visit(&x, &x);
    }
}

const DIMS: [usize; 8] = [1, 3, 31, 64, 384, 1536, 6_144, 24_576];

#[test]
fn the_canonical_sum_is_within_its_bounds() {
    let mut count = 0;
    for packing in [Packing::Eight, Packing::Four] {
        pairs(&DIMS, 300, |x, y| {
            count += 1;
            assert!(
                !escapes(&Slack::of(x.len()), packing, x, y),
                "{packing:?} {x:?} {y:?}"
            );
        });
    }
    assert!(count > 10_000, "{count} pairs");
}

#[test]
fn a_bound_that_forgets_a_part_is_found_out() {
    type Mistake = (&'static str, fn(&mut Slack));
    let mistakes: [Mistake; 6] = [
        ("what the row's codes miss", |slack| slack.row = 0.0),
        ("a tenth of it", |slack| slack.row = 0.9),
        ("what the query's codes miss", |slack| slack.query = 0.0),
        ("a tenth of that", |slack| slack.query = 0.9),
        ("the canonical sum's rounding", |slack| slack.gamma = 0.0),
        ("what is lost among the smallest", |slack| slack.grain = 0),
    ];
    for (name, forget) in mistakes {
        let mut escaped = 0;
        pairs(&DIMS, 300, |x, y| {
            let mut slack = Slack::of(x.len());
            forget(&mut slack);
            escaped += usize::from(escapes(&slack, Packing::Eight, x, y));
        });
        assert!(escaped > 0, "{name}");
    }
}

/// A basis that fits a sample, one that fits nothing, and one of a few directions.
fn bases(dim: usize) -> Vec<Basis> {
    let mut noise = Noise(23);
    let rows: Vec<Vec<Lanes>> = (0..40)
        .map(|_| {
            let mut row = Vec::new();
            Lanes::extend(&mut row, &noise.vector(dim, 1.0));
            row
        })
        .collect();
    let sample: Vec<&[Lanes]> = rows.iter().map(Vec::as_slice).collect();
    let scanner = Scanner::best();
    vec![
        Basis::fit(scanner, dim, &sample, 16.min(dim)),
        Basis::fit(scanner, dim, &sample, 1),
        Basis::fit(scanner, dim, &[], 4),
    ]
}

#[test]
fn projections_keep_their_bounds() {
    let mut count = 0;
    for dim in [1, 3, 31, 64, 384] {
        for basis in bases(dim) {
            pairs(&[dim], 40, |x, y| {
                count += 1;
                let slack = Slack::of(dim);
                assert!(
                    !escapes_projected(&slack, &basis.skew, &basis, x, y),
                    "{x:?} {y:?}"
                );
                // Rows and queries within the span, where nothing is unseen.
                let seen: Vec<f32> = basis.direction(count).iter().map(|v| v * 0.5).collect();
                assert!(!escapes_projected(&slack, &basis.skew, &basis, &seen, y));
                assert!(!escapes_projected(&slack, &basis.skew, &basis, x, &seen));
                assert!(!escapes_projected(
                    &slack,
                    &basis.skew,
                    &basis,
                    &seen,
                    &seen
                ));
            });
        }
    }
    assert!(count > 5_000, "{count} pairs");
}

#[test]
fn a_projection_that_forgets_a_part_is_found_out() {
    type Mistake = (&'static str, fn(&mut Skew, &mut Slack));
    let mistakes: [Mistake; 4] = [
        ("what is unseen", |skew, _| skew.tail = 0.0),
        ("a tenth of it", |skew, _| skew.tail = 0.9),
        ("what the row's codes miss", |_, slack| slack.row = 0.0),
        ("what the query's codes miss", |_, slack| slack.query = 0.0),
    ];
    for (name, forget) in mistakes {
        let mut escaped = 0;
        for dim in [3, 64, 384] {
            for basis in bases(dim) {
                let (mut skew, mut slack) = (basis.skew, Slack::of(dim));
                forget(&mut skew, &mut slack);
                pairs(&[dim], 40, |x, y| {
                    escaped += usize::from(escapes_projected(&slack, &skew, &basis, x, y));
                });
            }
        }
        assert!(escaped > 0, "{name}");
    }
}

#[test]
fn directions_that_are_not_orthonormal_are_paid_for() {
    // Nearly the same direction twice, and lengths that are not one.
    let mut noise = Noise(5);
    let mut span: Vec<Vec<f64>> = (0..6)
        .map(|_| {
            noise
                .vector(48, 1.0)
                .iter()
                .map(|v| f64::from(*v))
                .collect()
        })
        .collect();
    span[1] = span[0].iter().map(|v| v * 1.01).collect();
    let basis = Basis::of(48, &span);
    assert!(basis.skew.delta > 1.0);
    let (slack, mut forgetful, mut escaped) = (Slack::of(48), basis.skew, 0);
    forgetful.delta = 0.0;
    pairs(&[48], 200, |x, y| {
        assert!(
            !escapes_projected(&slack, &basis.skew, &basis, x, y),
            "{x:?} {y:?}"
        );
        escaped += usize::from(escapes_projected(&slack, &forgetful, &basis, x, y));
    });
    assert!(escaped > 0, "what directions have in common");
}
