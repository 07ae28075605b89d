//! Writing: one owner of the end, one write a group, one sync before it is acknowledged.

mod commit;
pub(in crate::cold) mod leave;
mod left;
pub(in crate::cold) mod packet;
pub(in crate::cold) mod queue;
mod rotate;
pub(in crate::cold) mod spool;
pub(in crate::cold) mod syncer;
pub(in crate::cold) mod writer;
