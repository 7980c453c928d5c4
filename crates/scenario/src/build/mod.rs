//! A scheme and a switch, made into a port.

mod outside;

pub use outside::{Nothing, Outside};
pub use switchbed_qdisc::schemes::site::Taken;

use crate::SchemeChoice;
pub use switchbed_qdisc::memory::{AllHeadroom, Inputs};
use switchbed_qdisc::switch::Switch;

use switchbed_qdisc::Qdisc;
use switchbed_qdisc::schemes::by_queue;
use switchbed_qdisc::schemes::definition::Choice;
use switchbed_qdisc::schemes::site::Site;
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
