//! Rows that move together, and codes that are made anew.

use super::catalog::position;
use super::head::Int8;
use super::rows::Rows;

impl Rows {
    /// Moves the living rows together, in their order.
    pub(super) fn compact(&mut self) {
        let mut blocks = Vec::with_capacity(self.len() * self.width);
        let mut owner = Vec::with_capacity(self.len());
        let spans = self.span.make_mut();
        let mut order: Vec<&mut [u32; 2]> = spans.iter_mut().filter(|span| span[1] > 0).collect();
        order.sort_unstable_by_key(|span| span[0]);
        for span in order {
            let start = position(span[0]);
            let rows = start..start + position(span[1]);
            span[0] = u32::try_from(owner.len()).unwrap_or(u32::MAX);
            for part in self
                .blocks
                .pieces(rows.start * self.width..rows.end * self.width)
            {
                blocks.extend_from_slice(part);
            }
            for part in self.owner.pieces(rows) {
                owner.extend_from_slice(part);
            }
        }
        self.blocks = blocks.into();
        self.owner = owner.into();
        self.dead = 0;
        self.plain = false;
        if self.head.take().is_some() {
            self.head = self.codes().into();
        }
    }

    /// The codes of all rows.
    pub(super) fn codes(&self) -> Int8 {
        let mut head = Int8::new(self.dim);
        head.reserve(self.owner.len());
        let mut flat = Vec::with_capacity(self.dim);
        for row in 0..self.owner.len() {
            let blocks = self.blocks.slice(row * self.width..(row + 1) * self.width);
            flat.clear();
            let values = blocks.unwrap_or_default().iter().flat_map(|block| block.0);
            flat.extend(values.take(self.dim));
            flat.resize(self.dim, 0.0);
            head.push(&flat);
        }
        head
    }
}
