//! Hosts without TCP: what an application writes is sent as its network card lets it, and never
//! again. Flows of a connection follow each other; one ends when its last packet arrives, or,
//! if that was lost, a packet of a flow behind it.

use crate::hosts::{By, ENDLESS, FlowRecord, MAX_CONNECTIONS, PLACE_BITS, Shared, keys};
use crate::monitors::Underway;
use crate::network::{Delivery, Network};
use crate::nic::{GroupId, Nics, Outgoing};
use crate::notification;
use crate::tcp::{Flags, Segment};
use crate::topology::Hop;
use crate::traffic::{ConnectionUse, FlowStart};
use std::collections::{HashMap, VecDeque};
use switchbed_qdisc::units::{Bytes, Time};
use switchbed_qdisc::{Ecn, FlowId, Packet};
use switchbed_spec::Transport;

/// A flow that has not arrived whole.
struct Running {
    record: FlowRecord,
    /// The stream offset after its last byte.
    until: u64,
    /// Payload of it that arrived since the warm-up, and before.
    received: u64,
    received_before: u64,
}

struct Connection {
    src: u32,
    dst: u32,
    class: u8,
    /// It closes with its flow.
    fresh: bool,
    generation: u8,
    key: u32,
    group: GroupId,
    /// It has joined its group, for it has something to send.
    joined: bool,
    /// Stream offset of the next byte to send.
    sent: u64,
    /// Stream offsets after flows that have not been sent whole, the oldest first.
    ends: VecDeque<u64>,
    /// Stream offset after the last byte that arrived.
    arrived: u64,
    /// Payload that arrived in all.
    received: u64,
    /// Flows, oldest first.
    flows: VecDeque<Running>,
}

/// All hosts.
pub struct Udp {
    mss: u64,
    header: u32,
    ecn: bool,
    seed: u64,
    ecmp_by_row: bool,
    nics: Nics,
    connections: Vec<Connection>,
    /// Places of closed connections, the longest closed first.
    free: VecDeque<u32>,
    shared: HashMap<Shared, Vec<u32>>,
    /// Payload by class that arrived on connections that are gone.
    taken_before: Box<[u64; 256]>,
    /// Flows that ended, for the caller to take.
    pub finished: Vec<FlowRecord>,
    running: u64,
}

impl Udp {
    /// Hosts without connections yet.
    pub fn new(transport: &Transport, nics: Nics, seed: u64, ecmp_by_row: bool) -> Udp {
        Udp {
            mss: transport.mss.get(),
            header: transport.header.get() as u32,
            ecn: transport.ecn,
            seed,
            ecmp_by_row,
            nics,
            connections: Vec::new(),
            free: VecDeque::new(),
            shared: HashMap::new(),
            taken_before: Box::new([0; 256]),
            finished: Vec::new(),
            running: 0,
        }
    }

    /// Flows under way.
    pub fn running(&self) -> u64 {
        self.running
    }

    /// Whether no flow is under way.
    pub fn idle(&self) -> bool {
        self.running == 0
    }

    /// Payload that arrived so far, by class.
    pub fn taken(&self) -> Box<[u64; 256]> {
        let mut taken = self.taken_before.clone();
        for connection in &self.connections {
            taken[usize::from(connection.class)] += connection.received;
        }
        taken
    }

    /// The network cards.
    pub fn nics(&mut self) -> &mut Nics {
        &mut self.nics
    }

