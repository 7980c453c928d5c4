//! A live software switch: Linux interfaces in and out, and at each of its ports a scheme
//! of `qdisc`, unchanged, on real frames.
//!
//! [`switch`] is the switch itself, without input or output and without a clock: frames and
//! times go in, frames come out. [`device`] is what frames come from and go to, [`clock`]
//! is time, and [`forward`] is the loop that joins the three. `capture` copies
//! what passes, `open` opens what a file names,
//! `confine` gives up what it needs no more, and
//! `control` is how a switch that runs is asked and set.

#![deny(unsafe_code)]
#![deny(unreachable_pub)]

pub mod capture;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod confine;
#[cfg(target_os = "linux")]
pub mod control;
pub mod device;
pub mod egress;
pub mod forward;
pub mod frames;
pub mod mac_table;
#[cfg(target_os = "linux")]
pub mod open;
mod pausing;
pub mod random;
pub mod stats;
pub mod switch;

pub use clock::{Clock, Fake};
pub use device::Device;
pub use forward::Forwarder;
pub use stats::Stats;
pub use switch::Switch;
