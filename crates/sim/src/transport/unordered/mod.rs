//! Messages over packets that are sprayed over all paths and may be trimmed: reliable unordered delivery, as htsim has
//! it for Ultra Ethernet (uet-htsim 40ccb05, `uec.cpp`).
//!
//! | file | what |
//! | --- | --- |
//! | `config` | settings, one copy for all |
//! | `sender` | which packet leaves, by window and credit, and again |
//! | `receiver` | SACKs, NACKs for trimmed packets, pulls |
//! | `fields` | where a packet's fields are |
//! | `spray` | which path a packet takes |
//!
//! The sender's window is in crate `congestion` ([`switchbed_congestion::nscc`]). A receiver's host paces the pulls of all
//! its connections.

#[cfg(test)]
mod chaos;
mod config;
mod fields;
mod receiver;
mod sender;
mod sleek;
mod spray;

pub use config::Config;
pub use receiver::Receiver;
pub use sender::Sender;
