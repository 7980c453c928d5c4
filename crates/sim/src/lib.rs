//! The packet-level simulator: a run ([`simulation`]) moves packets through links and switch
//! ports between the transports of hosts that carry flows ([`switchbed_scenario::traffic`]); time is integer
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
//! | `routing` | who chooses a port for each packet or flowlet |
//! | `engine` | windows of time, shards, threads |
//! | `node` | switches, hosts, links |
//! | `run` | a run from beginning to end: progress, tables, summary, warnings, memory |
//!
//! [`network`] deals the nodes of a graph out, and [`simulation`] moves them on.
#![deny(unsafe_code)]
#![deny(unreachable_pub)]

mod build_error;
mod carriers;
mod course;
mod deadlock;
mod deployed;
pub mod drill;
mod empty_network;
mod engine;
mod flow;
mod ideal;
pub mod ids;
mod jobs;
mod lookahead;
pub mod network;
mod node;
mod nullable;
pub mod observe;
mod operations;
pub mod packet;
mod pauses;
mod ports;
mod ranks;
mod records;
mod routing;
mod run;
pub mod simulation;
mod stall;
pub mod table;
mod timeline;
pub mod topology;
pub mod transport;

pub use build_error::BuildError;
pub use deadlock::Deadlock;
pub use flow::FlowRecord;
pub use jobs::Job;
pub use network::Division;
pub use node::host::ProbeSample;
pub use observe::capture::Capture;
pub use observe::goodput::GoodputSample;
pub use observe::interference::Interference;
pub use observe::queue_stats::Lengths;
pub use observe::series::QueueSample;
pub use pauses::{Pause, Waited};
pub use ports::PortInfo;
pub use run::impossible::Impossible;
pub use run::memory::{Part, memory};
pub use run::results::{Results, SeriesRow, series_of};
pub use run::summary::{BUILD, SCHEMA_VERSION, Summary};
pub use run::transports::TransportTimes;
pub use run::watchdog::{Excess, Held};
pub use run::{Progress, Unfinished, run, run_on, run_with};
pub use simulation::{PortReport, Simulation, Status};
pub use stall::{Refusal, Stall};
pub use transport::{Wait, Waits, tcp};

/// The names of the tables that only some runs have: monitors', and what flow control did.
pub fn monitored_tables() -> impl Iterator<Item = &'static str> {
    observe::monitors::tables().chain([
        "pauses",
        "groups",
        "pause_tree",
        "paused_flows",
        "transports",
        "storms",
        "deadlocks",
        "jobs",
        "operations",
    ])
}
