//! The names in a text.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;
use warmset_core::text::Names;

/// Finds the names in texts: capitalised words, and what looks like a name in code.
///
/// Args:
///     starters: Words, in lower case, that name nothing where a sentence begins.
///     most: The most names of a text.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct NameFinder(Names);

#[pymethods]
impl NameFinder {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn new(starters: Vec<PyBackedStr>, most: usize) -> Self {
        Self(Names::new(starters.iter().map(|word| &**word), most))
    }

    /// Return the names in a text, in order; None if Python is to look for them: it has letters, digits
    /// or white space that are not in ASCII.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn names(&self, text: Bound<'_, PyString>) -> Option<Vec<String>> {
        self.0.of(text.to_str().ok()?)
    }
}
