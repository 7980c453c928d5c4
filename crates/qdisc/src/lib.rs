//! placeholder
pub mod units;
/// Most queues a port may have.
pub const MAX_QUEUES: usize = 256;
