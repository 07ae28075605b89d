//! The walk itself, for items that are each their own group: sort once, take what fits.

use crate::error::Result;

/// Room for the walk, kept between lists so that a batch allocates once.
#[derive(Debug, Default)]
pub(super) struct Walk {
    order: Vec<(u64, usize)>,
    chosen: Vec<bool>,
}

impl Walk {
    /// Append the chosen indices to `out`, ascending, each with `base` added.
    ///
    /// `costs` and `values` have the same length.
    pub(super) fn run(
        &mut self,
        (costs, values): (&[u64], &[f64]),
        budget: u64,
        must: &[usize],
        base: usize,
        out: &mut Vec<usize>,
    ) -> Result<()> {
        self.chosen.clear();
        self.chosen.resize(costs.len(), false);
        let mut left = self.take_all(costs, budget, must)?;
        self.rank(values)?;
        for (_, index) in &self.order {
            if let (Some(cost), Some(chosen)) = (costs.get(*index), self.chosen.get_mut(*index))
                && !*chosen
                && *cost <= left
            {
                left -= cost;
                *chosen = true;
            }
        }
        out.extend(
            self.chosen
                .iter()
                .enumerate()
                .filter(|(_, chosen)| **chosen)
                .map(|(at, _)| at + base),
        );
        Ok(())
    }

    /// Choose what must be in; what is left of the budget.
    fn take_all(&mut self, costs: &[u64], budget: u64, must: &[usize]) -> Result<u64> {
        let mut need = 0_u128;
        for index in must {
            let (Some(cost), Some(chosen)) = (costs.get(*index), self.chosen.get_mut(*index))
            else {
                return Err(super::no_index(*index, costs.len()));
            };
            if !std::mem::replace(chosen, true) {
                need += u128::from(*cost);
            }
        }
        super::remaining(budget, need)
    }

    /// Order by value, best first, then by index.
    fn rank(&mut self, values: &[f64]) -> Result<()> {
        self.order.clear();
        for (at, value) in values.iter().enumerate() {
            if value.is_nan() {
                return Err(super::not_a_number(at));
            }
            self.order.push((descending(*value), at));
        }
        self.order.sort_unstable();
        Ok(())
    }
}

/// An integer that is smaller where the number is greater; both zeros are one.
fn descending(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    let ascending = if negative { !bits } else { bits | 1 << 63 };
    !ascending
}
