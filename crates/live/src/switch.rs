//! The switch itself: frames in, frames out, time as an argument.

use crate::capture::{Asked, Fate, Reader, Way};
use crate::egress::{Egress, Pace, Shared, Trimmed};
use crate::mac_table::MacTable;
use crate::pausing::{self, Pausing};
use crate::random::Stream;
use crate::stats::{GroupStats, PortStats, QueueStats, Refused, Sample, Stats, Wakes};
use std::borrow::Cow;
use std::time::Duration;
use switchbed_qdisc::hooks::{Expulsion, GroupUse, Signal};
use switchbed_qdisc::{Ecn, FlowId, Packet, Qdisc, QueueId, SwitchMemory};
use switchbed_scenario::live::HEADERS;
use switchbed_scenario::{Live, LivePort, build};
use switchbed_units::{Span, Time};
use switchbed_wire::{Frame, Mac, pfc};

/// A switch with its ports.
pub struct Switch {
    live: Live,
    shared: Shared,
    ports: Vec<Egress>,
    received: Vec<(u64, u64)>,
    mac_table: MacTable,
    flooded: u64,
    notified: u64,
    refused: Refused,
    /// Whether the ports are settled together, since what one holds decides on packets of others.
    together: bool,
    pausing: Option<Pausing>,
    /// Frames of flow control, by port.
    pauses: Vec<pausing::Frames>,
}

impl Switch {
    /// A switch in which nothing is known and nothing queued.
    pub fn new(live: Live) -> Switch {
        let ports = qdiscs(&live).zip(0..);
        let mut ports: Vec<Egress> =
            ports.map(|((port, new), nth)| Egress::new(nth, new, pace(&live, port))).collect();
        let memory = memory(&live, ports.iter().map(Egress::qdisc));
        let pausing = Pausing::after(None, &live);
        if let Some(pausing) = &pausing {
            ports
                .iter_mut()
                .zip(0..)
                .for_each(|(port, nth)| pausing.prepare(nth, port, Time::ZERO));
        }
        let mut shared = Shared::new(memory, Stream::new(live.live.seed, 0));
        shared.trimmed = trimmed(&live);
        Switch {
            shared,
            received: vec![(0, 0); ports.len()],
            mac_table: mac_table(&live),
            flooded: 0,
            notified: 0,
            refused: Refused::default(),
            together: together(&ports, &live),
            pausing,
            pauses: vec![pausing::Frames::default(); ports.len()],
            ports,
            live,
        }
    }

    /// Returns the settings in force.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Sets it to something else; the ports and their interfaces must be the same. What is
    /// queued and what was counted stays.
    pub fn set(&mut self, now: Time, live: Live) {
        assert_eq!(live.port.len(), self.ports.len(), "ports cannot come or go");
        self.settle(now);
        self.resume_all(now);
        let qdiscs: Vec<_> = qdiscs(&live).collect();
        let mut memory = memory(&live, qdiscs.iter().map(|(_, new)| &**new));
        // Bytes in ports that are yet to be replaced: each takes its own out.
        memory.take(self.shared.memory.used());
        self.shared.memory = memory;
        // Replaced in place: what is stored in a port goes on by the new rules.
        let pausing = Pausing::after(self.pausing.take(), &live);
        for (egress, ((port, new), nth)) in self.ports.iter_mut().zip(qdiscs.into_iter().zip(0..)) {
            let new = (new, pace(&live, port), trimmed(&live));
            egress.replace(&mut self.shared, now, new, |egress| {
                if let Some(pausing) = &pausing {
                    pausing.prepare(nth, egress, now);
                }
            });
        }
        self.shared.trimmed = trimmed(&live);
        self.together = together(&self.ports, &live);
        if (&live.live.routes, live.live.learn) != (&self.live.live.routes, self.live.live.learn) {
            self.mac_table = mac_table(&live);
        }
        (self.pausing, self.live) = (pausing, live);
        self.listen(now);
    }

    /// Lets all peers send again: the memory that paused them is about to be replaced.
    fn resume_all(&mut self, now: Time) {
        let Some(pausing) = &self.pausing else { return };
        for (input, class) in pausing.pauses().collect::<Vec<_>>() {
            self.tell(Signal { input, class, pause: false }, now);
        }
    }

