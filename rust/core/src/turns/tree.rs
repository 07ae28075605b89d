//! The messages of one conversation as a tree, of which one path is current.
//!
//! An edit, a retry with another ending or a shortened list leaves the path at some message: what is
//! left behind stays in the tree, and a list that comes back to it finds it again.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::entry::Seq;
use crate::error::{Error, Result};

/// The content hash of a message.
pub type Digest = [u8; 16];

/// The parent of a first message; ids of a store begin at 1.
pub const ROOT: Seq = Seq(0);

/// Messages by their ids, each with the one that it follows, and the path that is current.
///
/// Ids grow along a path, so an id is found on it by halving.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    ids: Vec<Seq>,
    parents: Vec<Seq>,
    digests: Vec<Digest>,
    path: Vec<Seq>,
    /// The hashes of the path's messages.
    said: Vec<Digest>,
    /// Whether the path may be another one up to the same message.
    relinked: bool,
    /// What follows what, found when it is first asked for.
    following: Option<HashMap<Seq, Vec<Seq>>>,
    /// The last message of each content behind each message, likewise.
    contents: Option<HashMap<(Seq, Digest), Seq>>,
}

impl Tree {
    /// Put a message at the end of the path.
    ///
    /// # Errors
    /// [`Error::Argument`] for an id that is not above all others.
    pub fn add(&mut self, id: Seq, digest: Digest) -> Result<()> {
        let last = self.ids.last().copied().unwrap_or(ROOT);
        if id <= last {
            return Err(Error::Argument {
                name: "id",
                expected: format!("an id above {last}"),
                found: id.to_string(),
            });
        }
        let parent = self.head();
        if let Some(following) = &mut self.following {
            following.entry(parent).or_default().push(id);
        }
        if let Some(contents) = &mut self.contents {
            contents.insert((parent, digest), id);
        }
        self.ids.push(id);
        self.parents.push(parent);
        self.digests.push(digest);
        self.path.push(id);
        self.said.push(digest);
        Ok(())
    }

    /// A tree that was saved; none if it is no tree.
    pub(super) fn restored(
        ids: Vec<Seq>,
        parents: Vec<Seq>,
        digests: Vec<Digest>,
        path: Vec<Seq>,
    ) -> Option<Self> {
        let same = ids.len() == parents.len() && ids.len() == digests.len();
        let ascend = |ids: &[Seq]| ids.is_sorted_by(|one, other| one < other);
        let mut tree = Self {
            ids,
            parents,
            digests,
            path,
            ..Self::default()
        };
        let earlier =
            tree.ids.iter().zip(&tree.parents).all(|(id, parent)| {
                parent < id && (*parent == ROOT || tree.place(*parent).is_some())
            });
        if !same || !earlier || !ascend(&tree.ids) || !ascend(&tree.path) {
            return None;
        }
        let mut said = Vec::with_capacity(tree.path.len());
        for id in &tree.path {
            said.push(tree.digest(*id)?);
        }
        tree.said = said;
        Some(tree)
    }

    /// All messages, ascending.
    #[must_use]
    pub fn ids(&self) -> &[Seq] {
        &self.ids
    }

    /// The messages of the current path, ascending.
    #[must_use]
    pub fn path(&self) -> &[Seq] {
        &self.path
    }

