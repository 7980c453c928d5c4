//! A network card that asks for packets when it can send them: rate limiters (QCN's reaction
//! points), and the line that they share.
//!
//! A connection that has something to send joins its group: those that share a limiter. A group
//! is due when its limiter allows the next packet, at once without one. Due groups take turns
//! on the line, and so do the connections of a group. A card wants to be asked again for its
//! next packet, and only while a group has something to send.

use crate::ids::{ConnId, GroupId, Rank};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use switchbed_qdisc::port::pauses::Pauses;
use switchbed_qdisc::{QueueSet, ReactionPoint, ReactionSettings};
use switchbed_scenario::{Limiters, Reaction};
use switchbed_units::random::Stream;
use switchbed_units::{Line, Rate, Time};

/// Answer of a connection that is asked for its next packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polled {
    /// How long the packet is.
    len_bytes: u32,
    /// When the connection lets the next one leave.
    pub(crate) next: Time,
    /// Whether it has a next packet.
    pub(crate) more: bool,
}

impl Polled {
    /// A packet of a connection that is asked again.
    pub(crate) fn packet(len_bytes: u32) -> Polled {
        Polled { len_bytes, next: Time::ZERO, more: true }
    }
}

/// A host's card.
#[derive(Debug)]
pub(crate) struct Card {
    seed: u64,
    rank: Rank,
    line: Line,
    /// When the packet under way has left.
    free: Time,
    /// Groups that are due, in the order of their turns.
    due: VecDeque<GroupId>,
    /// Groups whose next packet is due later.
    later: BinaryHeap<Reverse<(Time, GroupId)>>,
    groups: Vec<Group>,
    /// Every connection is asked for its packets: one of them sends datagrams or has a queue pair, which nothing
    /// else would pace.
    pub(crate) asks_all: bool,
    /// Groups whose connection is closed.
    idle: Vec<GroupId>,
    /// Classes that the switch has paused, and the groups that wait for that to end.
    pauses: Option<Pauses>,
    held: VecDeque<GroupId>,
    /// The groups of classes; of the host, class 0's.
    shared: BTreeMap<u8, GroupId>,
}

#[derive(Debug)]
struct Group {
    class: u8,
    /// Whether it waits for its turn, due or later.
    waits: bool,
    /// When its next packet may be sent.
    next: Time,
    /// Connections with something to send, in the order of their turns.
    members: VecDeque<ConnId>,
    point: Option<Box<ReactionPoint<Stream>>>,
}

impl Card {
    /// The card of a host, whose line has this rate and rank.
    pub(crate) fn new(rank: Rank, rate: Rate, seed: u64) -> Card {
        Card {
            seed,
            rank,
            line: Line::new(rate),
            free: Time::ZERO,
            due: VecDeque::new(),
            later: BinaryHeap::new(),
            groups: Vec::new(),
            asks_all: false,
            idle: Vec::new(),
            pauses: None,
            held: VecDeque::new(),
            shared: BTreeMap::new(),
        }
    }

    /// The group of a new connection.
    pub(crate) fn group(&mut self, class: u8, settings: Option<&Reaction>) -> GroupId {
        let limited = match settings.map_or(Limiters::Flow, |settings| settings.card.limiters) {
            Limiters::Flow => {
                let Some(id) = self.idle.pop() else { return self.add(class) };
                let group = &mut self.groups[id.index()];
                (group.class, group.point, group.next) = (class, None, Time::ZERO);
                return id;
            }
            Limiters::Class => class,
            Limiters::Host => 0,
        };
        if let Some(&id) = self.shared.get(&limited) {
            return id;
        }
        let id = self.add(class);
        self.shared.insert(limited, id);
        id
    }

    /// A connection of a group is closed; it has nothing to send.
    pub(crate) fn leave(&mut self, id: GroupId, settings: Option<&Reaction>) {
        let own = settings.is_none_or(|settings| settings.card.limiters == Limiters::Flow);
        // A group that is still in `due` or `later` would send for its next owner before its time.
        if own && !self.groups[id.index()].waits {
            self.idle.push(id);
        }
    }

    fn add(&mut self, class: u8) -> GroupId {
        let (members, point) = (VecDeque::new(), None);
        self.groups.push(Group { class, waits: false, next: Time::ZERO, members, point });
        GroupId::at(self.groups.len() - 1)
    }

    /// Whether a group's rate is limited.
    #[inline]
    pub(crate) fn limited(&self, group: GroupId) -> bool {
        self.groups[group.index()].point.is_some()
    }

