//! A complete check: every byte is read, and compared with what is acknowledged.

use std::sync::Arc;

use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::interrupt;

use crate::cold::format::PREAMBLE;
use crate::cold::format::bytes::{narrow, wide};
use crate::cold::format::entries::Entries;
use crate::cold::format::footer::Entry;
use crate::cold::format::header::{Header, Preamble};
use crate::cold::medium::{read_full, refused};
use crate::cold::open::scan::{Place, scan};
use crate::cold::read::index::Index;
use crate::cold::read::segment::Segment;
use crate::cold::read::source::Source;
use crate::cold::report::{Damage, DamageKind, VerifyReport};
use crate::cold::shelf::Shelf;

/// What is said of a record whose key is missing.
pub(in crate::cold) const NO_KEY: &str = "its key is not here";

/// A segment as it was when the check began.
pub(in crate::cold) struct Subject {
    source: Arc<Source>,
    len: u64,
    place: Place,
    /// The ids that opening found.
    known: Entries,
}

impl Subject {
    /// How many bytes are to be read.
    pub(in crate::cold) fn len(&self) -> u64 {
        self.len
    }
}

/// The beginning of a report: the segments that opening could not read, which nothing else tells.
pub(in crate::cold) fn unreadable(index: &Index) -> VerifyReport {
    let numbers = || index.segments.iter().map(|s| s.source.header.number);
    let unread = |damage: &&Damage| !numbers().any(|number| number == damage.segment);
    VerifyReport {
        damages: index.all_damages().filter(unread).cloned().collect(),
        ..VerifyReport::default()
    }
}

/// What to check: every readable segment as far as it is acknowledged at this moment.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn subjects(index: &Index) -> Result<Vec<Subject>> {
    let headers = index.segments.iter().map(|s| s.source.header);
    let nexts = headers.skip(1).map(Some).chain([None]);
    let subject = |(segment, next): (&Segment, Option<Header>)| {
        let held = segment.last().saturating_add(1);
        Ok(Subject {
            source: segment.source.clone(),
            len: segment.len,
            place: match next {
                // Ids between two sealed segments were left out on purpose.
                _ if segment.is_sealed() => Place::Inner(held),
                Some(next) if next.left_at > 0 => Place::Live,
                Some(next) => Place::Inner(next.first_seq.max(held)),
                None => Place::Live,
            },
            known: segment.listing()?.contents.entries.clone(),
        })
    };
    index.segments.iter().zip(nexts).map(subject).collect()
}

/// Reads one segment and adds what it holds to the report.
///
/// # Errors
///
/// What the operating system answers; damage is no error.
pub(in crate::cold) fn check(
    subject: &Subject,
    shelf: &Shelf,
    report: &mut VerifyReport,
) -> Result<()> {
    interrupt::check()?;
    let source = &*subject.source;
    let mut preamble = vec![0; narrow(PREAMBLE)];
    let read = read_full(&*source.file, &mut preamble, 0)
        .map_err(|error| refused("read", &source.path, error))?;
    preamble.truncate(read);
    let blemishes = match Preamble::decode(&preamble) {
        Preamble::Valid(header, blemishes) if header == source.header => blemishes,
        _ => std::iter::once(0..PREAMBLE).collect(),
    };
    let blemishes = blemishes.into_iter().map(|range| source.blemish(range));
    report.damages.extend(blemishes);

    let present = source.len()?.min(subject.len);
    let found = scan(source, present, subject.place)?;
    let lost = without_key(source, &found.entries, shelf)?;
    report.records += wide(found.entries.len().saturating_sub(lost.len()));
    report.damages.extend(lost);
    report.bytes = report.bytes.saturating_add(present);
    let named = |seq: u64| found.damages.iter().any(|d| d.covers(Seq(seq)));
    let intact = |entry: &Entry| {
        found
            .entries
            .binary_search_by_key(&entry.seq, |e| e.seq)
            .is_ok()
    };
    let unnamed = subject.known.iter().filter(|e| !intact(e) && !named(e.seq));
    for entry in unnamed {
        let bytes = entry.offset..entry.offset.saturating_add(entry.len);
        let kind = if bytes.end > present {
            DamageKind::Truncated
        } else {
            DamageKind::Corrupt
        };
        let seqs = entry.seq..=entry.seq;
        report
            .damages
            .push(source.damage(bytes, seqs, kind, "the record is gone"));
    }
    report.damages.extend(found.damages);
    Ok(())
}

/// The records whose key is not here, though this handle has the store's other keys; not those whose
/// key went because they were erased.
fn without_key(source: &Source, entries: &[Entry], shelf: &Shelf) -> Result<Vec<Damage>> {
    let mut lost = Vec::new();
    if !shelf.keyring.is_on() {
        return Ok(lost);
    }
    for entry in entries {
        interrupt::check()?;
        let key = match source.key_id(*entry) {
            // What changed since the scan is the next scan's.
            Err(Error::Corrupt { .. } | Error::Truncated { .. }) | Ok(None) => continue,
            other => other?,
        };
        let Some(Err(Error::NoKey { .. })) = key.map(|id| shelf.keyring.find(id, entry.seq)) else {
            continue;
        };
        let key = source.ties(*entry)?.key;
        // Another process may have erased it since: its tombstone came before the key went.
        if !shelf.fresh()?.erasures.covers(entry.seq, &key) {
            let bytes = entry.offset..entry.offset.saturating_add(entry.len);
            let seqs = entry.seq..=entry.seq;
            lost.push(source.damage(bytes, seqs, DamageKind::Missing, NO_KEY));
        }
    }
    Ok(lost)
}