    /// A frame has come in by a port.
    pub fn receive(&mut self, now: Time, ingress: u16, bytes: &[u8]) {
        let (packets, received) = &mut self.received[ingress as usize];
        *packets += 1;
        *received += bytes.len() as u64;
        let Ok(frame) = Frame::parse(bytes) else {
            self.refused.truncated += 1;
            return self.show(now, ingress, Fate::Refused("truncated"), bytes);
        };
        if bytes.len() as u64 > self.live.live.mtu.get() + HEADERS {
            self.refused.oversized += 1;
            return self.show(now, ingress, Fate::Refused("oversized"), bytes);
        }
        if pfc::is_one(bytes)
            && let Some(pausing) = &self.pausing
            && pausing.takes_part(ingress)
        {
            return self.paused(now, ingress, bytes);
        }
        if reserved(frame.destination) {
            self.refused.reserved += 1;
            return self.show(now, ingress, Fate::Refused("reserved"), bytes);
        }
        // Before the destination is looked up, as bridges learn (IEEE 802.1Q).
        self.mac_table.heard(now, frame.source, ingress);
        let packet = self.packet(&frame, ingress, bytes.len());
        let known = match frame.destination.is_group() {
            true => None,
            false => self.mac_table.port(now, frame.destination),
        };
        match known {
            // The receiver is on the segment that the frame came from, and has it already.
            Some(port) if port == ingress => {
                self.refused.here += 1;
                self.show(now, ingress, Fate::Refused("here"), bytes);
            }
            Some(port) => {
                self.show(now, ingress, Fate::Received, bytes);
                self.enqueue(now, port, packet, bytes, &frame);
            }
            None => {
                self.flooded += 1;
                self.show(now, ingress, Fate::Received, bytes);
                for port in (0..self.ports.len() as u16).filter(|&port| port != ingress) {
                    self.enqueue(now, port, packet, bytes, &frame);
                }
            }
        }
    }

    fn show(&mut self, now: Time, port: u16, fate: Fate, bytes: &[u8]) {
        self.shared.taps.see(now, port, fate, bytes);
    }

    /// Begins a capture ([`crate::capture::Taps::begin`]).
    pub fn capture(&mut self, asked: &Asked, epoch: Duration) -> Option<Reader> {
        let names: Vec<String> = self.live.port.iter().map(|port| port.name.clone()).collect();
        self.shared.taps.begin(asked, &names, epoch)
    }

    /// Passes on what captures have gathered.
    pub fn turn_captures(&mut self) {
        self.shared.taps.turn();
    }

    /// Ends all captures.
    pub fn end_captures(&mut self) {
        self.shared.taps.end();
    }

    /// A frame came in by a port that was too long to be read whole; its bytes are not counted.
    pub fn receive_oversized(&mut self, ingress: u16) {
        self.received[ingress as usize].0 += 1;
        self.refused.oversized += 1;
    }

