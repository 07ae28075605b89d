//! All that is known of one conversation's messages: the tree, their rows and their names.

use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3;

use super::fact::{Fact, Id};
use super::rows::{Flags, Links, Names, Row, Rows};
use super::tree::{Digest, Tree};
use crate::entry::Seq;
use crate::error::Result;

/// What is known of a message when it is taken up.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Whose words it has, and how it belongs to others.
    pub fact: Fact,
    /// The name of its role.
    pub role: Id,
    /// Who said it, where somebody is named.
    pub speaker: Option<Id>,
    /// When it was said, in seconds since 1970 UTC.
    pub at: f64,
    /// What it costs verbatim, in tokens; saturates.
    pub tokens: u64,
    /// The number of its session within the conversation; saturates.
    pub session: u64,
    /// Whether it settles something.
    pub decision: bool,
    /// Whether it says nothing that could be indexed.
    pub blank: bool,
    /// The caller's own name of it.
    pub key: Option<Id>,
    /// Whatever else is kept beside it.
    pub beside: Option<Box<[u8]>>,
}

/// The messages of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    tree: Tree,
    rows: Rows,
    roles: Names,
    speakers: Names,
    keys: HashMap<Id, Vec<Seq>>,
}

impl Turns {
    /// Take a message up at the end of the path.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for an id that is not above all others; then nothing has changed.
    pub fn add(&mut self, id: Seq, digest: Digest, told: Told) -> Result<()> {
        let speaker = told.speaker.as_deref();
        let speaker = speaker.map(|name| self.speakers.number(name)).transpose()?;
        let role = self.roles.number(&told.role)?;
        self.tree.add(id, digest)?;
        let flags = [
            (Flags::REQUEST, told.fact.request),
            (Flags::KEEP, told.fact.keep),
            (Flags::THINKS, told.fact.thinks),
            (Flags::DECISION, told.decision),
            (Flags::BLANK, told.blank),
        ];
        let row = Row {
            at: told.at,
            tokens: u32::try_from(told.tokens).unwrap_or(u32::MAX),
            session: u32::try_from(told.session).unwrap_or(u32::MAX),
            speaker,
            role,
            whose: told.fact.role,
            bond: told.fact.bond,
            flags: flags
                .into_iter()
                .fold(Flags::default(), |all, (one, holds)| all.with(one, holds)),
        };
        if let Some(key) = &told.key {
            self.keys.entry(key.clone()).or_default().push(id);
        }
        let links = Links {
            calls: told.fact.calls,
            results: told.fact.results,
            item: told.fact.item,
            key: told.key,
            beside: told.beside,
        };
        self.rows.push(row, links)
    }

    /// Turns that were saved; none if a message has a name that is not there.
    pub(super) fn restored(tree: Tree, rows: Rows, roles: Names, speakers: Names) -> Option<Self> {
        let named = |row: &Row| {
            let speaks = row.speaker.is_none_or(|name| speakers.name(name).is_some());
            speaks && roles.name(row.role).is_some()
        };
        if tree.ids().len() != rows.len() || !rows.all().iter().all(named) {
            return None;
        }
        let mut keys: HashMap<Id, Vec<Seq>> = HashMap::new();
        for (place, links) in rows.linked() {
            let id = usize::try_from(place)
                .ok()
                .and_then(|at| tree.ids().get(at));
            if let (Some(key), Some(id)) = (&links.key, id) {
                keys.entry(key.clone()).or_default().push(*id);
            }
        }
        Some(Self {
            tree,
            rows,
            roles,
            speakers,
            keys,
        })
    }

    /// What is known of each message.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// What follows what.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What follows what, to be changed.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// The row of a message.
    #[must_use]
    pub fn row(&self, id: Seq) -> Option<&Row> {
        self.rows.get(self.tree.place(id)?)
    }

    /// What a message is linked to; none if it is linked to nothing.
    #[must_use]
    pub fn links(&self, id: Seq) -> Option<&Links> {
        self.rows.links(self.tree.place(id)?)
    }

    /// What is known of a message for its unit.
    #[must_use]
    pub fn fact(&self, id: Seq) -> Option<Fact> {
        self.rows.fact(self.tree.place(id)?)
    }

    /// Say whether a message settles something.
    pub fn decide(&mut self, id: Seq, decision: bool) {
        if let Some(place) = self.tree.place(id) {
            self.rows.decide(place, decision);
        }
    }

    /// The names of roles.
    #[must_use]
    pub fn roles(&self) -> &Names {
        &self.roles
    }

    /// The names of speakers.
    #[must_use]
    pub fn speakers(&self) -> &Names {
        &self.speakers
    }

    /// A hash of which messages there are, what each follows and says, their sessions and the path.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        let mut whole = Xxh3::new();
        whole.update(&self.tree.ids().len().to_le_bytes());
        let links = self.tree.parents().iter().zip(self.tree.digests());
        for (place, (id, (parent, digest))) in self.tree.ids().iter().zip(links).enumerate() {
            let session = self.rows.get(place).map_or(0, |row| row.session);
            whole.update(&id.0.to_le_bytes());
            whole.update(&parent.0.to_le_bytes());
            whole.update(&session.to_le_bytes());
            whole.update(digest);
        }
        for id in self.tree.path() {
            whole.update(&id.0.to_le_bytes());
        }
        whole.digest128()
    }

    /// The first message of the path that has a key of the caller's.
    #[must_use]
    pub fn keyed(&self, key: &[u8]) -> Option<Seq> {
        let ids = self.keys.get(key)?;
        let on_path = |id: &&Seq| self.tree.place_on_path(**id).is_some();
        ids.iter().find(on_path).copied()
    }
}
