//! The log at 100,000 cells: a figure for each of its bars, as a line of JSON each.
//!
//! ```text
//! cargo bench -p warmset-core --bench log -- [--place DIR] [open erase remove put look filter lists rewrites absent]
//! ```
//!
//! What a call answers is checked before its time counts. Times are microseconds; the value is the median of calls
//! unless its name says otherwise, of the processor where nobody is waited for. No figure is asserted: `hold` is the bar, and whoever reads judges.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a bench may panic, and rounds its figures"
)]

mod absent;
mod cells;
mod figure;
mod lists;
mod material;
mod rewrites;

use std::path::PathBuf;

fn main() {
    // What cargo passes to every bench.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut place, mut only) = (std::env::temp_dir(), Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--place" => place = PathBuf::from(words.next().unwrap()),
            absent::CHILD => return absent::child(&words.collect::<Vec<_>>()),
            _ => only.push(word),
        }
    }
    let place = tempfile::tempdir_in(place).unwrap();
    let place = place.path();
    let all: [(&str, &dyn Fn()); 9] = [
        ("open", &|| cells::open(place)),
        ("erase", &|| cells::erase(place)),
        ("remove", &|| cells::remove(place)),
        ("put", &|| cells::put(place)),
        ("look", &|| cells::look(place)),
        ("filter", &|| cells::filter(place)),
        ("lists", &|| lists::lists(place)),
        ("rewrites", &|| rewrites::rewrites(place)),
        ("absent", &|| absent::absent(place)),
    ];
    for (name, run) in all {
        if only.is_empty() || only.iter().any(|word| word == name) {
            run();
        }
    }
}
