//! What is known of a message without its content: who says it, and what it is linked to.

/// An id that a provider or a client gave, as its bytes: UTF-8, or UTF-8 with lone surrogates.
pub type Id = Box<[u8]>;

/// Whose words a message has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It instructs the model.
    System,
    /// The model's.
    Assistant,
    /// Anybody else's.
    #[default]
    Other,
}

/// How a message belongs to its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bond {
    /// It stands alone.
    #[default]
    None,
    /// An item of a response: it belongs to an adjacent one with reasoning or calls.
    Item,
    /// An item with calls.
    Calls,
    /// Reasoning.
    Reasoning,
    /// It belongs to whatever stands before it.
    Behind,
    /// A reference to a stored item, which may be a call.
    Reference,
}

impl Bond {
    const ALL: [Self; 6] = [
        Self::None,
        Self::Item,
        Self::Calls,
        Self::Reasoning,
        Self::Behind,
        Self::Reference,
    ];

    /// The bond with a number, in the order of the variants from 0 on.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> usize {
        Self::ALL.iter().take_while(|one| **one != self).count()
    }
}

/// What is known of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// Whose words it has.
    pub role: Role,
    /// The calls that it makes, in order.
    pub calls: Vec<Id>,
    /// The calls that it answers, in order.
    pub results: Vec<Id>,
    /// Whether a user asks something in it.
    pub request: bool,
    /// Whether it must never leave.
    pub keep: bool,
    /// Whether it begins with reasoning that must stay at the front of an unfinished loop of calls.
    pub thinks: bool,
    /// How it belongs to its neighbours.
    pub bond: Bond,
    /// The id of an item of a response.
    pub item: Option<Id>,
}

impl Fact {
    /// Whether a list that ends with this message ends within a loop of calls.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        !self.calls.is_empty() || (!self.results.is_empty() && !self.request)
    }
}
