//! What a record says to the directory. The same event is made of a record that is read and of one that
//! this handle has just written.

use crate::cold::removal::Removal;
use crate::cold::{Born, Outline};
use crate::entry::{Kind, Seq};

use super::attributes::Attributes;
use super::order;
use super::turns::{self, Links};

/// One change, in the order of ids.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// The record's own id.
    pub(super) record: Seq,
    /// The id that counts: of a second copy that of the first.
    pub(super) seq: Seq,
    pub(super) key: Vec<u8>,
    /// What it was made from.
    pub(super) sources: Vec<Seq>,
    /// About how many bytes the record takes.
    pub(super) len: u64,
    pub(super) what: What,
}

/// What changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A version of a cell. Without attributes its meta cannot be read, so nor can its payload.
    Put {
        born: Option<Born>,
        attributes: Option<Attributes>,
    },
    /// An entry of a list.
    Added {
        parent: Option<Seq>,
        /// The entry of its name that makes way for it.
        replaces: Option<Seq>,
        uid: Option<u128>,
        attributes: Option<Attributes>,
    },
    /// Columns and expiry of a record; without attributes, of one that nobody can tell.
    Patched {
        of: Seq,
        attributes: Option<Attributes>,
    },
    /// Cells or entries were removed.
    Removed(Removal),
    /// The path of a list ends here; 0 where it is empty.
    Head(Seq),
    /// What a checkpoint of a conversation says of its path.
    Linked(Links),
    /// A record of another kind.
    Other,
}

impl What {
    /// When what it says of expires.
    pub(super) fn expires(&self) -> Option<i64> {
        match self {
            Self::Put { attributes, .. }
            | Self::Added { attributes, .. }
            | Self::Patched { attributes, .. } => attributes.as_ref()?.expires,
            Self::Removed(_) | Self::Head(_) | Self::Linked(_) | Self::Other => None,
        }
    }
}

impl Event {
    /// The event of a record, if it makes sense; `name` gives the hash of a caller's own id.
    pub(super) fn of(record: &Outline, name: impl Fn(&[u8]) -> u128) -> Option<Self> {
        let links = record.links.as_deref().cloned().unwrap_or_default();
        let attributes = || record.meta.as_deref().and_then(Attributes::decode);
        let what = match record.kind {
            Kind::Cell => What::Put {
                born: links.born,
                attributes: attributes(),
            },
            Kind::Entry => {
                let attributes = attributes();
                let uid = attributes.as_ref().and_then(|said| said.uid.as_deref());
                What::Added {
                    parent: links.parent,
                    replaces: links.of.filter(|of| *of != Seq(0)),
                    uid: uid.map(name),
                    attributes,
                }
            }
            Kind::Turn if record.key.len() == turns::DEPTH => {
                let (said, parent) = record.meta.as_deref().map(turns::turn).unwrap_or_default();
                What::Added {
                    parent: links.parent.or(parent),
                    replaces: links.of.filter(|of| *of != Seq(0)),
                    uid: said.uid.as_deref().map(name),
                    attributes: Some(said),
                }
            }
            Kind::Checkpoint if record.key.len() == turns::DEPTH => {
                let said = record.meta.as_deref().and_then(turns::links);
                said.map_or(What::Other, What::Linked)
            }
            Kind::Patch => What::Patched {
                of: links.of?,
                attributes: attributes(),
            },
            Kind::Removed => What::Removed(Removal::decode(&record.payload)?),
            Kind::Head => What::Head(head(&record.payload)?),
            // The directory learns what was erased elsewhere.
            Kind::Tombstone => return None,
            _ => What::Other,
        };
        let seq = if record.is_copy {
            // Only these are written twice, and the second copy comes later than the first one.
            matches!(record.kind, Kind::Removed | Kind::Head).then_some(())?;
            links.of.filter(|first| *first < record.seq)?
        } else {
            record.seq
        };
        Some(Self {
            record: record.seq,
            seq,
            key: order::encode(&record.key),
            sources: record.sources.clone(),
            len: record.len,
            what,
        })
    }
}

/// The payload of a head.
pub(super) fn head_payload(head: Seq) -> [u8; 8] {
    head.0.to_le_bytes()
}

fn head(payload: &[u8]) -> Option<Seq> {
    Some(Seq(u64::from_le_bytes(payload.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cold::Links;

    #[test]
    fn only_what_is_written_twice_has_a_second_copy_and_that_comes_later() {
        let copy = |kind, of: u64| {
            let links = Links {
                of: Some(Seq(of)),
                ..Links::default()
            };
            let outline = Outline {
                seq: Seq(5),
                kind,
                key: vec![b"key".to_vec()],
                sources: Vec::new(),
                links: Some(Box::new(links)),
                len: 100,
                is_copy: true,
                is_taken: false,
                meta: None,
                payload: head_payload(Seq(1)).to_vec(),
            };
            Event::of(&outline, |_| 0).map(|event| event.seq.0)
        };
        assert_eq!(copy(Kind::Head, 3), Some(3));
        assert_eq!(copy(Kind::Head, 5), None);
        assert_eq!(copy(Kind::Head, u64::MAX), None);
        assert_eq!(copy(Kind::Cell, 3), None);
        assert_eq!(copy(Kind::Entry, 3), None);
    }
}
