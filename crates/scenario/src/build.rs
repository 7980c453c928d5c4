//! A scheme and a switch, made into a port. Seats of a scheme that is not compiled in are brought along by the caller;
//! nothing here knows what stands behind them.

use crate::SchemeChoice;
pub use switchbed_qdisc::memory::{AllHeadroom, Inputs};
use switchbed_qdisc::schemes::by_queue;
use switchbed_qdisc::schemes::definition::Choice;
use switchbed_qdisc::schemes::site::Site;
pub use switchbed_qdisc::schemes::site::Taken;
use switchbed_qdisc::switch::Switch;
use switchbed_qdisc::{PortState, Qdisc};
use switchbed_units::{Bytes, Rate};

/// A port of a switch of so many `ports`, idle, with the scheme in its seats. `mtu` gives
/// time constants that are a packet's time on this line. `outside` takes the seats of a scheme
/// that is not compiled in. `number` is the port's among those of its switch, whose memory [`Switch::memory`] is.
pub fn port(
    switch: &Switch,
    scheme: &SchemeChoice,
    ports: u32,
    rate: Rate,
    mtu: Bytes,
    outside: &dyn Outside,
    number: u32,
) -> Box<dyn Qdisc> {
    let layout = scheme.scheme.layout(ports);
    // A closure, since each queue's scheme is built at a site of its own.
    let site = || Site::new(switch, layout, ports, rate, mtu).numbered(number);
    if !scheme.queues.is_empty() {
        let each: Vec<Choice> = scheme.queues.iter().map(|queue| queue.scheme.clone()).collect();
        let built = by_queue::build(&each, site);
        return built.unwrap_or_else(|why| panic!("a scenario with it is refused: {why}")).port();
    }
    let site = site();
    let site = match &scheme.python {
        Some(_) => site.with(|switch, state| outside.take(scheme, switch, state)),
        None => site,
    };
    scheme.scheme.build(site).port()
}

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
