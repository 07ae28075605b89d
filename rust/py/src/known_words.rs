//! Which of some words a text has, so that the patterns of the others need not be tried.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyString;
use warmset_core::text::runs;

use crate::convert::text as text_of;

/// Words that are looked for in texts: runs of the letters a to z, runs of the digits 0 to 9, or a
/// stroke.
///
/// Args:
///     words: The words.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct KnownWords {
    known: HashMap<Box<[u8]>, Py<PyString>>,
    longest: usize,
}

#[pymethods]
impl KnownWords {
    #[new]
    fn new(words: Vec<Bound<'_, PyString>>) -> Self {
        let known: HashMap<Box<[u8]>, _> = words
            .into_iter()
            .map(|word| (text_of(&word).as_bytes().into(), word.unbind()))
            .collect();
        let longest = known.keys().map(|word| word.len()).max().unwrap_or(0);
        Self { known, longest }
    }

    /// Return those words that a text has, in order, with repeats.
    ///
    /// Args:
    ///     text: Any text, in lower case. A word begins and ends where letters or digits do.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn among<'py>(
        &self,
        py: Python<'py>,
        text: Bound<'py, PyString>,
    ) -> Vec<&Bound<'py, PyString>> {
        let text = text_of(&text);
        runs(&text)
            .filter(|run| run.len() <= self.longest)
            .filter_map(|run| self.known.get(run))
            .map(|word| word.bind(py))
            .collect()
    }
}
