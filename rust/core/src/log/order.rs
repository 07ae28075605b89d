//! Keys in an order that bytes keep: parts compare bytewise, one after the other, and a key comes before
//! every longer one that begins with it.
//!
//! Each part is followed by `0 0`, and a zero in a part by `1`, so that the encodings of all keys below a
//! prefix are those that begin with the prefix's.

/// The encoding of a key.
pub(super) fn encode<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    let len = parts.iter().map(|part| part.as_ref().len() + 2).sum();
    let mut out = Vec::with_capacity(len);
    for part in parts {
        push(&mut out, part.as_ref());
    }
    out
}

/// Appends one part.
pub(super) fn push(out: &mut Vec<u8>, part: &[u8]) {
    for byte in part {
        out.push(*byte);
        if *byte == 0 {
            out.push(1);
        }
    }
    out.extend([0, 0]);
}

/// The parts of an encoding.
pub(super) fn decode(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    while let Some((byte, rest)) = bytes.split_first() {
        bytes = rest;
        if *byte != 0 {
            part.push(*byte);
            continue;
        }
        let mark = bytes.split_off_first();
        if mark == Some(&1) {
            part.push(0);
        } else {
            parts.push(std::mem::take(&mut part));
        }
    }
    parts
}

/// The end of the first `count` parts of an encoding: its prefix of that depth.
pub(super) fn prefix(bytes: &[u8], count: usize) -> Option<&[u8]> {
    let (mut at, mut left) = (0, count);
    while left > 0 {
        let zero = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        at += zero + 2;
        if bytes.get(at - 1) == Some(&0) {
            left -= 1;
        }
    }
    bytes.get(..at)
}

/// All prefixes of an encoding, the empty one and itself among them.
pub(super) fn prefixes(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..).map_while(|count| prefix(bytes, count))
}

/// The least encoding that comes after all that begin with this one. A part that follows begins with no
/// byte that is greater.
pub(super) fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut out = prefix.to_vec();
    while let Some(last) = out.pop() {
        if let Some(next) = last.checked_add(1) {
            out.push(next);
            return Some(out);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop_oneof![Just(0_u8), Just(1), Just(2), Just(255)];
        prop::collection::vec(prop::collection::vec(byte, 0..3), 0..4)
    }

    proptest! {
        #[test]
        fn bytes_keep_the_order_of_keys(a in key(), b in key()) {
            let (one, other) = (encode(&a), encode(&b));
            prop_assert_eq!(decode(&one), a.clone());
            prop_assert_eq!(one.cmp(&other), a.cmp(&b));
            prop_assert_eq!(other.starts_with(&one), b.starts_with(&a));
        }

        #[test]
        fn a_prefix_is_that_of_the_parts(a in key(), count in 0..5_usize) {
            let whole = encode(&a);
            let expected = a.get(..count).map(encode);
            prop_assert_eq!(prefix(&whole, count).map(<[u8]>::to_vec), expected);
        }

        #[test]
        fn what_begins_with_a_prefix_lies_before_its_end(a in key(), b in key()) {
            let (one, other) = (encode(&a), encode(&b));
            let Some(end) = after(&one) else {
                // Nothing lies behind the empty prefix, or behind one of the greatest bytes alone.
                prop_assert!(one.iter().all(|byte| *byte == 255));
                return Ok(());
            };
            prop_assert_eq!(other.starts_with(&one), other >= one && other < end);
        }
    }
}
