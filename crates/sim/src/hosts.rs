//! Hosts: connections, the flows on them, and their timers.

mod connection;
mod jitter;
mod limits;
mod offload;
mod underway;

pub use connection::FlowRecord;
pub use connection::keys;
use connection::{Connection, NOBODY, Running};

use crate::network::{Delivery, Network};
use crate::nic::Nics;
use crate::notification;
use crate::probe::{PROBE_FLOW, ProbeSample, Probes};
use crate::room::Room;
use crate::tcp::{Config, Flags, Segment, Sender};
use crate::topology::Hop;
use crate::traffic::{ConnectionUse, FlowStart};
use offload::Offload;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use switchbed_qdisc::units::{Bytes, Time};
use switchbed_qdisc::{Ecn, FlowId, Packet};
pub use switchbed_spec::traffic::MAX_CONNECTIONS;
use switchbed_spec::{FctEnd, Scenario, Warm};

/// A flow identifier is a connection's place and, above it, how often the place was used,
/// so that a late packet of a connection that is gone reaches no other.
pub(crate) const PLACE_BITS: u32 = 24;
/// The last place is the probes' and the notifications'.
const _: () = assert!(MAX_CONNECTIONS == (1 << PLACE_BITS) - 1);
/// Endless flows write so much.
pub(crate) const ENDLESS: u64 = 1 << 60;

/// The half of a connection that a timer is for.
const SENDER: u8 = 0;
const RECEIVER: u8 = 1;
/// What else a timer may be for: a host's card, a source of probes, or the frame that a host is
/// through with, whose number takes the connection's place.
const CARD: u8 = 2;
const PROBE: u8 = 3;
const PROCESSED: u8 = 4;

/// What shares connections, between hosts in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shared(pub(crate) u32, pub(crate) u32, pub(crate) By);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum By {
    /// A class's flows; a flow takes an idle connection.
    Class(u8),
    /// A client's requests, whatever the class of their answers; likewise.
    Requests,
    /// A class's flows, on one connection.
    Single(u8),
    /// A class's requests, on one connection.
    SingleRequests(u8),
    /// A flow list's key, on one connection.
    Key(u64),
}

/// All hosts.
pub struct Hosts {
    config: Config,
    warm: Option<Warm>,
    fct_end: FctEnd,
    ack_class_follows: bool,
    seed: u64,
    ecmp_by_row: bool,
    connections: Vec<Connection>,
    /// Places of closed connections, the longest closed first.
    free: VecDeque<u32>,
    shared: HashMap<Shared, Vec<u32>>,
    timers: BinaryHeap<Reverse<(Time, u32, u8)>>,
    /// The network cards, where rates are limited.
    nics: Option<Nics>,
    probes: Probes,
    /// Payload by class that closed connections took, and others when they were of another
    /// class.
    taken_before: Box<[u64; 256]>,
    /// Requests that have arrived: the connection to answer on, and the flow.
    asked: Vec<(u32, FlowRecord)>,
    /// What happens to arrived frames before TCP; `None`: each goes up as it comes.
    offload: Option<Box<Offload>>,
    /// Flows that ended, for the caller to take.
    pub finished: Vec<FlowRecord>,
    running: u64,
    timeouts: u64,
    retransmissions: u64,
}

impl Hosts {
    /// Hosts without connections yet.
    pub fn new(config: Config, scenario: &Scenario) -> Hosts {
        let Scenario { topology, host, transport, traffic, measure, run, .. } = scenario;
        let probes = Probes::new(traffic, transport.ecn, run.seed, Room::new(measure.samples));
        let first = |(at, source)| Reverse((at, source, PROBE));
        Hosts {
            config,
            warm: transport.warm,
            fct_end: measure.fct_end,
            ack_class_follows: transport.ack_class_follows,
            seed: run.seed,
            ecmp_by_row: run.ecmp_by_row,
            connections: Vec::new(),
            free: VecDeque::new(),
            shared: HashMap::new(),
            timers: probes.starts().map(first).collect(),
            nics: None,
            probes,
            taken_before: Box::new([0; 256]),
            asked: Vec::new(),
            offload: Offload::new(host, topology.hosts() as usize, run.seed),
            finished: Vec::new(),
            running: 0,
            timeouts: 0,
            retransmissions: 0,
        }
    }

