//! The halves of connections at a host, and the table that numbers them.
//!
//! A number is used again after its half has closed. Packets therefore carry the numbers of both halves and
//! the flow's identifier: a late packet reaches no other connection and is not answered.

use super::program::is_ranks;
use crate::flow::FlowRecord;
use crate::ids::{ConnId, GroupId, HostId, Maybe};
use crate::transport::{Counters, Receiving, Sending, Waits};
use std::collections::VecDeque;
use switchbed_qdisc::FlowId;
use switchbed_units::{Bytes, Time};

/// A flow, or a request, that its sender has not seen the end of.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) record: FlowRecord,
    /// Number among all flows of the run.
    pub(super) number: u64,
    /// The stream offsets of its first byte and after its last.
    pub(super) from: u64,
    pub(super) until: u64,
    /// The sender's counters when it began.
    pub(super) before: Counters,
    pub(super) waited: Waits,
}

/// A half that sends data: four cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct SendHalf {
    pub(super) sending: Sending,
    pub(super) flow: FlowId,
    pub(super) dst: HostId,
    /// The receiving half's number there, once an ACK has brought it.
    pub(super) peer: Maybe<ConnId>,
    /// The ECMP keys of its data and of the ACKs.
    pub(super) keys: [u32; 2],
    pub(super) class: u8,
    /// The kind of its transport, among the hosts' settings.
    pub(super) kind: u8,
    /// The number is taken.
    pub(super) open: bool,
    /// Whether it closes with its flow.
    pub(super) fresh: bool,
    /// Whether its flows are requests.
    pub(super) asks: bool,
    /// Whether it waits for its card to ask for the next packet.
    pub(super) joined: bool,
    /// The link whose card it waits for, or did last.
    pub(super) exit: u16,
    /// Connections that share its rate limiter, where a card limits rates.
    pub(super) group: GroupId,
    /// The earliest wake-up pending.
    pub(super) armed: Time,
    /// Flows, oldest first.
    pub(super) running: VecDeque<Running>,
    /// The stream offset after the oldest of them; [`u64::MAX`] without any.
    pub(super) due: u64,
}

impl SendHalf {
    /// Computes `due` again after the flows have changed.
    pub(super) fn set_due(&mut self) {
        // Nothing under way: no offset ever reaches it.
        self.due = self.running.front().map_or(u64::MAX, |flow| flow.until);
    }

    /// The record of a flow of it as things stand, what its receiver took apart.
    pub(super) fn record(&self, flow: &Running) -> FlowRecord {
        let now = self.sending.counters();
        let record = &flow.record;
        let waits = self.sending.waits().since(&flow.waited).with(&record.waits);
        FlowRecord {
            timeouts: waits.timeouts(),
            waits,
            without_ecn: self.sending.without_ecn(),
            retransmissions: record.retransmissions + now.retransmits - flow.before.retransmits,
            ecn_cuts: record.ecn_cuts + now.mark_cuts - flow.before.mark_cuts,
            ..*record
        }
    }
}

/// A flow that a receiver waits for.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) number: u64,
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) class: u8,
    /// Bytes of it that came, where they need not come in order.
    pub(super) taken: u64,
    /// Bytes of it that came before the warm-up ended.
    pub(super) before: u64,
    /// Record of the flow that answers it, if it is a request.
    pub(super) asks: Option<Box<FlowRecord>>,
}

impl Expected {
    /// Whether operations at this host wait for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.asks.is_some() || is_ranks(self.number)
    }
}

/// A half that takes data in: two cache lines for every packet, and one for ends of flows.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct ReceiveHalf {
    pub(super) receiving: Receiving,
    pub(super) flow: FlowId,
    /// The host and the number of the sending half.
    pub(super) src: HostId,
    pub(super) peer: Maybe<ConnId>,
    /// The ECMP key of its ACKs.
    pub(super) key: u32,
    pub(super) class: u8,
    /// The kind of its transport, among the hosts' settings.
    pub(super) kind: u8,
    pub(super) open: bool,
    /// Whether an answer waits for space in the card.
    pub(super) answers: bool,
    /// Sending half of the other direction on this host, for requests and their answers.
    pub(super) other: Option<ConnId>,
    pub(super) armed: Time,
    /// When data came last.
    pub(super) last: Time,
    /// The stream offset after the oldest flow to come; [`u64::MAX`] without any. What comes before
    /// it ends none.
    pub(super) due: u64,
    /// Flows to come, oldest first.
    pub(super) expected: VecDeque<Expected>,
}

// Four and three cache lines: a host touches few halves a packet, and lines are what they cost.
const _: () = assert!(size_of::<SendHalf>() == 256 && size_of::<ReceiveHalf>() == 192);
// Two lines hold all that each packet of data touches.
const _: () = assert!(std::mem::offset_of!(ReceiveHalf, expected) <= 128);

impl ReceiveHalf {
    /// The flows to come have changed.
    pub(super) fn set_due(&mut self) {
        self.due = self.expected.front().map_or(u64::MAX, |flow| flow.until);
    }

    /// Bytes of a flow that came.
    pub(super) fn taken(&self, flow: &Expected) -> u64 {
        // A connection carries one flow after another: what came may lie before or beyond this one. Data beyond a gap
        // count as they come: else those that wait at the warm-up's end would count after it.
        let came = |offset| self.receiving.came_below(offset);
        came(flow.until).zip(came(flow.from)).map_or(flow.taken, |(all, before)| all - before)
    }

    /// Payload that has arrived since the warm-up.
    pub(super) fn received(&self, flow: &Expected) -> Bytes {
        // Data that came beyond a gap may be dropped again for want of space.
        Bytes::new(self.taken(flow).saturating_sub(flow.before))
    }

