//! What a store says about itself, as dictionaries and small dataclasses.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warmset_core::cold::{
    Compacted, Cut, Damage, DamageKind, Erased, ErasureReport, OpenReport, Stats, VerifyReport,
};

type Table<'py> = Bound<'py, PyDict>;

pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Table<'py>> {
    let out = PyDict::new(py);
    out.set_item("records", stats.records)?;
    out.set_item("bytes", stats.bytes)?;
    out.set_item("segments", stats.segments)?;
    out.set_item("next_seq", stats.next_seq.0)?;
    Ok(out)
}

pub(crate) fn opening<'py>(py: Python<'py>, report: &OpenReport) -> PyResult<Table<'py>> {
    let out = PyDict::new(py);
    let cuts = report.cuts.iter().map(|one| cut(py, one));
    out.set_item("cuts", cuts.collect::<PyResult<Vec<_>>>()?)?;
    out.set_item("damages", damages(py, &report.damages)?)?;
    Ok(out)
}

pub(crate) fn verified<'py>(py: Python<'py>, report: &VerifyReport) -> PyResult<Table<'py>> {
    let out = PyDict::new(py);
    out.set_item("records", report.records)?;
    out.set_item("bytes", report.bytes)?;
    out.set_item("damages", damages(py, &report.damages)?)?;
    Ok(out)
}

pub(crate) fn erasures<'py>(py: Python<'py>, report: &ErasureReport) -> PyResult<Table<'py>> {
    let rows = report.erasures.iter().map(|one| {
        let row = PyDict::new(py);
        row.set_item("at", one.at)?;
        row.set_item("upto", one.upto.0)?;
        row.set_item("depth", one.depth)?;
        row.set_item("records", one.records)?;
        Ok(row)
    });
    let out = PyDict::new(py);
    out.set_item("erasures", rows.collect::<PyResult<Vec<_>>>()?)?;
    out.set_item("pending", report.pending)?;
    Ok(out)
}

/// A `warmset.Spooled`.
pub(crate) fn spooled(py: Python<'_>, token: [u8; 16]) -> PyResult<Bound<'_, PyAny>> {
    let token = format!("{:032x}", u128::from_be_bytes(token));
    made(py, "Spooled", (token,))
}

/// Makes a `warmset.ErasureResult`.
pub(crate) fn removed(py: Python<'_>, erased: Erased) -> PyResult<Bound<'_, PyAny>> {
    made(
        py,
        "ErasureResult",
        (erased.records, erased.derived, erased.keys),
    )
}

/// Makes a `warmset.RewriteResult`.
pub(crate) fn compacted(py: Python<'_>, compacted: Compacted) -> PyResult<Bound<'_, PyAny>> {
    made(
        py,
        "RewriteResult",
        (compacted.segments, compacted.records, compacted.bytes),
    )
}

fn made<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("warmset.receipts")?.getattr(class)?.call1(fields)
}

fn cut<'py>(py: Python<'py>, cut: &Cut) -> PyResult<Table<'py>> {
    let row = PyDict::new(py);
    row.set_item("segment", cut.segment)?;
    row.set_item("offset", cut.offset)?;
    row.set_item("bytes", cut.bytes)?;
    row.set_item("aside", &cut.aside)?;
    Ok(row)
}

fn damages<'py>(py: Python<'py>, damages: &[Damage]) -> PyResult<Vec<Table<'py>>> {
    let rows = damages.iter().map(|damage| {
        let row = PyDict::new(py);
        let seqs = damage.seqs.as_ref().map(|s| (s.start().0, s.end().0));
        let kind = match damage.kind {
            DamageKind::Corrupt => "corrupt",
            DamageKind::Truncated => "truncated",
            DamageKind::Missing => "missing",
        };
        row.set_item("segment", damage.segment)?;
        row.set_item("path", &damage.path)?;
        row.set_item("bytes", (damage.bytes.start, damage.bytes.end))?;
        row.set_item("seqs", seqs)?;
        row.set_item("kind", kind)?;
        row.set_item("detail", &damage.detail)?;
        Ok(row)
    });
    rows.collect()
}
