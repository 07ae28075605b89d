//! Looking through cells and spaces without reading a payload.

use crate::cold::Born;
use crate::entry::Seq;
use crate::error::Result;

use super::batch::Key;
use super::directory::Directory;
use super::directory::cells;
use super::filter::Filter;
use super::handle::Log;
use super::once;
use super::order;
use super::records::check_prefix;
use super::value::Columns;

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The least key, part by part, bytewise.
    #[default]
    Key,
    /// The cell that was put first.
    Born,
    /// The cell whose newest version came first.
    Changed,
}

/// Which cells are listed, and how.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// What their keys begin with; no parts for all cells.
    pub prefix: Key<'a>,
    /// What must be true of their columns.
    pub filter: Option<&'a Filter>,
    /// What comes first.
    pub order: Order,
    /// Whether it is the other way round.
    pub reverse: bool,
    /// The last one of the page before.
    pub beyond: Option<&'a Listed>,
    /// The most that are listed.
    pub limit: usize,
    /// What has expired by then is left out; microseconds since 1970 UTC.
    pub now: i64,
}

impl Scan<'_> {
    /// The encoded prefix, if everything is within its limits.
    fn checked(&self) -> Result<Vec<u8>> {
        check_prefix(self.prefix)?;
        self.filter.map_or(Ok(()), Filter::check)?;
        Ok(order::encode(self.prefix))
    }

    fn shows(&self, cell: &cells::Cell) -> bool {
        let passes = |filter: &Filter| filter.passes(&cell.columns);
        self.filter.is_none_or(passes) && cell.is_live(self.now) && !cell.is_own
    }
}

/// A cell without its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its key.
    pub key: Vec<Vec<u8>>,
    /// The id of its newest version.
    pub version: Seq,
    /// When that one was put, in microseconds since 1970 UTC.
    pub at: i64,
    /// Its first version.
    pub born: Born,
    /// From when on it counts as absent.
    pub expires: Option<i64>,
    /// Named values.
    pub columns: Columns,
    /// Whether no damaged record may have changed it since.
    pub is_certain: bool,
}

impl Listed {
    fn of(directory: &Directory, key: &[u8], cell: &cells::Cell) -> Self {
        Self {
            is_certain: directory.doubt(key).is_none(),
            key: order::decode(key),
            version: cell.version,
            at: cell.at,
            born: cell.born,
            expires: cell.expires,
            columns: cell.columns.clone(),
        }
    }
}

impl Log {
    /// Lists cells in order, a page at a time, without their payloads.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`](crate::Error::Argument) for a prefix over a limit, and for a filter that cannot
    /// be judged; as reading the store.
    pub fn scan(&self, scan: &Scan<'_>) -> Result<Vec<Listed>> {
        let prefix = scan.checked()?;
        let directory = self.directory()?;
        if scan.order == Order::Key {
            let beyond = scan.beyond.map(|last| order::encode(&last.key));
            let all = directory
                .cells
                .below(&prefix, beyond.as_deref(), scan.reverse);
            let live = all.filter(|(_, cell)| scan.shows(cell));
            return Ok(live
                .take(scan.limit)
                .map(|(key, cell)| Listed::of(&directory, key, cell))
                .collect());
        }
        let rank = |version: Seq, born: Born| match scan.order {
            Order::Born => born.seq,
            Order::Changed | Order::Key => version,
        };
        let last = scan.beyond.map(|last| rank(last.version, last.born));
        let comes =
            |seq: Seq| last.is_none_or(|last| if scan.reverse { seq < last } else { seq > last });
        let mut found: Vec<(Seq, &[u8], &cells::Cell)> = directory
            .cells
            .below(&prefix, None, false)
            .filter(|(_, cell)| scan.shows(cell))
            .map(|(key, cell)| (rank(cell.version, cell.born), key, cell))
            .filter(|(seq, ..)| comes(*seq))
            .collect();
        let before = |one: Seq, other: Seq| {
            if scan.reverse {
                other.cmp(&one)
            } else {
                one.cmp(&other)
            }
        };
        if scan.limit < found.len() {
            // No more are put in order than are listed.
            found.select_nth_unstable_by(scan.limit, |(one, ..), (other, ..)| before(*one, *other));
            found.truncate(scan.limit);
        }
        found.sort_unstable_by(|(one, ..), (other, ..)| before(*one, *other));
        Ok(found
            .into_iter()
            .map(|(_, key, cell)| Listed::of(&directory, key, cell))
            .collect())
    }

    /// How many cells a scan would list, were there no limit.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    pub fn count(&self, scan: &Scan<'_>) -> Result<usize> {
        let prefix = scan.checked()?;
        let directory = self.directory()?;
        let all = directory.cells.below(&prefix, None, false);
        Ok(all.filter(|(_, cell)| scan.shows(cell)).count())
    }

    /// The beginnings of `depth` parts that keys of cells or lists below a prefix have, each once, in
    /// order, beyond one if it is given, at most `limit`.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    pub fn spaces(
        &self,
        prefix: Key<'_>,
        depth: usize,
        beyond: Option<&[Vec<u8>]>,
        limit: usize,
    ) -> Result<Vec<Vec<Vec<u8>>>> {
        check_prefix(prefix)?;
        let directory = self.directory()?;
        let prefix = order::encode(prefix);
        let mut at = prefix.clone();
        if let Some(last) = beyond {
            // Behind all that begins so; nothing is behind what every key begins with.
            let Some(behind) = order::after(&order::encode(last)) else {
                return Ok(Vec::new());
            };
            at = at.max(behind);
        }
        let mut out = Vec::new();
        while out.len() < limit
            && let Some(key) = next_key(&directory, &at)
            && key.starts_with(&prefix)
        {
            let space = order::prefix(key, depth).filter(|_| !once::is_place(key));
            let Some(space) = space else {
                // It is shorter, and what comes next may be longer, or it is not shown.
                at = [key, &[0]].concat();
                continue;
            };
            out.push(order::decode(space));
            let Some(next) = order::after(space) else {
                break;
            };
            at = next;
        }
        Ok(out)
    }
}

/// The least key of a cell or a list that is not less than this one.
fn next_key<'a>(directory: &'a Directory, at: &[u8]) -> Option<&'a [u8]> {
    let cell = directory.cells.next_key(at);
    let list = directory.lists.next_key(at);
    cell.into_iter().chain(list).min()
}
