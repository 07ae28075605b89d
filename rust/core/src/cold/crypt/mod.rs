//! Encryption: a record of a conversation is readable by whoever has the conversation's key.

pub(in crate::cold) mod cipher;
pub(in crate::cold) mod keyfile;
pub(in crate::cold) mod keyring;
