//! Encryption of one record or one key: XChaCha20-Poly1305 (RFC 8439 with the extended nonce).
//!
//! Nonces are 192 random bits, because ids are no nonces: they recur after a tail was cut.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::cold::format::bytes::{Fields, narrow, wide};

/// The length of a nonce.
pub(in crate::cold) const NONCE: usize = 24;
/// The name of a key: random, so that it says nothing about whose it is.
pub(in crate::cold) type KeyId = [u8; 16];

/// A secret of 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cold) struct Key(pub(in crate::cold) [u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A new key; `None` where the operating system gives no randomness.
    pub(in crate::cold) fn new() -> Option<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// A nonce and the encrypted bytes, bound to `context`.
    pub(in crate::cold) fn seal(
        &self,
        context: &[u8],
        plain: &[u8],
    ) -> Option<([u8; NONCE], Vec<u8>)> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload {
            msg: plain,
            aad: context,
        };
        let cipher = XChaCha20Poly1305::new(&self.0.into());
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some((nonce, sealed))
    }

    /// The plain bytes; `None` unless key, nonce, context and bytes belong together.
    pub(in crate::cold) fn open(
        &self,
        context: &[u8],
        nonce: [u8; NONCE],
        sealed: &[u8],
    ) -> Option<Vec<u8>> {
        let payload = Payload {
            msg: sealed,
            aad: context,
        };
        let cipher = XChaCha20Poly1305::new(&self.0.into());
        cipher.decrypt(&XNonce::from(nonce), payload).ok()
    }
}

/// What a record of this kind and key is bound to.
fn context(kind: u16, key: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes(), key].concat()
}

/// The meta and the payload of an encrypted record.
pub(in crate::cold) fn seal_record(
    id: KeyId,
    secret: &Key,
    kind: u16,
    key: &[u8],
    meta: &[u8],
    payload: &[u8],
) -> Option<(Vec<u8>, Vec<u8>)> {
    let len = u32::try_from(meta.len()).ok()?.to_le_bytes();
    let plain = [&len, meta, payload].concat();
    let (nonce, sealed) = secret.seal(&context(kind, key), &plain)?;
    Some(([&id[..], &nonce].concat(), sealed))
}

/// The name of the key of an encrypted record.
pub(in crate::cold) fn key_of_record(meta: &[u8]) -> Option<KeyId> {
    (meta.len() == 16 + NONCE).then_some(())?;
    Fields::new(meta).array()
}

/// The plain meta and payload of an encrypted record.
pub(in crate::cold) fn open_record(
    secret: &Key,
    kind: u16,
    key: &[u8],
    meta: &[u8],
    payload: &[u8],
) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut fields = Fields::new(meta);
    let _id: KeyId = fields.array()?;
    let mut plain = secret.open(&context(kind, key), fields.array()?, payload)?;
    let len = Fields::new(&plain).u32()?;
    let end = u64::from(len).checked_add(4)?;
    let meta = plain.get(4..narrow(end))?.to_vec();
    plain.drain(..narrow(end).min(plain.len()));
    Some((meta, plain))
}

/// How many bytes longer the payload of an encrypted record is than meta and payload.
pub(in crate::cold) fn overhead() -> u64 {
    wide(4 + 16)
}
