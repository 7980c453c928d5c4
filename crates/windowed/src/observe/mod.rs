//! What looks on at a run, and decides nothing: ports' queues and packets ([`watch`]), classes'
//! goodput ([`goodput`]), what a scenario asks to be looked at more closely ([`monitors`]),
//! packet traces ([`capture`]).

mod bursts;
pub mod capture;
pub(crate) mod convergence;
pub mod goodput;
pub mod monitors;
pub(crate) mod underflow;
pub mod watch;
