//! A scheme and a switch, made into a port.

mod outside;

pub use outside::{Nothing, Outside};
pub use switchbed_qdisc::schemes::site::Taken;

use crate::SchemeChoice;
pub use switchbed_qdisc::memory::{AllHeadroom, Inputs, Place};
use switchbed_qdisc::switch::Switch;

use switchbed_qdisc::Qdisc;
use switchbed_qdisc::schemes::by_queue;
use switchbed_qdisc::schemes::definition::Choice;
use switchbed_qdisc::schemes::site::Site;
use switchbed_units::{Bytes, Rate};

/// A port of a switch of so many `ports`, idle, with the scheme in its seats. `mtu` gives
/// time constants that are a packet's time on this line. `outside` takes the seats of a scheme
/// that is not compiled in. `place` is where among the switch's ports it is ([`first_place`]).
pub fn port(
    switch: &Switch,
    scheme: &SchemeChoice,
    ports: u32,
    rate: Rate,
    mtu: Bytes,
    outside: &dyn Outside,
    place: Place,
) -> Box<dyn Qdisc> {
    let layout = scheme.scheme.layout(ports);
    // A closure, since each queue's scheme is built at a site of its own.
    let site = || Site::new(switch, layout, ports, rate, mtu).among(place.clone());
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

/// The first of a switch's so many ports, where these links come in.
///
/// # Errors
/// The headroom of its lossless groups leaves no memory for anything else.
pub fn place(
    switch: &Switch,
    scheme: &SchemeChoice,
    ports: u32,
    inputs: Inputs,
) -> Result<Place, AllHeadroom> {
    switch.place(ports, scheme.scheme.queues(switch, ports), inputs)
}

/// The same of a switch without lossless groups.
pub fn first_place(switch: &Switch, scheme: &SchemeChoice, ports: u32) -> Place {
    // Only policies that look at other ports need a place for each.
    let known = if switch.policy.knows_others() { ports } else { 1 };
    Place::first(known, scheme.scheme.queues(switch, ports))
}
