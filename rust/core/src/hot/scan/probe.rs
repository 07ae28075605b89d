//! A query as the steps of a search need it: in full, and as codes.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::hot::codes::basis::Basis;
use crate::hot::codes::error_bound::Slack;
use crate::hot::codes::fine::Coded;
use crate::hot::codes::head::Model;
use crate::simd::codes::{Line, Packing, Panel, Terms};
use crate::simd::{Lanes, Scanner};

/// The eight-bit codes of one vector.
#[derive(Clone, Debug, Default)]
struct Words {
    codes: Vec<i32>,
    sum: i32,
    scale: f32,
    terms: Terms,
}

/// A query.
#[derive(Debug)]
pub(in crate::hot) struct Probe {
    pub(in crate::hot) lanes: Vec<Lanes>,
    norm: f64,
    slack: Slack,
    full: Words,
    /// The codes in lines of a cache; made when finer codes are first compared with them.
    lines: OnceCell<Vec<Line>>,
    /// The codes of its projection on the basis that was asked for last.
    projected: Option<(Arc<Basis>, Words)>,
}

impl Probe {
    /// A query from its values as the metric compares them.
    pub(in crate::hot) fn new(scanner: Scanner, values: &[f32]) -> Self {
        let slack = Slack::of(values.len());
        let mut floats = Vec::new();
        Lanes::extend(&mut floats, values);
        let mut codes = vec![128; values.len().next_multiple_of(64)];
        let fit = scanner.fit(Packing::Eight, values.len(), &floats, &mut codes);
        Self {
            lanes: floats,
            norm: fit.norm,
            slack,
            full: Words::new(&codes, fit.scale, slack.query(&fit)),
            lines: OnceCell::new(),
            projected: None,
        }
    }

    /// Makes the codes that a model's rows are compared with.
    pub(in crate::hot) fn turn_to(&mut self, model: &Model, scanner: Scanner) {
        let Model::Projected(basis) = model else {
            return;
        };
        if matches!(&self.projected, Some((known, _)) if Arc::ptr_eq(known, basis)) {
            return;
        }
        let seen = basis.project_one(scanner, &self.lanes);
        let seen = seen.as_flattened();
        let mut codes = vec![128; size_of_val(seen) / 4];
        let fit = scanner.fit(Packing::Eight, basis.count(), seen, &mut codes);
        let terms = self.slack.projected_query(&basis.skew, &fit, self.norm);
        let words = Words::new(&codes, fit.scale, terms);
        self.projected = Some((Arc::clone(basis), words));
    }

    fn words(&self, model: &Model) -> &Words {
        match (model, &self.projected) {
            (Model::Projected(_), Some((_, words))) => words,
            _ => &self.full,
        }
    }

    /// Its part of the margin of rows of that model.
    pub(in crate::hot) fn terms(&self, model: &Model) -> &Terms {
        &self.words(model).terms
    }

    /// Its codes for rows' eight-bit ones.
    pub(in crate::hot) fn coded(&self) -> Coded<'_> {
        Coded {
            lines: self.lines.get_or_init(|| self.full.lines()),
            bias: self
                .full
                .sum
                .wrapping_mul(-i32::from(Packing::Eight.offset())),
            scale: self.full.scale,
            terms: &self.full.terms,
        }
    }

    /// The codes of several queries; where there are fewer than `M`, the rest are zeros. All of them
    /// have turned to the model.
    pub(in crate::hot) fn panel<'a, const M: usize>(
        probes: impl Iterator<Item = &'a Self>,
        model: &Model,
    ) -> Panel<M> {
        let (mut sums, mut scales) = ([0; M], [0.0; M]);
        let mut words: Vec<[i32; M]> = Vec::new();
        for (at, probe) in probes.enumerate() {
            let one = probe.words(model);
            words.resize(one.codes.len(), [0; M]);
            for (all, word) in words.iter_mut().zip(&one.codes) {
                if let Some(place) = all.get_mut(at) {
                    *place = *word;
                }
            }
            if let (Some(sum), Some(scale)) = (sums.get_mut(at), scales.get_mut(at)) {
                (*sum, *scale) = (one.sum, one.scale);
            }
        }
        Panel {
            words,
            sums,
            scales,
        }
    }
}

impl Words {
    /// The codes in lines of a cache.
    fn lines(&self) -> Vec<Line> {
        let line = |words: &[i32; 16]| {
            let mut line = Line([0; 64]);
            for (bytes, word) in line.0.as_chunks_mut::<4>().0.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
            line
        };
        self.codes.as_chunks::<16>().0.iter().map(line).collect()
    }

    fn new(codes: &[u8], scale: f32, terms: Terms) -> Self {
        let signed = codes
            .iter()
            .map(|code| code.wrapping_sub(128).cast_signed());
        let sum = signed.map(i32::from).sum();
        let (words, _) = codes.as_chunks::<4>();
        Self {
            codes: words
                .iter()
                .map(|word| i32::from_le_bytes(word.map(|code| code.wrapping_sub(128))))
                .collect(),
            sum,
            scale,
            terms,
        }
    }
}
