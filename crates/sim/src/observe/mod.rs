//! Observation of a run, which never changes its course. Two traits: `observer::AtPort` receives the
//! events at one port, `observer::Observer` looks at the whole network at a known time. Each kind
//! is a file: queues' lengths ([`queue_stats`]) and series of them ([`series`]), classes' goodput
//! ([`goodput`]) with fair shares of it ([`fair`]), packet traces ([`capture`]), and the monitors
//! that a scenario asks for, each with its keys and tables ([`monitors`]: `changes`, `bursts`,
//! `convergence`, `flow_series`, `link_series`, `underflow`). Results that follow from the flows' records alone are in
//! [`interference`].

pub(crate) mod bursts;
pub mod capture;
pub(crate) mod changes;
pub(crate) mod convergence;
pub mod fair;
pub(crate) mod flow_series;
pub mod goodput;
pub mod interference;
pub(crate) mod link_series;
pub mod monitors;
pub(crate) mod observer;
pub mod queue_stats;
pub mod series;
pub(crate) mod underflow;
pub(crate) mod waited;
