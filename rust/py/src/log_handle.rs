//! Cells and lists in a store, as `warmset._core.LogHandle`; `warmset.native.Log` calls it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods, PyString, PyTuple};
use warmset_core::cold::{Ack, Scope};
use warmset_core::log::{self, Batch, Followed, MAX_PARTS, Order, Position, Read, Scan, Seen};
use warmset_core::{Error, Seq};

use crate::cold_arguments::{ids, whole, wrong};
use crate::cold_report as report;
use crate::cold_store::ColdStore;
use crate::error::{invalid, not_found, raise};
use crate::log_arguments::{Parts, bytes, flag, id, key, limit, moment, order, slices};
use crate::log_changes::Change;
use crate::log_outcome::Outcome;
use crate::log_results::{self as results, Cell, Entry, Listed};
use crate::log_rows::Given;
use crate::log_where::filter;
use crate::signals::run;

/// The log of a store; `warmset.native.Log` describes each call.
#[pyclass(frozen, module = "warmset._core")]
pub(crate) struct LogHandle {
    pub(crate) log: log::Log,
    /// Kept open as long as the log is in use.
    store: Py<ColdStore>,
}

#[pymethods]
impl LogHandle {
    #[new]
    fn new(store: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = store;
        let store = given.cast::<ColdStore>();
        let store = store.map_err(|_| wrong("store", "a ColdStore", given))?;
        Ok(Self {
            log: log::Log::new(Arc::clone(&store.get().store)),
            store: store.clone().unbind(),
        })
    }

    #[getter]
    fn store(&self, py: Python<'_>) -> Py<ColdStore> {
        self.store.clone_ref(py)
    }

