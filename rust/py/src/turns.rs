//! The messages of one conversation: what follows what, and what is known of each.

use std::collections::{HashMap, HashSet};

use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use warmset_core::Seq;
use warmset_core::turns::{Digest, Flags, Told, Turns as Inner};

use crate::error::{invalid, raise};
use crate::facts::{fact, id, text_of};
use crate::guarded::Guarded;
use crate::units::Units;

/// The messages of one conversation as a tree, of which one path is current, with what is known of each.
///
/// Messages are known by their ids, contents by their hashes of 16 bytes. 0 stands for the parent of a
/// first message.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct Turns {
    inner: Guarded<Inner>,
}

type Columns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

impl Turns {
    /// Messages that were saved.
    pub(crate) fn of(turns: Inner) -> Self {
        Self {
            inner: Guarded::new(turns),
        }
    }

    /// A copy of the messages.
    pub(crate) fn copied(&self, py: Python<'_>) -> Inner {
        self.inner.read(py).clone()
    }
}

#[pymethods]
impl Turns {
    #[new]
    fn new() -> Self {
        Self {
            inner: Guarded::default(),
        }
    }

    /// Take a message up at the end of the path.
    ///
    /// Args:
    ///     id: Its id, above all others.
    ///     digest: The hash of its content.
    ///     facts: What it says and links to.
    ///     speaker: Who said it, where somebody is named.
    ///     at: When, in seconds since 1970 UTC.
    ///     tokens: What it costs verbatim.
    ///     session: The number of its session.
    ///     decision: Whether it settles something.
    ///     blank: Whether it says nothing that could be indexed.
    ///     key: The caller's own name of it.
    ///     beside: Bytes that are kept beside it.
    ///
    /// Raises:
    ///     InvalidInputError: The id is not above all others, or the hash has another length.
    #[pyo3(signature = (id, digest, facts, *, speaker, at, tokens, session, decision, blank, key, beside))]
    #[expect(clippy::too_many_arguments, reason = "one for each fact, by name")]
    fn add(
        &self,
        py: Python<'_>,
        id: u64,
        digest: &[u8],
        facts: &Bound<'_, PyAny>,
        speaker: Option<&Bound<'_, PyAny>>,
        at: f64,
        tokens: u64,
        session: u64,
        decision: bool,
        blank: bool,
        key: Option<&Bound<'_, PyAny>>,
        beside: Option<&[u8]>,
    ) -> PyResult<()> {
        let told = Told {
            fact: fact(facts)?,
            role: self::id(&facts.getattr("role")?)?,
            speaker: speaker.map(self::id).transpose()?,
            at,
            tokens,
            session,
            decision,
            blank,
            key: key.map(self::id).transpose()?,
            beside: beside.map(Into::into),
        };
        let digest = hash(digest)?;
        self.inner
            .write(py)
            .add(Seq(id), digest, told)
            .map_err(raise)
    }

    /// Return how many messages there are, on every branch.
    fn __len__(&self, py: Python<'_>) -> usize {
        self.inner.read(py).tree().ids().len()
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> bool {
        let id = id.extract::<u64>().ok();
        id.is_some_and(|id| self.inner.read(py).tree().place(Seq(id)).is_some())
    }

    /// Return the ids of all messages, ascending.
    fn ids(&self, py: Python<'_>) -> Vec<u64> {
        numbers(self.inner.read(py).tree().ids())
    }

    /// Return the ids of the messages of the current path, ascending.
    fn path(&self, py: Python<'_>) -> Vec<u64> {
        numbers(self.inner.read(py).tree().path())
    }

    /// Return the content hash of a message.
    ///
    /// Raises:
    ///     KeyError: There is no such message.
    fn digest<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyBytes>> {
        let digest = self.inner.read(py).tree().digest(Seq(id));
        let digest = digest.ok_or_else(|| PyKeyError::new_err(id))?;
        Ok(PyBytes::new(py, &digest))
    }

    /// Return every message with its content hash, in the order of ids.
    fn digests<'py>(&self, py: Python<'py>) -> Vec<(u64, Bound<'py, PyBytes>)> {
        let turns = self.inner.read(py);
        let all = turns.tree().ids().iter().zip(turns.tree().digests());
        all.map(|(id, digest)| (id.0, PyBytes::new(py, digest)))
            .collect()
    }

    /// Return what a message follows; 0 for nothing.
    ///
    /// Raises:
    ///     KeyError: There is no such message.
    fn parent(&self, py: Python<'_>, id: u64) -> PyResult<u64> {
        let parent = self.inner.read(py).tree().parent(Seq(id));
        Ok(parent.ok_or_else(|| PyKeyError::new_err(id))?.0)
    }

