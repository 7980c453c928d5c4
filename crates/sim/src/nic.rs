//! Network cards that ask for packets when they can send them: rate limiters (QCN's reaction
//! points), and the line that they share.
//!
//! A connection that has something to send joins its group: those that share a limiter. A group
//! is due when its limiter allows the next packet, at once without one. Due groups take turns
//! on the line, and so do the connections of a group. A card has one timer, for its next
//! packet, and only while a group has something to send.

use crate::network::Network;
use crate::random::Stream;
use crate::tcp::Segment;
use crate::topology::Hop;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use switchbed_qdisc::units::{Line, Rate, Time};
use switchbed_qdisc::{Packet, ReactionPoint, ReactionSettings};
use switchbed_spec::{Limiters, Reaction};

/// A group's number.
pub type GroupId = u32;

/// A packet that a connection hands over, and what carries it.
pub type Outgoing = (Packet, Segment, Hop);

/// All hosts' cards.
pub struct Nics {
    /// `None`: no rate is ever limited.
    settings: Option<Reaction>,
    seed: u64,
    nics: Vec<Nic>,
    groups: Vec<Group>,
    /// Groups of a host, and of a class of a host.
    shared: HashMap<(u32, u8), GroupId>,
    timers: BinaryHeap<Reverse<(Time, u32)>>,
}

struct Nic {
    line: Line,
    /// When the packet under way has left.
    free: Time,
    /// The timer pending.
    armed: Time,
    /// Groups that are due, in the order of their turns.
    due: VecDeque<GroupId>,
    /// Groups whose next packet is due later.
    later: BinaryHeap<Reverse<(Time, GroupId)>>,
}

struct Group {
    host: u32,
    /// It waits for its turn, due or later.
    waits: bool,
    /// When its next packet may be sent.
    next: Time,
    /// Connections with something to send, in the order of their turns.
    members: VecDeque<u32>,
    point: Option<Box<ReactionPoint<Stream>>>,
}

impl Nics {
    /// Cards of links with these rates, one a host.
    pub fn new(rates: impl Iterator<Item = Rate>, settings: Option<Reaction>, seed: u64) -> Nics {
        let nic = |rate| Nic {
            line: Line::new(rate),
            free: Time::ZERO,
            armed: Time::NEVER,
            due: VecDeque::new(),
            later: BinaryHeap::new(),
        };
        Nics {
            settings,
            seed,
            nics: rates.map(nic).collect(),
            groups: Vec::new(),
            shared: HashMap::new(),
            timers: BinaryHeap::new(),
        }
    }

    /// The group of a new connection; `before` is that of the connection which had its place,
    /// and which is gone.
    pub fn group(&mut self, host: u32, class: u8, before: Option<GroupId>) -> GroupId {
        let limiters = self.settings.as_ref().map_or(Limiters::Flow, |s| s.limiters);
        let key = match limiters {
            Limiters::Flow => {
                let id = match before {
                    Some(id) if !self.groups[id as usize].waits => id,
                    _ => self.add(host),
                };
                let group = &mut self.groups[id as usize];
                (group.host, group.point, group.next) = (host, None, Time::ZERO);
                return id;
            }
            Limiters::Class => (host, class),
            Limiters::Host => (host, 0),
        };
        if let Some(&id) = self.shared.get(&key) {
            return id;
        }
        let id = self.add(host);
        self.shared.insert(key, id);
        id
    }

    fn add(&mut self, host: u32) -> GroupId {
        let (members, point) = (VecDeque::new(), None);
        self.groups.push(Group { host, waits: false, next: Time::ZERO, members, point });
        self.groups.len() as GroupId - 1
    }

    /// Whether a group's rate is limited.
    #[inline]
    pub fn limited(&self, group: GroupId) -> bool {
        self.groups[group as usize].point.is_some()
    }

    /// A group's rate in bits per second at a time; the line's without a limiter.
    pub fn rate_bps(&mut self, group: GroupId, now: Time) -> f64 {
        let Group { host, point, .. } = &mut self.groups[group as usize];
        match (point, &self.settings) {
            (Some(point), Some(settings)) => {
                point.advance(&settings.point, now);
                point.rate_bps()
            }
            _ => self.nics[*host as usize].line.rate().as_bps() as f64,
        }
    }

    /// A host's line has another rate from now on.
    pub fn set_rate(&mut self, host: u32, rate: Rate) {
        self.nics[host as usize].line = Line::new(rate);
    }

    /// A host's line goes down, or is free again.
    pub fn set_up(&mut self, host: u32, up: bool, now: Time) {
        self.nics[host as usize].free = if up { now } else { Time::NEVER };
        self.arm(host, now);
    }

