//! Keys: two different tuples never share an encoding.
//!
//! Each part is preceded by its length and the tuple by its number of parts, so no byte of a part can
//! act as a delimiter: `("a", "bc")` and `("ab", "c")` differ in their first length.

use crate::cold::defect::{Defect, on};
use crate::cold::format::bytes::{Fields, narrow};

/// Appends the encoding of a tuple; `None` if a number or a length does not fit its field.
pub(in crate::cold) fn encode(out: &mut Vec<u8>, parts: &[&[u8]]) -> Option<()> {
    out.extend(u32::try_from(parts.len()).ok()?.to_le_bytes());
    if on(Defect::JoinedKeys) {
        out.extend_from_slice(&parts.join(&b':'));
        return Some(());
    }
    for part in parts {
        out.extend(u32::try_from(part.len()).ok()?.to_le_bytes());
        out.extend_from_slice(part);
    }
    Some(())
}

/// Whether the tuple of an encoding begins with that of another one, which has a part at least.
pub(in crate::cold) fn begins_with(key: &[u8], prefix: &[u8]) -> bool {
    // The number of parts comes first; each part says how long it is.
    let (key, prefix) = (key.get(4..), prefix.get(4..));
    key.zip(prefix)
        .is_some_and(|(key, prefix)| !prefix.is_empty() && key.starts_with(prefix))
}

/// The tuple of an encoding; `None` unless the bytes are exactly one.
pub(in crate::cold) fn decode(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut fields = Fields::new(bytes);
    let count = fields.u32()?;
    if on(Defect::JoinedKeys) {
        let joined = bytes.get(4..)?;
        let mut parts: Vec<Vec<u8>> = joined.split(|b| *b == b':').map(<[u8]>::to_vec).collect();
        parts.truncate(narrow(count.into()));
        return Some(parts);
    }
    // The count is not trusted with an allocation: each part takes four bytes at least.
    let mut parts = Vec::with_capacity(narrow(count.into()).min(bytes.len() / 4));
    for _ in 0..count {
        let len = fields.u32()?;
        parts.push(fields.slice(narrow(len.into()))?.to_vec());
    }
    fields.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(parts: &[Vec<u8>]) -> Vec<u8> {
        let mut out = vec![];
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        assert_eq!(encode(&mut out, &parts), Some(()));
        out
    }

    fn tuple() -> impl Strategy<Value = Vec<Vec<u8>>> {
        // Few distinct bytes, so that tuples which differ only in where a part ends are common.
        prop::collection::vec(prop::collection::vec(0_u8..3, 0..4), 0..4)
    }

    proptest! {
        #[test]
        fn a_tuple_begins_with_its_own_beginnings(a in tuple(), b in tuple()) {
            let begins = !b.is_empty() && a.starts_with(&b);
            prop_assert_eq!(begins_with(&encoded(&a), &encoded(&b)), begins);
        }

        #[test]
        fn tuples_round_trip_and_never_collide(a in tuple(), b in tuple()) {
            prop_assert_eq!(decode(&encoded(&a)), Some(a.clone()));
            prop_assert_eq!(encoded(&a) == encoded(&b), a == b);
        }

        #[test]
        fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(parts) = decode(&bytes) {
                prop_assert_eq!(encoded(&parts), bytes);
            }
        }
    }

    #[test]
    fn moving_a_boundary_changes_the_encoding() {
        let whole = encoded(&[b"a".to_vec(), b"bc".to_vec()]);
        assert_ne!(whole, encoded(&[b"ab".to_vec(), b"c".to_vec()]));
        assert_ne!(whole, encoded(&[b"abc".to_vec()]));
        assert_eq!(decode(&whole[..whole.len() - 1]), None);
    }
}
