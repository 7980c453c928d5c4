//! The simulator as nodes that own their state, moved on window by window, on any number of
//! threads with the same bytes. It runs the scenarios of `switchbed-sim`, whose TCP, traffic,
//! topologies and records it uses, and is to take the place of that crate's engine; until every
//! command runs on it, the two stand side by side, and a test holds them to the same flows.
//!
//! Folders, each of which knows only those before it:
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

mod engine;
mod flow;
pub mod network;
mod node;
pub mod observe;
pub mod packet;
pub mod simulation;
pub mod transport;

pub use network::{Division, QueueSample};
pub use node::host::ProbeSample;
pub use observe::capture::Capture;
pub use observe::goodput::GoodputSample;
pub use observe::monitors::Monitored;
pub use simulation::Simulation;
