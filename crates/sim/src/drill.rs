//! One host's end of a TCP connection without a network, for scripts that say what arrives and what is to
//! be sent (`switchbed drill`): the two halves of [`crate::transport::tcp`] with their timers, driven by hand.
//!
//! Five things that the halves leave to others are here. A FIN is a byte of the stream. Small segments
//! wait as Nagle's algorithm and Linux's Minshall variant have it (`tcp_nagle_check`). A window that is
//! closed, and data that waits while nothing is out, is probed (`tcp_send_probe0`). SYN-ACKs are sent
//! again. An RTT sample is of the first segment that an ACK acknowledges, if it was sent once
//! (`tcp_clean_rtx_queue`), else of the time stamp that the peer echoes.

use crate::transport::tcp::{Config, Flags, Info, MAX_SACKS, Receiver, SackBlock, Segment, Sender};
use std::collections::VecDeque;
use switchbed_qdisc::Ecn;
use switchbed_units::{Span, Time};

/// A segment that the peer sent.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    /// Offset of the first byte of payload in the peer's stream.
    pub offset: u64,
    /// Bytes of payload, and one for a FIN.
    pub len: u32,
    /// Whether its last byte is a FIN.
    pub fin: bool,
    /// Next byte of this host's stream that the peer expects.
    pub ack: Option<u64>,
    /// Bytes from there on that the peer takes.
    pub window: u64,
    /// Blocks of this host's stream that the peer holds, the newest first; before them one that came
    /// twice (RFC 2883).
    pub sacks: Vec<(u64, u64)>,
    /// ECE, CWR and AE.
    pub flags: Flags,
    /// Whether it came with a congestion mark.
    pub marked: bool,
    /// When the segment was sent whose time stamp it echoes.
    pub echo: Option<Time>,
    /// Whether this host offers no window.
    pub no_space: bool,
}

impl Arrival {
    /// The first block, if it reports data that came twice: below the ACK, or within the second.
    fn twice(&self, ack: u64) -> Option<(u64, u64)> {
        let mut blocks = self.sacks.iter().copied();
        let first = blocks.next()?;
        // RFC 2883: a first block inside the second reports data above the ACK that came twice.
        let within = blocks.next().is_some_and(|next| next.0 <= first.0 && first.1 <= next.1);
        (first.1 <= ack || within).then_some(first)
    }
}

/// Kind of a segment that the host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SYN or SYN-ACK.
    Syn,
    /// Payload, a FIN, or both.
    Data,
    /// An acknowledgement alone.
    Ack,
    /// A probe of the peer's window: an acknowledgement with the number of the byte before.
    Probe,
}

/// Reordering that SACKs have shown, as Linux counts it (`tcp_check_sack_reordering`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordering {
    /// The largest distance in packets.
    pub packets: u64,
    /// How often a segment has arrived behind a later one.
    pub seen: u32,
}

/// A segment that the host sends.
#[derive(Clone, Debug)]
pub struct Departure {
    /// When it leaves.
    pub at: Time,
    /// Kind of segment.
    pub kind: Kind,
    /// Offset of its first byte in the host's stream.
    pub offset: u64,
    /// Bytes of payload, without a FIN.
    pub len: u32,
    /// Whether it has a FIN.
    pub fin: bool,
    /// Next byte of the peer's stream that the host expects.
    pub ack: u64,
    /// ECE, CWR and AE.
    pub flags: Flags,
    /// Blocks of the peer's stream that the host holds.
    pub sacks: Vec<(u64, u64)>,
    /// Codepoint of ECN.
    pub ecn: Ecn,
    /// Whether the data was sent before.
    pub again: bool,
}

/// A segment that is out, for RTT samples.
#[derive(Clone, Copy, Debug)]
struct Out {
    start: u64,
    end: u64,
    at: Time,
    again: bool,
    sacked: bool,
}

/// When small segments wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nagle {
    /// Small segments never wait (`TCP_NODELAY`).
    pub off: bool,
    /// Small segments wait until the socket is uncorked (`TCP_CORK`).
    pub cork: bool,
}

