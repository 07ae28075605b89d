//! A key's file: in plain, or wrapped with a master key that the caller keeps.

use crate::cold::crypt::cipher::{Key, KeyId, NONCE};
use crate::cold::format::bytes::{Fields, narrow, wide};
use crate::cold::options::Encryption;

const MAGIC: [u8; 8] = *b"wskey\0\0\0";
/// The flag of a key that is encrypted with a master key.
pub(in crate::cold) const WRAPPED: u64 = 1;
/// A key of one batch in the spool: it goes when the batch is taken up, not before.
const FOR_SPOOL: u64 = 2;

/// A key as its file has it.
#[derive(Clone, Debug)]
pub(in crate::cold) struct KeyFile {
    pub(in crate::cold) secret: Key,
    /// The encoded beginning of the keys of the records that it encrypts.
    pub(in crate::cold) scope: Vec<u8>,
    /// The id that the next record had when the key was made.
    pub(in crate::cold) born: u64,
    /// Whether it is for one batch in the spool.
    pub(in crate::cold) spool: bool,
}

/// The flags of a whole key file.
pub(in crate::cold) fn flags_of(bytes: &[u8]) -> Option<u64> {
    let (covered, crc) = bytes.split_last_chunk()?;
    let mut fields = Fields::new(covered);
    fields.slice(MAGIC.len() + 16 + 8)?;
    let flags = fields.u64()?;
    (u32::from_le_bytes(*crc) == crc32c::crc32c(covered)).then_some(flags)
}

impl KeyFile {
    /// The bytes of the file; `None` if no randomness is to be had.
    pub(in crate::cold) fn encode(&self, id: KeyId, encryption: &Encryption) -> Option<Vec<u8>> {
        let plain = [&self.secret.0, &self.scope[..]].concat();
        let (flag, body) = match encryption {
            Encryption::Master(master) => {
                let (nonce, sealed) = Key(*master).seal(&id, &plain)?;
                (WRAPPED, [&nonce[..], &sealed].concat())
            }
            Encryption::Off | Encryption::Keys => (0, plain),
        };
        let flags = flag | if self.spool { FOR_SPOOL } else { 0 };
        let mut out = Vec::with_capacity(body.len() + 64);
        out.extend(MAGIC);
        out.extend(id);
        for field in [self.born, flags, wide(body.len())] {
            out.extend(field.to_le_bytes());
        }
        out.extend(body);
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        Some(out)
    }

    /// What a whole file says; `None` too if it is wrapped with another master key.
    pub(in crate::cold) fn decode(bytes: &[u8], encryption: &Encryption) -> Option<(KeyId, Self)> {
        let (covered, crc) = bytes.split_last_chunk()?;
        let mut fields = Fields::new(covered);
        if fields.array()? != MAGIC || u32::from_le_bytes(*crc) != crc32c::crc32c(covered) {
            return None;
        }
        let id: KeyId = fields.array()?;
        let (born, flags, len) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut plain = fields.slice(narrow(len))?.to_vec();
        if flags & WRAPPED != 0 {
            let Encryption::Master(master) = encryption else {
                return None;
            };
            let (nonce, sealed) = plain.split_first_chunk::<NONCE>()?;
            plain = Key(*master).open(&id, *nonce, sealed)?;
        }
        let (secret, scope) = plain.split_first_chunk()?;
        let file = Self {
            secret: Key(*secret),
            scope: scope.to_vec(),
            born,
            spool: flags & FOR_SPOOL != 0,
        };
        Some((id, file))
    }
}