    /// Whether a group waits for its turn.
    pub(crate) fn waits(&self, group: GroupId) -> bool {
        self.groups.get(group.index()).is_some_and(|group| group.waits)
    }

    /// Gives a group the number that it has at another link's card.
    pub(crate) fn mirror(&mut self, id: GroupId, class: u8) {
        while self.groups.len() <= id.index() {
            self.add(class);
        }
        let group = &mut self.groups[id.index()];
        (group.class, group.next) = (class, Time::ZERO);
    }

    /// When a group's next packet may be sent.
    pub(crate) fn next_of(&self, group: GroupId) -> Time {
        self.groups[group.index()].next
    }

    /// A group's next packet may be sent from a time on, and not before.
    pub(crate) fn delay(&mut self, group: GroupId, until: Time) {
        self.groups[group.index()].next = until;
    }

    /// A connection of a group sends by another link.
    pub(crate) fn forget(&mut self, group: GroupId, connection: ConnId) {
        self.groups[group.index()].members.retain(|&other| other != connection);
    }

    /// The line's rate.
    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// The line is taken until then, by whatever.
    pub(crate) fn wait(&mut self, free: Time) {
        self.free = free;
    }

    /// The line has another rate from now on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.line = Line::new(rate);
    }

    /// The line goes down, or is free again.
    pub(crate) fn set_up(&mut self, up: bool, now: Time) {
        self.free = if up { now } else { Time::NEVER };
    }

    /// Whether the line is down.
    pub(crate) fn is_down(&self) -> bool {
        self.free == Time::NEVER
    }

    /// A class may send nothing from a time on until another, as it hears now.
    pub(crate) fn pause(&mut self, class: u8, from: Time, until: Time, now: Time) {
        let pauses = self.pauses.get_or_insert_with(|| {
            let mut pauses = Pauses::default();
            // The port behind it knows when it was held.
            pauses.remember(0);
            pauses
        });
        pauses.pause(class, from, until, now);
    }

    /// Ends all pauses: the line has gone down.
    pub(crate) fn unpause(&mut self, now: Time) {
        if let Some(pauses) = &mut self.pauses {
            pauses.release(now);
            // Groups that waited for the end of a pause wait for nothing now.
            self.release(now);
        }
    }

    /// Groups whose class is no longer paused are due again.
    fn release(&mut self, now: Time) -> QueueSet {
        let held = self.pauses.as_mut().map_or(QueueSet::EMPTY, |pauses| pauses.held(now));
        // Each group once; those that stay held keep their order.
        for _ in 0..self.held.len() {
            let Some(id) = self.held.pop_front() else { break };
            match held.contains(self.groups[id.index()].class) {
                true => self.held.push_back(id),
                false => self.due.push_back(id),
            }
        }
        held
    }

    /// When a group that is held may send, if there is one.
    fn released(&self, now: Time) -> Option<Time> {
        let mut classes = QueueSet::EMPTY;
        self.held.iter().for_each(|id| classes.insert(self.groups[id.index()].class));
        Some(self.pauses.as_ref()?.ends(classes, now).max(now)).filter(|_| !self.held.is_empty())
    }

    /// A notification of so many steps for a group.
    pub(crate) fn notify(
        &mut self,
        id: GroupId,
        settings: &ReactionSettings,
        steps: u8,
        now: Time,
    ) {
        let line = self.line.rate();
        // The card's rank and the group's number, each in 32 bits: every limiter has a stream of
        // its own.
        let entity = u64::from(self.rank.0) << 32 | u64::from(id.0);
        let rng = || Stream::new(self.seed, "reaction", entity);
        let point = self.groups[id.index()]
            .point
            .get_or_insert_with(|| Box::new(ReactionPoint::new(settings, line, now, rng())));
        point.on_notification(settings, steps, now);
    }

    /// A connection that was silent has something to send.
    pub(crate) fn join(&mut self, group: GroupId, connection: ConnId, now: Time) {
        let Group { waits, next, members, .. } = &mut self.groups[group.index()];
        members.push_back(connection);
        if std::mem::replace(waits, true) {
            return;
        }
        if *next <= now {
            self.due.push_back(group);
        } else {
            self.later.push(Reverse((*next, group)));
        }
    }

    /// When it is to be asked for its next packet, if a group has one.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        let later = self.later.peek().map(|&Reverse((at, _))| at);
        let waits = later.into_iter().chain(self.released(now)).min();
        let next = if self.due.is_empty() { waits? } else { now };
        Some(next.max(self.free))
    }

    /// Lets groups send until the line is taken. `poll` hands over a connection's next
    /// packet, or nothing where the connection has fallen silent.
    pub(crate) fn send(
        &mut self,
        settings: Option<&ReactionSettings>,
        now: Time,
        mut poll: impl FnMut(ConnId) -> Option<Polled>,
    ) {
        let held = self.release(now);
        while self.free <= now {
            if self.due.is_empty() && self.pauses.is_none() {
                // Sending rewrites the heap's top in place: `pop` and `push` would sift twice.
                // The usual case where all rates are limited: one place in the heap is changed.
                let Some(mut first) = self.later.peek_mut().filter(|first| first.0.0 <= now) else {
                    return;
                };
                let group = &mut self.groups[first.0.1.index()];
                match group.send(settings, &mut self.line, &mut self.free, now, &mut poll) {
                    Some(next) => first.0.0 = next,
                    None => drop(PeekMut::pop(first)),
                }
                continue;
            }
            while let Some(first) = self.later.peek_mut().filter(|first| first.0.0 <= now) {
                self.due.push_back(PeekMut::pop(first).0.1);
            }
            let Some(id) = self.due.pop_front() else { return };
            if held.contains(self.groups[id.index()].class) {
                self.held.push_back(id);
            } else {
                let group = &mut self.groups[id.index()];
                match group.send(settings, &mut self.line, &mut self.free, now, &mut poll) {
                    Some(next) if next <= now => self.due.push_back(id),
                    Some(next) => self.later.push(Reverse((next, id))),
                    None => {}
                }
            }
        }
    }
}

