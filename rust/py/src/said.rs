//! What messages of a store may say, so that Python need not read them all.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use warmset_core::Seq;
use warmset_core::text::{may_have, plain_text};

use crate::cold_arguments::Id;
use crate::cold_store::ColdStore;

/// Which messages may have a word with one of some stems. One that is not plain or not in ASCII always may,
/// and one that is gone.
///
/// Args:
///     store: The store.
///     ids: The messages' ids.
///     stems: Beginnings of words, in lower case.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
pub(crate) fn may_say(
    py: Python<'_>,
    store: &Bound<'_, ColdStore>,
    ids: Vec<Id>,
    stems: Vec<PyBackedStr>,
) -> Vec<bool> {
    let store = &store.get().store;
    py.detach(|| {
        let may = |id: &Id| {
            let record = store.get(Seq(id.0)).ok()?;
            let text = plain_text(&record.payload)?;
            Some(may_have(&text, stems.iter().map(|stem| &**stem)))
        };
        ids.iter().map(|id| may(id).unwrap_or(true)).collect()
    })
}
