//! One search through rows: from the codes of all of them to the scores of the few that may be the best.
//!
//! ```text
//! query ─▶ probe ─▶ cascade: estimates of the rows of the row sets
//!                   ─▶ prune: what may still matter ─▶ rescore: in full ─▶ top-k
//! ```
//!
//! The search state is what one query has found so far; `explain` says what the steps did.

pub(in crate::hot) mod cascade;
pub(in crate::hot) mod explain;
pub(in crate::hot) mod probe;
pub(in crate::hot) mod prune;
pub(in crate::hot) mod rescore;
pub(in crate::hot) mod row_sets;
pub(in crate::hot) mod search_state;
pub(in crate::hot) mod threads;
pub(in crate::hot) mod topk;