/// Linux's first measure of reordering (`tcp_reordering`).
const DUP_THRESH: u64 = 3;
/// Bytes of the largest segment before the card cuts it (`GSO_LEGACY_MAX_SIZE`).
const LARGEST: u64 = 65_536;
/// Doublings of a probe's timer at most.
const MOST_DOUBLINGS: u32 = 20;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Drill {
    sending: Config,
    /// The same for the last data before a FIN, or of a record.
    ending: Config,
    receiving: Config,
    sender: Sender,
    receiver: Receiver,
    out: VecDeque<Out>,
    /// Bytes that the application has written and the sender does not know of yet.
    pending: u64,
    /// End of the last segment sent that was not full.
    small: u64,
    /// When small segments wait.
    pub nagle: Nagle,
    /// The handshake is over.
    open: bool,
    /// The application has closed: a FIN follows what is written.
    closed: bool,
    /// Offset of the FIN, once the sender knows of it.
    fin: Option<u64>,
    /// Offset of the peer's FIN, once one has come.
    peer_fin: Option<u64>,
    /// Ends of records in the stream (`MSG_EOR`): no segment has bytes of two. Without those that the
    /// sender has got to the end of.
    records: VecDeque<u64>,
    /// When the last SYN or SYN-ACK went out, and how many have.
    opened: Time,
    opens: u32,
    edge: u64,
    /// When a window probe is due, and how many have gone out in a row.
    probe: Time,
    probes: u32,
    /// When the SYN-ACK is sent again, how often its timer has expired, and how often it may.
    answer: Time,
    answers: u32,
    answers_at_most: u32,
    /// The SYN-ACK was sent as often as it may be, without an answer.
    forgotten: bool,
    reordering: Reordering,
    /// End of the highest segment that the peer holds.
    highest: u64,
    departures: VecDeque<Departure>,
}

impl Drill {
    /// An end with these settings, which is not open yet.
    pub fn new(config: Config) -> Drill {
        let sending = config.clone().offered_by_peer();
        let sender = Sender::new(&sending);
        Drill {
            ending: sending.clone().at_end_of_data(),
            sending,
            receiving: config,
            sender,
            receiver: Receiver::new(),
            out: VecDeque::new(),
            pending: 0,
            small: 0,
            nagle: Nagle::default(),
            open: false,
            closed: false,
            fin: None,
            peer_fin: None,
            records: VecDeque::new(),
            opened: Time::ZERO,
            opens: 0,
            edge: 0,
            probe: Time::NEVER,
            probes: 0,
            answer: Time::NEVER,
            answers: 0,
            answers_at_most: 0,
            forgotten: false,
            reordering: Reordering { packets: DUP_THRESH, seen: 0 },
            highest: 0,
            departures: VecDeque::new(),
        }
    }

    /// Takes over the settings that the handshake has agreed on.
    pub fn agree(&mut self, config: Config) {
        self.sending = config.clone().offered_by_peer();
        self.ending = self.sending.clone().at_end_of_data();
        self.receiving = config;
    }

    /// The path takes smaller segments from now on, as these settings say.
    pub fn shrink(&mut self, config: Config, now: Time) {
        self.sending = config.offered_by_peer();
        self.ending = self.sending.clone().at_end_of_data();
        let mss = u64::from(self.sending.mss());
        for out in std::mem::take(&mut self.out) {
            let mut start = out.start;
            while start < out.end {
                let end = (start + mss).min(out.end);
                self.out.push_back(Out { start, end, ..out });
                start = end;
            }
        }
        self.sender.shrink(&self.sending, now);
        self.go(false, false, now);
    }

    /// The application connects: a SYN goes out.
    pub fn connect(&mut self, now: Time) {
        // A sender opens its connection once there is data; this byte is taken back with the SYN-ACK.
        self.sender.write(1);
        self.poll(now);
    }

    /// The answer to the SYN came; the peer takes so many bytes.
    pub fn connected(&mut self, window: u64, flags: Flags, echo: Option<Time>, now: Time) {
        // Of a SYN that was sent again, without a time stamp, nobody knows which one is answered.
        let stamp = echo.or((self.opens == 1).then_some(self.opened)).unwrap_or(Time::NEVER);
        let no_ecn = Flags::NONE.with_if(Flags::NO_ECN, !flags.contains(Flags::ECE));
        if no_ecn.contains(Flags::NO_ECN) {
            self.sender.refuse_ecn();
        }
        let flags = flags.with(Flags::SYN).with(no_ecn);
        self.sender.on_segment(&self.sending, &Segment::ack(0, flags, stamp), now);
        // Takes the byte of `connect` back.
        self.sender.truncate();
        self.open = true;
        self.offer(window);
        // The third segment of the handshake, which in the simulator rides on the first data.
        let ack = Segment::ack(0, Flags::NONE, now);
        self.push_ack(&ack, now);
        self.feed(false, false);
        self.poll(now);
    }

