//! Segments in a saved index.
//!
//! ```text
//! heads       a segment each: kind of codes (0 none, 1 int8, 2 int4, 3 projected), number of rows, the
//!             squares of its projected rows, what of them is unseen, what was when the basis was fitted
//! rows-n      f32, each row padded to whole blocks of sixteen; halves-n, f16, where rows are so kept
//! codes-n     coarse codes; margins-n and ceilings-n: what they are worth
//! lines-n     fine codes; factors-n: what they are worth
//! basis-n     the directions of a projection; left out where they are those of the segment before
//! ```

use std::io::{self, Write};
use std::sync::Arc;

use crate::error::Result;
use crate::hot::codes::basis::Basis;
use crate::hot::codes::head::{Head, Model};
use crate::hot::codes::segment_codes::Codes;
use crate::hot::file::{Saved, Writer};
use crate::hot::vectors::floats::{Floats, Precision};
use crate::hot::vectors::segment::{SEGMENT, Segment, coded};
use crate::simd::Scanner;

/// What a saved index says of a segment.
type Entry = [u64; 5];

/// Writes segments.
pub(in crate::hot) fn save<W: Write>(segments: &[Segment], out: &mut Writer<W>) -> io::Result<()> {
    let entries: Vec<Entry> = segments.iter().map(entry).collect();
    out.section("heads", |section| section.values(&entries))?;
    let mut last: Option<&Arc<Basis>> = None;
    for (at, segment) in segments.iter().enumerate() {
        let end = format!("-{at}");
        segment.rows.save(out, &end)?;
        let Some(codes) = segment.codes() else {
            continue;
        };
        codes.coarse.save(out, &end)?;
        if let Some(fine) = &codes.fine {
            fine.save(out, &end)?;
        }
        if let Model::Projected(basis) = &codes.model
            && !last.is_some_and(|last| Arc::ptr_eq(last, basis))
        {
            let name = format!("basis{end}");
            out.section(&name, |section| section.values(basis.directions()))?;
            last = Some(basis);
        }
    }
    Ok(())
}

fn entry(segment: &Segment) -> Entry {
    let (kind, unseen) = match segment.model() {
        Model::Plain => (0, 0.0),
        Model::Int8 => (1, 0.0),
        Model::Int4 => (2, 0.0),
        Model::Projected(basis) => (3, basis.unseen()),
    };
    let codes = segment.codes();
    let [square, left] = codes.map_or([0.0; 2], |codes| [codes.square, codes.unseen]);
    let rows = u64::try_from(segment.len()).unwrap_or(u64::MAX);
    [
        kind,
        rows,
        square.to_bits(),
        left.to_bits(),
        unseen.to_bits(),
    ]
}

/// The segments of a saved index with so many rows. Where another head is asked for than the one that
/// chooses by itself, or the machine has no kernels for codes, the rows are coded anew.
pub(in crate::hot) fn open(
    saved: &Saved,
    dim: usize,
    precision: Precision,
    head: Head,
    scanner: Scanner,
    rows: usize,
) -> Result<Vec<Segment>> {
    let count = rows.div_ceil(SEGMENT);
    let entries = saved.column_of::<Entry>("heads", count)?;
    let as_saved = head.adapts() && head.from(dim, scanner).is_some();
    let mut segments = Vec::with_capacity(count);
    let mut last: Option<Arc<Basis>> = None;
    for at in 0..count {
        let [kind, filled, square, left, unseen] = entries.get(at).unwrap_or_default();
        saved.damage().check()?;
        let filled = usize::try_from(filled).unwrap_or(usize::MAX);
        if filled != (rows - at * SEGMENT).min(SEGMENT) {
            return Err(saved.lacks("heads"));
        }
        let end = format!("-{at}");
        let mut segment = Segment::new(dim, precision, head, scanner, Model::Plain);
        segment.rows = Floats::open(saved, &end, precision, filled * segment.width())?;
        segment.count = filled;
        if as_saved {
            let model = match kind {
                0 => Model::Plain,
                1 => Model::Int8,
                2 => Model::Int4,
                3 => {
                    let name = format!("basis{end}");
                    if saved.find(&name).is_some() {
                        let directions = saved.column(&name)?.all();
                        saved.damage().check()?;
                        let basis = Basis::open(dim, &directions, f64::from_bits(unseen));
                        last = Some(Arc::new(basis));
                    }
                    let basis = last.clone().ok_or_else(|| saved.lacks(&name))?;
                    Model::Projected(basis)
                }
                _ => return Err(saved.lacks("heads")),
            };
            let has_codes = !matches!(model, Model::Plain);
            segment.codes = Codes::new(model, dim);
            if has_codes {
                segment.codes.coarse.open(saved, &end, coded(filled))?;
                if let Some(fine) = &mut segment.codes.fine {
                    fine.open(saved, &end, coded(filled))?;
                }
                segment.codes.square = f64::from_bits(square);
                segment.codes.unseen = f64::from_bits(left);
            }
        } else if head
            .from(dim, scanner)
            .is_some_and(|from| from <= segment.coded())
        {
            segment.begin();
        }
        segments.push(segment);
    }
    Ok(segments)
}
