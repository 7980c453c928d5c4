//! Congestion controls: how a sender's window grows and answers marks, losses and timeouts. Each
//! control is one file with its parameters, its description and its algorithm ([`Control`]), and a
//! line of the registry. From the registry follow [`CongestionControl`] (the choice of a scenario)
//! and [`Memory`] (the state of a connection's control).
//!
//! Windows are in packets. A control decides how far to cut, and the sender when: at most once a
//! window of data.

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

#[macro_use]
mod dispatch;
mod bbr;
mod bbr3;
mod control;
mod cubic;
mod cubic_kernel;
mod dctcp;
mod ecn_star;
pub mod hystart;
mod model;
pub mod nscc;
mod prague;
mod registry;
mod reno;
pub mod roce;
mod udp;

pub use bbr::{Bbr, BbrParams};
pub use bbr3::Bbr3;
pub use control::{About, Acked, Arithmetic, Control, Mark};
pub use cubic::{Cubic, CubicParams};
pub use dctcp::{Dctcp, DctcpParams};
pub use ecn_star::EcnStar;
pub use model::{Connection, Delivered, LostPacket, Model, RateSample, Repair, Steer};
pub use prague::{Prague, PragueParams};
pub use registry::{CongestionControl, Given, Memory};
pub use reno::Reno;
pub use udp::Udp;
