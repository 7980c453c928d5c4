//! Ports of what the CQRD paper compares.

use super::whole;
use crate::scheme::SchemeChoice;
use switchbed_qdisc::buffer::{Crosspoint, Overflow, Static};
use switchbed_qdisc::classifier::{ByIngress, Single};
use switchbed_qdisc::hcf::{Hcf, HcfSettings};
use switchbed_qdisc::marker::{MarkAt, RandomMark, Red, RedSettings, Spacing, Step};
use switchbed_qdisc::scheduler::{Fifo, RoundRobin, Wrr};
use switchbed_qdisc::seats::{Marker, Nobody};
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_qdisc::{Port, PortState, Qdisc};

/// A port of so many queues with so much memory each, whose queues weigh an `mtu`.
pub(super) fn port(
    scheme: &SchemeChoice,
    (queues, part): (usize, Bytes),
    rate: Rate,
    mtu: Bytes,
) -> Box<dyn Qdisc> {
    let state = PortState::new(rate, &vec![mtu; queues]);
    let memory = |overflow| Crosspoint::new(part, scheme.bytes("cell"), overflow, queues);
    match scheme.name.as_str() {
        "oq" => whole(state, Single, memory(Overflow::Tail), step(scheme, part, queues), Fifo),
        "cq" => {
            let marker = step(scheme, part, queues);
            whole(state, ByIngress, memory(Overflow::Tail), marker, RoundRobin::default())
        }
        "cqrd" => {
            let buffer = memory(Overflow::Random);
            whole(state, ByIngress, buffer, random_mark(scheme, part), RoundRobin::default())
        }
        "cqrd-configured" => {
            let marker = Red::new(red(scheme, part, rate.tx_time(mtu.get() as u32)), queues);
            whole(state, ByIngress, Static { limit: part }, marker, Wrr::new(queues))
        }
        "hcf" => {
            let settings = HcfSettings {
                bins: scheme.count("bins") as usize,
                credits: scheme.count("credits") as u32,
                period: scheme.span("period").unwrap_or(Span::MAX),
            };
            let marker = step(scheme, part, queues);
            Box::new(Port::new(state, Hcf::new(settings, memory(Overflow::Tail), marker)))
        }
        unknown => panic!("scheme {unknown} leaves seats to the switch"),
    }
}

type AnyMarker = Box<dyn Marker + Send>;

/// The threshold of a queue, if there is one.
fn threshold(scheme: &SchemeChoice, part: Bytes) -> Option<Bytes> {
    let fraction = scheme.maybe_number("ecn_threshold")?;
    Some(fraction_of(part, fraction))
}

fn fraction_of(part: Bytes, fraction: f64) -> Bytes {
    Bytes::new((part.as_f64() * fraction) as u64)
}

fn step(scheme: &SchemeChoice, part: Bytes, queues: usize) -> AnyMarker {
    match threshold(scheme, part) {
        Some(threshold) => Box::new(Step::per_queue(threshold, queues, MarkAt::Enqueue)),
        None => Box::new(Nobody),
    }
}

fn random_mark(scheme: &SchemeChoice, part: Bytes) -> AnyMarker {
    match threshold(scheme, part) {
        Some(threshold) => Box::new(RandomMark { threshold }),
        None => Box::new(Nobody),
    }
}

fn red(scheme: &SchemeChoice, part: Bytes, packet_time: Span) -> RedSettings {
    RedSettings {
        kmin: fraction_of(part, scheme.number("kmin")),
        kmax: fraction_of(part, scheme.number("kmax")),
        pmax: scheme.number("pmax"),
        weight: scheme.number("weight"),
        gentle: false,
        spacing: Spacing::Uniform,
        packet_time,
        at: MarkAt::Enqueue,
    }
}
