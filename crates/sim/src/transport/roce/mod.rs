//! RoCE's queue pairs: messages over an Ethernet that loses little or nothing.
//!
//! | file | what |
//! | --- | --- |
//! | `config` | settings, one copy for all |
//! | `sender` | the requester: what leaves, at what rate, and again |
//! | `messages` | which packets a stream of messages is cut into |
//! | `receiver` | the responder: ACKs, NACKs, CNPs |
//!
//! The control of the rate is in crate `congestion` ([`switchbed_congestion::roce`]); the network card sends a
//! packet when that allows it. A queue pair is set up beforehand, without packets.

mod config;
mod messages;
mod receiver;
mod sender;

pub use config::Config;
pub(in crate::transport) use messages::Messages;
pub use receiver::Receiver;
pub use sender::Sender;
