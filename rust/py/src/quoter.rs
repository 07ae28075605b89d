//! Plain turns as windows show them, with their tokens.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use warmset_core::Seq;
use warmset_core::text::{Names, Needs, Quotes, Rules, plain_text};
use warmset_core::tokens::Encoding;

use crate::cold_arguments::Id;
use crate::cold_store::ColdStore;
use crate::error::raise;

/// A text, and the number of its tokens.
type Line = (String, u64);

/// Quotes turns, and describes them in a line, where their texts are plain.
///
/// Args:
///     dated: Phrases that are followed by a date, each by the sets of words of which it needs one each.
///     reach: How many words further than the first of these the last one stands at most.
///     starters: Words, in lower case, that name nothing where a sentence begins.
///     names: The most names in a line.
///     signs: Signs that may begin a tag; of those in ASCII that is `<` alone.
///     tags: Letters that the names of tags begin with, in lower case.
///     quoted: The most bytes of a text that is quoted.
///     described: The most bytes of a text that is described.
///     summary: The most characters of the beginning of a text that a line shows.
///     encoding: The vocabulary that tokens are counted with.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Quoter {
    quotes: Quotes,
    encoding: Encoding,
}

#[pymethods]
impl Quoter {
    #[new]
    #[pyo3(signature = (*, dated, reach, starters, names, signs, tags, quoted, described, summary, encoding))]
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    #[expect(clippy::too_many_arguments, reason = "one value a rule")]
    fn new(
        dated: Vec<Vec<Vec<PyBackedStr>>>,
        reach: usize,
        starters: Vec<PyBackedStr>,
        names: usize,
        signs: &str,
        tags: &str,
        quoted: usize,
        described: usize,
        summary: usize,
        encoding: &str,
    ) -> PyResult<Self> {
        let dated = dated.iter().map(|sets| {
            let sets = sets.iter();
            sets.map(|set| set.iter().map(|word| &**word))
        });
        let names = Names::new(starters.iter().map(|word| &**word), names);
        let rules = Rules {
            signs: signs.chars().collect(),
            tags: tags.into(),
            quoted,
            described,
            summary,
        };
        Ok(Self {
            quotes: Quotes::new(Needs::new(dated, reach), names, rules),
            encoding: Encoding::named(encoding).map_err(raise)?,
        })
    }

    /// Quote messages of a store; None for each that Python is to look at, for one that is gone too.
    ///
    /// Args:
    ///     store: The store.
    ///     messages: Their ids, each with what stands before its text.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn quotes(
        &self,
        py: Python<'_>,
        store: &Bound<'_, ColdStore>,
        messages: Vec<(Id, String)>,
    ) -> Vec<Option<Line>> {
        self.made(py, store, &messages, Quotes::quote)
    }

    /// Describe messages of a store in a line each; see `quotes`.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn lines(
        &self,
        py: Python<'_>,
        store: &Bound<'_, ColdStore>,
        messages: Vec<(Id, String)>,
    ) -> Vec<Option<Line>> {
        self.made(py, store, &messages, Quotes::line)
    }
}

impl Quoter {
    fn made(
        &self,
        py: Python<'_>,
        store: &Bound<'_, ColdStore>,
        messages: &[(Id, String)],
        make: fn(&Quotes, &str, &str) -> Option<String>,
    ) -> Vec<Option<Line>> {
        let store = &store.get().store;
        py.detach(|| {
            let one = |(id, head): &(Id, String)| {
                let record = store.get(Seq(id.0)).ok()?;
                let text = make(&self.quotes, head, &plain_text(&record.payload)?)?;
                let tokens = self.encoding.count(&text);
                Some((text, tokens))
            };
            messages.iter().map(one).collect()
        })
    }
}