    /// The time of the next timer; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.nics.next_timer()
    }

    /// A flow starts; its connection's place.
    pub fn start(&mut self, flow: &FlowStart) -> u32 {
        let place = self.connection(flow);
        let connection = &mut self.connections[place as usize];
        if self.ecmp_by_row {
            connection.key = keys(self.seed, flow.row, 0)[0];
        }
        if let Some(path) = flow.path {
            connection.key = Hop::PINNED | path;
        }
        if connection.flows.is_empty() {
            connection.class = flow.class;
        }
        let from = connection.ends.back().copied().unwrap_or(connection.sent);
        let until = from + flow.size.map_or(ENDLESS, Bytes::get);
        connection.ends.push_back(until);
        let record = FlowRecord { key: connection.key, ..FlowRecord::starting(flow) };
        connection.flows.push_back(Running { record, until, received: 0, received_before: 0 });
        self.running += 1;
        if !std::mem::replace(&mut connection.joined, true) {
            self.nics.join(connection.group, place, flow.start);
        }
        place
    }

    /// An endless flow sends nothing more from now on; it ends when what is on its way is there.
    pub fn stop(&mut self, row: u64, now: Time) {
        let place =
            self.connections.iter().position(|c| c.flows.iter().any(|f| f.record.row == row));
        let Some(place) = place else { return };
        let connection = &mut self.connections[place];
        if let Some(flow) = connection.flows.back_mut() {
            flow.until = connection.sent;
            connection.ends.clear();
            if connection.arrived >= connection.sent {
                self.finish(place as u32, now);
            }
        }
    }

    /// A packet has arrived at its host.
    #[inline]
    pub fn deliver(&mut self, delivery: Delivery, net: &mut Network) {
        let Delivery { at: now, slot, host } = delivery;
        let flow = net.packet(slot).flow;
        let Segment { offset, len, .. } = *net.segment(slot);
        if flow == notification::FLOW {
            let feedback = notification::feedback(net.segment(slot));
            if let Some((_, connection)) = self.of(feedback.flow)
                && connection.src == host
            {
                let group = connection.group;
                self.nics.notify(group, feedback.quantized, now);
            }
            return net.free(slot);
        }
        net.free(slot);
        let Some((place, connection)) = self.of(flow) else { return };
        connection.received += len as u64;
        connection.arrived = offset + len as u64;
        let mut ended = false;
        for flow in &mut connection.flows {
            if flow.until > offset {
                flow.received += len as u64;
                ended |= flow.until <= connection.arrived;
                break;
            }
            ended = true;
        }
        if ended {
            self.finish(place, now);
        }
    }

    /// A card's timer fires; it is due.
    pub fn fire(&mut self, net: &mut Network) {
        let Udp { nics, connections, mss, header, ecn, .. } = self;
        let now = nics.next_timer();
        let mut silent = Vec::new();
        nics.fire(net, |place, now| {
            let outgoing = connections[place as usize].poll(place, now, *mss, *header, *ecn);
            if outgoing.is_none() {
                silent.push(place);
            }
            outgoing
        });
        for place in silent {
            self.finish(place, now);
        }
    }

    /// Forgets what was received so far (the warm-up is over).
    pub fn restart(&mut self) {
        for flow in self.connections.iter_mut().flat_map(|c| &mut c.flows) {
            flow.received_before += std::mem::take(&mut flow.received);
        }
    }

    /// The records of flows still under way, in the order of their rows.
    pub fn unfinished(&self) -> Vec<FlowRecord> {
        let flows = self.connections.iter().flat_map(|c| &c.flows);
        let mut records: Vec<FlowRecord> = flows.map(Running::record).collect();
        records.sort_by_key(|record| record.row);
        records
    }

    /// The flows under way, for monitors.
    pub(crate) fn underway(&self) -> impl Iterator<Item = Underway> {
        self.connections.iter().enumerate().flat_map(|(place, connection)| {
            connection.flows.iter().map(move |flow| Underway {
                row: flow.record.row,
                place: place as u32,
                src: connection.src,
                hop: connection.way(),
                start: flow.record.start,
                received: flow.received_before + flow.received,
            })
        })
    }

    /// The host that sends a connection's data.
    pub(crate) fn source(&self, place: u32) -> u32 {
        self.connections[place as usize].src
    }

    /// The way of a connection's data, if it has some to send.
    pub(crate) fn unsent(&self, place: u32) -> Option<Hop> {
        let connection = &self.connections[place as usize];
        (!connection.ends.is_empty()).then(|| connection.way())
    }

    /// The host whose timer is next.
    pub(crate) fn next_timer_host(&self) -> Option<u32> {
        self.nics.next_host()
    }

    /// Places that connections have taken, open and closed.
    pub fn places(&self) -> usize {
        self.connections.len()
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    /// The connection of a flow, if it is still open.
    #[inline]
    fn of(&mut self, flow: FlowId) -> Option<(u32, &mut Connection)> {
        let place = flow.0 & ((1 << PLACE_BITS) - 1);
        let connection = self.connections.get_mut(place as usize)?;
        let alive = connection.generation == (flow.0 >> PLACE_BITS) as u8;
        alive.then_some((place, connection))
    }

    fn connection(&mut self, flow: &FlowStart) -> u32 {
        let by = match flow.connection {
            ConnectionUse::Fresh | ConnectionUse::FreshNoHandshake => {
                let key = keys(self.seed, flow.row, 0)[0];
                return self.open(flow, key, true);
            }
            ConnectionUse::Persistent => By::Class(flow.class),
            ConnectionUse::Single => By::Single(flow.class),
            ConnectionUse::Keyed(key) => By::Key(key),
        };
        let shared = Shared(flow.src, flow.dst, by);
        let known = self.shared.get(&shared).map_or(&[][..], Vec::as_slice);
        let usable = |&&place: &&u32| {
            !matches!(by, By::Class(_)) || self.connections[place as usize].flows.is_empty()
        };
        if let Some(&place) = known.iter().find(usable) {
            return place;
        }
        let salt = match by {
            By::Key(key) => !key,
            _ => u64::from(flow.class) << 32 | known.len() as u64,
        };
        let pair = u64::from(flow.src) << 32 | u64::from(flow.dst);
        let place = self.open(flow, keys(self.seed, pair, salt)[0], false);
        self.shared.entry(shared).or_default().push(place);
        place
    }

    fn open(&mut self, flow: &FlowStart, key: u32, fresh: bool) -> u32 {
        let mut connection = Connection {
            src: flow.src,
            dst: flow.dst,
            class: flow.class,
            fresh,
            generation: 0,
            key,
            group: 0,
            joined: false,
            sent: 0,
            ends: VecDeque::new(),
            arrived: 0,
            received: 0,
            flows: VecDeque::new(),
        };
        let Some(place) = self.free.pop_front() else {
            let place = self.connections.len();
            assert!(place < MAX_CONNECTIONS, "more connections than can be numbered");
            connection.group = self.nics.group(flow.src, flow.class, None);
            self.connections.push(connection);
            return place as u32;
        };
        let old = &mut self.connections[place as usize];
        connection.generation = old.generation.wrapping_add(1);
        connection.group = self.nics.group(flow.src, flow.class, Some(old.group));
        self.taken_before[usize::from(old.class)] += old.received;
        *old = connection;
        place
    }

    /// Ends the flows whose last byte has arrived or been passed.
    fn finish(&mut self, place: u32, now: Time) {
        let connection = &mut self.connections[place as usize];
        while let Some(flow) = connection.flows.front()
            && flow.until <= connection.arrived.max(connection.passed(flow))
        {
            self.finished.push(FlowRecord { end: Some(now), ..flow.record() });
            self.running -= 1;
            connection.flows.pop_front();
        }
        if connection.fresh && connection.flows.is_empty() && !connection.joined {
            connection.fresh = false;
            self.free.push_back(place);
        }
    }
}