    /// A SYN came: a SYN-ACK goes out, and again up to `retries` times (`tcp_synack_retries`).
    pub fn accept(&mut self, ecn: bool, retries: u32, now: Time) {
        self.sender = Sender::established(&self.sending);
        self.answers_at_most = retries;
        self.send_answer(!ecn, now);
    }

    /// A SYN-ACK goes out. Only its timer doubles the wait (`tcp_reqsk_timeout`), a SYN that comes again
    /// does not (`tcp_check_req`).
    fn send_answer(&mut self, without_ecn: bool, now: Time) {
        let flags = Flags::SYN.with_if(Flags::NO_ECN, without_ecn);
        let syn = Segment::data(0, 0, flags, now);
        self.receiver.on_segment(&self.receiving, &syn, false, now);
        self.poll(now);
        let wait = self.sender.rto(&self.sending) * (1 << self.answers.min(MOST_DOUBLINGS));
        self.answer = now + wait.min(self.sending.longest_rto());
    }

    /// The SYN-ACK has had no answer (`reqsk_timer_handler`).
    fn answer_again(&mut self, now: Time) {
        if self.answers >= self.answers_at_most {
            (self.answer, self.forgotten) = (Time::NEVER, true);
            return;
        }
        self.answers += 1;
        self.send_answer(self.sender.without_ecn(), now);
    }

    /// The SYN came again: so does the answer to it.
    pub fn repeat(&mut self, now: Time) {
        self.send_answer(self.sender.without_ecn(), now);
    }

    /// An ACK goes out for a segment that cannot be taken.
    pub fn answer(&mut self, now: Time) {
        self.receiver.answer();
        self.poll(now);
    }

    /// The answer to the SYN-ACK came, and opens the connection.
    pub fn accepted(&mut self, window: u64, ecn: bool, echo: Option<Time>, now: Time) {
        let sent = echo.or((self.opens == 1).then_some(self.opened));
        match sent {
            Some(sent) => self.sender.accepted(&self.sending, now.since(sent), !ecn),
            None if !ecn => self.sender.refuse_ecn(),
            None => {}
        }
        (self.answer, self.open) = (Time::NEVER, true);
        self.offer(window);
    }

    /// The peer takes so many bytes beyond what it has acknowledged.
    fn offer(&mut self, window: u64) {
        self.edge = self.sender.acked() + window;
        self.sender.offer(self.edge);
    }

    /// The application writes; `more`: it will write on soon, `ends`: a record ends here.
    pub fn write(&mut self, bytes: u64, more: bool, ends: bool, now: Time) {
        self.pending += bytes;
        if ends {
            // Before the connection is open the sender has the byte of `connect`.
            let written = if self.open { self.sender.written() } else { 0 };
            self.records.push_back(written + self.pending);
        }
        self.go(more, false, now);
    }

    /// The application has changed when small segments wait; `push`: what waits goes out now.
    pub fn delay(&mut self, nagle: Nagle, push: bool, now: Time) {
        self.nagle = nagle;
        self.go(false, push, now);
    }

    /// The application closes its direction.
    pub fn close(&mut self, now: Time) {
        self.closed = true;
        self.go(false, true, now);
    }

    /// A segment came on the open connection.
    pub fn arrive(&mut self, arrival: &Arrival, now: Time) {
        if arrival.len > 0 {
            self.take_data(arrival, now);
        }
        if let Some(ack) = arrival.ack {
            self.take_ack(arrival, ack, now);
        }
        self.go(false, false, now);
    }

    fn take_data(&mut self, arrival: &Arrival, now: Time) {
        let flags = Flags::NONE.with_if(Flags::CWR, arrival.flags.contains(Flags::CWR));
        let flags = flags.with_if(Flags::NO_ECN, self.sender.without_ecn());
        let segment = Segment::data(arrival.offset, arrival.len, flags, now);
        if arrival.fin {
            self.peer_fin = self.peer_fin.or(Some(arrival.offset + u64::from(arrival.len) - 1));
            // After this host's own FIN, and while its window is closed, the peer's is acknowledged at
            // once (`tcp_fin`, `tcp_data_queue`).
            let hurry = self.closed || arrival.no_space;
            self.receiver.on_fin(&self.receiving, &segment, arrival.marked, hurry, now);
        } else {
            self.receiver.on_segment(&self.receiving, &segment, arrival.marked, now);
        }
    }