    fn packet(&self, frame: &Frame, ingress: u16, length: usize) -> Packet {
        let (class, ecn) = match frame.ip {
            Some(ip) => (self.live.live.classes[ip.dscp() as usize], ip.ecn()),
            None => (0, 0),
        };
        // In the order of the field's values, 00 to 11.
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn as usize];
        Packet { flow: FlowId(frame.flow), len_bytes: length as u32, ingress, class, ecn }
    }

    fn enqueue(&mut self, now: Time, port: u16, packet: Packet, bytes: &[u8], frame: &Frame) {
        match self.together {
            true => self.settle(now),
            false => self.ports[port as usize].settle(&mut self.shared, now),
        }
        let slot = self.shared.frames.store(packet, bytes, frame.ip);
        if let Some(Trimmed { size, .. }) = self.shared.trimmed {
            self.shared.frames.protect(slot, size);
        }
        self.ports[port as usize].enqueue(&mut self.shared, slot, now);
        if self.together {
            // Space for a packet is made after it was stored: occupancy is over its threshold only
            // then.
            while let Some(Expulsion { of, end }) = self.expels(port, now) {
                self.ports[of.port as usize].expel(&mut self.shared, of.queue, end, now);
            }
        }
        if !self.shared.notices.is_empty() {
            self.notify(now);
        }
        self.listen(now);
    }

    /// Names a packet that some port is to lose since a frame came to this one.
    fn expels(&mut self, came: u16, now: Time) -> Option<Expulsion> {
        self.shared.memory.expels(now, self.ports[came as usize].qdisc().state())
    }

    /// A peer's frame of flow control has come in by a port.
    fn paused(&mut self, now: Time, port: u16, bytes: &[u8]) {
        let Some(quanta) = pfc::parse(bytes) else {
            self.pauses[usize::from(port)].malformed += 1;
            return self.show(now, port, Fate::Refused("malformed"), bytes);
        };
        self.pauses[usize::from(port)].received += 1;
        self.show(now, port, Fate::Pause { way: Way::In, quanta }, bytes);
        // Departures that were due before it take place.
        self.settle(now);
        let Some(pausing) = &mut self.pausing else { return };
        for (class, until) in pausing.heard(port, &quanta, now) {
            self.ports[usize::from(port)].pause(class, until, now);
        }
    }

    /// Sends what the memory wants peers to know since packets came and went.
    fn listen(&mut self, now: Time) {
        if self.pausing.is_none() {
            return;
        }
        while let Some(signal) = self.shared.memory.signal() {
            self.tell(signal, now);
        }
    }

    /// Sends a peer a frame of flow control, now or later.
    fn tell(&mut self, signal: Signal, now: Time) {
        let Some(pausing) = &mut self.pausing else { return };
        let port = usize::from(signal.input);
        if let Some(quanta) = pausing.tell(signal, &self.ports[port], now) {
            self.pauses[port].sent += 1;
            self.ports[port].control(&mut self.shared, quanta, now);
        }
    }

    /// Sends the schemes' messages back by the ports that their sources are behind.
    fn notify(&mut self, now: Time) {
        for (port, bytes) in std::mem::take(&mut self.shared.notices) {
            let Ok(frame) = Frame::parse(&bytes) else { continue };
            self.notified += 1;
            let packet = self.packet(&frame, port, bytes.len());
            self.ports[port as usize].settle(&mut self.shared, now);
            let slot = self.shared.frames.store(packet, &bytes, None);
            self.ports[port as usize].enqueue(&mut self.shared, slot, now);
        }
        // A message is answered by none.
        self.shared.notices.clear();
    }

    /// The departures that are due by `now`.
    pub fn settle(&mut self, now: Time) {
        for port in &mut self.ports {
            port.settle(&mut self.shared, now);
        }
        self.listen(now);
        while let Some(signal) = self.pausing.as_mut().and_then(|pausing| pausing.due(now)) {
            self.tell(signal, now);
        }
    }

    /// Hands over what has reached the far end of the links by `now`: port and frame.
    pub fn deliver(&mut self, now: Time, mut to: impl FnMut(u16, &[u8])) {
        for (i, port) in self.ports.iter_mut().enumerate() {
            while let Some(slot) = port.landed(now) {
                to(i as u16, self.shared.frames.bytes(slot));
                self.shared.frames.free(slot);
            }
        }
    }

    /// When there is something to settle or deliver next.
    pub fn next(&self) -> Time {
        let ports = self.ports.iter().map(Egress::next).min().unwrap_or(Time::NEVER);
        self.pausing.as_ref().map_or(ports, |pausing| ports.min(pausing.next()))
    }

    /// Appends a sample of every queue at `now`.
    pub fn sample(&mut self, now: Time, into: &mut Vec<Sample>) {
        self.settle(now);
        for (i, egress) in self.ports.iter().enumerate() {
            let port = egress.qdisc();
            for queue in 0..port.state().queues() as QueueId {
                let (arena, memory) = (self.shared.frames.packets(), &self.shared.memory);
                into.push(Sample {
                    at: now,
                    port: i as u16,
                    queue,
                    bytes: port.state().queue_bytes(queue).get(),
                    threshold_bytes: port.threshold_bytes(now, arena, memory, queue),
                    round_time: port.round_time(),
                    port_marked: port.state().counters().marked,
                    port_dropped: port.state().counters().dropped(),
                });
            }
        }
    }

    /// The switch at `now`. Wakes and device errors are the loop's to fill in.
    pub fn stats(&mut self, now: Time) -> Stats {
        self.settle(now);
        let ports =
            self.ports.iter().enumerate().map(|(i, egress)| self.port_stats(now, i, egress));
        Stats {
            time_s: now.as_secs_f64(),
            scheme: self.live.scheme.label.clone(),
            frames: self.shared.frames.live(),
            flooded: self.flooded,
            notified: self.notified,
            refused: self.refused,
            wakes: Wakes::default(),
            ports: ports.collect(),
        }
    }

    fn port_stats(&self, now: Time, i: usize, egress: &Egress) -> PortStats {
        let (port, lengths) = (egress.qdisc(), egress.lengths());
        let (mean_bytes, max_bytes) = lengths.port(now);
        let counts = self.pauses[i];
        let paused = |group: &GroupUse| {
            self.pausing.as_ref().is_some_and(|p| p.has_paused(group.input, group.class))
        };
        let groups =
            self.shared.memory.groups().into_iter().filter(|group| usize::from(group.input) == i);
        let groups = groups.map(|group| GroupStats {
            class: group.class,
            max_shared_bytes: group.shared.get(),
            max_headroom_bytes: group.headroom.get(),
            lost_packets: group.lost,
            dropped_packets: group.dropped,
            paused: paused(&group),
        });
        let queue = |queue| {
            let (arena, memory) = (self.shared.frames.packets(), &self.shared.memory);
            let (mean_bytes, max_bytes) = lengths.queue(queue, now);
            QueueStats {
                queue,
                bytes: port.state().queue_bytes(queue).get(),
                packets: port.state().queue_packets(queue),
                threshold_bytes: port.threshold_bytes(now, arena, memory, queue),
                mean_bytes,
                max_bytes,
                paused_s: port.state().paused(queue, now).as_secs_f64(),
                storms: port.state().storms(queue, now).count,
                storm_drops: port.state().storms(queue, now).dropped,
                tally: egress.tally(queue),
            }
        };
        let name = self.live.port[i].name.clone();
        PortStats {
            received_packets: self.received[i].0,
            received_bytes: self.received[i].1,
            round_time_s: port.round_time().map_or(0.0, Span::as_secs_f64),
            mean_bytes,
            max_bytes,
            tx_pfc_frames: counts.sent,
            rx_pfc_frames: counts.received,
            bad_pfc_frames: counts.malformed,
            groups: groups.collect(),
            queues: (0..port.state().queues() as QueueId).map(queue).collect(),
            dscps: egress.dscps(),
            ..PortStats::counted(name, egress.pace().rate.as_bps(), &egress.counters())
        }
    }
}

