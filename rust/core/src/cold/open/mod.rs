//! Opening: a directory becomes an index, its torn tail is cut, and what is damaged is reported.

pub(in crate::cold) mod aside;
mod judge;
pub(in crate::cold) mod load;
pub(in crate::cold) mod scan;
mod settle;
pub(in crate::cold) mod survey;
mod tail;
