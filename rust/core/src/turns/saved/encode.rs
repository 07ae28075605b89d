//! Rows, links and names as bytes.

use crate::turns::fact::{Bond, Role};
use crate::turns::rows::{Flags, Links, Name, Names, Row, Rows};
use crate::turns::talk::Turns;

/// Bytes of a row: time 8, tokens 4, session 4, speaker 4 (from 1 on, 0 for nobody), role 4, whose words
/// 1, bond 1, flags 1, a zero.
pub(super) const ROW: usize = 32;

pub(super) fn row_bytes(row: &Row) -> [u8; ROW] {
    let mut out = [0; ROW];
    let speaker = row
        .speaker
        .map_or(0, |name| name.number().saturating_add(1));
    let words = [row.tokens, row.session, speaker, row.role.number()];
    let small = [
        role_number(row.whose),
        u8::try_from(row.bond.number()).unwrap_or_default(),
        row.flags.bits(),
    ];
    let bytes = row.at.to_le_bytes().into_iter();
    let bytes = bytes.chain(words.into_iter().flat_map(u32::to_le_bytes));
    for (to, from) in out.iter_mut().zip(bytes.chain(small)) {
        *to = from;
    }
    out
}

pub(super) fn row_of(bytes: &[u8; ROW]) -> Option<Row> {
    let (at, rest) = bytes.split_first_chunk::<8>()?;
    let word = |place: usize| {
        let bytes = rest.get(4 * place..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let [whose, bond, flags] = *rest.get(16..)?.first_chunk::<3>()?;
    Some(Row {
        at: f64::from_le_bytes(*at),
        tokens: word(0)?,
        session: word(1)?,
        speaker: word(2)?.checked_sub(1).map(Name::of),
        role: Name::of(word(3)?),
        whose: role_of(whose)?,
        bond: Bond::of(bond)?,
        flags: Flags::of(flags)?,
    })
}

pub(super) fn role_number(role: Role) -> u8 {
    match role {
        Role::Other => 0,
        Role::System => 1,
        Role::Assistant => 2,
    }
}

pub(super) fn role_of(number: u8) -> Option<Role> {
    [Role::Other, Role::System, Role::Assistant]
        .get(usize::from(number))
        .copied()
}

/// The links of all messages that have any.
pub(super) fn links_of(turns: &Turns) -> Vec<u8> {
    let mut out = Vec::new();
    for (place, links) in turns.rows().linked() {
        let mut made = Vec::new();
        for ids in [&links.calls, &links.results] {
            put_list(&mut made, ids.iter().map(|id| &**id));
        }
        for one in [&links.item, &links.key, &links.beside] {
            put_list(&mut made, one.iter().map(|one| &**one));
        }
        put_word(&mut out, usize::try_from(place).unwrap_or(usize::MAX));
        put_bytes(&mut out, &made);
    }
    out
}

pub(super) fn read_links(mut bytes: &[u8], rows: &mut Rows) -> Option<()> {
    while !bytes.is_empty() {
        let place = take_word(&mut bytes)?;
        let mut made = take_bytes(&mut bytes)?;
        let mut one = |most: usize| {
            let list = take_list(&mut made)?;
            (list.len() <= most).then_some(list)
        };
        let links = Links {
            calls: one(usize::MAX)?,
            results: one(usize::MAX)?,
            item: one(1)?.pop(),
            key: one(1)?.pop(),
            beside: one(1)?.pop(),
        };
        (made.is_empty() && rows.link(place, links)).then_some(())?;
    }
    Some(())
}

pub(super) fn names_of(turns: &Turns) -> Vec<u8> {
    let mut out = Vec::new();
    for names in [turns.roles(), turns.speakers()] {
        put_list(&mut out, names.all());
    }
    out
}

pub(super) fn read_names(mut bytes: &[u8]) -> Option<(Names, Names)> {
    let mut names = || {
        let mut made = Names::default();
        for (at, name) in take_list(&mut bytes)?.iter().enumerate() {
            let number = made.number(name).ok()?;
            (usize::try_from(number.number()) == Ok(at)).then_some(())?; // each once
        }
        Some(made)
    };
    let found = (names()?, names()?);
    bytes.is_empty().then_some(found)
}

pub(super) fn put_word(out: &mut Vec<u8>, word: usize) {
    out.extend(u32::try_from(word).unwrap_or(u32::MAX).to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_word(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(super) fn put_list<'a>(out: &mut Vec<u8>, list: impl Iterator<Item = &'a [u8]> + Clone) {
    put_word(out, list.clone().count());
    list.for_each(|one| put_bytes(out, one));
}

pub(super) fn take_word(bytes: &mut &[u8]) -> Option<u32> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*word))
}

pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_word(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

pub(super) fn take_list(bytes: &mut &[u8]) -> Option<Vec<Box<[u8]>>> {
    let count = take_word(bytes)?;
    (0..count)
        .map(|_| take_bytes(bytes).map(Into::into))
        .collect()
}
