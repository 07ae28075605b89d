//! The items of one tenant: what lies in a space of cells of the log, with what each is found by.
//!
//! # Promises
//!
//! - Every item that the log shows is here after a refresh, and none that it does not show.
//! - What a question asks for is counted exactly; of more than it takes, the newest or the most similar are
//!   taken, in a total order.
//!
//! ```text
//! log ─▶ changes ─▶ cells ─▶ items ─▶ table      by name, by label, by time, what replaces what
//!                              └────▶ retriever  words at once, vectors when they are made
//! asks ─▶ masks of ids ─▶ the newest, or the most similar ─▶ relevance by age ─▶ answers
//! ```

mod ask;
mod find;
mod heirs;
mod item;
mod shelf;
mod table;
mod times;

pub use ask::{Age, Answer, Ask, Found, Question, Wanted};
pub use item::{Item, Label};
pub use shelf::{News, Refreshed, Shelf};
