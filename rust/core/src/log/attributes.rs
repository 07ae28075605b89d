//! What lies beside the payload of a cell, an entry or a patch: its meta, sealed with the payload where
//! the store is encrypted.
//!
//! ```text
//! meta     1 version (1), then fields in the order of their numbers, each 1 number · 4 length · bytes:
//!          1 at: 8, microseconds since 1970 UTC        2 uid: the caller's own id
//!          3 expires: 8, microseconds since 1970 UTC
//!          4 codec: the caller's name of the payload's encoding, UTF-8
//!          5 columns                                   6 own: bytes that the caller keeps beside it
//! ```
//!
//! A field of a newer version is passed over.

use super::value::Columns;

const VERSION: u8 = 1;
const AT: u8 = 1;
const UID: u8 = 2;
const EXPIRES: u8 = 3;
const CODEC: u8 = 4;
const COLUMNS: u8 = 5;
const OWN: u8 = 6;

/// The longest id of the caller's own, in bytes.
pub const MAX_UID: usize = 1 << 10;
/// The longest name of an encoding, in bytes.
pub const MAX_CODEC: usize = 255;

/// What a put, an entry or a patch says beside its payload. A patch says all of columns and expiry: what
/// it lacks is taken away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// When it was written, in microseconds since 1970 UTC.
    pub at: i64,
    /// The caller's own id of an entry, unique on its path.
    pub uid: Option<Vec<u8>>,
    /// From when on it counts as absent, in microseconds since 1970 UTC.
    pub expires: Option<i64>,
    /// The caller's name of the payload's encoding.
    pub codec: Option<String>,
    /// Named values to filter by.
    pub columns: Columns,
    /// Bytes that the caller keeps beside the payload.
    pub own: Vec<u8>,
}

impl Attributes {
    /// The bytes; `None` if a length does not fit its field.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = vec![VERSION];
        let mut field = |number: u8, bytes: &[u8]| -> Option<()> {
            out.push(number);
            out.extend(u32::try_from(bytes.len()).ok()?.to_le_bytes());
            out.extend_from_slice(bytes);
            Some(())
        };
        field(AT, &self.at.to_le_bytes())?;
        if let Some(uid) = &self.uid {
            field(UID, uid)?;
        }
        if let Some(expires) = self.expires {
            field(EXPIRES, &expires.to_le_bytes())?;
        }
        if let Some(codec) = &self.codec {
            field(CODEC, codec.as_bytes())?;
        }
        if !self.columns.is_empty() {
            field(COLUMNS, &self.columns.encode()?)?;
        }
        if !self.own.is_empty() {
            field(OWN, &self.own)?;
        }
        Some(out)
    }

    /// What [`encode`](Self::encode) wrote; `None` unless the bytes are whole.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, mut rest) = bytes.split_first()?;
        (*version == VERSION).then_some(())?;
        let mut out = Self::default();
        let mut last = 0;
        while let Some((number, behind)) = rest.split_first() {
            (*number > last).then_some(())?;
            last = *number;
            let (len, behind) = behind.split_first_chunk()?;
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            let (field, behind) = behind.split_at_checked(len)?;
            rest = behind;
            match *number {
                AT => out.at = time(field)?,
                UID => out.uid = Some(field.to_vec()),
                EXPIRES => out.expires = Some(time(field)?),
                CODEC => out.codec = Some(String::from_utf8(field.to_vec()).ok()?),
                COLUMNS => out.columns = Columns::decode(field)?,
                OWN => out.own = field.to_vec(),
                _ => {}
            }
        }
        (last >= AT).then_some(out)
    }
}

/// Whether what expires then, if it does, counts as there.
pub(super) fn is_live(expires: Option<i64>, now: i64) -> bool {
    expires.is_none_or(|expires| now < expires)
}

fn time(field: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(field.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::value::Value;
    use proptest::prelude::*;

    fn some() -> impl Strategy<Value = Attributes> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..5);
        let columns = prop::collection::btree_map("[a-c]{1,2}", -2..2_i64, 0..3);
        let uid = prop::option::of(bytes());
        let codec = prop::option::of("[a-z]{0,3}");
        (
            any::<i64>(),
            uid,
            prop::option::of(any::<i64>()),
            codec,
            columns,
            bytes(),
        )
            .prop_map(|(at, uid, expires, codec, columns, own)| Attributes {
                at,
                uid,
                expires,
                codec,
                columns: Columns::new(columns.into_iter().map(|(name, n)| (name, Value::Int(n))))
                    .unwrap(),
                own,
            })
    }

    proptest! {
        #[test]
        fn attributes_come_back_whole_or_not_at_all(one in some()) {
            let bytes = one.encode().unwrap();
            prop_assert_eq!(Attributes::decode(&bytes), Some(one));
            for cut in 0..bytes.len() {
                let found = Attributes::decode(&bytes[..cut]);
                let again = found.map(|found| found.encode().unwrap());
                prop_assert!(again.is_none_or(|again| again == bytes[..cut]), "cut at {}", cut);
            }
        }

        #[test]
        fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Attributes::decode(&bytes);
            let _ = Attributes::decode(&[&[VERSION, AT, 8, 0, 0, 0], &bytes[..]].concat());
        }
    }

    #[test]
    fn a_field_of_a_newer_version_is_passed_over() {
        let one = Attributes {
            at: 5,
            ..Attributes::default()
        };
        let mut bytes = one.encode().unwrap();
        bytes.extend([200, 2, 0, 0, 0, 9, 9]);
        assert_eq!(Attributes::decode(&bytes), Some(one));
        bytes[0] = VERSION + 1;
        assert_eq!(Attributes::decode(&bytes), None);
        assert_eq!(Attributes::decode(&[VERSION]), None);
    }
}
