//! What lies in a directory, before anything in it is touched: a store, a new one, or a refusal.

use std::io;
use std::sync::Arc;

use crate::error::{Error, Result};

use crate::cold::format::bytes::narrow;
use crate::cold::format::header::{Header, Preamble};
use crate::cold::format::{
    ERASED, ERASED_NEW, KEYS, LOCK, MAJOR, MARK, MINOR, PREAMBLE, SPOOL, TORN, is_rewritten,
    segment_name, segment_number,
};
use crate::cold::medium::{Access, Medium, MediumFile, read_full, refused, remove_if_there};
use crate::cold::open::load::Repair;

/// How often a directory is listed again whose files change meanwhile.
const TRIES: u32 = 100;

/// A segment file and what its preamble says.
#[derive(Debug)]
pub(in crate::cold) struct Found {
    pub(in crate::cold) number: u64,
    pub(in crate::cold) name: String,
    pub(in crate::cold) file: Arc<dyn MediumFile>,
    pub(in crate::cold) len: u64,
    pub(in crate::cold) header: Option<Header>,
    /// The damaged parts of a preamble of which one copy is whole.
    pub(in crate::cold) blemishes: Vec<std::ops::Range<u64>>,
    /// Whether the file begins as a segment does, as far as it goes.
    ours: bool,
}

impl Found {
    /// Whether the file can hold no record and its beginning is not whole: what is left when its
    /// creation is cut short.
    pub(in crate::cold) fn is_stub(&self) -> bool {
        let whole = self.header.is_some() && self.blemishes.is_empty();
        self.len < PREAMBLE || (self.len == PREAMBLE && !whole)
    }
}

/// The segment files of a directory, in order; none for a new store. Nothing is written, but what is
/// left of a rewriting that was cut short is removed where that is allowed.
///
/// # Errors
///
/// [`Error::NotAStore`], [`Error::NewerFormat`], [`Error::ForeignSegment`]; what the operating system
/// answers.
pub(in crate::cold) fn survey(
    medium: &dyn Medium,
    repair: Repair,
    access: Access,
) -> Result<Vec<Found>> {
    let root = medium.path("");
    let mut tries = TRIES;
    let (names, found) = loop {
        let names = medium
            .list("")
            .map_err(|error| refused("list", &root, error))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|n| segment_number(n)).collect();
        numbers.sort_unstable();
        let found: Result<Vec<Found>> = numbers
            .into_iter()
            .map(|number| look(medium, number, access))
            .collect();
        match found {
            // Whoever holds the lock set it aside after it was listed.
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && tries > 0 =>
            {
                tries -= 1;
            }
            other => break (names, other?),
        }
    };

    let parts = [LOCK, MARK, ERASED, ERASED_NEW, TORN, SPOOL, KEYS];
    let own = |name: &String| parts.contains(&name.as_str()) || is_rewritten(name);
    let store = if found.is_empty() {
        names.iter().all(own)
    } else {
        // A store's lock beside them tells damaged segments from another program's files.
        names.iter().any(own) || found.iter().any(|f| f.ours)
    };
    if !store {
        return Err(Error::NotAStore {
            path: root,
            detail: "it has files, and none of them is a segment".into(),
        });
    }
    let mut headers = found.iter().filter_map(|f| Some((f, f.header?)));
    let uuid = headers.next().map(|(_, header)| header.identity.uuid);
    if let Some((foreign, _)) = headers.find(|(_, h)| Some(h.identity.uuid) != uuid) {
        return Err(Error::ForeignSegment {
            path: medium.path(&foreign.name),
        });
    }
    if repair == Repair::Allowed {
        for name in names.iter().filter(|name| is_rewritten(name)) {
            remove_if_there(medium, name)
                .map_err(|error| refused("remove", &medium.path(name), error))?;
        }
    }
    Ok(found)
}

/// A segment's file and what its preamble says.
///
/// # Errors
///
/// [`Error::NewerFormat`]; what the operating system answers.
pub(in crate::cold) fn look(medium: &dyn Medium, number: u64, access: Access) -> Result<Found> {
    let name = segment_name(number);
    let path = medium.path(&name);
    let file = medium
        .open(&name, access)
        .map_err(|error| refused("open", &path, error))?;
    // The length first: a writer that creates the segment meanwhile would make it look damaged.
    let len = file.len().map_err(|error| refused("stat", &path, error))?;
    let mut bytes = vec![0; narrow(PREAMBLE)];
    let read = read_full(&*file, &mut bytes, 0).map_err(|error| refused("read", &path, error))?;
    bytes.truncate(read);
    let (header, blemishes, ours) = match Preamble::decode(&bytes) {
        Preamble::Newer(found) => {
            return Err(Error::NewerFormat {
                path,
                found,
                supported: format!("{MAJOR}.{MINOR}"),
            });
        }
        Preamble::Older => {
            return Err(Error::NotAStore {
                path,
                detail: "it has the preview format 0, which warmset 0.1 wrote".into(),
            });
        }
        Preamble::Valid(header, _) if !header.is_writable() && access == Access::Write => {
            let features = header.words.read_only;
            return Err(Error::NewerFormat {
                path,
                found: format!("{MAJOR}.x with features {features:#x} that allow only reading"),
                supported: format!("{MAJOR}.{MINOR}"),
            });
        }
        Preamble::Valid(header, blemishes) => (Some(header), blemishes, true),
        Preamble::Invalid { ours } => (None, vec![], ours),
    };
    Ok(Found {
        number,
        name,
        file,
        len,
        header,
        blemishes,
        ours,
    })
}