    /// The last message of the path; [`ROOT`] if there is none.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.path.last().copied().unwrap_or(ROOT)
    }

    /// How many messages came before one; none if it is not there.
    #[must_use]
    pub fn place(&self, id: Seq) -> Option<usize> {
        if self.ids.last() == Some(&id) {
            return self.ids.len().checked_sub(1);
        }
        self.ids.binary_search(&id).ok()
    }

    /// The position of a message on the path; none if it is not there.
    #[must_use]
    pub fn place_on_path(&self, id: Seq) -> Option<usize> {
        self.path.binary_search(&id).ok()
    }

    /// The content hash of a message.
    #[must_use]
    pub fn digest(&self, id: Seq) -> Option<Digest> {
        self.digests.get(self.place(id)?).copied()
    }

    /// What each message follows, in the order of ids.
    pub(super) fn parents(&self) -> &[Seq] {
        &self.parents
    }

    /// The content hash of each message, in the order of ids.
    #[must_use]
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// What a message follows.
    #[must_use]
    pub fn parent(&self, id: Seq) -> Option<Seq> {
        self.parents.get(self.place(id)?).copied()
    }

    /// From a message's parent back to the first message.
    pub fn ancestors(&self, id: Seq) -> impl Iterator<Item = Seq> + '_ {
        let above = |id: Seq| self.parent(id).filter(|parent| *parent != ROOT);
        std::iter::successors(above(id), move |at| above(*at))
    }

    /// The last message before an id.
    #[must_use]
    pub fn before(&self, id: Seq) -> Option<Seq> {
        let end = self.ids.partition_point(|known| *known < id);
        self.ids.get(end.checked_sub(1)?).copied()
    }

    /// The newest message of each wanted content that is there.
    #[must_use]
    pub fn among(&self, wanted: &HashSet<Digest>) -> HashMap<Digest, Seq> {
        let all = self.digests.iter().zip(&self.ids);
        all.filter(|(digest, _)| wanted.contains(*digest))
            .map(|(digest, id)| (*digest, *id))
            .collect()
    }

    /// The messages that follow one of some messages, ascending.
    #[must_use]
    pub fn children(&self, of: &HashSet<Seq>) -> Vec<Seq> {
        let all = self.ids.iter().zip(&self.parents);
        all.filter(|(_, parent)| of.contains(parent))
            .map(|(id, _)| *id)
            .collect()
    }

    /// The messages that follow a message or [`ROOT`], ascending.
    pub fn following(&mut self, id: Seq) -> &[Seq] {
        let following = self.following.get_or_insert_with(|| {
            let mut found: HashMap<Seq, Vec<Seq>> = HashMap::new();
            for (id, parent) in self.ids.iter().zip(&self.parents) {
                found.entry(*parent).or_default().push(*id);
            }
            found
        });
        following.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The last message of a content that follows a message or [`ROOT`].
    pub fn with_content(&mut self, after: Seq, digest: Digest) -> Option<Seq> {
        let contents = self.contents.get_or_insert_with(|| {
            let all = self.ids.iter().zip(&self.parents).zip(&self.digests);
            all.map(|((id, parent), digest)| ((*parent, *digest), *id))
                .collect()
        });
        contents.get(&(after, digest)).copied()
    }

    /// How many messages of the path, from the first on, a list has by their hashes.
    #[must_use]
    pub fn along_path(&self, digests: impl IntoIterator<Item = Digest>) -> usize {
        let pairs = self.said.iter().zip(digests);
        pairs.take_while(|(one, other)| *one == other).count()
    }

    /// Make messages follow earlier ones, or [`ROOT`]; the path stays as it is until it is moved.
    ///
    /// # Errors
    /// [`Error::Argument`] when one is no message, or would follow one that is not earlier; then nothing
    /// has changed.
    pub fn relink(&mut self, parents: &[(Seq, Seq)]) -> Result<()> {
        let mut places = Vec::with_capacity(parents.len());
        for (id, parent) in parents {
            let place = self.place(*id).filter(|_| parent < id);
            places.push(place.ok_or_else(|| Error::Argument {
                name: "parents",
                expected: "messages, each with an earlier one".into(),
                found: format!("{id} behind {parent}"),
            })?);
        }
        for (place, (_, parent)) in places.into_iter().zip(parents) {
            if let Some(known) = self.parents.get_mut(place) {
                *known = *parent;
            }
        }
        self.relinked = true;
        self.following = None;
        self.contents = None;
        Ok(())
    }

    /// Make another message, or [`ROOT`], the end of the path.
    ///
    /// Returns the messages that left the path, and those that joined it, both ascending.
    ///
    /// # Errors
    /// [`Error::Argument`] when there is no such message.
    pub fn move_to(&mut self, head: Seq) -> Result<(Vec<Seq>, Vec<Seq>)> {
        if !self.relinked
            && let Some(place) = self.place_on_path(head)
        {
            self.said.truncate(place + 1);
            return Ok((self.path.split_off(place + 1), Vec::new()));
        }
        if head != ROOT && self.place(head).is_none() {
            return Err(Error::Argument {
                name: "head",
                expected: "a message".into(),
                found: head.to_string(),
            });
        }
        let mut path: Vec<Seq> = self.ancestors(head).collect();
        path.reverse();
        path.extend((head != ROOT).then_some(head));
        let (before, after): (BTreeSet<Seq>, BTreeSet<Seq>) = (
            self.path.iter().copied().collect(),
            path.iter().copied().collect(),
        );
        let left = before.difference(&after).copied().collect();
        let joined = after.difference(&before).copied().collect();
        self.said = path.iter().filter_map(|id| self.digest(*id)).collect();
        self.path = path;
        self.relinked = false;
        Ok((left, joined))
    }
}
