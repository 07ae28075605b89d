//! Messages that are nothing but a text.

use std::borrow::Cow;

use serde::Deserialize;

/// A message with these two fields and no other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    #[serde(rename = "role")]
    _role: Role,
    #[serde(borrow)]
    content: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

/// What a message of a person or the model says, if it is nothing but a text; it is the same in every
/// dialect.
#[must_use]
pub fn plain_text(payload: &[u8]) -> Option<Cow<'_, str>> {
    let message: Plain<'_> = serde_json::from_slice(payload).ok()?;
    Some(message.content)
}
