//! What is known of an entry beside its text and vectors, and the questions asked of it.

/// The structured features of one entry. Names are interned to small integers by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Who owns the entry; nothing crosses tenants.
    pub tenant: u32,
    /// The conversation within the tenant.
    pub conversation: u32,
    /// The stretch of the conversation; 0 is as good a name as any other.
    pub session: u32,
    /// Who said it; 0 where nobody is named.
    pub speaker: u32,
    /// What sort of entry it is, by the number of its record kind.
    pub kind: u16,
    /// The role in the conversation.
    pub role: u16,
    /// When it was said, in milliseconds since 1970 UTC.
    pub at: i64,
    /// Whether it is on the conversation's current branch.
    pub live: bool,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            tenant: 0,
            conversation: 0,
            session: 0,
            speaker: 0,
            kind: 0,
            role: 0,
            at: 0,
            live: true,
        }
    }
}

/// Which entries a search may return. Each part that is `None` lets everything pass.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this tenant.
    pub tenant: Option<u32>,
    /// Only this conversation.
    pub conversation: Option<u32>,
    /// Only these kinds.
    pub kinds: Option<Vec<u16>>,
    /// Only these roles.
    pub roles: Option<Vec<u16>>,
    /// Only entries at or after this time, in milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// Only entries before this time, in milliseconds since 1970 UTC.
    pub before: Option<i64>,
    /// Only these ids, ascending.
    pub ids: Option<Vec<u64>>,
    /// Never these ids, ascending.
    pub except: Vec<u64>,
    /// Entries off the current branch as well.
    pub branches: Branches,
}

/// Whether entries that an edit or a branch left behind may be returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Branches {
    /// Only what is on the current branch.
    #[default]
    Live,
    /// Everything that is kept.
    All,
}

impl Filter {
    /// Whether an entry may be returned.
    #[must_use]
    pub fn admits(&self, id: u64, labels: &Labels) -> bool {
        (self.branches == Branches::All || labels.live)
            && self.tenant.is_none_or(|tenant| labels.tenant == tenant)
            && self
                .conversation
                .is_none_or(|conversation| labels.conversation == conversation)
            && self.since.is_none_or(|since| labels.at >= since)
            && self.before.is_none_or(|before| labels.at < before)
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&labels.kind))
            && self
                .roles
                .as_ref()
                .is_none_or(|roles| roles.contains(&labels.role))
            && self
                .ids
                .as_ref()
                .is_none_or(|ids| ids.binary_search(&id).is_ok())
            && self.except.binary_search(&id).is_err()
    }
}