    #[expect(clippy::too_many_arguments, reason = "each an option of the batch")]
    fn write(
        &self,
        rows: &Bound<'_, PyAny>,
        expect: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        depth: &Bound<'_, PyAny>,
        once: &Bound<'_, PyAny>,
        sync: &Bound<'_, PyAny>,
        spool: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Outcome>> {
        let (py, now) = (rows.py(), clock(now)?);
        let given = Given::of(rows, expect, now)?;
        let parts = slices(&given.parts);
        let (rows, expect) = (given.rows(&parts), given.expect(&parts));
        let depth = self::depth(depth)?;
        let once = some(once).map(|once| {
            let name = bytes(once);
            name.ok_or_else(|| wrong("once", "a name of bytes or str, or None", once))
        });
        let (once, sync) = (once.transpose()?, flag("sync", sync)?);
        let spools = flag("spool", spool)?;
        let batch = Batch {
            expect: &expect,
            now,
            depth,
            once,
            ack: if sync { Ack::Durable } else { Ack::Written },
            spools,
            ..Batch::new(&rows)
        };
        let outcomes = run(py, || match self.log.write(&batch) {
            // The cell of a patch: its id, if it has one, is not what is missing.
            Err(Error::NotFound { .. }) => Ok(None),
            other => other.map(Some),
        })?;
        let absent = "a Patch names a cell that is not there or has expired; nothing was written";
        let outcomes = outcomes.ok_or_else(|| not_found(absent))?;
        Ok(outcomes.into_iter().map(Outcome::from).collect())
    }

    fn get(&self, key: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<Option<Cell>> {
        let (py, now, parts) = (key.py(), clock(now)?, self::key("key", key)?);
        let key = slices(&parts);
        Ok(run(py, || self.log.get(&key, now))?.map(Cell::from))
    }

    fn version(&self, key: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (py, now, parts) = (key.py(), clock(now)?, self::key("key", key)?);
        let key = slices(&parts);
        let version = run(py, || self.log.version(&key, now))?;
        Ok(version.unwrap_or_default().0)
    }

    fn tail(&self, list: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (py, parts) = (list.py(), key("list", list)?);
        let list = slices(&parts);
        run(py, || self.log.tail(&list)).map(|tail| tail.0)
    }

    fn entries(
        &self,
        list: &Bound<'_, PyAny>,
        after: &Bound<'_, PyAny>,
        limit: &Bound<'_, PyAny>,
        reverse: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Entry>> {
        let (py, parts) = (list.py(), key("list", list)?);
        let list = slices(&parts);
        let after: Option<Seq> = some(after).map(|after| id("after", after)).transpose()?;
        let (limit, reverse) = (self::limit(limit)?, flag("reverse", reverse)?);
        let now = clock(now)?;
        let found = run(py, || self.log.entries(&list, after, limit, reverse, now))?;
        Ok(found.into_iter().map(Entry::from).collect())
    }

    #[expect(clippy::too_many_arguments, reason = "each an option of the scan")]
    fn scan(
        &self,
        prefix: &Bound<'_, PyAny>,
        r#where: &Bound<'_, PyAny>,
        order: &Bound<'_, PyAny>,
        reverse: &Bound<'_, PyAny>,
        after: &Bound<'_, PyAny>,
        limit: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Listed>> {
        let (py, parts) = (prefix.py(), key("prefix", prefix)?);
        let after = some(after).map(|after| {
            let listed = after.cast::<Listed>();
            listed.map_err(|_| wrong("after", "the last Listed of a page, or None", after))
        });
        let (prefix, filter) = (slices(&parts), filter(r#where)?);
        let after = after.transpose()?.map(|after| &after.get().0);
        let scan = Scan {
            prefix: &prefix,
            filter: filter.as_ref(),
            order: self::order(order)?,
            reverse: flag("reverse", reverse)?,
            beyond: after,
            limit: self::limit(limit)?,
            now: clock(now)?,
        };
        let found = run(py, || self.log.scan(&scan))?;
        Ok(found.into_iter().map(Listed::from).collect())
    }

    fn count(
        &self,
        prefix: &Bound<'_, PyAny>,
        r#where: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let (py, parts) = (prefix.py(), key("prefix", prefix)?);
        let (prefix, filter) = (slices(&parts), filter(r#where)?);
        let scan = Scan {
            prefix: &prefix,
            filter: filter.as_ref(),
            order: Order::Key,
            reverse: false,
            beyond: None,
            limit: usize::MAX,
            now: clock(now)?,
        };
        run(py, || self.log.count(&scan))
    }

    fn spaces<'py>(
        &self,
        prefix: &Bound<'py, PyAny>,
        depth: &Bound<'py, PyAny>,
        after: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let (py, parts) = (prefix.py(), key("prefix", prefix)?);
        let prefix = slices(&parts);
        let parts = whole(depth).and_then(|depth| usize::try_from(depth).ok());
        let parts = parts.filter(|parts| (prefix.len()..=MAX_PARTS).contains(parts) && *parts > 0);
        let parts = parts.ok_or_else(|| {
            let least = prefix.len().max(1);
            let what = format!("a number of parts from {least} to {MAX_PARTS}");
            wrong("depth", &what, depth)
        })?;
        let after = some(after).map(|after| {
            let parts = key("after", after)?;
            Ok::<_, PyErr>(
                slices(&parts)
                    .into_iter()
                    .map(<[u8]>::to_vec)
                    .collect::<Vec<_>>(),
            )
        });
        let (after, limit) = (after.transpose()?, self::limit(limit)?);
        let found = run(py, || {
            self.log.spaces(&prefix, parts, after.as_deref(), limit)
        })?;
        found.iter().map(|space| results::key(py, space)).collect()
    }

    fn view(
        &self,
        cells: &Bound<'_, PyAny>,
        lists: &Bound<'_, PyAny>,
        limit: &Bound<'_, PyAny>,
        reverse: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<Viewed> {
        let py = cells.py();
        let (cells, lists) = (keys("cells", cells)?, keys("lists", lists)?);
        let cells: Vec<Vec<&[u8]>> = cells.iter().map(|parts| slices(parts)).collect();
        let lists: Vec<Vec<&[u8]>> = lists.iter().map(|parts| slices(parts)).collect();
        let (limit, reverse) = (self::limit(limit)?, flag("reverse", reverse)?);
        let now = clock(now)?;
        let gets = cells.iter().map(|key| Read::Get(key));
        let pages = lists.iter().map(|list| Read::Entries {
            list,
            beyond: None,
            limit,
            reverse,
        });
        let tails = lists.iter().map(|list| Read::Tail(list));
        let reads: Vec<Read<'_>> = gets.chain(pages).chain(tails).collect();
        let (mut cells, mut lists, mut tails) = (Vec::new(), Vec::new(), Vec::new());
        for seen in run(py, || self.log.view(&reads, now))? {
            match seen {
                Seen::Cell(cell) => cells.push(cell.map(|cell| Cell::from(*cell))),
                Seen::Entries(all) => lists.push(all.into_iter().map(Entry::from).collect()),
                Seen::Tail(tail) => tails.push(tail.0),
            }
        }
        Ok((cells, lists, tails))
    }

    fn copy(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        depth: &Bound<'_, PyAny>,
        sync: &Bound<'_, PyAny>,
    ) -> PyResult<(usize, usize)> {
        let py = source.py();
        let (source, target) = (key("source", source)?, key("target", target)?);
        let (source, target) = (slices(&source), slices(&target));
        let (now, depth, sync) = (clock(now)?, self::depth(depth)?, flag("sync", sync)?);
        let ack = if sync { Ack::Durable } else { Ack::Written };
        let copied = run(py, || self.log.copy(&source, &target, depth, now, ack))?;
        Ok((copied.cells, copied.entries))
    }

    fn erase<'py>(
        &self,
        prefix: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = prefix.py();
        let erased = match (some(prefix), some(ids)) {
            (Some(prefix), None) => {
                let parts = key("prefix", prefix)?;
                let parts = slices(&parts);
                run(py, || self.log.erase(Scope::Prefix(&parts)))?
            }
            (None, Some(ids)) => {
                let seqs = self::ids("ids", ids)?;
                run(py, || self.log.erase(Scope::Records(&seqs)))?
            }
            _ => return Err(invalid("erase: expected either prefix or ids")),
        };
        report::removed(py, erased)
    }

    fn compact<'py>(&self, now: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, now) = (now.py(), clock(now)?);
        report::compacted(py, run(py, || self.log.compact(now))?)
    }

    fn sweep(&self, now: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, now) = (now.py(), clock(now)?);
        run(py, || self.log.sweep(now))
    }

    fn follow<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        prefix: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Vec<Change>, Bound<'py, PyBytes>)>> {
        let (py, parts) = (prefix.py(), key("prefix", prefix)?);
        let position = some(position).map(|given| {
            let bytes = given.cast::<PyBytes>();
            let bytes =
                bytes.map_err(|_| wrong("position", "bytes that the log gave, or None", given))?;
            Position::from_bytes(bytes.as_bytes()).map_err(raise)
        });
        let (prefix, position, limit) =
            (slices(&parts), position.transpose()?, self::limit(limit)?);
        let found = run(py, || self.log.follow(position.as_ref(), &prefix, limit))?;
        Ok(match found {
            Followed::Changes(changes, position) => {
                let changes = changes.into_iter().map(Change::from).collect();
                Some((changes, PyBytes::new(py, &position.to_bytes())))
            }
            Followed::Rebuild => None,
        })
    }
}

/// Cells, the entries of lists, and the ids of their last ones.
type Viewed = (Vec<Option<Cell>>, Vec<Vec<Entry>>, Vec<u64>);

/// The caller's clock; the wall clock for `None`.
fn clock(now: &Bound<'_, PyAny>) -> PyResult<i64> {
    some(now).map_or_else(|| Ok(log::now()), |now| moment("now", now))
}

/// How many parts of a key name whose it is.
fn depth(given: &Bound<'_, PyAny>) -> PyResult<u8> {
    let depth = whole(given).and_then(|depth| u8::try_from(depth).ok());
    depth.ok_or_else(|| wrong("depth", "a number of parts, 0 for the usual two", given))
}

/// The parts of several keys.
fn keys<'py>(name: &str, given: &Bound<'py, PyAny>) -> PyResult<Vec<Parts<'py>>> {
    let several = if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        None
    } else {
        given.try_iter().ok()
    };
    let several = several.ok_or_else(|| wrong(name, "a sequence of keys", given))?;
    let numbered = several.enumerate();
    let keys = numbered.map(|(at, one)| key(format_args!("{name}[{at}]"), &one?));
    keys.collect()
}

fn some<'a, 'py>(given: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyAny>> {
    (!given.is_none()).then_some(given)
}