    /// The warm-up is over.
    pub(super) fn restart(&mut self) {
        for nth in 0..self.expected.len() {
            self.expected[nth].before = self.taken(&self.expected[nth]);
        }
    }
}

/// Halves in one vector, and in each of the others that follow it. A vector that grows is copied, with both copies in
/// memory: so one host's many connections would take up to twice their memory.
const CHUNK: usize = 1024;

/// Halves by their numbers. A closed one's number is used again.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// The first of them, all of them at most hosts.
    halves: Vec<T>,
    /// Tables of halves with few packets: a host's own tables and its next timer fit two cache
    /// lines.
    rest: Box<Rest<T>>,
}

#[derive(Debug)]
struct Rest<T> {
    /// The others, in vectors that do not grow.
    more: Vec<Vec<T>>,
    free: Vec<ConnId>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { halves: Vec::new(), rest: Box::new(Rest { more: Vec::new(), free: Vec::new() }) }
    }
}

impl<T> Table<T> {
    /// Gives a half a number.
    pub(super) fn put(&mut self, half: T) -> ConnId {
        // The number of one that ended: tables stay as small as what is open at a time.
        if let Some(conn) = self.rest.free.pop() {
            self[conn] = half;
            return conn;
        }
        let conn = ConnId::at(self.len());
        assert!(conn.0 < u32::MAX, "more connections at a host than can be numbered");
        // The first thousand in one piece, found without a second step; the rest in pieces that
        // never move.
        if self.halves.len() < CHUNK {
            if self.halves.len() == self.halves.capacity() {
                // By a quarter: doubled, many hosts' tables would be a third empty on average.
                self.halves.reserve_exact((self.halves.len() / 4).max(2));
            }
            self.halves.push(half);
            return conn;
        }
        if self.rest.more.last().is_none_or(|last| last.len() == CHUNK) {
            self.rest.more.push(Vec::with_capacity(CHUNK));
        }
        if let Some(last) = self.rest.more.last_mut() {
            last.push(half);
        }
        conn
    }

    /// The vector of a half that is not among the first, and its place there.
    fn place(conn: ConnId) -> (usize, usize) {
        // Chunks are full but for the last: a place is a quotient and a remainder.
        let beyond = conn.index() - CHUNK;
        (beyond / CHUNK, beyond % CHUNK)
    }

    #[cold]
    fn further(&self, conn: ConnId) -> Option<&T> {
        let (chunk, nth) = Self::place(conn);
        self.rest.more.get(chunk)?.get(nth)
    }

    #[cold]
    fn further_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        let (chunk, nth) = Self::place(conn);
        self.rest.more.get_mut(chunk)?.get_mut(nth)
    }

    /// A half's number may be used again.
    pub(super) fn free(&mut self, conn: ConnId) {
        self.rest.free.push(conn);
    }

    #[inline]
    pub(super) fn get(&self, conn: ConnId) -> Option<&T> {
        match self.halves.get(conn.index()) {
            // No subtraction below 0.
            None if conn.index() >= CHUNK => self.further(conn),
            found => found,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        if conn.index() >= CHUNK {
            return self.further_mut(conn);
        }
        self.halves.get_mut(conn.index())
    }

    /// By their numbers, closed ones too.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.halves.iter().chain(self.rest.more.iter().flatten())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.halves.iter_mut().chain(self.rest.more.iter_mut().flatten())
    }

    /// Numbers taken so far, free ones too.
    pub(super) fn len(&self) -> usize {
        self.halves.len() + self.rest.more.iter().map(Vec::len).sum::<usize>()
    }
}

impl<T> std::ops::Index<ConnId> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, conn: ConnId) -> &T {
        match self.get(conn) {
            Some(half) => half,
            None => unnumbered(conn),
        }
    }
}

impl<T> std::ops::IndexMut<ConnId> for Table<T> {
    #[inline]
    fn index_mut(&mut self, conn: ConnId) -> &mut T {
        match self.get_mut(conn) {
            Some(half) => half,
            None => unnumbered(conn),
        }
    }
}

#[cold]
fn unnumbered(conn: ConnId) -> ! {
    panic!("no half has the number {}", conn.0)
}

/// Appends to a queue that holds one at most as a rule: a queue that grows by itself takes space for four.
pub(super) fn append<T>(queue: &mut VecDeque<T>, value: T) {
    if queue.capacity() == 0 {
        // Most connections carry one flow at a time: space for four would be wasted on them.
        queue.reserve_exact(1);
    }
    queue.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_keep_their_numbers_beyond_the_first_vector() {
        let mut table = Table::default();
        for nth in 0..3 * CHUNK + 5 {
            assert_eq!(table.put(nth).index(), nth);
        }
        assert_eq!(table.len(), 3 * CHUNK + 5);
        assert!(table.iter().copied().eq(0..3 * CHUNK + 5));
        for nth in [0, CHUNK - 1, CHUNK, 2 * CHUNK + 7, 3 * CHUNK + 4] {
            let conn = ConnId::at(nth);
            assert_eq!((table[conn], table.get(conn).copied()), (nth, Some(nth)));
            table[conn] += 1;
            table.free(conn);
            assert_eq!((table.put(7), table[conn]), (conn, 7));
        }
        assert_eq!(table.get(ConnId::at(3 * CHUNK + 5)), None);
        assert!(table.rest.more.iter().all(|chunk| chunk.capacity() == CHUNK));
    }

    #[test]
    fn a_queue_of_one_has_room_for_one() {
        let mut queue = VecDeque::new();
        append(&mut queue, [0u64; 20]);
        assert_eq!(queue.capacity(), 1);
        append(&mut queue, [1; 20]);
        assert_eq!((queue.len(), queue[1]), (2, [1; 20]));
    }
}