    fn take_ack(&mut self, arrival: &Arrival, ack: u64, now: Time) {
        let una = self.sender.acked();
        if ack > self.sender.sent_to() {
            // Linux ignores an ACK of data that was never sent.
            return;
        }
        let changed = if ack >= una {
            let edge = ack + arrival.window;
            let changed = edge != self.edge;
            self.edge = edge;
            self.sender.offer(edge);
            changed
        } else {
            false
        };
        let twice = arrival.twice(ack).filter(|_| self.sending.has_sack());
        // A DSACK tells of nothing new, so it is no part of the scoreboard.
        let sacks = self.whole(&arrival.sacks[usize::from(twice.is_some())..], ack.max(una));
        let tells = !sacks.is_empty() || twice.is_some() || arrival.flags.contains(Flags::ECE);
        // A window update, or an ACK that rides on data, is no duplicate (tcp_ack: FLAG_NOT_DUP).
        if ack <= una && !tells && (changed || arrival.len > 0 || ack < una) {
            return;
        }
        // Linux prefers the time of sending to the echoed stamp, which has whole milliseconds.
        let stamp = self.sampled(ack).or(arrival.echo).unwrap_or(Time::NEVER);
        let blocks: Vec<_> = twice.into_iter().chain(sacks).collect();
        if blocks.is_empty() {
            self.tell(arrival, ack, &[], stamp, now);
        }
        // A script may list more blocks than a segment of the model holds: as many ACKs then.
        for blocks in blocks.chunks(MAX_SACKS) {
            self.tell(arrival, ack, blocks, stamp, now);
        }
    }

    /// Hands an ACK to the sender.
    fn tell(&mut self, arrival: &Arrival, ack: u64, blocks: &[(u64, u64)], stamp: Time, now: Time) {
        let mut segment = Segment::ack(ack, arrival.flags, stamp);
        for (place, &(start, end)) in segment.sack.iter_mut().zip(blocks) {
            // Below the ACK, distances wrap around.
            let distance = |at: u64| at.wrapping_sub(ack) as u32;
            *place = SackBlock { start: distance(start), end: distance(end) };
            segment.sacks += 1;
        }
        self.sender.on_segment(&self.sending, &segment, now);
    }

    /// The blocks in whole segments, above `from`: Linux does not count a part of one. Only what is out
    /// can be SACKed; duplicate SACKs are below.
    fn whole(&mut self, blocks: &[(u64, u64)], from: u64) -> Vec<(u64, u64)> {
        if !self.sending.has_sack() {
            return Vec::new();
        }
        let (mut whole, mut overtaken, mut highest) = (Vec::new(), u64::MAX, self.highest);
        for &(start, end) in blocks {
            let mut part: Option<(u64, u64)> = None;
            for out in &mut self.out {
                if out.start >= start.max(from) && out.end <= end {
                    // One that was sent twice says nothing of the order in which the network
                    // carried it.
                    if !out.sacked && !out.again && out.start < self.highest {
                        overtaken = overtaken.min(out.start);
                    }
                    out.sacked = true;
                    highest = highest.max(out.end);
                    part = Some((part.map_or(out.start, |(start, _)| start), out.end));
                }
            }
            whole.extend(part);
        }
        self.highest = highest;
        self.note_reordering(overtaken);
        whole
    }

    /// A segment from `start` on has arrived behind a later one, and was sent once.
    fn note_reordering(&mut self, start: u64) {
        if start < self.highest {
            let packets = (self.highest - start).div_ceil(self.sending.mss().into());
            self.reordering.packets = self.reordering.packets.max(packets);
            self.reordering.seen += 1;
        }
    }

    /// When the first of the segments was sent that an ACK acknowledges; `None`: of one sent twice, or of
    /// nothing new.
    fn sampled(&mut self, ack: u64) -> Option<Time> {
        let (mut first, mut again, mut overtaken) = (None, false, u64::MAX);
        while let Some(out) = self.out.front().copied().filter(|out| out.end <= ack) {
            self.out.pop_front();
            again |= out.again;
            if !out.sacked && !out.again {
                first = first.or(Some(out.at));
                if out.start < self.highest && self.sending.has_sack() {
                    overtaken = overtaken.min(out.start);
                }
            }
        }
        // Nothing SACKed is left: what comes next is compared with the cumulative ACK.
        self.highest = if self.out.iter().any(|out| out.sacked) { self.highest } else { ack };
        self.note_reordering(overtaken);
        first.filter(|_| !again)
    }