/// Whether no bridge forwards frames to this address (IEEE 802.1D, table 7-10).
fn reserved(destination: Mac) -> bool {
    // 01-80-C2-00-00-00 to 0F: frames that no bridge forwards (IEEE 802.1Q, table 8-1).
    matches!(destination.0, [0x01, 0x80, 0xc2, 0, 0, last] if last < 0x10)
}

fn mac_table(live: &Live) -> MacTable {
    let set = live.live.routes.iter().map(|route| (Mac(route.station), route.port as u16));
    MacTable::new(set, live.port.len(), live.live.learn)
}

/// How fast a port sends.
pub(crate) fn pace(live: &Live, port: &LivePort) -> Pace {
    Pace { rate: live.sends(port), bucket: live.bucket(port), delay: port.delay }
}

fn together(ports: &[Egress], live: &Live) -> bool {
    live.switch.pfc.is_some() || ports.iter().any(|port| port.qdisc().needs().pool)
}

/// The memory of the switch with these ports.
fn memory<'a>(live: &Live, mut ports: impl Iterator<Item = &'a dyn Qdisc>) -> SwitchMemory {
    pausing::memory(live).behind(ports.all(|port| port.needs().memory))
}

/// Properties of trimmed frames, if the switch trims.
fn trimmed(live: &Live) -> Option<Trimmed> {
    let trimming = live.switch.trimming.as_ref()?;
    Some(Trimmed { size: trimming.size.get() as usize, dscp: trimming.dscp })
}

/// All ports with their schemes.
fn qdiscs(live: &Live) -> impl Iterator<Item = (&LivePort, Box<dyn Qdisc>)> {
    let mut switch = Cow::Borrowed(&live.switch);
    if live.switch.trimming.is_some()
        && let Some(trimming) = &mut switch.to_mut().trimming
    // Ports know classes and no DSCPs.
    {
        trimming.dscp = live.live.classes[usize::from(trimming.dscp)];
    }
    let ports = live.port.len() as u32;
    live.port.iter().zip(0..).map(move |(port, number)| {
        let (scheme, rate, mtu) = (&live.scheme, pace(live, port).rate, live.live.mtu);
        (port, build::port(&switch, scheme, ports, rate, mtu, &build::Nothing, number))
    })
}
