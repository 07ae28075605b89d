//! From one segment to the next: the last one is sealed, and then another begins.

use std::sync::Arc;

use crate::error::Result;

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::wide;
use crate::cold::format::footer::seal;
use crate::cold::format::header::Header;
use crate::cold::format::words::Words;
use crate::cold::format::{PREAMBLE, segment_name};
use crate::cold::medium::{refused, write_full};
use crate::cold::open::load::sealed;
use crate::cold::read::segment::{Listing, Segment};
use crate::cold::read::source::Source;
use crate::cold::shelf::Shelf;
use crate::cold::write::writer::Writer;

impl Writer {
    /// The segment and the offset for so many bytes, in a segment that bears these words.
    pub(super) fn room_for(
        &mut self,
        common: &Shelf,
        size: u64,
        words: Words,
    ) -> Result<(Arc<Source>, u64)> {
        let place = {
            let index = common.peek();
            let last = index
                .segments
                .last()
                .filter(|s| index.tail && !s.is_sealed());
            last.map(|last| (Arc::clone(&last.source), last.len))
        };
        if let Some((source, end)) = place {
            let fits = end.saturating_add(size) <= common.options.segment_bytes;
            if words.are_in(source.header.words) && (end == PREAMBLE || fits) {
                return Ok((source, end));
            }
            self.seal(common)?;
        }
        self.create(common, words)
    }

    /// Ends the last segment with a seal, durably. Only after [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::Io`] after it was taken back; [`Error::Poisoned`].
    pub(in crate::cold) fn seal(&mut self, common: &Shelf) -> Result<()> {
        // The seal says that all before it was synced, and may arrive before it.
        self.sync(common)?;
        let (source, end, bytes) = {
            let index = common.peek();
            let Some(last) = index
                .segments
                .last()
                .filter(|s| index.tail && !s.is_sealed())
            else {
                return Ok(());
            };
            let header = &last.source.header;
            let contents = &last.listing()?.contents;
            let bytes = seal(&header.identity, last.len, header.first_seq, contents);
            (Arc::clone(&last.source), last.len, bytes)
        };
        // A segment whose footer would exceed the format stays as it is: it is scanned at open.
        let Some(bytes) = bytes else {
            common.write().tail = false;
            return Ok(());
        };
        if let Err(error) = write_full(&*source.file, &bytes, end) {
            return match source.file.set_len(end) {
                Ok(()) => Err(refused("write", &source.path, error)),
                Err(_) => {
                    Err(self.stop(common, source.header.number, "write", &source.path, &error))
                }
            };
        }
        self.sync_at(common, &source, end)?;
        let len = end.saturating_add(wide(bytes.len()));
        let block = sealed(&source, len)?;
        let mut index = common.write();
        if let (Some(last), Some(block)) = (index.segments.last_mut(), block) {
            last.close(len, block);
            let durable = last.last();
            index.mark.end = len;
            index.mark.durable = index.mark.durable.max(durable);
        }
        index.tail = false;
        index.tell();
        Ok(())
    }

