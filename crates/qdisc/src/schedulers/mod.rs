//! Schedulers: they choose the queue whose head leaves next.

mod fifo;
mod round;
mod round_robin;
mod strict;
mod wfq;

pub use fifo::Fifo;
pub use round::{Dwrr, Wrr};
pub use round_robin::RoundRobin;
pub use strict::{HighestFirst, Strict};
pub use wfq::Wfq;