impl Running {
    fn record(&self) -> FlowRecord {
        FlowRecord { received: Bytes::new(self.received), ..self.record }
    }
}

impl Connection {
    /// The way of its data.
    fn way(&self) -> Hop {
        Hop { dst: self.dst, key: self.key }
    }

    /// A stopped flow that sent nothing has nothing to wait for.
    fn passed(&self, flow: &Running) -> u64 {
        if flow.record.size.is_none() && flow.until == self.sent && self.arrived >= self.sent {
            self.sent
        } else {
            0
        }
    }

    /// The next packet; none is left if that sends all that was written.
    fn poll(
        &mut self,
        place: u32,
        now: Time,
        mss: u64,
        header: u32,
        ecn: bool,
    ) -> Option<Outgoing> {
        let Some(&end) = self.ends.front() else {
            self.joined = false;
            return None;
        };
        let len = mss.min(end - self.sent) as u32;
        let segment = Segment::data(self.sent, len, Flags::NONE, now);
        self.sent += len as u64;
        if self.sent == end {
            self.ends.pop_front();
        }
        let packet = Packet {
            flow: FlowId((self.generation as u32) << PLACE_BITS | place),
            len_bytes: len + header,
            ingress: 0,
            class: self.class,
            ecn: if ecn { Ecn::Ect0 } else { Ecn::NotEct },
        };
        Some((packet, segment, self.way()))
    }
}
