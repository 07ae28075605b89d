//! Dicts, and objects of classes derived from them that show what dicts show.

use std::cell::RefCell;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Knows the class that was looked at last, because messages of a list are of few classes.
#[derive(Default)]
pub(crate) struct Dicts<'py> {
    last: RefCell<Option<(Bound<'py, PyType>, bool)>>,
}

impl<'py> Dicts<'py> {
    /// The value as a dict; none if it is none, or its class says itself what it has.
    pub(crate) fn plain<'a>(&self, value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyDict>> {
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return Some(dict);
        }
        let dict = value.cast::<PyDict>().ok()?;
        let class = value.get_type();
        let mut last = self.last.borrow_mut();
        let known = match &*last {
            Some((seen, known)) if seen.is(&class) => *known,
            _ => {
                let known = shows_all(&class);
                *last = Some((class, known));
                known
            }
        };
        known.then_some(dict)
    }
}

fn shows_all(class: &Bound<'_, PyType>) -> bool {
    let base = class.py().get_type::<PyDict>();
    [
        intern!(class.py(), "items"),
        intern!(class.py(), "keys"),
        intern!(class.py(), "get"),
        intern!(class.py(), "__iter__"),
        intern!(class.py(), "__getitem__"),
        intern!(class.py(), "__contains__"),
    ]
    .into_iter()
    .all(|name| match (class.getattr(name), base.getattr(name)) {
        (Ok(ours), Ok(theirs)) => ours.is(&theirs),
        _ => false,
    })
}
