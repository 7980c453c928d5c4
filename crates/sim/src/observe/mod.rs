//! What looks on at a run, and decides nothing: ports' queues and packets ([`watch`]), classes'
//! goodput ([`goodput`]), what a scenario asks to be looked at more closely ([`monitors`]),
//! packet traces ([`capture`]), and what is worked out from the flows' records
//! ([`interference`], [`fair`]).

mod bursts;
pub mod capture;
mod changes;
pub(crate) mod convergence;
pub mod fair;
pub mod goodput;
pub mod interference;
pub mod monitors;
pub mod queue_stats;
pub(crate) mod room;
pub(crate) mod underflow;
pub(crate) mod watch;
