//! Probes: small packets that a host sends at even intervals and another sends back at
//! once, as `ping` does. They go through the queue of their class like any packet, and tell
//! the round-trip time that it finds there.
//!
//! Like TCP's packets they are ECN-capable where the transport is, so that a port that
//! wants to mark them does not drop them instead; a mark has no effect.

use crate::network::Network;
use crate::random::Stream;
use crate::room::Room;
use crate::tcp::{Flags, Segment};
use crate::topology::Hop;
use switchbed_qdisc::units::{Bytes, Span, Time};
use switchbed_qdisc::{Ecn, FlowId, Packet, Random};
use switchbed_spec::Traffic;

/// The flow identifier of all probes' packets: a place that no connection has.
pub(crate) const PROBE_FLOW: FlowId = FlowId((1 << crate::hosts::PLACE_BITS) - 1);

/// A probe that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSample {
    /// When.
    pub sent: Time,
    /// The host that sent it.
    pub src: u32,
    /// The host that sent it back.
    pub dst: u32,
    /// Its class, there and back.
    pub class: u8,
    /// The round-trip time; `None`: it was lost, or is still on its way.
    pub rtt: Option<Span>,
}

/// A source of probes.
#[derive(Clone, Copy, Debug)]
struct Source {
    src: u32,
    dst: u32,
    class: u8,
    every: Span,
    /// Wire length.
    size: Bytes,
    start: Time,
    /// None is sent from then on; [`Time::NEVER`]: as long as there are flows.
    stop: Time,
    /// ECMP keys, there and back.
    keys: [u32; 2],
}

/// All probes of a run.
#[derive(Debug)]
pub(crate) struct Probes {
    sources: Vec<Source>,
    ecn: Ecn,
    /// Since the warm-up.
    samples: Vec<ProbeSample>,
    room: Room,
    /// Probes sent in the warm-up, which are forgotten.
    forgotten: u64,
    /// Sources that keep the run going: they stop at a time of their own.
    going: u32,
}

impl Probes {
    /// The probes among a scenario's traffic; ECN-capable or not.
    pub(crate) fn new(traffic: &[Traffic], ecn: bool, seed: u64, room: Room) -> Probes {
        let mut sources = Vec::new();
        for (entry, traffic) in traffic.iter().enumerate() {
            let Traffic::Probe { from, to, size, every, classes, start, stop } = traffic else {
                continue;
            };
            for &src in from {
                let entity = (entry as u64) << 32 | u64::from(src);
                let bits = Stream::new(seed, "probe paths", entity).next_u64();
                let keys = [bits as u32 & !Hop::PINNED, (bits >> 32) as u32 & !Hop::PINNED];
                sources.extend(classes.iter().map(|&class| Source {
                    src,
                    dst: *to,
                    class,
                    every: *every,
                    size: *size,
                    start: Time::ZERO + *start,
                    stop: stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
                    keys,
                }));
            }
        }
        let going = sources.iter().filter(|source| source.stop != Time::NEVER).count() as u32;
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        Probes { sources, ecn, samples: Vec::new(), room, forgotten: 0, going }
    }

    /// When each source is to be asked first, by its number.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (Time, u32)> {
        self.sources.iter().map(|source| source.start).zip(0..)
    }

    /// Whether some source has a time of its own to stop, and it is not over.
    pub(crate) fn going(&self) -> bool {
        self.going > 0
    }

    /// A source's next probe, or its end; returns when to ask again.
    pub(crate) fn send(&mut self, source: u32, net: &mut Network, now: Time) -> Option<Time> {
        let Source { src, dst, class, every, size, stop, keys, .. } = self.sources[source as usize];
        if now >= stop {
            self.going -= 1;
            return None;
        }
        let mut number = self.forgotten + self.samples.len() as u64;
        if self.room.take(1, now) {
            self.samples.push(ProbeSample { sent: now, src, dst, class, rtt: None });
        } else {
            number = u64::MAX; // no sample's
        }
        // As a SYN, which no card merges with what follows.
        let segment = Segment::data(number, source, Flags::SYN, now);
        net.send(src, self.packet(size, class), segment, Hop { dst, key: keys[0] }, now);
        Some((now + every).min(stop))
    }

    /// A probe has arrived, there or back.
    #[cold]
    pub(crate) fn deliver(&mut self, segment: &Segment, net: &mut Network, now: Time) {
        if segment.flags.contains(Flags::ACK) {
            let sample = segment.offset.checked_sub(self.forgotten);
            if let Some(sample) = sample.and_then(|i| self.samples.get_mut(i as usize)) {
                sample.rtt = Some(now.since(sample.sent));
            }
            return;
        }
        let Source { src, dst, class, size, keys, .. } = self.sources[segment.len as usize];
        let echo = Segment { flags: Flags::ACK, ..*segment };
        net.send(dst, self.packet(size, class), echo, Hop { dst: src, key: keys[1] }, now);
    }

    /// Forgets the probes sent before `now` (the warm-up is over).
    pub(crate) fn restart(&mut self, now: Time) {
        let before = self.samples.partition_point(|sample| sample.sent < now);
        self.forgotten += before as u64;
        self.samples.drain(..before);
        self.room.give(before as u64);
    }

    /// Since when there is no room for more samples.
    pub(crate) fn full_at(&self) -> Option<Time> {
        self.room.full_at()
    }

    /// The probes sent since the warm-up, in the order they were sent.
    pub(crate) fn samples(&self) -> &[ProbeSample] {
        &self.samples
    }

    fn packet(&self, size: Bytes, class: u8) -> Packet {
        let len_bytes = size.get() as u32;
        Packet { flow: PROBE_FLOW, len_bytes, ingress: 0, class, ecn: self.ecn }
    }
}
