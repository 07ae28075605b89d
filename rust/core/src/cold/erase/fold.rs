//! Folding: the tombstones of segments that are written anew become one.
//!
//! ```text
//! write a tombstone that covers all, synced ─▶ replace the second copy ─▶ write the segments anew,
//! without the tombstones that it stands for
//! ```
//!
//! A tombstone lists ids, and of conversations that ran side by side each record is a range of its own.
//! Once all around them is erased too, few ranges are left: folded, they are as many as the runs of
//! living records at most. The beginnings of keys are needed only for what may come out of the spool.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::Kind;
use crate::error::{Error, Result};

use crate::cold::erase::copy;
use crate::cold::erase::erasures::{Erasures, Tombstone};
use crate::cold::format::footer::Entry;
use crate::cold::read::segment::Segment;
use crate::cold::read::source::Source;
use crate::cold::removal::{Removal, Removals};
use crate::cold::report::{Damage, DamageKind};
use crate::cold::shelf::Shelf;
use crate::cold::write::leave;
use crate::cold::write::packet::{Packet, bookkeeping};
use crate::cold::write::writer::Writer;

/// How many bytes of tombstones a compaction leaves as they are; a sixteenth of a segment at most.
const LEFT: u64 = 4096;

/// What the tombstones of segments cover, and what their removals cover, and those that cannot be read.
///
/// # Errors
///
/// What the operating system answers.
pub(in crate::cold) fn gather(
    segments: &[Segment],
    uuid: [u8; 16],
) -> Result<(Erasures, Removals, Vec<Damage>)> {
    let (mut found, mut removed) = (Erasures::new(uuid), Removals::new(uuid));
    let mut broken = Vec::new();
    for segment in segments.iter().filter(|s| s.takes_away()) {
        for entry in segment.listing()?.contents.entries.iter() {
            match take(&segment.source, entry, &mut found, &mut removed) {
                Ok(_) => {}
                Err(Error::Corrupt { detail, .. }) => {
                    let bytes = entry.offset..entry.offset.saturating_add(entry.len);
                    let seqs = entry.seq..=entry.seq;
                    let kind = DamageKind::Corrupt;
                    broken.push(segment.source.damage(bytes, seqs, kind, &detail));
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok((found, removed, broken))
}

/// Takes up what a record takes away, if it is one that does; `false` if it makes no sense.
///
/// # Errors
///
/// [`Error::Corrupt`] or [`Error::Truncated`]; what the operating system answers.
pub(in crate::cold) fn take(
    source: &Source,
    entry: Entry,
    erased: &mut Erasures,
    removed: &mut Removals,
) -> Result<bool> {
    match Kind::from_code(entry.kind) {
        Kind::Tombstone => {
            let found = Tombstone::decode(&source.payload(entry)?);
            let Some(found) = found else {
                return Ok(false);
            };
            erased.add(&found);
        }
        Kind::Removed => {
            let said = Removal::decode(&source.payload(entry)?);
            let ties = source.ties(entry)?;
            // A second copy says what the first one did, of that time.
            let seq = ties.of.map_or(entry.seq, |first| first.0.min(entry.seq));
            let Some(said) = said else {
                return Ok(false);
            };
            removed.add(seq, &ties.key, &said);
        }
        _ => {}
    }
    Ok(true)
}

/// Writes one tombstone for those of the segments at these places, if that is worth it; gives the ids
/// of those that it stands for, which may go. The lock is held.
///
/// # Errors
///
/// As appending; then the old ones are there still.
pub(super) fn fold(writer: &mut Writer, shelf: &Shelf, places: &[usize]) -> Result<BTreeSet<u64>> {
    let code = Kind::Tombstone.code();
    let (mut spent, mut bytes) = (BTreeSet::new(), 0_u64);
    let erasures = {
        let index = shelf.known()?;
        for segment in places.iter().filter_map(|at| index.segments.get(*at)) {
            let entries = segment.listing()?.contents.entries.iter();
            for entry in entries.filter(|entry| entry.kind == code) {
                spent.insert(entry.seq);
                bytes = bytes.saturating_add(entry.len);
            }
        }
        Arc::clone(&index.erasures)
    };
    let folded = erasures.folded(&spent, leave::is_used(shelf)?);
    let payloads: Vec<Vec<u8>> = folded.iter().map(Tombstone::encode).collect();
    let batch: Vec<_> = payloads
        .iter()
        .map(|payload| bookkeeping(Kind::Tombstone, &[], payload))
        .collect();
    let mut press = shelf.press(false)?;
    press.limit = u64::MAX;
    let mut packet = Packet::own(&press, &batch)?;
    let left = LEFT.min(shelf.options.segment_bytes / 16);
    if bytes <= packet.len().saturating_add(left) {
        return Ok(BTreeSet::new());
    }
    writer.write(shelf, &mut [&mut packet], true)?;
    let mut index = shelf.write();
    for tombstone in &folded {
        Arc::make_mut(&mut index.erasures).add(tombstone);
    }
    Ok(spent)
}

/// Forgets what the tombstones that are gone said beside the one that stands for them, here and in the
/// second copy.
///
/// # Errors
///
/// What the operating system answers.
pub(super) fn settle(shelf: &Shelf) -> Result<()> {
    let (found, removed, _) = gather(&shelf.known()?.segments, shelf.uuid)?;
    copy::write(&*shelf.medium, &found, shelf.uuid)?;
    let mut index = shelf.write();
    (index.erasures, index.removals) = (Arc::new(found), Arc::new(removed));
    Ok(())
}
