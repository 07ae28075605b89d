//! One item, as far as it is known without its text: what its cell's columns say.

use crate::log::{Cell, Columns, Value};

/// Words of origins, the most trusted first.
const ORIGINS: [&str; 5] = ["user", "assistant", "tool", "import", "web"];

/// The first byte of the name of an item that its caller gave none; no UTF-8 text has it.
const NO_NAME: u8 = 0xff;

/// What items are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The sort of item.
    Type,
    /// Whose conversation it belongs to.
    Conversation,
    /// The stretch of the conversation.
    Session,
    /// The module that made it, or that it was made for.
    Module,
    /// The run of modules that it was made in.
    Pipeline,
    /// One of its section labels.
    Section,
    /// One of its keys.
    Key,
    /// One of the entities that it names.
    Entity,
}

impl Label {
    /// All labels, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Type,
        Self::Conversation,
        Self::Session,
        Self::Module,
        Self::Pipeline,
        Self::Section,
        Self::Key,
        Self::Entity,
    ];

    /// The column of the cell that has its names.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Conversation => "conversation",
            Self::Session => "session",
            Self::Module => "module",
            Self::Pipeline => "pipeline",
            Self::Section => "sections",
            Self::Key => "keys",
            Self::Entity => "entities",
        }
    }
}

/// What is known of an item without reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// The id of its newest version.
    pub id: u64,
    /// The last part of its cell's key.
    pub name: Vec<u8>,
    /// Its name: its caller's, or one by the id of its first version.
    pub memory_id: String,
    /// The digest of what was put.
    pub digest: String,
    /// Whose words these are.
    pub origin: String,
    /// Its time, in microseconds since 1970 UTC.
    pub at: i64,
    /// The tokens of its text.
    pub tokens: u64,
    /// What is left of its relevance after one hour or turn, over 0 to 1.
    pub decay: f64,
    /// What came of it, if that was said.
    pub reward: Option<f64>,
    /// How sure its maker was, 0 to 1.
    pub confidence: f64,
    /// Whether it is kept without being shown.
    pub archived: bool,
    /// Names of items that it replaces.
    pub supersedes: Vec<String>,
    /// Names of items that it was made from.
    pub derived_from: Vec<String>,
    /// Names of items that it cannot be understood without.
    pub dependencies: Vec<String>,
    /// The names that it has, in the order of [`Label::ALL`].
    pub(super) labels: [Vec<String>; 8],
}

impl Item {
    /// The item of a cell.
    ///
    /// # Errors
    ///
    /// What is wrong with the cell, if an item is not written so.
    pub fn of(cell: &Cell) -> Result<Self, String> {
        let columns = &cell.columns;
        let name = cell.key.last().cloned().unwrap_or_default();
        let memory_id = if name.first() == Some(&NO_NAME) {
            format!("item:{}", cell.born.seq.0)
        } else {
            String::from_utf8(name.clone()).map_err(|_| "its name is no Unicode text")?
        };
        let origin = text(columns, "origin").unwrap_or_default();
        if text(columns, "type").is_none() || !ORIGINS.contains(&origin.as_str()) {
            return Err("it has no type or no origin".into());
        }
        let tokens = match columns.get("tokens") {
            Value::Int(tokens) => u64::try_from(*tokens).unwrap_or_default(),
            _ => 0,
        };
        Ok(Self {
            id: cell.version.0,
            name,
            memory_id,
            digest: text(columns, "digest").unwrap_or_default(),
            origin,
            at: match columns.get("time") {
                Value::Time(at) => *at,
                _ => 0,
            },
            tokens,
            decay: number(columns, "decay").unwrap_or(1.0).clamp(0.0, 1.0),
            reward: number(columns, "reward"),
            confidence: number(columns, "confidence").unwrap_or_default(),
            archived: *columns.get("archived") == Value::Bool(true),
            supersedes: texts(columns, "supersedes"),
            derived_from: texts(columns, "derived_from"),
            dependencies: texts(columns, "dependencies"),
            labels: Label::ALL.map(|label| texts(columns, label.column())),
        })
    }

    /// The names that it has of a label; at most one of a type, a conversation, a session, a module and a
    /// pipeline.
    #[must_use]
    pub fn names(&self, label: Label) -> &[String] {
        let at = Label::ALL.iter().position(|one| *one == label);
        at.and_then(|at| self.labels.get(at))
            .map_or(&[], Vec::as_slice)
    }
}

fn text(columns: &Columns, name: &str) -> Option<String> {
    match columns.get(name) {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// One text or a list of them, none of them empty.
fn texts(columns: &Columns, name: &str) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    match columns.get(name) {
        Value::List(all) => all.iter().filter_map(one).collect(),
        other => one(other).into_iter().collect(),
    }
}

fn number(columns: &Columns, name: &str) -> Option<f64> {
    match columns.get(name) {
        Value::Float(number) => Some(*number),
        Value::Int(0) => Some(0.0),
        Value::Int(1) => Some(1.0),
        _ => None,
    }
}