    /// When [`Drill::on_timer`] is due.
    pub fn next_timer(&self) -> Option<Time> {
        let paced = Some(self.sender.paced_until()).filter(|&at| at != Time::NEVER);
        let own = [self.probe, self.answer].into_iter().min().filter(|&at| at != Time::NEVER);
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout(), paced, own];
        timers.into_iter().flatten().min()
    }

    /// Runs the timer of window probes while data waits and nothing is out (`tcp_check_probe_timer`).
    fn watch_window(&mut self, now: Time) {
        let nothing_out = self.sender.sent_to() == self.sender.acked();
        let waits = self.sender.unsent() + self.pending > 0;
        // Any other timer brings the window's next state itself.
        if !nothing_out || !waits || !self.open || self.sender.next_timeout().is_some() {
            (self.probe, self.probes) = (Time::NEVER, 0);
        } else if self.probe == Time::NEVER {
            let wait = self.sender.rto(&self.sending) * (1 << self.probes.min(MOST_DOUBLINGS));
            self.probe = now + wait;
        }
    }

    /// Sends what waits, or a probe of the window.
    fn probe_window(&mut self, now: Time) {
        self.probe = Time::NEVER;
        self.feed(false, true);
        let before = self.departures.len();
        self.poll(now);
        // The window let nothing out: a probe asks for it.
        if self.departures.len() == before {
            self.probe = Time::NEVER;
            self.probes += 1;
            let ack = Segment::ack(self.receiver.received(), Flags::NONE, now);
            self.push_ack(&ack, now);
            if let Some(last) = self.departures.back_mut() {
                last.kind = Kind::Probe;
            }
            self.watch_window(now);
        }
    }

    /// Time has passed.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timeout(&self.sending, now);
        self.receiver.on_timeout(&self.receiving, now);
        if self.answer <= now {
            self.answer_again(now);
        } else if self.probe <= now {
            self.probe_window(now);
        } else if self.records.is_empty() {
            self.poll(now);
        } else {
            self.go(false, false, now);
        }
    }

    /// The segments sent since the last call.
    pub fn departures(&mut self) -> impl Iterator<Item = Departure> + '_ {
        self.departures.drain(..)
    }

    /// The sender's state.
    pub fn info(&self) -> Info {
        let mut info = self.sender.info(&self.sending);
        info.notsent_bytes += self.pending;
        info
    }

    /// Reordering that SACKs have shown.
    pub fn reordering(&self) -> Reordering {
        let packets = self.sender.reordering(&self.sending).unwrap_or(self.reordering.packets);
        Reordering { packets, ..self.reordering }
    }

    /// Bytes of the peer's stream that have come in order, its FIN apart.
    pub fn received(&self) -> u64 {
        self.peer_fin.map_or(self.expects(), |fin| fin.min(self.expects()))
    }

    /// Next byte of the peer's stream that the host expects, a FIN among them.
    pub fn expects(&self) -> u64 {
        self.receiver.received()
    }

    /// End of what the host has sent.
    pub fn sent_to(&self) -> u64 {
        self.sender.sent_to()
    }

    /// Whether the connection has given up.
    pub fn failed(&self) -> bool {
        self.sender.failed() || self.forgotten
    }

    /// Time until the retransmission timer expires.
    pub fn timer_in(&self, now: Time) -> Option<Span> {
        self.sender.next_timeout().map(|at| at.since(now))
    }

    /// Hands the sender what it may cut into segments now; `more`: the application has said that it will
    /// write on, `push`: small segments do not wait.
    fn feed(&mut self, more: bool, push: bool) {
        if !self.open {
            return;
        }
        let (mss, una) = (u64::from(self.sending.mss()), self.sender.acked());
        let written = self.sender.written();
        while self.records.front().is_some_and(|&end| end <= written && self.sender.unsent() == 0) {
            self.records.pop_front();
        }
        // The sender cuts segments without regard to records: it is given one of them at a time.
        let record = self.records.front().map_or(u64::MAX, |end| end.saturating_sub(written));
        let tail = (self.sender.unsent() + self.pending) % mss;
        let waits = more || self.nagle.cork || (!self.nagle.off && self.small > una);
        // Only the last segment ever waits (`tcp_nagle_test`).
        let held =
            if waits && !push && self.pending <= record { tail.min(self.pending) } else { 0 };
        let given = (self.pending - held).min(record);
        if given > 0 {
            self.sender.write(given);
            self.pending -= given;
        }
        if self.closed && self.pending == 0 && self.fin.is_none() {
            self.fin = Some(self.sender.written());
            self.sender.write(1);
        }
    }

    /// Sends what can be sent; where records end, one after the other.
    fn go(&mut self, more: bool, push: bool, now: Time) {
        loop {
            self.feed(more, push);
            self.poll(now);
            // The next record follows once the sender has sent all of the one before.
            if self.records.is_empty() || self.sender.unsent() > 0 || self.pending == 0 {
                return;
            }
            let given = self.sender.written();
            self.feed(more, push);
            if self.sender.written() == given {
                return;
            }
        }
    }

    /// Collects what both halves send now.
    fn poll(&mut self, now: Time) {
        let mut carried = false;
        loop {
            let config = if self.is_end() { &self.ending } else { &self.sending };
            let mut next = self.sender.poll_transmit(config, now);
            // Until 6.12 Linux sent a FIN whatever the congestion window said (`tcp_cwnd_test`).
            if next.is_none() && self.fin.is_some() && self.sender.paced_until() == Time::NEVER {
                next = self.sender.send_end(config, now);
            }
            let Some(segment) = next else { break };
            self.sender.left_card(self.sending.wire_bytes(&segment));
            carried |= !segment.flags.contains(Flags::SYN);
            self.depart(segment, now);
        }
        if carried {
            self.receiver.carried(&self.receiving);
        }
        self.watch_window(now);
        while let Some(ack) = self.receiver.poll_transmit(&self.receiving, now) {
            let syn = ack.flags.contains(Flags::SYN);
            if syn {
                (self.opened, self.opens) = (now, self.opens + 1);
            }
            self.push_ack(&ack, now);
        }
    }

    /// Whether what is to be sent next ends with a FIN or a record, as far as one segment reaches.
    fn is_end(&self) -> bool {
        let ends = self.fin.is_some() || self.records.front() == Some(&self.sender.written());
        ends && self.sender.unsent() <= LARGEST
    }

    /// The receiver answers.
    fn push_ack(&mut self, ack: &Segment, now: Time) {
        let syn = ack.flags.contains(Flags::SYN);
        let block =
            |b: &SackBlock| (ack.offset + u64::from(b.start), ack.offset + u64::from(b.end));
        let twice = ack.twice();
        self.departures.push_back(Departure {
            at: now,
            kind: if syn { Kind::Syn } else { Kind::Ack },
            offset: if syn { 0 } else { self.sender.sent_to() },
            len: 0,
            fin: false,
            ack: ack.offset,
            flags: ack.flags,
            sacks: twice.into_iter().chain(ack.sack_blocks().iter().map(block)).collect(),
            ecn: self.codepoint(ack),
            again: false,
        });
    }

    fn codepoint(&self, segment: &Segment) -> Ecn {
        if self.sending.ecn_capable(segment) { self.sending.ect() } else { Ecn::NotEct }
    }

    /// The sender sends.
    fn depart(&mut self, segment: Segment, now: Time) {
        let syn = segment.flags.contains(Flags::SYN);
        let end = segment.offset + u64::from(segment.len);
        let again = segment.flags.contains(Flags::RETRANSMIT);
        if syn {
            (self.opened, self.opens) = (now, self.opens + 1);
        } else if again {
            for out in &mut self.out {
                if out.start < end && out.end > segment.offset {
                    (out.at, out.again) = (now, true);
                }
            }
        } else {
            if segment.len < self.sending.mss() {
                self.small = end;
            }
            let start = segment.offset;
            self.out.push_back(Out { start, end, at: now, again, sacked: false });
        }
        let fin = !syn && self.fin.is_some_and(|fin| fin < end);
        let echo = if syn { Flags::NONE } else { self.receiver.echoes(&self.receiving) };
        self.departures.push_back(Departure {
            at: now,
            kind: if syn { Kind::Syn } else { Kind::Data },
            offset: segment.offset,
            len: segment.len - u32::from(fin),
            fin,
            ack: self.receiver.received(),
            flags: segment.flags.with(echo),
            sacks: Vec::new(),
            ecn: self.codepoint(&segment),
            again,
        });
    }
}
