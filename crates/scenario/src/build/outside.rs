//! Seats that a caller brings along: a scheme that is not compiled in. Nothing here knows
//! what stands behind them.

use crate::SchemeChoice;
use switchbed_qdisc::PortState;
use switchbed_qdisc::schemes::site::Taken;
use switchbed_qdisc::switch::Switch;

/// Takes seats of the ports whose scheme is `python`.
pub trait Outside {
    /// The seats of one port, whose state and memory (`switch.buffer`) are these. Who cannot
    /// take them takes none, and ends the run by other means.
    fn take(&self, scheme: &SchemeChoice, switch: &Switch, port: &PortState) -> Taken;

    /// Called every few milliseconds while a run lasts, by the thread that runs it.
    fn look(&self) {}

    /// Whether it is there at all.
    fn is_there(&self) -> bool {
        true
    }
}

/// Stands for no schemes from the caller: a scenario that needs one cannot be built.
pub struct Nothing;

impl Outside for Nothing {
    fn take(&self, _: &SchemeChoice, _: &Switch, _: &PortState) -> Taken {
        Taken::default()
    }
    fn is_there(&self) -> bool {
        false
    }
}
