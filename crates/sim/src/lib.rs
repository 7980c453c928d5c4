//! The packet-level simulator: a run ([`simulation`]) moves packets through links and switch
//! ports between the transports of hosts that carry flows ([`switchbed_spec::traffic`]); time is integer
//! picoseconds and everything random is keyed by the seed ([`switchbed_units::random`]), so the same scenario gives
//! the same bytes, however the work is divided.
//!
//! Numbers have types ([`ids`]). Folders, each of which knows only those before it:
//!
//! | folder | what |
//! | --- | --- |
//! | [`packet`] | what travels between hosts |
//! | [`transport`] | a connection's halves: TCP, or none |
//! | [`observe`] | what looks on, and decides nothing |
//! | `engine` | windows of time, shards, threads |
//! | `node` | switches, hosts, links |
//!
//! On top, [`network`] deals the nodes of a graph out, and [`simulation`] is a run.
#![deny(unsafe_code)]
#![deny(unreachable_pub)]

mod deadlock;
mod deployed;
mod empty_network;
mod engine;
mod flow;
pub mod ids;
mod lookahead;
pub mod network;
mod node;
pub mod observe;
pub mod packet;
mod pauses;
mod ports;
mod ranks;
pub mod simulation;
mod stall;
pub mod table;
mod timeline;
pub mod topology;
pub mod transport;

pub use deadlock::Deadlock;
pub use empty_network::longest_way;
pub use flow::FlowRecord;
pub use network::Division;
pub use node::host::ProbeSample;
pub use observe::bursts::Bursts;
pub use observe::capture::Capture;
pub use observe::changes::Changes;
pub use observe::convergence::Convergence;
pub use observe::goodput::GoodputSample;
pub use observe::interference::Interference;
pub use observe::measure::{self, Measure, PortNames, QueueProbe, Scenario};
pub use observe::monitors::{Ahead, Monitors, tables as monitored_tables};
pub use observe::queue_stats::Lengths;
pub use observe::series::QueueSample;
pub use pauses::{Pause, Waited};
pub use ports::PortInfo;
pub use simulation::{BuildError, PortReport, Simulation, Status};
pub use stall::{Refusal, Stall};
pub use transport::{Wait, Waits, tcp};
