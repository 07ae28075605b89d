//! What opening ends with: the stubs are set aside, the tombstones are known, the mark is right.

use std::sync::Arc;

use crate::error::Result;

use crate::cold::erase::copy;
use crate::cold::erase::fold::gather;
use crate::cold::mark::{Mark, MarkFile};
use crate::cold::medium::refused;
use crate::cold::open::aside::{damaged_batches, move_file};
use crate::cold::open::load::{Loaded, Loading, Repair};
use crate::cold::open::survey::Found;
use crate::cold::options::Read;
use crate::cold::read::segment::Segment;

impl Loading<'_> {
    pub(super) fn finish(mut self, stubs: Vec<Found>) -> Result<Loaded> {
        let next_seq = self.next_seq.saturating_add(self.skipped);
        self.next_seq = next_seq.max(self.found.next_seq);
        if self.repair == Repair::Allowed {
            for stub in stubs {
                self.raise()?;
                let Found {
                    name,
                    number,
                    len,
                    file,
                    ..
                } = stub;
                drop(file);
                self.cuts.push(move_file(self.medium, &name, number, len)?);
            }
        }
        self.erasures()?;
        self.index.damages.extend(damaged_batches(self.medium));
        let last = self.index.segments.last();
        self.index.mark = Mark {
            segment: self.next_number.saturating_sub(1),
            end: last.map_or(0, |segment| segment.len),
            next_seq: self.next_seq,
            durable: match self.repair {
                Repair::Allowed => last.map_or(0, Segment::last).max(self.found.durable),
                Repair::Forbidden => self.found.durable,
            },
            ..self.found
        };
        if !self.cuts.is_empty() {
            self.index.mark.generation = self.found.generation.saturating_add(1);
        }
        self.index.file = self.file;
        Ok(Loaded {
            index: self.index,
            cuts: self.cuts,
            uuid: self.uuid,
        })
    }

    /// Makes durable, before bytes are taken away, what they are the evidence for.
    ///
    /// # Errors
    ///
    /// What the operating system answers.
    pub(in crate::cold) fn raise(&mut self) -> Result<()> {
        let mark = Mark {
            count: self.found.count.saturating_add(1),
            next_seq: self.next_seq.max(self.found.next_seq),
            ..self.found
        };
        let trouble = |error| refused("write", &self.medium.path(crate::cold::format::MARK), error);
        if let Some(file) = &self.file {
            file.write(&mark).and_then(|()| file.sync())
        } else {
            let mapped = self.options.read == Read::Map;
            MarkFile::create(self.medium, self.uuid, &mark, mapped)
                .map(|file| self.file = Some(file))
        }
        .map_err(trouble)?;
        self.found = mark;
        Ok(())
    }

    /// Takes up what was erased, from both copies, and brings the second one up to date.
    fn erasures(&mut self) -> Result<()> {
        let (mut found, removed, broken) = gather(&self.index.segments, self.uuid)?;
        for damage in broken {
            self.index.note(damage);
        }
        let copy = copy::read(self.medium, self.uuid)?;
        found.join(&copy);
        if self.repair == Repair::Allowed && found.version() > 0 {
            // The tombstone itself got the id behind those that it is about.
            self.next_seq = self.next_seq.max(found.upto().saturating_add(2));
            if !found.agrees(&copy) {
                // The segments still say it all; the next erasure writes the copy or fails.
                let _ = copy::write(self.medium, &found, self.uuid);
            }
        }
        self.index.erasures = Arc::new(found);
        self.index.removals = Arc::new(removed);
        Ok(())
    }
}
