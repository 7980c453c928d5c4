//! Rate controls of RoCE queue pairs: at what rate, and with how much in flight, the card of a
//! sender sends a queue pair's packets. Each control is one file with its parameters, its
//! description and its algorithm ([`RateAlgorithm`]), and a line of the registry. From the registry
//! follow [`RateControl`] (the choice of a scenario) and [`RateMemory`] (the state of a queue
//! pair's control).
//!
//! Controls are pure state machines: they are called with arrivals, departures and the time, and
//! asked for the rate, the window and the next timer. A queue pair begins at line rate. Rates are
//! of bytes on the wire, windows of bytes of the stream, as in the HPCC authors' simulator.

mod algorithm;
#[cfg(test)]
mod closed;
mod dcqcn;
mod hpcc;
mod registry;
mod swift;
mod timely;
mod unlimited;
mod unordered;

pub use algorithm::{IntHop, Path, RateAbout, RateAlgorithm, RoceAck};
pub use dcqcn::{Dcqcn, DcqcnParams, DcqcnVariant};
pub use hpcc::{Hpcc, HpccParams, HpccState};
pub use registry::{RateControl, RateMemory};
pub use swift::{Swift, SwiftParams};
pub use timely::{Timely, TimelyParams, TimelyUpdate};
pub use unlimited::Unlimited;
pub use unordered::{Nscc, NsccRccc, Rccc};
