//! Flow-size distributions: drawing from a table, its exact mean. The tables are built
//! in ([`BUILT_IN`]) or read from a [`mod@file`].
//!
//! A table is a cumulative distribution, linear between its points (two points of one
//! size are a jump), whose value is rounded up to whole packets or bytes. Sizes are
//! drawn from the rounded distribution, and [`Sizes::exact_mean`] is its mean. What
//! turns a load into an arrival rate is [`Sizes::mean_bytes`], the mean that the
//! table's source uses: for MQ-ECN's four tables that is (within 10 bytes) the mean in
//! packets × 1500 · 1000/1024, 0.28 to 0.33 % above the exact mean at 1460 bytes a
//! packet, so that the payload really offered is 0.3 % below the load's face value.

mod distribution;
pub mod file;
pub mod read;
mod tables;

pub use distribution::{SizeUnit, Sizes};
pub use tables::{BUILT_IN, BuiltIn, PAYLOAD, named};
