//! Probes: small packets that a host sends at even intervals and another sends back at
//! once, as `ping` does. They go through the queue of their class like any packet, and tell
//! the round-trip time that it finds there.
//!
//! Like TCP's packets they are ECN-capable where the transport of both hosts is, so that a port
//! that wants to mark them does not drop them instead; a mark has no effect.

use crate::ids::HostId;
use crate::observe::observer::Space;
use crate::packet::{Body, PROBES, Payload};
use crate::topology::Hop;
use switchbed_qdisc::{Ecn, Packet, Random};
use switchbed_scenario::traffic::Probe;
use switchbed_scenario::{Scenario, Traffic};
use switchbed_units::random::Stream;
use switchbed_units::{Bytes, Span, Time};

/// A probe that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSample {
    /// When.
    pub sent: Time,
    /// The host that sent it.
    pub src: HostId,
    /// The host that sent it back.
    pub dst: HostId,
    /// Service class, there and back.
    pub class: u8,
    /// The round-trip time; `None`: it was lost, or is still on its way.
    pub rtt: Option<Span>,
}

/// A source of probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) src: HostId,
    dst: HostId,
    class: u8,
    every: Span,
    /// Wire length.
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    /// None is sent from then on; [`Time::NEVER`]: as long as there are flows.
    pub(crate) stop: Time,
    /// ECMP keys, there and back.
    keys: [u32; 2],
    ecn: Ecn,
}

/// The sources among a scenario's traffic.
pub(crate) fn sources(scenario: &Scenario) -> Vec<Source> {
    let mut sources = Vec::new();
    for (entry, traffic) in scenario.traffic.iter().enumerate() {
        let Traffic::Probe(probe) = &traffic.source else { continue };
        let Probe { from, to, size, every, classes, start, stop } = probe;
        for &src in &**from {
            // Entry and host: no two sources draw the same paths.
            let entity = (entry as u64) << 32 | u64::from(src);
            let bits = Stream::new(scenario.run.seed, "probe paths", entity).next_u64();
            // The highest bit would stand for a path that a flow list pins.
            let keys = [bits as u32 & !Hop::PINNED, (bits >> 32) as u32 & !Hop::PINNED];
            let ecn = scenario.probes_have_ecn(HostId(src), HostId(to.0));
            sources.extend(classes.iter().map(|&class| Source {
                src: HostId(src),
                dst: HostId(to.0),
                class,
                every: *every,
                size: *size,
                start: Time::ZERO + *start,
                stop: stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
                keys,
                ecn: if ecn { Ecn::Ect0 } else { Ecn::NotEct },
            }));
        }
    }
    sources
}

/// The probes of one source, as its host keeps them.
#[derive(Debug)]
pub(super) struct Probes {
    source: u32,
    /// Since the warm-up.
    samples: Vec<ProbeSample>,
    space: Space,
    /// Probes sent in the warm-up, which are forgotten.
    forgotten: u32,
}

impl Probes {
    pub(super) fn new(source: u32, rows: u64) -> Probes {
        Probes { source, samples: Vec::new(), space: Space::new(rows), forgotten: 0 }
    }

    pub(super) fn source(&self) -> u32 {
        self.source
    }

    /// The next probe, and when to ask again; `None` at the source's end.
    pub(super) fn send(
        &mut self,
        source: &Source,
        now: Time,
    ) -> Option<(Packet, Payload, Hop, Time)> {
        let Source { src, dst, class, every, stop, keys, .. } = *source;
        if now >= stop {
            return None;
        }
        // A sample's number goes with its packet, and comes back.
        let mut number = self.forgotten + self.samples.len() as u32;
        if self.space.take(1, now) {
            self.samples.push(ProbeSample { sent: now, src, dst, class, rtt: None });
        } else {
            number = u32::MAX; // no sample's
        }
        let body = Body::Echo { source: self.source, number, back: false };
        let hop = Hop { dst, key: keys[0] };
        Some((packet(source), Payload::loose(body), hop, (now + every).min(stop)))
    }

    /// A probe is back.
    pub(super) fn back(&mut self, number: u32, now: Time) {
        let sample = number.checked_sub(self.forgotten);
        if let Some(sample) = sample.and_then(|i| self.samples.get_mut(i as usize)) {
            sample.rtt = Some(now.since(sample.sent));
        }
    }

    /// Forgets the probes sent before `now` (the warm-up is over).
    pub(super) fn restart(&mut self, now: Time) {
        // Samples are in the order of sending: those from before the restart are a prefix.
        let before = self.samples.partition_point(|sample| sample.sent < now);
        // Numbers go on: answers to forgotten probes fall below, and find no sample.
        self.forgotten += before as u32;
        self.samples.drain(..before);
        self.space.give(before as u64);
    }

    /// Since when there is no space for more samples.
    pub(super) fn full_at(&self) -> Option<Time> {
        self.space.full_at()
    }

    /// The probes sent since the warm-up, in the order they were sent.
    pub(super) fn samples(&self) -> &[ProbeSample] {
        &self.samples
    }
}

/// A probe that has arrived, on its way back.
pub(super) fn echo(source: &Source, number: u32, id: u32) -> (Packet, Payload, Hop) {
    let body = Body::Echo { source: id, number, back: true };
    (packet(source), Payload::loose(body), Hop { dst: source.src, key: source.keys[1] })
}

fn packet(source: &Source) -> Packet {
    let Source { size, class, ecn, .. } = *source;
    Packet { flow: PROBES, len_bytes: size.get() as u32, ingress: 0, class, ecn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn probes_are_ecn_capable_where_both_hosts_are() {
        let text = r#"
            topology = { kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
            switch.buffer = "1MB"
            scheme = { name = "none" }
            transport.kind = "dctcp"
            [[host]]
            profile = "ideal"
            [[host]]
            hosts = 1
            transport = { kind = "cubic", ecn = false }
            [[traffic]]
            kind = "probe"
            from = "0-2"
            to = 3
            every = "1ms"
            stop = "5ms"
        "#;
        let ecn = |text: &str| {
            let plans = switchbed_scenario::plans_of("test.toml", text, Path::new("."), &[], None);
            let sources = sources(&plans.expect("a good file")[0].scenario);
            sources.iter().map(|source| source.ecn).collect::<Vec<_>>()
        };
        assert_eq!(ecn(text), [Ecn::Ect0, Ecn::NotEct, Ecn::Ect0]);
        // Both ends take part in a probe: its answer goes through the queues, too.
        let none = ecn(&text.replace("hosts = 1", "hosts = 3"));
        assert_eq!(none, [Ecn::NotEct; 3]);
    }
}