    /// Whether nothing goes on or is bound to: no flow under way, no probe that stops at a
    /// time of its own.
    pub fn idle(&self) -> bool {
        self.running == 0 && !self.probes.going()
    }

    /// The probes sent since the warm-up.
    pub fn probes(&self) -> &[ProbeSample] {
        self.probes.samples()
    }

    /// Since when there is no room for more of them.
    pub(crate) fn probes_full_at(&self) -> Option<Time> {
        self.probes.full_at()
    }

    /// Payload that receivers have taken in order so far, by class, answers included and
    /// requests not.
    pub fn taken(&self) -> Box<[u64; 256]> {
        let mut taken = self.taken_before.clone();
        for connection in &self.connections {
            taken[usize::from(connection.class)] += connection.taken();
        }
        taken
    }

    /// Flows under way.
    pub fn running(&self) -> u64 {
        self.running
    }

    /// Timeouts and retransmissions of all flows that have ended.
    pub fn losses(&self) -> (u64, u64) {
        (self.timeouts, self.retransmissions)
    }

    /// The time of the next timer; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let timer = self.timers.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        match &self.nics {
            Some(nics) => timer.min(nics.next_timer()),
            None => timer,
        }
    }

    /// A flow starts, or the request for it; its connection's place.
    pub fn start(&mut self, flow: &FlowStart, net: &mut Network) -> u32 {
        let (place, handshake) = self.connection(flow);
        let connection = &mut self.connections[place as usize];
        if self.ecmp_by_row {
            let [data, acks] = keys(self.seed, flow.row, 0);
            match connection.answers {
                NOBODY => connection.keys = [data, acks],
                answers => {
                    connection.keys = [acks, data];
                    self.connections[answers as usize].keys = [data, acks];
                }
            }
        }
        if let Some(path) = flow.path {
            self.connections[place as usize].keys[0] = Hop::PINNED | path;
        }
        let record = FlowRecord { handshake, ..FlowRecord::starting(flow) };
        self.running += 1;
        self.write(place, record, flow.request.or(flow.size), net, flow.start);
        place
    }

    /// A host writes a flow, or the request for it, to a connection.
    fn write(
        &mut self,
        place: u32,
        record: FlowRecord,
        size: Option<Bytes>,
        net: &mut Network,
        now: Time,
    ) {
        let size = size.map_or(ENDLESS, Bytes::get);
        let connection = &mut self.connections[place as usize];
        let from = connection.sender.written();
        if connection.class != record.class && connection.flows.is_empty() {
            self.taken_before[usize::from(connection.class)] += connection.taken();
            connection.taken_before = connection.receiver.received();
            connection.class = record.class;
        }
        connection.flows.push_back(Running {
            record: FlowRecord { key: connection.keys[0], ..record },
            from,
            until: from + size,
            before: *connection.sender.counters(),
            received_before: from,
        });
        connection.sender.write(size);
        self.pump_sender(place, net, now);
    }

    /// Answers the requests that have arrived.
    #[cold]
    fn answer(&mut self, net: &mut Network, now: Time) {
        for (place, record) in std::mem::take(&mut self.asked) {
            self.write(place, record, record.size, net, now);
        }
    }

    /// Endless flows send nothing more from now on; they end when what is on its way is there.
    pub fn stop(&mut self, row: u64, now: Time) {
        let place =
            self.connections.iter().position(|c| c.flows.iter().any(|f| f.record.row == row));
        if let Some(place) = place {
            let connection = &mut self.connections[place];
            let end = connection.sender.truncate();
            if let Some(flow) = connection.flows.back_mut() {
                flow.until = end;
            }
            self.finish(place as u32, now);
        }
    }

    /// A packet has arrived at its host.
    #[inline]
    pub fn deliver(&mut self, delivery: Delivery, net: &mut Network) {
        if net.packet(delivery.slot).flow == notification::FLOW {
            return self.notified(delivery, net);
        }
        if self.offload.is_some() {
            return self.take_in(delivery, net);
        }
        let Delivery { at: now, slot, .. } = delivery;
        let (packet, segment) = (*net.packet(slot), *net.segment(slot));
        net.free(slot);
        self.hand_up(&packet, &segment, now, net);
    }

    /// TCP gets a segment.
    #[inline(always)]
    fn hand_up(&mut self, packet: &Packet, segment: &Segment, now: Time, net: &mut Network) {
        let Some(place) = self.place_of(packet.flow) else {
            if packet.flow == PROBE_FLOW {
                self.probes.deliver(segment, net, now);
            }
            return;
        };
        let connection = &mut self.connections[place as usize];
        if segment.flags.contains(Flags::ACK) {
            connection.sender.on_segment(&self.config, segment, now);
            // A connection of one flow closes with the last ACK, whatever ended its flow.
            let closes = connection.ends == FctEnd::Acked || connection.fresh;
            self.pump_sender(place, net, now);
            if closes {
                self.finish(place, now);
            }
        } else {
            connection.receiver.on_segment(&self.config, segment, packet.ecn == Ecn::Ce, now);
            self.received(place, now, net);
        }
    }

    /// A connection's receiver has got something.
    #[inline(always)]
    fn received(&mut self, place: u32, now: Time, net: &mut Network) {
        let ends = self.connections[place as usize].ends == FctEnd::Received;
        self.pump_receiver(place, net, now);
        if ends {
            self.finish(place, now);
            if !self.asked.is_empty() {
                self.answer(net, now);
            }
        }
    }

    /// The place of a flow's connection, unless that is gone.
    #[inline]
    fn place_of(&self, flow: FlowId) -> Option<u32> {
        let place = flow.0 & ((1 << PLACE_BITS) - 1);
        let generation = (flow.0 >> PLACE_BITS) as u8;
        let connection = self.connections.get(place as usize)?;
        (connection.generation == generation).then_some(place)
    }

    /// The earliest timer fires; it is due.
    pub fn fire(&mut self, net: &mut Network) {
        let timer = self.timers.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        if self.nics.as_ref().is_some_and(|nics| nics.next_timer() < timer) {
            return self.fire_nic(net);
        }
        let Some(Reverse((now, flow, half))) = self.timers.pop() else { return };
        if half == CARD {
            return self.card_due(flow, now, net);
        }
        if half == PROCESSED {
            return self.processed(flow, now, net);
        }
        if half == PROBE {
            let again = self.probes.send(flow, net, now);
            return self.timers.extend(again.map(|at| Reverse((at, flow, PROBE))));
        }
        let place = flow & ((1 << PLACE_BITS) - 1);
        let connection = &mut self.connections[place as usize];
        if connection.generation != (flow >> PLACE_BITS) as u8
            || connection.armed[half as usize] != now
        {
            return;
        }
        connection.armed[half as usize] = Time::NEVER;
        if half == SENDER {
            connection.sender.on_timeout(&self.config, now);
            self.pump_sender(place, net, now);
        } else {
            connection.receiver.on_timeout(&self.config, now);
            self.pump_receiver(place, net, now);
        }
    }

    /// Forgets what was received so far (the warm-up is over).
    pub fn restart(&mut self, now: Time) {
        self.probes.restart(now);
        for connection in &mut self.connections {
            let received = connection.receiver.received();
            for flow in &mut connection.flows {
                flow.received_before = received.clamp(flow.from, flow.until);
            }
        }
    }

    /// The records of flows still under way, in the order of their rows.
    pub fn unfinished(&self) -> Vec<FlowRecord> {
        let mut records = Vec::new();
        for connection in &self.connections {
            records.extend(connection.flows.iter().map(|flow| connection.record(flow)));
        }
        records.sort_by_key(|record| record.row);
        records
    }

    /// Places that connections have taken, open and closed.
    pub fn places(&self) -> usize {
        self.connections.len()
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    /// Bytes that a connection takes (its entry among its pair's too), and what a flow adds.
    pub fn sizes() -> (usize, usize) {
        let shared = size_of::<(Shared, Vec<u32>)>() + 4 * size_of::<u32>();
        (size_of::<Connection>() + shared, size_of::<Running>())
    }

    /// DCTCP's α of every connection that carries a flow.
    pub fn alphas(&self) -> Vec<f64> {
        let busy = self.connections.iter().filter(|c| !c.flows.is_empty());
        busy.filter_map(|c| c.sender.alpha()).collect()
    }

    /// A connection for a flow, and whether it has to be opened first.
    fn connection(&mut self, flow: &FlowStart) -> (u32, bool) {
        let asked = flow.request.is_some();
        let by = match flow.connection {
            ConnectionUse::Fresh => return (self.open(flow, Open::Handshake, None), true),
            ConnectionUse::FreshNoHandshake => {
                return (self.open(flow, Open::Established, None), false);
            }
            ConnectionUse::Persistent if asked => By::Requests,
            ConnectionUse::Persistent => By::Class(flow.class),
            ConnectionUse::Single if asked => By::SingleRequests(flow.class),
            ConnectionUse::Single => By::Single(flow.class),
            ConnectionUse::Keyed(key) => By::Key(key),
        };
        let key = Shared(flow.src, flow.dst, by);
        let known = self.shared.get(&key).map_or(&[][..], Vec::as_slice);
        let usable =
            |&&place: &&u32| !matches!(by, By::Class(_) | By::Requests) || self.is_idle(place);
        if let Some(&place) = known.iter().find(usable) {
            return (place, false);
        }
        let nth = known.len() as u64;
        let (how, handshake) = match known.is_empty() && self.warm.is_some() {
            true => (Open::Warm, false),
            false => (Open::Handshake, true),
        };
        let salt = match by {
            By::Class(class) | By::Single(class) | By::SingleRequests(class) => {
                u64::from(class) << 32 | nth
            }
            By::Requests => nth,
            By::Key(key) => !key,
        };
        let place = self.open(flow, how, Some(salt));
        self.shared.entry(key).or_default().push(place);
        (place, handshake)
    }

    /// Whether a connection carries nothing, nor the one that answers its requests.
    fn is_idle(&self, place: u32) -> bool {
        let connection = &self.connections[place as usize];
        let answers = self.connections.get(connection.answers as usize);
        connection.flows.is_empty() && answers.is_none_or(|answers| answers.flows.is_empty())
    }

    /// Opens a connection for a flow; for one that is asked for, one in each direction, and
    /// returns the requests'. `salt` tells what stays from the pair's others; `None`: it
    /// closes with the flow.
    fn open(&mut self, flow: &FlowStart, how: Open, salt: Option<u64>) -> u32 {
        let fresh = salt.is_none();
        let keys = match salt {
            None => keys(self.seed, flow.row, 0),
            Some(salt) => keys(self.seed, u64::from(flow.src) << 32 | u64::from(flow.dst), salt),
        };
        let data = Connection {
            src: flow.src,
            dst: flow.dst,
            class: flow.class,
            fresh,
            ends: self.fct_end,
            keys,
            ..Connection::new(self.sender(how))
        };
        if flow.request.is_none() {
            return self.place(data);
        }
        // One TCP connection: the handshake opens both directions, and each data's path is
        // that of the other's ACKs.
        let answers_how = if matches!(how, Open::Handshake) { Open::Established } else { how };
        let data = Connection { sender: self.sender(answers_how), ..data };
        let answers = self.place(data);
        let requests = Connection {
            src: flow.dst,
            dst: flow.src,
            class: flow.class,
            fresh,
            ends: FctEnd::Received,
            answers,
            keys: [keys[1], keys[0]],
            ..Connection::new(self.sender(how))
        };
        self.place(requests)
    }

    fn sender(&self, how: Open) -> Sender {
        match (how, &self.warm) {
            (Open::Warm, Some(warm)) => Sender::warm(&self.config, warm),
            (Open::Established, _) => Sender::established(&self.config),
            _ => Sender::new(&self.config),
        }
    }

    /// Gives a connection a place.
    fn place(&mut self, mut connection: Connection) -> u32 {
        if let Some(nics) = &mut self.nics {
            let before = self.free.front().map(|&place| self.connections[place as usize].group);
            connection.group = nics.group(connection.src, connection.class, before);
        }
        let Some(place) = self.free.pop_front() else {
            let place = self.connections.len();
            assert!(place < MAX_CONNECTIONS, "more connections than can be numbered");
            self.connections.push(connection);
            return place as u32;
        };
        let old = &mut self.connections[place as usize];
        self.taken_before[usize::from(old.class)] += old.taken();
        let generation = old.generation.wrapping_add(1);
        *old = Connection { generation, ..connection };
        place
    }

    /// Ends the flows whose last byte is where it ends them.
    #[inline]
    fn finish(&mut self, place: u32, now: Time) {
        let connection = &mut self.connections[place as usize];
        while let Some(flow) = connection.flows.front() {
            let reached = match connection.ends {
                FctEnd::Acked => connection.sender.acked(),
                FctEnd::Received => connection.receiver.received(),
            };
            if reached < flow.until {
                return;
            }
            let record = FlowRecord { end: Some(now), ..connection.record(flow) };
            if connection.answers != NOBODY {
                self.asked.push((connection.answers, FlowRecord { end: None, ..record }));
                connection.flows.pop_front();
                continue;
            }
            self.timeouts += record.timeouts as u64;
            self.retransmissions += record.retransmissions as u64;
            self.finished.push(record);
            self.running -= 1;
            connection.flows.pop_front();
        }
        let idle = connection.sender.idle() && !connection.joined;
        if connection.fresh && connection.flows.is_empty() && idle {
            connection.fresh = false;
            self.free.push_back(place);
        }
    }

    #[inline]
    fn pump_sender(&mut self, place: u32, net: &mut Network, now: Time) {
        let connection = &mut self.connections[place as usize];
        let hop = Hop { dst: connection.dst, key: connection.keys[0] };
        if let Some(nics) = &mut self.nics
            && (connection.joined || nics.limited(connection.group))
        {
            if !std::mem::replace(&mut connection.joined, true) {
                nics.join(connection.group, place, now);
            }
        } else {
            while let Some(segment) = connection.sender.poll_transmit(&self.config, now) {
                let packet = connection.packet(&segment, connection.class, place, &self.config);
                net.send(connection.src, packet, segment, hop, now);
            }
        }
        if let Some(due) = connection.sender.next_timeout() {
            connection.arm(SENDER, due, place, &mut self.timers);
        }
    }

    #[inline]
    fn pump_receiver(&mut self, place: u32, net: &mut Network, now: Time) {
        let connection = &mut self.connections[place as usize];
        let hop = Hop { dst: connection.src, key: connection.keys[1] };
        let class = if self.ack_class_follows { connection.class } else { 0 };
        while let Some(segment) = connection.receiver.poll_transmit(&self.config, now) {
            let packet = connection.packet(&segment, class, place, &self.config);
            net.send(connection.dst, packet, segment, hop, now);
        }
        if let Some(due) = connection.receiver.next_timeout() {
            connection.arm(RECEIVER, due, place, &mut self.timers);
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy)]
enum Open {
    Handshake,
    Established,
    Warm,
}