impl Group {
    /// Sends its next packet, if it has one; when the one after that is due, if it has any.
    fn send(
        &mut self,
        settings: Option<&ReactionSettings>,
        line: &mut Line,
        free: &mut Time,
        now: Time,
        poll: &mut impl FnMut(ConnId) -> Option<Polled>,
    ) -> Option<Time> {
        while let Some(connection) = self.members.pop_front() {
            // A connection that has fallen silent loses its place; it joins again when it has
            // something.
            let Some(Polled { len_bytes, next, more }) = poll(connection) else { continue };
            if more {
                self.members.push_back(connection);
            }
            *free = now + line.transmit(len_bytes);
            self.sent(settings, len_bytes, now);
            self.next = self.next.max(next);
            break;
        }
        self.waits = !self.members.is_empty();
        self.waits.then_some(self.next)
    }

    /// A packet's first bit leaves now. Who waited for the line may make up for one packet.
    fn sent(&mut self, settings: Option<&ReactionSettings>, len_bytes: u32, now: Time) {
        let (Some(point), Some(settings)) = (&mut self.point, settings) else { return };
        point.on_sent(settings, len_bytes, now);
        let gap = point.gap(len_bytes);
        // now − gap, or 0 early in the run: a late packet gains no more than its own gap.
        self.next = self.next.max(Time::ZERO + now.since(Time::ZERO + gap)) + gap;
        if point.recovered() {
            // Back at line rate the limiter is removed (802.1Qau), and the next notification makes
            // another.
            (self.point, self.next) = (None, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_scenario::CardReaction;
    use switchbed_units::{Bytes, Span};

    const RATE: Rate = Rate::from_gbps(10);

    /// A card whose limiters stay where notifications put them, and its settings.
    struct Bed {
        card: Card,
        reaction: Reaction,
    }

    impl Bed {
        fn new(limiters: Limiters) -> Bed {
            let point = ReactionSettings {
                byte_cycle: Bytes::new(1 << 50),
                timer_cycle: Span::from_ms(100_000_000),
                ..ReactionSettings::default()
            };
            let card = CardReaction { limiters, point };
            let reaction = Reaction { card, ..Reaction::default() };
            Bed { card: Card::new(Rank(0), RATE, 1), reaction }
        }

        fn groups(&mut self, classes: &[u8]) -> Vec<GroupId> {
            classes.iter().map(|&class| self.card.group(class, Some(&self.reaction))).collect()
        }

        fn notify(&mut self, group: GroupId, steps: u8) {
            self.card.notify(group, &self.reaction.card.point, steps, Time::ZERO);
        }

        /// When each of the connections' packets of 1000 bytes left, in ns, up to `until`.
        fn sent(&mut self, until: Span) -> Vec<(u32, u64)> {
            let mut log = Vec::new();
            let mut now = Time::ZERO;
            while let Some(next) = self.card.next(now).filter(|&at| at <= Time::ZERO + until) {
                now = next;
                self.card.send(Some(&self.reaction.card.point), now, |connection| {
                    log.push((connection.0, now.as_ps() / 1_000));
                    Some(Polled::packet(1000))
                });
            }
            log
        }
    }

    #[test]
    fn limiters_are_a_connections_a_classs_or_a_hosts() {
        let of = |limiters| Bed::new(limiters).groups(&[0, 1, 0]);
        let [a, b, c] = of(Limiters::Flow)[..] else { panic!() };
        assert!(a != b && b != c && a != c);
        let [a, b, c] = of(Limiters::Class)[..] else { panic!() };
        assert!(a == c && a != b);
        let [a, b, c] = of(Limiters::Host)[..] else { panic!() };
        assert!(a == b && b == c);
    }

    #[test]
    fn a_limited_packet_leaves_when_the_rate_says() {
        let mut bed = Bed::new(Limiters::Flow);
        let [free, limited] = bed.groups(&[0, 0])[..] else { panic!() };
        // A quarter twice: 5.625 Gbps, a packet each 1422.2 ns.
        bed.notify(limited, 32);
        bed.notify(limited, 32);
        assert!(bed.card.limited(limited) && !bed.card.limited(free));
        bed.card.join(limited, ConnId(7), Time::ZERO);
        let log = bed.sent(Span::from_us(7));
        assert_eq!(log, [(7, 0), (7, 1422), (7, 2844), (7, 4266), (7, 5688)]);
    }

    #[test]
    fn the_free_take_what_the_limited_leave_and_rates_hold_beside_them() {
        let mut bed = Bed::new(Limiters::Flow);
        let [free, limited] = bed.groups(&[0, 0])[..] else { panic!() };
        // Twice by 63 steps: 2.579 Gbps.
        bed.notify(limited, 63);
        bed.notify(limited, 63);
        bed.card.join(free, ConnId(1), Time::ZERO);
        bed.card.join(limited, ConnId(2), Time::ZERO);
        let log = bed.sent(Span::from_us(8_000));
        let of = |connection| log.iter().filter(|sent| sent.0 == connection).count() as f64;
        assert!((of(2) * 8_000.0 / 8e-3 / 2.5787e9 - 1.0).abs() < 0.002, "{}", of(2));
        // The line is never idle: a packet each 800 ns.
        assert!(log.windows(2).all(|pair| pair[1].1 - pair[0].1 == 800));
    }

    #[test]
    fn groups_of_equal_rates_and_connections_of_a_group_take_turns() {
        let mut bed = Bed::new(Limiters::Flow);
        let [a, b] = bed.groups(&[0, 0])[..] else { panic!() };
        bed.card.join(a, ConnId(1), Time::ZERO);
        bed.card.join(a, ConnId(2), Time::ZERO);
        bed.card.join(b, ConnId(3), Time::ZERO);
        let order: Vec<u32> = bed.sent(Span::from_us(7)).into_iter().map(|sent| sent.0).collect();
        assert_eq!(order[..8], [1, 3, 2, 3, 1, 3, 2, 3]);
    }

    #[test]
    fn a_connection_that_falls_silent_leaves_its_group_and_may_come_back() {
        let mut bed = Bed::new(Limiters::Flow);
        let group = bed.groups(&[0])[0];
        bed.card.join(group, ConnId(1), Time::ZERO);
        bed.card.send(None, Time::ZERO, |_| None);
        assert_eq!(bed.card.next(Time::ZERO), None);
        let later = Time::ZERO + Span::from_us(5);
        bed.card.join(group, ConnId(1), later);
        assert_eq!(bed.card.next(later), Some(later));
    }

    #[test]
    fn a_group_that_is_used_again_starts_without_a_limiter() {
        let mut bed = Bed::new(Limiters::Flow);
        let group = bed.groups(&[0])[0];
        bed.notify(group, 63);
        bed.card.leave(group, Some(&bed.reaction));
        assert_eq!(bed.groups(&[0])[0], group);
        assert!(!bed.card.limited(group));
        // Not while a connection is still in it.
        bed.card.join(group, ConnId(1), Time::ZERO);
        bed.card.leave(group, Some(&bed.reaction));
        assert_ne!(bed.groups(&[0])[0], group);
    }
}
