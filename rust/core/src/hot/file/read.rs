//! Reading a saved index where its bytes lie.

use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;

use super::edge::{
    ALIGN, EDGE, END_MAGIC, Fields, MAGIC, MAJOR, MINOR, NAME, is_sealed, narrow, span, wide,
};
use crate::error::{Error, Result};
use crate::hot::file::column::Column;
use crate::hot::file::section::{BLOCK, Damage, Section};
use crate::packed::SharedBytes;

/// A saved index: its sections by name.
#[derive(Debug)]
pub(in crate::hot) struct Saved {
    sections: Vec<Section>,
    damage: Arc<Damage>,
}

impl Saved {
    /// Checks header, end block and table of a file; `path` names it in errors.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::NewerIndex`] or [`Error::IndexDamaged`].
    pub(in crate::hot) fn open(bytes: &SharedBytes, path: &Path) -> Result<Self> {
        let whole = (**bytes).as_ref();
        let damaged = |offset: usize, detail: &str| Error::IndexDamaged {
            path: path.into(),
            offset: wide(offset),
            detail: detail.into(),
        };
        check_header(whole, path)?;
        let place = whole.len().saturating_sub(EDGE);
        let cut = || {
            damaged(
                whole.len(),
                "it was cut, or its end is not what was written",
            )
        };
        let mut end = whole
            .get(place..)
            .filter(|end| is_sealed(end))
            .map(Fields)
            .ok_or_else(cut)?;
        let magic = end.array::<8>();
        let [offset, length, count, file] = [(); 4].map(|()| end.u64().unwrap_or(u64::MAX));
        if magic != Some(END_MAGIC) || file != wide(whole.len()) {
            return Err(cut());
        }
        let table = span(offset, length)
            .and_then(|range| whole.get(range))
            .filter(|table| Some(crc32c::crc32c(table)) == end.u32())
            .ok_or_else(|| damaged(narrow(offset), "the table of sections"))?;
        let damage = Arc::new(Damage::none(path.to_path_buf()));
        let mut fields = Fields(table);
        let sections = (0..count)
            .map(|_| entry(&mut fields, offset, bytes, &damage))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| damaged(narrow(offset), "an entry of the table of sections"))?;
        Ok(Self { sections, damage })
    }

    /// What was found to be wrong so far.
    pub(in crate::hot) fn damage(&self) -> &Arc<Damage> {
        &self.damage
    }

    /// The section of that name, where there is one.
    pub(in crate::hot) fn find(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name() == name)
    }

    /// The values of the section of that name.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`] if there is none, or it is not made of such values.
    pub(in crate::hot) fn column<T: Pod>(&self, name: &str) -> Result<Column<T>> {
        let section = self.find(name).ok_or_else(|| self.lacks(name))?;
        Column::saved(section.clone())
    }

    /// The values of the section of that name, of which there must be so many.
    ///
    /// # Errors
    /// As [`Saved::column`], and if there are more or fewer.
    pub(in crate::hot) fn column_of<T: Pod>(&self, name: &str, count: usize) -> Result<Column<T>> {
        let column = self.column(name)?;
        if column.len() != count {
            let detail = format!(
                "{count} values expected in {name:?}, {} found",
                column.len()
            );
            return Err(self.damage.error(0, detail));
        }
        Ok(column)
    }

    /// The error that says that a section is not there.
    pub(in crate::hot) fn lacks(&self, name: &str) -> Error {
        self.damage.error(0, format!("it has no section {name:?}"))
    }

    /// Checks every block of every section.
    ///
    /// # Errors
    /// [`Error::IndexDamaged`], [`Error::Interrupted`].
    pub(in crate::hot) fn verify(&self) -> Result<()> {
        self.sections.iter().try_for_each(Section::verify)
    }
}

fn check_header(whole: &[u8], path: &Path) -> Result<()> {
    let header = whole.get(..EDGE).unwrap_or(whole);
    let mut fields = Fields(header);
    if fields.array::<8>() != Some(MAGIC) {
        return Err(Error::NotAnIndex { path: path.into() });
    }
    if !is_sealed(header) {
        return Err(Error::IndexDamaged {
            path: path.into(),
            offset: 0,
            detail: "the header".into(),
        });
    }
    let [major, minor] = [(); 2].map(|()| fields.u16().unwrap_or(u16::MAX));
    let _length = fields.u32();
    let features = fields.u64().unwrap_or(u64::MAX);
    if major != MAJOR || features != 0 {
        return Err(Error::NewerIndex {
            path: path.into(),
            found: format!("{major}.{minor} with features {features:#x}"),
            supported: format!("{MAJOR}.{MINOR}"),
        });
    }
    Ok(())
}

/// One entry of the table; sections lie before the table.
fn entry(
    fields: &mut Fields<'_>,
    table: u64,
    bytes: &SharedBytes,
    damage: &Arc<Damage>,
) -> Option<Section> {
    let name = fields.array::<NAME>()?;
    let name = std::str::from_utf8(&name).ok()?.trim_end_matches('\0');
    let (offset, length) = (fields.u64()?, fields.u64()?);
    let range = span(offset, length)?;
    if !offset.is_multiple_of(ALIGN) || wide(range.end) > table {
        return None;
    }
    let sums = (0..range.len().div_ceil(BLOCK))
        .map(|_| fields.u32())
        .collect::<Option<Vec<_>>>()?;
    let damage = Arc::clone(damage);
    Some(Section::new(name, Arc::clone(bytes), range, sums, damage))
}
