//! The packet-level simulator: a run ([`simulation`]) moves packets through links and
//! switch ports ([`network`], [`topology`]) between the transports of hosts ([`hosts`],
//! [`tcp`]) that carry flows ([`traffic`]); time is integer picoseconds and everything
//! random is keyed by the seed ([`random`]), so the same scenario gives the same bytes.

#![forbid(unsafe_code)]

pub mod capture;
pub mod deployed;
pub mod empty_network;
mod endpoints;
pub mod fair;
pub mod goodput;
pub mod heap;
pub mod hosts;
pub mod interference;
mod link;
pub mod monitors;
pub mod network;
pub mod nic;
pub mod notification;
pub mod ports;
pub mod probe;
pub mod queue_stats;
pub mod random;
pub mod room;
pub mod simulation;
pub mod tcp;
pub mod tie;
pub mod timeline;
pub mod topology;
pub mod traffic;
pub mod udp;

pub use capture::Capture;
pub use goodput::GoodputSample;
pub use hosts::FlowRecord;
pub use interference::Met;
pub use monitors::Monitored;
pub use network::QueueSample;
pub use ports::PortInfo;
pub use probe::ProbeSample;
pub use queue_stats::Lengths;
pub use simulation::{BuildError, PortReport, Simulation, Status};
