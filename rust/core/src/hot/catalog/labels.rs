//! The labels of all slots, one column a label.

use std::io::{self, Write};

use super::kept::Kept;
use crate::error::Result;
use crate::hot::file::column::Column;
use crate::hot::file::{Saved, Writer};
use crate::hot::filter::{Filter, Labels};

/// Every label but `live`, which is a bit.
#[derive(Debug, Default)]
pub(super) struct LabelColumns {
    pub(super) tenant: Column<u32>,
    pub(super) conversation: Column<u32>,
    pub(super) session: Column<u32>,
    pub(super) speaker: Column<u32>,
    pub(super) kind: Column<u16>,
    pub(super) role: Column<u16>,
    pub(super) at: Column<i64>,
}

impl LabelColumns {
    /// Adds the labels of the next slot.
    pub(super) fn push(&mut self, labels: &Labels) {
        self.tenant.push(labels.tenant);
        self.conversation.push(labels.conversation);
        self.session.push(labels.session);
        self.speaker.push(labels.speaker);
        self.kind.push(labels.kind);
        self.role.push(labels.role);
        self.at.push(labels.at);
    }

    /// The labels of a slot; who asks knows whether it is live.
    pub(super) fn get(&self, at: usize, live: bool) -> Option<Labels> {
        Some(Labels {
            tenant: self.tenant.get(at)?,
            conversation: self.conversation.get(at)?,
            session: self.session.get(at)?,
            speaker: self.speaker.get(at)?,
            kind: self.kind.get(at)?,
            role: self.role.get(at)?,
            at: self.at.get(at)?,
            live,
        })
    }

    /// Whether the tenant and the conversation of a slot are those of the filter.
    pub(super) fn placed(&self, at: usize, filter: &Filter) -> bool {
        let is = |column: &Column<u32>, wanted: Option<u32>| {
            wanted.is_none() || column.get(at) == wanted
        };
        is(&self.tenant, filter.tenant) && is(&self.conversation, filter.conversation)
    }

    /// Whether the other labels of a slot pass. Only what the filter names is read.
    pub(super) fn pass(&self, at: usize, filter: &Filter) -> bool {
        let among = |column: &Column<u16>, wanted: &Option<Vec<u16>>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| column.get(at).is_some_and(|own| wanted.contains(&own)))
        };
        let within = || {
            self.at.get(at).is_some_and(|at| {
                filter.since.is_none_or(|since| at >= since)
                    && filter.before.is_none_or(|before| at < before)
            })
        };
        among(&self.kind, &filter.kinds)
            && among(&self.role, &filter.roles)
            && ((filter.since, filter.before) == (None, None) || within())
    }

    /// Writes one section a label.
    pub(super) fn save<W: Write>(&self, out: &mut Writer<W>, kept: &Kept) -> io::Result<()> {
        kept.column(out, "tenant", &self.tenant)?;
        kept.column(out, "conversation", &self.conversation)?;
        kept.column(out, "session", &self.session)?;
        kept.column(out, "speaker", &self.speaker)?;
        kept.column(out, "kind", &self.kind)?;
        kept.column(out, "role", &self.role)?;
        kept.column(out, "at", &self.at)
    }

    /// The saved labels of so many slots.
    pub(super) fn open(saved: &Saved, slots: usize) -> Result<Self> {
        Ok(Self {
            tenant: saved.column_of("tenant", slots)?,
            conversation: saved.column_of("conversation", slots)?,
            session: saved.column_of("session", slots)?,
            speaker: saved.column_of("speaker", slots)?,
            kind: saved.column_of("kind", slots)?,
            role: saved.column_of("role", slots)?,
            at: saved.column_of("at", slots)?,
        })
    }
}
