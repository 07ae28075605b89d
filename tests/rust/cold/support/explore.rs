//! The crash states of a workload of the store.

use warmset_core::cold::Options;

use super::crash::Case;
use super::script::{Step, Tape, play};
use super::walk::{Count, Effort, walk};

/// Crashes everywhere in the last step of a sequence; the steps before it are other sequences' last.
/// The error says what did not hold, and how to get there.
pub(crate) fn explore(
    steps: &[Step],
    options: Options,
    effort: Effort,
    seed: u64,
) -> Result<Count, String> {
    let Tape {
        ops,
        last,
        before,
        after,
    } = play(steps, options);
    let case = Case {
        before: &before,
        after: &after,
        returned: false,
        killed: false,
        options,
    };
    let place = |detail| format!("{steps:?} under {options:?}, seed {seed}: {detail}");
    walk(&case, &ops, last, effort, seed).map_err(place)
}
