//! Reading: bytes leave as copies and verified, and never beyond what is acknowledged.

pub(in crate::cold) mod follow;
pub(in crate::cold) mod index;
pub(in crate::cold) mod segment;
pub(in crate::cold) mod source;
pub(in crate::cold) mod verify;
pub(in crate::cold) mod window;