    /// Begins the next segment. It bears these words and those of the segment before.
    pub(super) fn create(&mut self, common: &Shelf, words: Words) -> Result<(Arc<Source>, u64)> {
        let (number, next_seq, left_at, words) = {
            let index = common.peek();
            let last = index.segments.last();
            // A damaged one is no shorter than it should be: the next open must look for what is gone.
            let left = last
                .filter(|s| !s.is_sealed() && s.source.header.number == index.mark.segment)
                .filter(|s| s.damages().is_empty());
            let number = index.mark.segment.saturating_add(1);
            let words = last.map_or(words, |last| last.source.header.words | words);
            (
                number,
                index.next_seq().max(1),
                left.map_or(0, |s| s.len),
                words,
            )
        };
        let name = segment_name(number);
        let path = common.medium.path(&name);
        let file = common
            .medium
            .create(&name)
            .map_err(|error| refused("create", &path, error))?;
        let header = Header::new(common.uuid, number, next_seq, left_at, words);
        if let Err(error) = write_full(&*file, &header.encode(), 0) {
            return match common.medium.remove(&name) {
                Ok(()) => Err(refused("write", &path, error)),
                Err(_) => Err(self.stop(common, number, "write", &path, &error)),
            };
        }
        file.sync_data()
            .and_then(|()| {
                if on(Defect::NoDirectorySync) {
                    return Ok(());
                }
                common.medium.sync_dir("")
            })
            .map_err(|error| {
                // Later syncs may succeed without what this one lost: nobody may find the file.
                let _ = common.medium.remove(&name);
                self.stop(common, number, "sync", &path, &error)
            })?;
        let source = Arc::new(Source::new(header, path, file, common.options.read));
        let mut index = common.write();
        let listing = Listing::default();
        index
            .segments
            .push(Segment::listed(Arc::clone(&source), PREAMBLE, listing));
        index.mark.segment = number;
        index.mark.end = PREAMBLE;
        index.mark.next_seq = next_seq;
        index.tail = true;
        index.tell();
        Ok((source, PREAMBLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::write::packet::{Packet, Row};
    use crate::cold::{Draft, Options, Scope, Store};
    use crate::entry::Kind;

    fn row<'a>(kind: Kind, key: &'a [&'a [u8]]) -> Row<'a> {
        let draft = Draft {
            kind,
            key,
            meta: &[],
            sources: &[],
            payload: b"x",
        };
        Row::from(draft)
    }

    /// Writes one record as the log does.
    fn write(store: &Store, row: Row<'_>) {
        let mut packet = Packet::own(&store.shelf.press(false).unwrap(), &[row]).unwrap();
        let mut writer = Writer::new(None);
        let _hold = writer.begin(&store.shelf).unwrap();
        writer
            .write(&store.shelf, &mut [&mut packet], true)
            .unwrap();
    }

    /// The words of each segment, and how many records it holds.
    fn words(store: &Store) -> Vec<(Words, u64)> {
        let index = store.shelf.known().unwrap();
        let segments = index.segments.iter();
        segments
            .map(|s| (s.source.header.words, s.count()))
            .collect()
    }

    #[test]
    fn what_an_older_version_would_get_wrong_begins_a_segment_that_says_so() {
        let store = Store::in_memory(Options::default()).unwrap();
        let (talk, space): ([&[u8]; 2], [&[u8]; 2]) = ([b"t", b"talk"], [b"t", b"\xffitems"]);
        let plain = Words::default();
        write(&store, row(Kind::Turn, &talk));
        assert_eq!(words(&store), [(plain, 1)]);
        write(&store, row(Kind::Cell, &space));
        let log = Words::of(Kind::Cell, &space, false);
        write(&store, row(Kind::Turn, &talk));
        assert_eq!(words(&store), [(plain, 1), (log, 2)]);
        write(&store, row(Kind::Removed, &space));
        assert_eq!(words(&store), [(plain, 1), (log, 3)]);
        write(&store, row(Kind::Head, &talk));
        write(&store, row(Kind::Turn, &talk));
        assert_eq!(words(&store), [(plain, 1), (log, 3), (Words::KNOWN, 2)]);
        // What is written anew says the same as before.
        store.erase(Scope::Prefix(&talk)).unwrap();
        store.compact().unwrap();
        let after: Vec<Words> = words(&store).into_iter().map(|(words, _)| words).collect();
        assert_eq!(after, [plain, log, Words::KNOWN]);
    }

    #[test]
    fn an_empty_segment_is_left_for_one_that_bears_the_words() {
        let store = Store::in_memory(Options::default()).unwrap();
        let space: [&[u8]; 2] = [b"t", b"\xffitems"];
        write(&store, row(Kind::Cell, &space));
        let log = Words::of(Kind::Cell, &space, false);
        assert_eq!(words(&store), [(Words::default(), 0), (log, 1)]);
        assert!(store.verify().unwrap().damages.is_empty());
    }
}