    /// A notification of so many steps for a group.
    pub fn notify(&mut self, group: GroupId, steps: u8, now: Time) {
        let Some(Reaction { point: settings, .. }) = &self.settings else { return };
        let Group { host, point, .. } = &mut self.groups[group as usize];
        let line = self.nics[*host as usize].line.rate();
        let rng = || Stream::new(self.seed, "reaction", group as u64);
        let point =
            point.get_or_insert_with(|| Box::new(ReactionPoint::new(settings, line, now, rng())));
        point.on_notification(settings, steps, now);
    }

    /// A connection that was silent has something to send.
    pub fn join(&mut self, group: GroupId, connection: u32, now: Time) {
        let Group { host, waits, next, members, .. } = &mut self.groups[group as usize];
        let host = *host;
        members.push_back(connection);
        if !std::mem::replace(waits, true) {
            self.nics[host as usize].wait(group, *next, now);
        }
        self.arm(host, now);
    }

    /// The time of the next timer; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at)
    }

    /// The host whose card has it.
    pub(crate) fn next_host(&self) -> Option<u32> {
        self.timers.peek().map(|&Reverse((_, host))| host)
    }

    /// The earliest timer, which is due: a card may send. `poll` hands over a connection's next
    /// packet, or nothing where it has fallen silent.
    pub fn fire(&mut self, net: &mut Network, mut poll: impl FnMut(u32, Time) -> Option<Outgoing>) {
        let Some(Reverse((now, host))) = self.timers.pop() else { return };
        let nic = &mut self.nics[host as usize];
        if nic.armed != now {
            return;
        }
        nic.armed = Time::NEVER;
        if nic.free <= now {
            let settings = self.settings.as_ref().map(|settings| &settings.point);
            let mut send = |id: GroupId, line: &mut Line, free: &mut Time| {
                let group = &mut self.groups[id as usize];
                while let Some(connection) = group.members.pop_front() {
                    let Some((packet, segment, hop)) = poll(connection, now) else { continue };
                    group.members.push_back(connection);
                    *free = now + line.transmit(packet.len_bytes);
                    group.sent(settings, packet.len_bytes, now);
                    net.send(host, packet, segment, hop, now);
                    break;
                }
                group.waits = !group.members.is_empty();
                group.waits.then_some(group.next)
            };
            nic.take_turns(now, &mut send);
        }
        self.arm(host, now);
    }

    /// Sets a card's timer for its next packet.
    fn arm(&mut self, host: u32, now: Time) {
        let nic = &mut self.nics[host as usize];
        let later = nic.later.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        let next = if nic.due.is_empty() { later } else { now };
        if next == Time::NEVER {
            return;
        }
        let next = next.max(nic.free);
        if next < nic.armed {
            nic.armed = next;
            self.timers.push(Reverse((next, host)));
        }
    }
}

impl Nic {
    /// Lets groups send until the line is taken. `send` sends a group's packet, if it has one,
    /// and says when its next is due, if it has any.
    fn take_turns(
        &mut self,
        now: Time,
        send: &mut impl FnMut(GroupId, &mut Line, &mut Time) -> Option<Time>,
    ) {
        let Nic { line, free, due, later, .. } = self;
        while *free <= now {
            if due.is_empty() {
                // The usual case where all rates are limited: one place in the heap is changed.
                let Some(mut first) = later.peek_mut().filter(|first| first.0.0 <= now) else {
                    return;
                };
                match send(first.0.1, line, free) {
                    Some(next) => first.0.0 = next,
                    None => drop(PeekMut::pop(first)),
                }
                continue;
            }
            while let Some(first) = later.peek_mut().filter(|first| first.0.0 <= now) {
                due.push_back(PeekMut::pop(first).0.1);
            }
            if let Some(id) = due.pop_front() {
                match send(id, line, free) {
                    Some(next) if next <= now => due.push_back(id),
                    Some(next) => later.push(Reverse((next, id))),
                    None => {}
                }
            }
        }
    }

    /// A group waits for its turn.
    fn wait(&mut self, group: GroupId, next: Time, now: Time) {
        if next <= now {
            self.due.push_back(group);
        } else {
            self.later.push(Reverse((next, group)));
        }
    }
}

impl Group {
    /// A packet's first bit leaves now. Who waited for the line may make up for one packet.
    fn sent(&mut self, settings: Option<&ReactionSettings>, len_bytes: u32, now: Time) {
        let (Some(point), Some(settings)) = (&mut self.point, settings) else { return };
        point.on_sent(settings, len_bytes, now);
        let gap = point.gap(len_bytes);
        self.next = self.next.max(Time::ZERO + now.since(Time::ZERO + gap)) + gap;
        if point.recovered() {
            (self.point, self.next) = (None, now);
        }
    }
}