    /// Return the last message before an id; None if there is none.
    fn before(&self, py: Python<'_>, id: u64) -> Option<u64> {
        self.inner.read(py).tree().before(Seq(id)).map(|one| one.0)
    }

    /// Return the messages that follow a message, or 0, ascending.
    fn following(&self, py: Python<'_>, id: u64) -> Vec<u64> {
        numbers(self.inner.write(py).tree_mut().following(Seq(id)))
    }

    /// Return the messages that follow one of some messages, ascending.
    fn children(&self, py: Python<'_>, ids: Vec<u64>) -> Vec<u64> {
        let of: HashSet<Seq> = ids.into_iter().map(Seq).collect();
        numbers(&self.inner.read(py).tree().children(&of))
    }

    /// Return the last message of a content that follows a message, or 0; None if none does.
    fn with_content(&self, py: Python<'_>, after: u64, digest: &[u8]) -> PyResult<Option<u64>> {
        let digest = hash(digest)?;
        let found = self
            .inner
            .write(py)
            .tree_mut()
            .with_content(Seq(after), digest);
        Ok(found.map(|id| id.0))
    }

    /// Return the newest message of each wanted content that is there.
    #[expect(clippy::needless_pass_by_value, reason = "how arguments arrive")]
    fn among<'py>(
        &self,
        py: Python<'py>,
        wanted: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let hashes = wanted.iter().map(|one| hash(one.as_bytes()));
        let wanted: HashSet<Digest> = hashes.collect::<PyResult<_>>()?;
        let found: HashMap<Digest, Seq> = self.inner.read(py).tree().among(&wanted);
        let made = PyDict::new(py);
        for (digest, id) in found {
            made.set_item(PyBytes::new(py, &digest), id.0)?;
        }
        Ok(made)
    }

    /// Return how many messages of the path, from the first on, a list has by its hashes.
    fn along_path(&self, digests: &Bound<'_, PyList>) -> usize {
        let hashes = digests
            .iter()
            .map_while(|one| Digest::try_from(one.cast::<PyBytes>().ok()?.as_bytes()).ok());
        let inner = self.inner.read(digests.py());
        inner.tree().along_path(hashes)
    }

    /// Make messages follow earlier ones, or 0; the path stays as it is until `move`.
    ///
    /// Raises:
    ///     InvalidInputError: One is no message, or would follow one that is not earlier.
    fn relink(&self, py: Python<'_>, parents: Vec<(u64, u64)>) -> PyResult<()> {
        let parents: Vec<(Seq, Seq)> = parents
            .into_iter()
            .map(|(id, parent)| (Seq(id), Seq(parent)))
            .collect();
        self.inner
            .write(py)
            .tree_mut()
            .relink(&parents)
            .map_err(raise)
    }

    /// Make another message, or 0 for none, the end of the path.
    ///
    /// Returns:
    ///     The messages that left the path, and those that joined it.
    ///
    /// Raises:
    ///     InvalidInputError: There is no such message.
    fn move_to(&self, py: Python<'_>, head: u64) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let moved = self.inner.write(py).tree_mut().move_to(Seq(head));
        let (left, joined) = moved.map_err(raise)?;
        Ok((numbers(&left), numbers(&joined)))
    }

    /// Return what is known of a message: the name of its role, the calls that it makes and answers,
    /// the id of an item, request, bond, keep, thinks; then the speaker, the time, the tokens, the
    /// session, decision, blank, the key, and the bytes beside it.
    ///
    /// Raises:
    ///     KeyError: There is no such message.
    fn row<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyTuple>> {
        let turns = self.inner.read(py);
        let row = turns.row(Seq(id)).ok_or_else(|| PyKeyError::new_err(id))?;
        let links = turns.links(Seq(id));
        let texts = |ids: Option<&Vec<_>>| -> PyResult<Bound<'py, PyTuple>> {
            let ids: &[Box<[u8]>] = ids.map_or(&[], Vec::as_slice);
            let texts = ids.iter().map(|one| text_of(py, one));
            PyTuple::new(py, texts.collect::<PyResult<Vec<Bound<'py, PyString>>>>()?)
        };
        let text = |one: Option<&[u8]>| one.map(|one| text_of(py, one)).transpose();
        let role = turns.roles().name(row.role).unwrap_or_default();
        let speaker = row.speaker.and_then(|name| turns.speakers().name(name));
        let item = links.and_then(|links| links.item.as_deref());
        let key = links.and_then(|links| links.key.as_deref());
        let beside = links.and_then(|links| links.beside.as_deref());
        let named = (
            text_of(py, role)?,
            texts(links.map(|links| &links.calls))?,
            texts(links.map(|links| &links.results))?,
            text_of(py, item.unwrap_or_default())?,
            row.flags.has(Flags::REQUEST),
            row.bond.number(),
            row.flags.has(Flags::KEEP),
            row.flags.has(Flags::THINKS),
        );
        let other = (
            text(speaker)?,
            row.at,
            row.tokens,
            row.session,
            row.flags.has(Flags::DECISION),
            row.flags.has(Flags::BLANK),
            text(key)?,
            beside.map(|beside| PyBytes::new(py, beside)),
        );
        (named, other).into_pyobject(py)
    }

    /// Return a hash of which messages there are, what each follows and says, their sessions, and the
    /// path.
    fn fingerprint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let hash = self.inner.read(py).fingerprint();
        PyBytes::new(py, &hash.to_le_bytes())
    }

    /// Return the names of speakers, each once, in the order in which they were first met.
    fn speakers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyString>>> {
        let turns = self.inner.read(py);
        turns
            .speakers()
            .all()
            .map(|name| text_of(py, name))
            .collect()
    }

    /// Say whether a message settles something.
    fn decide(&self, py: Python<'_>, id: u64, decision: bool) {
        self.inner.write(py).decide(Seq(id), decision);
    }

    /// Return whether messages say nothing that could be indexed, in order; unknown ones do.
    fn blank(&self, py: Python<'_>, ids: Vec<u64>) -> Vec<bool> {
        let turns = self.inner.read(py);
        let blank = |id: u64| {
            turns
                .row(Seq(id))
                .is_none_or(|row| row.flags.has(Flags::BLANK))
        };
        ids.into_iter().map(blank).collect()
    }

    /// Return what messages cost verbatim, in order; 0 for unknown ones.
    fn tokens(&self, py: Python<'_>, ids: Vec<u64>) -> Vec<u32> {
        let turns = self.inner.read(py);
        let tokens = |id: u64| turns.row(Seq(id)).map_or(0, |row| row.tokens);
        ids.into_iter().map(tokens).collect()
    }

    /// Return the first message of the path that has a key; None if none has.
    fn keyed(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let key = id(key)?;
        Ok(self.inner.read(py).keyed(&key).map(|id| id.0))
    }

    /// Return columns of the path from a position on: ids, times, tokens, whether each decides.
    fn columns<'py>(&self, py: Python<'py>, start: usize) -> Columns<'py> {
        let turns = self.inner.read(py);
        let path = turns.tree().path().get(start..).unwrap_or_default();
        let rows: Vec<_> = path.iter().filter_map(|id| turns.row(*id)).collect();
        let rows = || rows.iter();
        let ids = path
            .iter()
            .map(|id| i64::try_from(id.0).unwrap_or(i64::MAX));
        (
            PyArray1::from_iter(py, ids),
            PyArray1::from_iter(py, rows().map(|row| row.at)),
            PyArray1::from_iter(py, rows().map(|row| i64::from(row.tokens))),
            PyArray1::from_iter(py, rows().map(|row| row.flags.has(Flags::DECISION))),
        )
    }

    /// Have units go on with the messages of the path that they lack.
    ///
    /// Args:
    ///     units: The units of the first messages of the path.
    ///     may_continue: Whether the list may go on behind messages that the provider has stored.
    ///
    /// Returns:
    ///     The same units, or those of the whole path where a message makes one unit of two.
    fn count<'py>(
        &self,
        py: Python<'py>,
        units: Bound<'py, Units>,
        may_continue: bool,
    ) -> PyResult<Bound<'py, Units>> {
        let turns = self.inner.read(py);
        let path = turns.tree().path();
        let counted = |id: &Seq| {
            let cost = turns.row(*id).map_or(0, |row| u64::from(row.tokens));
            (turns.fact(*id).unwrap_or_default(), cost)
        };
        let known = units.get().messages(py);
        let fresh = path.get(known..).unwrap_or_default().iter().map(counted);
        if units.get().take_all(py, fresh, may_continue)? {
            return Ok(units);
        }
        let (facts, costs): (Vec<_>, Vec<_>) = path.iter().map(counted).unzip();
        Bound::new(py, Units::whole(&facts, &costs, may_continue)?)
    }
}

fn numbers(ids: &[Seq]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}

fn hash(bytes: &[u8]) -> PyResult<Digest> {
    Digest::try_from(bytes)
        .map_err(|_| invalid(&format!("digest: expected 16 bytes, found {}", bytes.len())))
}
